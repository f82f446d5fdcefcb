"""[Chapelle2010, Table 2, OHSUMED]: SmoothRank and the regression that it starts from."""

import numpy as np
from scipy.stats import ttest_rel

from swaprank.arrays import Floats
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.linear_regression import LinearRegressionRanker
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.smoothrank import SmoothRank
from swaprank.rendering.text_tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.smoothrank_data import described, folds_of, mean_of_folds, strengths, test_values

NAME = "smoothrank-ohsumed"
TRAINED_FOR = "ndcg@50"
CUTS = tuple(range(1, 11))
METRICS = parse_metrics([*(f"ndcg@{k}" for k in CUTS), "map"], convention="letor")
PAPER = {
    "SVM MAP": (0.432, 0.445),
    "RankBoost": (0.430, 0.441),
    "ListNet": (0.441, 0.446),
    "FRank": (0.443, 0.444),
    "AdaRank-NDCG": (0.450, 0.450),
    "AdaRank-MAP": (0.443, 0.449),
    "RankSVM": (0.450, 0.445),
    "regression": (0.444, 0.444),
    "SmoothRank": (0.457, 0.448),
}
"""NDCG@10 and MAP."""


def run(settings: Settings, log: Log) -> Outcome:
    """Five folds; quick: the first fold and three lambdas."""
    found: dict[str, list[Floats]] = {}
    folds = folds_of(settings, NAME)
    for fold in folds:
        parts = fold.load()
        for name, ranker in _rankers(settings).items():
            values = test_values(ranker.fit(parts.train, valid=parts.vali), parts, METRICS)
            found.setdefault(name, []).append(values)
            log(f"{fold.name}, {name}: NDCG@10 {values[9].mean():.4f}, MAP {values[10].mean():.4f}")
    means = {name: mean_of_folds(values) for name, values in found.items()}
    by_query = {name: np.concatenate(values, axis=1) for name, values in found.items()}
    rows = [["paper", name, f"{ndcg:.3f}", "", f"{ap:.3f}", ""] for name, (ndcg, ap) in PAPER.items()]
    for name, values in by_query.items():
        row = ["ours", name]
        for at in (9, 10):
            p = ttest_rel(values[at], by_query["regression"][at]).pvalue
            row += [f"{means[name][at]:.4f}", probability(float(p))]
        rows.append(row)
    header = ["", "learner", "NDCG@10", "p", "MAP", "p"]
    text = (
        f"[Chapelle2010, Table 2], OHSUMED; ours: {described(settings, len(folds))}, LETOR's metrics, trained and "
        f"chosen for {TRAINED_FOR};\np: paired t-test against our regression, over queries\n\n"
        f"{text_table(header, rows, left=2)}"
    )
    lines = [Series(name, CUTS, values[:10].tolist()) for name, values in means.items()]
    lines += [Series(f"{name}, paper", [10], [PAPER[name][0]], published=True) for name in ("regression", "SmoothRank")]
    return Outcome(text, Chart("OHSUMED", "truncation", "NDCG", lines))


def _rankers(settings: Settings) -> dict[str, Ranker]:
    seed = settings.random_state
    return {
        "regression": LinearRegressionRanker(metric=TRAINED_FOR, overweight=True, random_state=seed),
        "SmoothRank": SmoothRank(TRAINED_FOR, regularization=strengths(settings), random_state=seed),
    }


EXPERIMENT = Experiment(NAME, "[Chapelle2010, Table 2], OHSUMED", run, takes_data=True)
