"""[Donmez2009, Tables 3 and 4, Figure 5]: which measure to train for, by how many pairs it learns from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from swaprank.arrays import Floats
from swaprank.dataset import Dataset
from swaprank.datasets import random_polynomial
from swaprank.evaluation.text_tables import probability, text_table
from swaprank.instruments.effective_pairs import effective_pairs
from swaprank.metrics.parse import metric as parse_metric
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.reproduction.experiment import Chart, Experiment, Outcome, Series, Tell

SIZES, QUICK_SIZES = (1_000, 4_000, 16_000), (100, 400)
TESTED, QUICK_TESTED = 5_000, 500
FEATURES, LEVELS = 50, (0.6, 0.2, 0.12, 0.06, 0.02)
METRICS = ("ndcg", "ndcg@10", "map(rel=2)", "mrr(rel=2)")


class Trained(NamedTuple):
    """A net trained for one measure, measured with all."""

    pairs: float
    """Pairs with a lambda, an epoch."""
    values: dict[str, Floats]
    """Of every test query, by measure."""


def run(quick: bool, random_state: int, tell: Tell) -> Outcome:
    """Training sets of growing size, all of one random polynomial; quick, two small ones."""
    sizes, tested = (QUICK_SIZES, QUICK_TESTED) if quick else (SIZES, TESTED)
    whole, vali, test = random_polynomial(
        (sizes[-1], tested, tested), n_features=FEATURES, levels=LEVELS, random_state=random_state
    )
    curves: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in METRICS}
    texts: list[str] = []
    for size in sizes:
        train = whole.subset(slice(0, size))
        found = {}
        for name in METRICS:
            found[name] = _train(name, train, vali, test, 10 if quick else 40, random_state)
            curves[name][0].append(found[name].pairs)
            curves[name][1].append(float(found[name].values["mrr(rel=2)"].mean()))
            tell(f"{size:,} queries, trained for {name}: {found[name].pairs:,.0f} pairs with a lambda")
        texts.append(f"{size:,} training queries\n\n{_table(found)}")
    text = (
        f"[Donmez2009, Tables 3 and 4]: the measure that is trained for is best on itself once there are enough pairs; "
        f"{test.n_queries:,} test queries, p of no difference from the net trained for the tested measure\n\n"
        + "\n\n".join(texts)
    )
    lines = [Series(f"trained for {name}", *curves[name]) for name in METRICS]
    chart = Chart("MRR by pairs with a lambda", "pairs with a lambda an epoch", "MRR on test", lines, log_x=True)
    return Outcome(text, chart)


def _train(name: str, train: Dataset, vali: Dataset, test: Dataset, n_epochs: int, random_state: int) -> Trained:
    net = LambdaRank(name, hidden=(10,), n_epochs=n_epochs, random_state=random_state + 1).fit(train, valid=vali)
    # As the paper counts: for reciprocal rank, only swaps that raise it [Donmez2009, Eq. 11].
    pairs = effective_pairs(name, train, net.predict(train), raising=name.startswith("mrr")).n_effective
    scores = net.predict(test)
    values = {other: parse_metric(other).per_query(test.labels, scores, test.indptr) for other in METRICS}
    return Trained(float(pairs), values)


def _table(found: dict[str, Trained]) -> str:
    rows = []
    for tested in METRICS:
        matching = found[tested].values[tested]
        for trained, seen in found.items():
            values = seen.values[tested]
            p = "(matching)" if trained == tested else _p(values, matching)
            name = tested if trained == METRICS[0] else ""
            rows.append([name, trained, f"{seen.pairs:,.0f}", f"{values.mean():.4f}", p])
    return text_table(["tested on", "trained for", "pairs with a lambda", "mean", "p"], rows, left=2)


def _p(values: Floats, matching: Floats) -> str:
    if np.array_equal(values, matching):
        return "1"
    return probability(float(ttest_rel(values, matching).pvalue))


EXPERIMENT = Experiment("matching-measures", "[Donmez2009, Tables 3 and 4, Figure 5]", run)
