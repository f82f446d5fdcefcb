"""[Chapelle2010, Table 3]: which k of NDCG@k to train for."""

from swaprank.arrays import Floats
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.smoothrank import SmoothRank
from swaprank.rendering.text_tables import text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings
from swaprank.reproduction.smoothrank_data import described, folds_of, mean_of_folds, strengths, test_values

NAME = "smoothrank-truncation"
TESTED = (1, 5, 10)
METRICS = parse_metrics([f"ndcg@{k}" for k in TESTED], convention="letor")
PAPER = {
    1: (0.5365, 0.4622, 0.4369),
    5: (0.5397, 0.4691, 0.4470),
    10: (0.5834, 0.4723, 0.4496),
    50: (0.5608, 0.4750, 0.4570),
}
"""NDCG@1, 5 and 10 of test queries, by the k of training."""


def run(settings: Settings, log: Log) -> Outcome:
    """Trained and selected for NDCG@1, 5, 10 and 50 on five folds; quick: the first fold and three lambdas."""
    found: dict[int, list[Floats]] = {k: [] for k in PAPER}
    folds = folds_of(settings, NAME)
    for fold in folds:
        parts = fold.load()
        for k, values in found.items():
            ranker = SmoothRank(
                f"ndcg@{k}", regularization=strengths(settings), random_state=settings.random_state
            ).fit(parts.train, valid=parts.vali)
            values.append(test_values(ranker, parts, METRICS))
            log(f"{fold.name}, trained for NDCG@{k}: NDCG@10 {values[-1][2].mean():.4f}")
    means = {k: mean_of_folds(values) for k, values in found.items()}
    rows = []
    for k, paper in PAPER.items():
        rows.append([f"NDCG@{k}", "paper", *(f"{value:.4f}" for value in paper)])
        rows.append(["", "ours", *(f"{value:.4f}" for value in means[k])])
    header = ["trained for", "", *(f"NDCG@{k}" for k in TESTED)]
    text = (
        f"[Chapelle2010, Table 3]: larger k is better; ours: {described(settings, len(folds))}, LETOR's metrics"
        f"\n\n{text_table(header, rows, left=2)}"
    )
    trained = list(PAPER)
    lines = [
        series
        for at, k in enumerate(TESTED)
        for series in (
            Series(f"NDCG@{k}", trained, [float(means[each][at]) for each in trained]),
            Series(f"NDCG@{k}, paper", trained, [PAPER[each][at] for each in trained], published=True),
        )
    ]
    return Outcome(text, Chart("Which k to train for", "k of training", "NDCG of test queries", lines, log_x=True))


EXPERIMENT = Experiment(NAME, "[Chapelle2010, Table 3]", run, takes_data=True)
