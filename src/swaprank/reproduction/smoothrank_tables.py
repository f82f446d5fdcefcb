"""[Chapelle2010, Tables 2 and 3]: SmoothRank and the regression that it starts from; which k to train for.

The published numbers stand beside ours where the folder is the data set that they are of.
"""

from collections.abc import Sequence

import numpy as np
from scipy.stats import ttest_rel

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.experiments.folds import Fold
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rendering.tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.letor_sets import SETS, known_set
from swaprank.reproduction.smoothrank_data import described, letor_folds, mean_of_folds, paper_ranker, test_values

TRAINED_FOR = "ndcg@50"
CUTS = tuple(range(1, 11))
CUT_METRICS = parse_metrics([*(f"ndcg@{k}" for k in CUTS), "map"], convention="letor")
TESTED = (1, 5, 10)
TESTED_METRICS = parse_metrics([f"ndcg@{k}" for k in TESTED], convention="letor")
TABLE_3 = {
    1: (0.5365, 0.4622, 0.4369),
    5: (0.5397, 0.4691, 0.4470),
    10: (0.5834, 0.4723, 0.4496),
    50: (0.5608, 0.4750, 0.4570),
}
"""NDCG@1, 5 and 10 of test queries, by the k of training."""


def run_table_2(settings: Settings, log: Log) -> Outcome:
    """Five folds, as in the paper and with SmoothRank's defaults; quick: the first fold and three lambdas."""
    found: dict[str, list[Floats]] = {}
    folds = letor_folds(settings)
    for fold in folds:
        parts = fold.load()
        for name, ranker in _rankers(settings).items():
            values = test_values(ranker.fit(parts.train, valid=parts.vali), parts, CUT_METRICS)
            found.setdefault(name, []).append(values)
            log(f"{fold.name}, {name}: NDCG@10 {values[9].mean():.4f}, MAP {values[10].mean():.4f}")
    means = {name: mean_of_folds(values) for name, values in found.items()}
    by_query = {name: np.concatenate(values, axis=1) for name, values in found.items()}
    known = _known(settings, folds)
    published = SETS[known].published if known else {}
    rows = [["paper", name, f"{ndcg:.3f}", "", f"{ap:.3f}", ""] for name, (ndcg, ap) in published.items()]
    for name, values in by_query.items():
        row = ["ours", name]
        for at in (9, 10):
            p = ttest_rel(values[at], by_query["regression"][at]).pvalue
            row += [f"{means[name][at]:.4f}", probability(float(p))]
        rows.append(row)
    header = ["", "learner", "NDCG@10", "p", "MAP", "p"]
    text = (
        f"[Chapelle2010, Table 2]{f', {known}' if known else ''}; ours: {described(settings, len(folds))}, LETOR's "
        f"metrics, trained and "
        f"chosen for {TRAINED_FOR};\nSmoothRank as in the paper, and by default, a mean of fits; "
        f"p: paired t-test against our regression, over queries\n\n"
        f"{text_table(header, rows, left=2)}"
    )
    lines = [Series(name, CUTS, values[:10].tolist()) for name, values in means.items()]
    lines += [
        Series(f"{name}, paper", [10], [published[name][0]], published=True)
        for name in ("regression", "SmoothRank")
        if name in published
    ]
    return Outcome(text, Chart(known or described(settings, len(folds)), "truncation", "NDCG", lines))


def _known(settings: Settings, folds: Sequence[Fold]) -> str | None:
    return None if settings.data is None else known_set(settings.data, folds[0].load())


def _rankers(settings: Settings) -> dict[str, sr.Ranker]:
    seed = settings.random_state
    return {
        "regression": sr.LinearRegressionRanker(metric=TRAINED_FOR, overweight=True, random_state=seed),
        "SmoothRank": paper_ranker(settings, TRAINED_FOR),
        "SmoothRank, default": sr.SmoothRank(TRAINED_FOR, random_state=seed),
    }


def run_table_3(settings: Settings, log: Log) -> Outcome:
    """Trained and selected for NDCG@1, 5, 10 and 50 on five folds; quick: the first fold and three lambdas."""
    found: dict[int, list[Floats]] = {k: [] for k in TABLE_3}
    folds = letor_folds(settings)
    for fold in folds:
        parts = fold.load()
        for k, values in found.items():
            ranker = paper_ranker(settings, f"ndcg@{k}").fit(parts.train, valid=parts.vali)
            values.append(test_values(ranker, parts, TESTED_METRICS))
            log(f"{fold.name}, NDCG@{k}: lambda {ranker.regularization_:g}, NDCG@10 {values[-1][2].mean():.4f}")
    means = {k: mean_of_folds(values) for k, values in found.items()}
    rows = []
    published = TABLE_3 if _known(settings, folds) == "OHSUMED" else {}
    for k in TABLE_3:
        if k in published:
            rows.append([f"NDCG@{k}", "paper", *(f"{value:.4f}" for value in published[k])])
        rows.append(["" if k in published else f"NDCG@{k}", "ours", *(f"{value:.4f}" for value in means[k])])
    header = ["trained for", "", *(f"NDCG@{k}" for k in TESTED)]
    text = (
        f"[Chapelle2010, Table 3]: which k to train for; ours: {described(settings, len(folds))}, SmoothRank as in the "
        f"paper, LETOR's metrics\n\n{text_table(header, rows, left=2)}"
    )
    trained = list(TABLE_3)
    lines = []
    for at, k in enumerate(TESTED):
        lines.append(Series(f"NDCG@{k}", trained, [float(means[each][at]) for each in trained]))
        if published:
            lines.append(Series(f"NDCG@{k}, paper", trained, [published[each][at] for each in trained], published=True))
    return Outcome(text, Chart("Which k to train for", "k of training", "NDCG of test queries", lines, log_x=True))


TABLE_2_EXPERIMENT = Experiment("smoothrank-ohsumed", "[Chapelle2010, Table 2], OHSUMED", run_table_2, takes_data=True)
TABLE_3_EXPERIMENT = Experiment("smoothrank-truncation", "[Chapelle2010, Table 3]", run_table_3, takes_data=True)
