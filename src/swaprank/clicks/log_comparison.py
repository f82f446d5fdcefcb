"""Compare rankings that were never shown, from a log of clicks on other rankings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import numpy as np

from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.log_evaluation import known_bias, ranked_pairs, session_value
from swaprank.clicks.log_values import LogValue, check_countable
from swaprank.clicks.propensities import Propensities
from swaprank.clicks.relevance_estimates import Estimator, row_shares
from swaprank.data.dataset import Dataset
from swaprank.evaluation.compare import LEVEL, check_systems
from swaprank.evaluation.means import mean_interval
from swaprank.evaluation.paired_tests import holm, t_test
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rendering.result import Result
from swaprank.rendering.result_frames import rows_as_columns
from swaprank.rendering.text_tables import Parts, Table, decimals, probability


@final
@dataclass(frozen=True)
class LogDifference:
    """One ranking against the baseline on one metric, as estimated from clicks.

    The p-values are corrected for the number of rankings that are compared with the baseline on this metric (Holm).

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], qid=[7] * 4, docid=[1, 2] * 2, position=[1, 2] * 2, click=[1, 0, 0, 1])
    >>> systems, bias = {"old": [2.0, 1.0], "new": [1.0, 2.0]}, sr.clicks.Propensities([1.0, 0.8])
    >>> (row,) = sr.clicks.compare(log, systems, "p@1", propensities=bias)
    >>> row.difference
    0.125
    """

    metric: str
    system: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    low: float
    high: float
    """95% confidence interval of the difference."""
    p: float
    """The p-value of a t-test of the influences of sessions on the difference, two-sided."""
    coverage: float
    """The share of the ranking, weighted by the metric's discounts, that the log has ever shown."""

    def sentence(self) -> str:
        """The result in words."""
        if self.difference == 0:
            return f"{self.metric}: the clicks show no difference of {self.system} and {self.baseline}."
        direction = "better" if self.difference > 0 else "worse"
        least, most = (self.low, self.high) if self.difference > 0 else (-self.high, -self.low)
        size = f"by {abs(self.difference):.4f} (95% interval {least:.4f} to {most:.4f})"
        p = probability(self.p)
        chance = f"p {p if p.startswith('<') else f'= {p}'}"
        seems, luck = ("is", "") if self.p < LEVEL else ("looks", ", but that may be luck")
        return f"{self.metric}: {self.system} {seems} {direction} than {self.baseline} {size}{luck}; {chance}."


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogComparison(Result):
    """Rankings against a baseline, as estimated from clicks; prints as a table with the results in words.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], qid=[7] * 4, docid=[1, 2] * 2, position=[1, 2] * 2, click=[1, 0, 0, 1])
    >>> systems = {"old": [2.0, 1.0], "new": [1.0, 2.0]}
    >>> comparison = sr.clicks.compare(log, systems, "dcg", propensities=sr.clicks.Propensities([1.0, 0.8]))
    >>> isinstance(comparison, sr.clicks.LogComparison)
    True
    """

    differences: tuple[LogDifference, ...]

    def __iter__(self) -> Iterator[LogDifference]:
        return iter(self.differences)

    def _parts(self) -> Parts:
        header = ["metric", "ranking", "mean", "against", "mean", "difference", "95% interval", "p", "coverage"]
        rows = [
            [
                row.metric,
                row.system,
                decimals(row.mean),
                row.baseline,
                decimals(row.baseline_mean),
                decimals(row.difference, signed=True),
                f"{decimals(row.low)} to {decimals(row.high)}",
                probability(row.p),
                f"{row.coverage:.1%}",
            ]
            for row in self.differences
        ]
        return [Table(header, rows, left=2), "\n".join(row.sentence() for row in self.differences)]

    def _values(self) -> dict[str, Any]:
        return {"differences": [{**asdict(row), "sentence": row.sentence()} for row in self.differences]}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns([asdict(row) for row in self.differences])


def compare(
    log: ClickLog,
    systems: Mapping[str, Any],
    metrics: str | Metric | Iterable[str | Metric] = "dcg@10",
    *,
    propensities: Propensities | None = None,
    data: Dataset | None = None,
    baseline: str | None = None,
    estimator: Estimator = "self_normalized",
    clip: float = 0.0,
) -> LogComparison:
    """Compare rankings with a baseline, from clicks on the rankings that were shown; none of them need be.

    Args:
        log: The clicks.
        systems: Fitted rankers or scores by name, as for `evaluate`.
        metrics: One or several metrics, or their names.
        propensities: The position bias; if None, it is estimated from this log. See `evaluate`.
        data: All documents that the rankings order, with docid; the default is the documents of the log.
        baseline: The system that the others are compared with. The default is the first one.
        estimator: "self_normalized", or "ips"; see `unbiased`.
        clip: For "ips": divide by a propensity of at least this.

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(50, random_state=0)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 20_000, random_state=0)
    >>> shown = log.features[:, log.feature_names.index("match")]
    >>> comparison = sr.clicks.compare(log, {"match": shown, "best": truth.relevance})
    >>> print(comparison.differences[0].sentence())
    dcg@10(gain=linear): best is better than match by 1.6846 (95% interval 1.3837 to 1.9855); p < .0001.
    """
    against = check_systems(systems, baseline)
    chosen = [check_countable(metric) for metric in parse_metrics(metrics)]
    bias = known_bias(log, propensities)
    shares = row_shares(log, bias.propensities, estimator, clip)
    orders = {name: ranked_pairs(log, ranking, data) for name, ranking in systems.items()}
    rows: list[LogDifference] = []
    for metric in chosen:
        values = {name: session_value(log, shares, bias, order, metric) for name, order in orders.items()}
        of_metric = [
            _difference(metric, name, against, value, values[against])
            for name, value in values.items()
            if name != against
        ]
        p_values = holm(np.array([row.p for row in of_metric])).tolist()
        rows += [replace(row, p=p) for row, p in zip(of_metric, p_values, strict=True)]
    return LogComparison(tuple(rows))


def _difference(metric: Metric, name: str, against: str, new: LogValue, old: LogValue) -> LogDifference:
    difference = new.mean - old.mean
    influence = new.influence - old.influence
    change = difference + influence - influence.mean()
    low, high = mean_interval(change)
    p = t_test(change) if len(change) > 1 else float("nan")
    return LogDifference(str(metric), name, against, new.mean, old.mean, difference, low, high, p, new.coverage)
