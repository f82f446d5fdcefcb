"""[Donmez2009, Tables 3 and 4, Figure 5]: which metric to train for, given the number of pairs it learns from."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.generated_data import random_polynomial
from swaprank.instruments.pair_effects import effective_pairs
from swaprank.metrics.parse import metric as parse_metric
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rendering.text_tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

SIZES, QUICK_SIZES = (1_000, 8_000), (100, 400)
TESTED, QUICK_TESTED = 4_000, 500
FEATURES, LEVELS = 50, (0.6, 0.2, 0.12, 0.06, 0.02)
METRICS = ("ndcg", "ndcg@10", "map(rel=2)", "mrr(rel=2)")
SPARSE = ("ndcg@10", "mrr(rel=2)")
"""Metrics with few effective pairs. The paper also compares these with the same number of pairs for all."""
NETS: dict[str, tuple[int, ...]] = {"two layers": (10,), "linear": ()}
RATES, QUICK_RATES = (0.0003, 0.001), (0.001,)
EPOCHS, QUICK_EPOCHS = 40, 10


class Trained(NamedTuple):
    """A net trained for one metric and evaluated on all."""

    n_queries: int
    pairs: float
    """Pairs with a lambda per epoch."""
    values: dict[str, Floats]
    """By metric, one value per test query."""


def run(settings: Settings, log: Log) -> Outcome:
    """Training sets of increasing size from one random polynomial; quick: two small ones."""
    sizes, tested = (QUICK_SIZES, QUICK_TESTED) if settings.quick else (SIZES, TESTED)
    whole, vali, test = random_polynomial(
        (sizes[-1], tested, tested), n_features=FEATURES, levels=LEVELS, random_state=settings.random_state
    )
    parts, lines = [], []
    for layers, hidden in NETS.items():

        def trained(name: str, size: int, layers: str = layers, hidden: tuple[int, ...] = hidden) -> Trained:
            seen = _train(name, hidden, whole.subset(slice(0, size)), vali, test, settings)
            log(f"{layers}, {size:,} queries, trained for {name}: {seen.pairs:,.0f} pairs with a lambda")
            return seen

        found = {size: {name: trained(name, size) for name in METRICS} for size in sizes}
        equal = {metric: _with_equal_pairs(metric, found[sizes[-1]], trained) for metric in SPARSE}
        parts += [f"{layers}, {size:,} training queries\n\n{_table(seen, METRICS)}" for size, seen in found.items()]
        parts += [f"{layers}, as many pairs as {m}\n\n{_table(seen, (m,))}" for m, seen in equal.items()]
        if hidden:
            lines = [_line(name, SPARSE[-1], [*found.values(), equal[SPARSE[-1]]]) for name in METRICS]
    text = (
        f"[Donmez2009, Tables 3 and 4, Figure 5]: training for NDCG and MAP is best for these metrics; for NDCG@10 "
        f"and MRR only if all learn from equally few pairs. {test.n_queries:,} test queries; * marks the best; p: "
        f"against the net trained for the tested metric\n\n" + "\n\n".join(parts)
    )
    chart = Chart("MRR by pairs with a lambda", "pairs with a lambda per epoch", "MRR on test", lines, log_x=True)
    return Outcome(text, chart)


def _with_equal_pairs(
    tested: str, found: dict[str, Trained], trained: Callable[[str, int], Trained]
) -> dict[str, Trained]:
    """Nets for all metrics, trained on about as many pairs as the tested metric has, or on all queries if fewer."""
    here = found[tested]
    equal = {}
    for name, seen in found.items():
        n_queries = round(here.n_queries * here.pairs / max(seen.pairs, 1.0))
        equal[name] = seen if n_queries >= seen.n_queries else trained(name, max(1, n_queries))
    return equal


def _train(
    name: str, hidden: tuple[int, ...], train: Dataset, vali: Dataset, test: Dataset, settings: Settings
) -> Trained:
    """The net of the learning rate that is best on the validation queries."""
    nets = [
        LambdaRank(
            name,
            hidden=hidden,
            normalize=False,
            n_epochs=QUICK_EPOCHS if settings.quick else EPOCHS,
            learning_rate=rate,
            random_state=settings.random_state + 1,
        ).fit(train, valid=vali)
        for rate in (QUICK_RATES if settings.quick else RATES)
    ]
    net = max(nets, key=lambda net: max(net.history_["valid"][name]))
    # For MRR the paper counts only swaps that raise it [Donmez2009, Eq. 11]; ours counts those that lower it, too.
    pairs = effective_pairs(name, train, net.predict(train)).n_effective
    scores = net.predict(test)
    values = {other: parse_metric(other).per_query(test.labels, scores, test.indptr) for other in METRICS}
    return Trained(train.n_queries, float(pairs), values)


def _line(name: str, tested: str, found: list[dict[str, Trained]]) -> Series:
    points = sorted({(seen[name].pairs, float(seen[name].values[tested].mean())) for seen in found})
    return Series(f"trained for {name}", [pairs for pairs, _ in points], [value for _, value in points])


def _table(found: dict[str, Trained], metrics: Sequence[str]) -> str:
    rows = []
    for tested in metrics:
        matching = found[tested].values[tested]
        best = max(float(seen.values[tested].mean()) for seen in found.values())
        for trained, seen in found.items():
            values = seen.values[tested]
            p = "(matching)" if trained == tested else _p(values, matching)
            name = tested if trained == METRICS[0] else ""
            mark = " *" if values.mean() == best else "  "
            rows.append([name, trained, f"{seen.n_queries:,}", f"{seen.pairs:,.0f}", f"{values.mean():.4f}{mark}", p])
    header = ["tested on", "trained for", "queries", "pairs with a lambda", "mean  ", "p"]
    return text_table(header, rows, left=2)


def _p(values: Floats, matching: Floats) -> str:
    if np.array_equal(values, matching):
        return "1"
    return probability(float(ttest_rel(values, matching).pvalue))


EXPERIMENT = Experiment("matching-measures", "[Donmez2009, Tables 3 and 4, Figure 5]", run)
