"""[Burges2006, 6.1, Figure 1]: the training time of RankNet with factored gradients (V2) and pair by pair (V1)."""

import time
from collections.abc import Sequence

import numpy as np

import swaprank as sr
from swaprank.nets.net_training import Training
from swaprank.rendering.tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

WEB_QUERIES, WEB_DOCUMENTS, WEB_FEATURES = 1000, 26, 367
PAPER_SPEEDUPS = {(): 5.1, (10,): 8.0}
PAPER_SLOPES = {"V1": 1.943, "V2": 1.185}
LENGTHS = {"V1": (4_000, 8_000, 16_000), "V2": (4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000)}
QUICK_LENGTHS = {"V1": (1_000, 2_000, 4_000), "V2": (4_000, 16_000, 64_000)}
LONG_LIST_FEATURES = 50
TRAININGS: dict[str, Training] = {"V1": "pairs", "V2": "factored"}


def run(settings: Settings, log: Log) -> Outcome:
    """Seconds per epoch on web-like queries, and by the number of documents of one query; quick: shorter lists."""
    quick, random_state = settings.quick, settings.random_state
    web = _random_data(WEB_QUERIES // (5 if quick else 1), WEB_DOCUMENTS, WEB_FEATURES, random_state)
    rows = []
    for hidden, paper in PAPER_SPEEDUPS.items():
        seconds = {name: _seconds_per_epoch(web, hidden, training) for name, training in TRAININGS.items()}
        ratio = seconds["V1"] / seconds["V2"]
        name = "two layers" if hidden else "linear"
        rows.append([name, f"{seconds['V1']:.3f}", f"{seconds['V2']:.4f}", f"{ratio:.1f}", f"{paper:.1f}"])
        log(f"{name}: V2 {ratio:.1f} times as fast as V1 (paper {paper})")
    lengths = QUICK_LENGTHS if quick else LENGTHS
    times: dict[str, list[float]] = {"V1": [], "V2": []}
    for name, training in TRAININGS.items():
        for length in lengths[name]:
            data = _random_data(1, length, LONG_LIST_FEATURES, random_state)
            times[name].append(_seconds_per_epoch(data, (), training))
            log(f"{name}, one query of {length:,} documents: {times[name][-1]:.4f} s per epoch")
    slopes = {name: slope(lengths[name], times[name]) for name in times}
    web_table = text_table(["net", "V1, s per epoch", "V2, s per epoch", "V1 / V2", "paper"], rows)
    slope_rows = [
        [name, f"{lengths[name][0]:,} to {lengths[name][-1]:,}", f"{slopes[name]:.3f}", f"{PAPER_SLOPES[name]:.3f}"]
        for name in times
    ]
    slope_table = text_table(["training", "documents of the query", "log-log slope", "paper"], slope_rows, left=2)
    text = (
        f"[Burges2006, 6.1], {web.n_queries:,} queries of {WEB_DOCUMENTS} documents and {WEB_FEATURES} features\n\n"
        f"{web_table}\n\nA linear net, one query, {LONG_LIST_FEATURES} features\n\n{slope_table}"
    )
    lines = [Series(f"{name}, slope {slopes[name]:.2f}", lengths[name], times[name]) for name in times]
    chart = Chart("Training time by documents of a query", "documents", "seconds per epoch", lines, True, True)
    return Outcome(text, chart)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The slope of the regression line of log y on log x.

    >>> from swaprank.reproduction.factored_speedup import slope
    >>> round(slope([1, 10, 100], [3, 300, 30_000]), 6)
    2.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _random_data(n_queries: int, n_documents: int, n_features: int, random_state: int) -> sr.Dataset:
    rng = np.random.default_rng(random_state)
    n = n_queries * n_documents
    labels = rng.choice(5, n, p=(0.5, 0.2, 0.15, 0.1, 0.05))
    return sr.Dataset(rng.random((n, n_features), np.float32), labels, qid=np.repeat(np.arange(n_queries), n_documents))


def _seconds_per_epoch(data: sr.Dataset, hidden: tuple[int, ...], training: Training) -> float:
    """CPU time of the fastest of three epochs, one update per query. The first one may compile and is not counted."""
    moments: list[float] = []
    ranker = sr.RankNet(hidden=hidden, training=training, optimizer="sgd", learning_rate=1e-6, decay=1.0, n_epochs=4)
    ranker.fit(data, callbacks=[lambda progress: moments.append(time.process_time())])
    return float(np.diff(moments).min())


EXPERIMENT = Experiment("lambdarank-speedup", "[Burges2006, 6.1 and Figure 1]", run)
