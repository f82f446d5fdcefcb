"""Compare rankings that were never shown, from a log of clicks on other rankings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.log_evaluation import session_values
from swaprank.clicks.log_values import LogValue
from swaprank.clicks.propensities import Propensities
from swaprank.clicks.relevance_estimates import Estimator
from swaprank.data.dataset import Dataset
from swaprank.evaluation.differences import BaselineDifference, DifferenceTable, check_systems, corrected
from swaprank.evaluation.significance import LEVEL, mean_interval, p_in_words, t_test
from swaprank.metrics.metric import Metric
from swaprank.rendering.tables import probability


@final
@dataclass(frozen=True)
class LogDifference(BaselineDifference):
    """One ranking against the baseline on one metric, as estimated from clicks.

    The p-values are corrected for the number of rankings that are compared with the baseline on this metric (Holm).

    >>> import swaprank as sr
    >>> shown = {"qid": [7] * 4, "docid": [1, 2] * 2, "position": [1, 2] * 2}
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], click=[1, 0, 0, 1], **shown)
    >>> systems, bias = {"old": [2.0, 1.0], "new": [1.0, 2.0]}, sr.clicks.Propensities([1.0, 0.8])
    >>> (row,) = sr.clicks.compare(log, systems, "p@1", propensities=bias)
    >>> row.difference
    0.125
    """

    p: float
    """The p-value of a t-test of the influences of sessions on the difference, two-sided."""
    coverage: float
    """The share of the ranking, weighted by the metric's discounts, that the log has ever shown."""

    @property
    def is_significant(self) -> bool:
        """True if the p-value is below 5%."""
        return self.p < LEVEL

    def sentence(self) -> str:
        """The result in words."""
        if self.difference == 0:
            return f"{self.metric}: the clicks show no difference of {self.system} and {self.baseline}."
        return self._size_in_words(p_in_words(self.p))

    def _more_cells(self) -> dict[str, str]:
        return {"p": probability(self.p), "coverage": f"{self.coverage:.1%}"}


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogComparison(DifferenceTable[LogDifference]):
    """Rankings against a baseline, as estimated from clicks; prints as a table with the results in words.

    >>> import swaprank as sr
    >>> shown = {"qid": [7] * 4, "docid": [1, 2] * 2, "position": [1, 2] * 2}
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], click=[1, 0, 0, 1], **shown)
    >>> systems = {"old": [2.0, 1.0], "new": [1.0, 2.0]}
    >>> comparison = sr.clicks.compare(log, systems, "dcg", propensities=sr.clicks.Propensities([1.0, 0.8]))
    >>> isinstance(comparison, sr.clicks.LogComparison)
    True
    """

    def _notes(self) -> list[str]:
        return []


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
    rows: list[LogDifference] = []
    for metric, estimates in session_values(log, systems.values(), metrics, propensities, data, estimator, clip):
        values = dict(zip(systems, estimates, strict=True))
        differences = [
            _difference(metric, name, against, value, values[against])
            for name, value in values.items()
            if name != against
        ]
        rows += corrected(differences, "p")
    return LogComparison(tuple(rows))


def _difference(metric: str, name: str, against: str, new: LogValue, old: LogValue) -> LogDifference:
    difference = new.mean - old.mean
    influence = new.influence - old.influence
    change = difference + influence - influence.mean()
    low, high = mean_interval(change)
    p = t_test(change) if len(change) > 1 else float("nan")
    return LogDifference(metric, name, against, new.mean, old.mean, difference, low, high, p, new.coverage)
