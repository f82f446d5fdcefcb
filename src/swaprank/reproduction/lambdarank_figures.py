"""[Burges2006, 6.1, Figures 1 and 2]: how much faster and better LambdaRank's training is than RankNet's.

Section 6.1 and Figure 1 have the training time of RankNet with factored gradients (V2) and pair by pair (V1). Figure 2
has NDCG of LambdaRank and RankNet at ten truncations, with one and two layers, on clean data.
"""

import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import ttest_rel

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.nets.net_training import Training
from swaprank.rendering.tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

WEB_QUERIES, WEB_DOCUMENTS, WEB_FEATURES = 1000, 26, 367
PAPER_SPEEDUPS = {(): 5.1, (10,): 8.0}
PAPER_SLOPES = {"V1": 1.943, "V2": 1.185}
LENGTHS = {"V1": (4_000, 8_000, 16_000), "V2": (4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000)}
QUICK_LENGTHS = {"V1": (1_000, 2_000, 4_000), "V2": (4_000, 16_000, 64_000)}
LONG_LIST_FEATURES = 50
TRAININGS: dict[str, Training] = {"V1": "pairs", "V2": "factored"}

QUERIES, QUICK_QUERIES = (10_000, 5_000, 10_000), (1_000, 500, 1_000)
TRUNCATIONS = tuple(range(1, 11))
RATES = (0.0003, 0.001, 0.003)
EPOCHS, QUICK_EPOCHS, PLATEAU = 100, 30, 50
NETS = {"linear": (), "2 hidden units": (2,), "10 hidden units": (10,)}


def run_speedup(settings: Settings, log: Log) -> Outcome:
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

    >>> from swaprank.reproduction.lambdarank_figures import slope
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
    """The fastest of three epochs with one update per query. The first epoch may compile and is not counted."""
    moments: list[float] = []
    ranker = sr.RankNet(hidden=hidden, training=training, optimizer="sgd", learning_rate=1e-6, decay=1.0, n_epochs=4)
    ranker.fit(data, callbacks=[lambda progress: moments.append(time.perf_counter())])
    return float(np.diff(moments).min())


def run_comparison(settings: Settings, log: Log) -> Outcome:
    """10,000, 5,000 and 10,000 queries of 50 documents as in the paper; quick: a tenth of them and fewer epochs."""
    quick, random_state = settings.quick, settings.random_state
    train, vali, test = sr.datasets.random_polynomial(
        QUICK_QUERIES if quick else QUERIES, levels=5, random_state=random_state
    )
    found: dict[str, Floats] = {}
    for layers, hidden in NETS.items():
        for kind in (sr.RankNet, sr.LambdaRank):
            name = f"{kind.__name__}, {layers}"
            scores = _test_scores(kind, hidden, train, vali, test, QUICK_EPOCHS if quick else EPOCHS, random_state)
            found[name] = np.array(
                [sr.metrics.NDCG(k=k).per_query(test.labels, scores, test.indptr) for k in TRUNCATIONS]
            )
            log(f"{name}: NDCG@10 {found[name][-1].mean():.4f}")
    rows = []
    for layers in NETS:
        ranknet, lambdarank = found[f"RankNet, {layers}"], found[f"LambdaRank, {layers}"]
        for values, name in ((ranknet, "RankNet"), (lambdarank, "LambdaRank")):
            rows.append([layers, name, *(f"{value:.4f}" for value in values.mean(axis=1))])
        rows.append(["", "95% interval ±", *(f"{error:.4f}" for error in _interval(lambdarank))])
        p_values = ttest_rel(lambdarank, ranknet, axis=1).pvalue
        rows.append(["", "p of no difference", *map(probability, p_values.tolist())])
    header = ["net", "NDCG at", *map(str, TRUNCATIONS)]
    text = (
        f"[Burges2006, Figure 2]: LambdaRank is above RankNet at every truncation. Here: {test.n_queries:,} "
        f"test queries\n\n{text_table(header, rows, left=2)}"
    )
    lines = [
        Series(name, TRUNCATIONS, values.mean(axis=1).tolist(), _interval(values)) for name, values in found.items()
    ]
    return Outcome(text, Chart("NDCG on the random polynomial", "truncation", "NDCG", lines))


def _test_scores(
    kind: type[sr.RankNet | sr.LambdaRank],
    hidden: tuple[int, ...],
    train: sr.Dataset,
    vali: sr.Dataset,
    test: sr.Dataset,
    n_epochs: int,
    random_state: int,
) -> Floats:
    """Test scores for the learning rate and epoch with the best NDCG@10 on vali, as in the paper."""
    best, scores = -np.inf, np.empty(0)
    for rate in RATES:
        ranker = kind(
            hidden=hidden,
            metric="ndcg@10",
            n_epochs=n_epochs,
            learning_rate=rate,
            decay=0.8,
            restart_rounds=PLATEAU,
            random_state=random_state,
        ).fit(train, valid=vali)
        value = max(ranker.history_["valid"]["ndcg@10"])
        if value > best:
            best, scores = value, ranker.predict(test)
    return scores


def _interval(values: Floats) -> list[float]:
    return [float(error) for error in 1.96 * values.std(axis=1) / np.sqrt(values.shape[1])]


SPEEDUP = Experiment("lambdarank-speedup", "[Burges2006, 6.1 and Figure 1]", run_speedup)
COMPARISON = Experiment("lambdarank-vs-ranknet", "[Burges2006, Figure 2]", run_comparison)
