"""[Donmez2009, Tables 1 and 2]: five constructions of lambdas; RankNetWeightPairs weights pairs by |dZ|."""

import numpy as np
from scipy.stats import ttest_rel

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.generated_data import random_polynomial
from swaprank.metrics.parse import metric as parse_metric
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rendering.text_tables import probability, text_table
from swaprank.reproduction.experiment import Chart, Experiment, Log, Outcome, Series, Settings

QUERIES, QUICK_QUERIES = (5_000, 5_000), (200, 200)
FEATURES, LEVELS = 50, (0.6, 0.2, 0.12, 0.06, 0.02)
METRICS = ("ndcg", "ndcg@10", "map(rel=2)", "mrr(rel=2)")
NAMES = {
    "pairs": "RankNetWeightPairs",
    "spring": "SpringSmooth",
    "local_gradient": "LocalGradient",
    "local_cost": "LocalCost",
    "discrete_bounded": "DiscreteBounded",
}
"""Our names of the constructions, and those of the paper."""
RATES = (0.0003, 0.001, 0.003)


def run(settings: Settings, log: Log) -> Outcome:
    """5,000 training and 5,000 validation queries as in the paper, but generated; quick: 200 of each."""
    quick, random_state = settings.quick, settings.random_state
    train, vali = random_polynomial(
        QUICK_QUERIES if quick else QUERIES, n_features=FEATURES, levels=LEVELS, random_state=random_state
    )
    n_epochs, rates = (8, RATES[1:2]) if quick else (40, RATES)
    rows: list[list[str]] = []
    means: dict[str, list[float]] = {construction: [] for construction in NAMES}
    errors: dict[str, list[float]] = {construction: [] for construction in NAMES}
    for metric in METRICS:
        pairs = np.empty(0)
        for construction, name in NAMES.items():
            values = _best(metric, construction, train, vali, n_epochs, rates, random_state)
            pairs = values if construction == "pairs" else pairs
            error = float(values.std(ddof=1) / np.sqrt(len(values)))
            means[construction].append(float(values.mean()))
            errors[construction].append(error)
            p = "" if construction == "pairs" else probability(float(ttest_rel(values, pairs).pvalue))
            rows.append([metric if construction == "pairs" else "", name, f"{values.mean():.4f}", f"{error:.4f}", p])
            log(f"{metric}, {name}: {values.mean():.4f}")
    header = ["metric", "construction", "mean", "standard error", "p against the first"]
    text = (
        f"[Donmez2009, Tables 1 and 2]: RankNetWeightPairs is best on all four metrics. Here: "
        f"{vali.n_queries:,} validation queries\n\n{text_table(header, rows, left=2)}"
    )
    numbers = list(range(1, len(METRICS) + 1))
    lines = [Series(name, numbers, means[key], errors[key]) for key, name in NAMES.items()]
    labels = ", ".join(f"{number} {metric}" for number, metric in zip(numbers, METRICS, strict=True))
    return Outcome(text, Chart("Constructions of lambdas", labels, "validation mean", lines))


def _best(
    metric: str,
    construction: str,
    train: Dataset,
    vali: Dataset,
    n_epochs: int,
    rates: tuple[float, ...],
    random_state: int,
) -> Floats:
    """Validation values for the learning rate with the best mean, as in the paper."""
    best = np.full(vali.n_queries, -np.inf)
    for rate in rates:
        net = LambdaRank(
            metric,
            hidden=(10,),
            construction=construction,
            normalize=False,
            n_epochs=n_epochs,
            learning_rate=rate,
            random_state=random_state + 1,
        ).fit(train, valid=vali)
        values = parse_metric(metric).per_query(vali.labels, net.predict(vali), vali.indptr)
        best = values if values.mean() > best.mean() else best
    return best


EXPERIMENT = Experiment("constructions", "[Donmez2009, Tables 1 and 2]", run)
