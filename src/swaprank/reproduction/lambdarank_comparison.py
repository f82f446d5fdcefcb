"""[Burges2006, Figure 2]: NDCG of LambdaRank and RankNet at ten truncations, with one and two layers, on clean data.

As in the paper [Burges2006, 6.3]: the weights follow the plain gradient, one step per query, and lambdas are of all
ranks and not normalized. The gains of the five levels are 0, 3, 7, 15 and 31. NDCG@10 on the validation queries chooses
the rate and the epoch. The rate falls by 0.8 when RankNet's cost rises or LambdaRank's NDCG@10 falls on the training
queries, and training starts again from random weights after 50 epochs without progress.
"""

from collections.abc import Callable

import numpy as np
from scipy.stats import ttest_rel

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.rendering.tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.kept_steps import kept_ranker, kept_values
from swaprank.reproduction.lambdarank_tables import LEVELS

QUERIES, QUICK_QUERIES = (4_000, 2_000, 10_000), (1_000, 500, 1_000)
DATA_SETS = 3
GAINS = (0.0, 3.0, 7.0, 15.0, 31.0)
METRIC = sr.metrics.NDCG(k=10, gain=GAINS)
"""What the presets watch."""
TRUNCATIONS = tuple(range(1, 11))
RATES, RATE_EPOCHS = (1e-7, 1e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2), 15
"""The range of the paper; all but the best one are given up after 15 epochs."""
EPOCHS, QUICK_EPOCHS = 300, 30
NETS: dict[str, tuple[int, ...]] = {"linear": (), "10 hidden units": (10,)}
KINDS: dict[str, Callable[..., sr.RankNet | sr.LambdaRank]] = {
    "RankNet": sr.papers.ranknet2006,
    "LambdaRank": sr.papers.lambdarank2006,
}


def run(settings: Settings, log: Log) -> Outcome:
    """Three data sets of 4,000 training queries, where the paper has one of 10,000; quick: a small one."""
    seeds = range(settings.random_state, settings.random_state + (1 if settings.quick else DATA_SETS))
    found: dict[str, list[Floats]] = {f"{kind}, {layers}": [] for layers in NETS for kind in KINDS}
    rates: dict[str, list[float]] = {name: [] for name in found}
    for seed in seeds:
        here = settings._replace(random_state=seed)
        train, vali, test = sr.datasets.random_polynomial(
            QUICK_QUERIES if settings.quick else QUERIES, levels=LEVELS, random_state=seed
        )
        for layers in NETS:
            for kind in KINDS:
                name = f"{kind}, {layers}"
                ranker = _best(kind, layers, train, vali, here)
                scores = ranker.predict(test)
                ndcg = [
                    sr.metrics.NDCG(k=k, gain=GAINS).per_query(test.labels, scores, test.indptr) for k in TRUNCATIONS
                ]
                found[name].append(np.array(ndcg))
                rates[name].append(float(ranker.get_params()["learning_rate"]))
                log(f"data set {seed}, {name}: NDCG@1 {ndcg[0].mean():.4f}, NDCG@10 {ndcg[-1].mean():.4f}")
    return Outcome(_text(found, rates, settings), _chart(found))


def _best(kind: str, layers: str, train: sr.Dataset, vali: sr.Dataset, settings: Settings) -> sr.Ranker:
    """The net of the rate and the epoch with the best NDCG@10 on vali."""
    n_epochs = QUICK_EPOCHS if settings.quick else EPOCHS
    step = f"{kind} {layers}"

    def fit(rate: float, n_epochs: int) -> sr.Ranker:
        # With the seed of the data, the initial weights could be those that generated the labels.
        seed = settings.random_state + 1
        ranker = KINDS[kind](hidden=NETS[layers], learning_rate=rate, n_epochs=n_epochs, random_state=seed)
        return ranker.fit(train, valid=vali)

    def value(ranker: sr.Ranker) -> float:
        return sr.evaluate(vali, ranker.predict(vali), [METRIC])[str(METRIC)].mean

    first = kept_values(settings, f"rates {step}", lambda: [value(fit(rate, RATE_EPOCHS)) for rate in RATES])
    rate = RATES[int(np.argmax(first))]
    return kept_ranker(settings, f"net {step} rate {rate:g}", lambda: fit(rate, n_epochs))


def _text(found: dict[str, list[Floats]], rates: dict[str, list[float]], settings: Settings) -> str:
    rows = []
    for layers in NETS:
        pooled = {kind: np.concatenate(found[f"{kind}, {layers}"], axis=1) for kind in KINDS}
        for kind, values in pooled.items():
            used = "/".join(f"{rate:g}" for rate in rates[f"{kind}, {layers}"])
            rows.append([layers, kind, used, *(f"{value:.4f}" for value in values.mean(axis=1))])
        ranknet, lambdarank = pooled.values()
        ahead = [
            [float((ours - theirs)[at].mean()) for at in range(len(TRUNCATIONS))]
            for theirs, ours in zip(*(found[f"{kind}, {layers}"] for kind in KINDS), strict=True)
        ]
        rows.append(["", "difference", "", *(f"{value:+.4f}" for value in (lambdarank - ranknet).mean(axis=1))])
        rows.append(["", "95% interval ±", "", *(f"{error:.4f}" for error in _interval(lambdarank - ranknet))])
        p_values = ttest_rel(lambdarank, ranknet, axis=1).pvalue
        rows.append(["", "p of no difference", "", *(probability(float(p)) for p in p_values)])
        counts = [sum(values[at] > 0 for values in ahead) for at in range(len(TRUNCATIONS))]
        rows.append(["", "LambdaRank ahead on", "", *(f"{count} of {len(ahead)}" for count in counts)])
    n_epochs = QUICK_EPOCHS if settings.quick else EPOCHS
    sizes = QUICK_QUERIES if settings.quick else QUERIES
    n_sets, shares = len(next(iter(found.values()))), ", ".join(f"{share:g}" for share in LEVELS)
    header = ["net", "NDCG at", "rate", *map(str, TRUNCATIONS)]
    return (
        f"[Burges2006, Figure 2]: LambdaRank is above RankNet at every truncation, most of all at the top.\n"
        f"Here: {n_sets} generated data {'set' if n_sets == 1 else 'sets'} of {sizes[0]:,}, {sizes[1]:,} and "
        f"{sizes[2]:,} queries, levels in shares of {shares}, gains 0, 3, 7, 15, 31; plain gradient "
        f"descent, lambdas not normalized and of all ranks, {n_epochs} epochs, restart after 50 without progress;\n"
        f"NDCG@10 on validation queries chooses the rate, of 1e-7 to 1e-2 after {RATE_EPOCHS} epochs, "
        f"and the epoch\n\n{text_table(header, rows, left=3)}"
    )


def _chart(found: dict[str, list[Floats]]) -> Chart:
    lines = []
    for name, parts in found.items():
        values = np.concatenate(parts, axis=1)
        lines.append(Series(name, TRUNCATIONS, values.mean(axis=1).tolist(), _interval(values)))
    return Chart("NDCG on the random polynomial", "truncation", "NDCG", lines)


def _interval(values: Floats) -> list[float]:
    return [float(error) for error in 1.96 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])]


EXPERIMENT = Experiment("lambdarank-vs-ranknet", "[Burges2006, Figure 2]", run, takes_output=True)
