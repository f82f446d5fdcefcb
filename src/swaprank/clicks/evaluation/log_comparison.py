"""Compare rankings that were never shown, from a log of clicks on other rankings."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.evaluation.log_evaluation import LogEstimate, countable_metrics, estimate
from swaprank.clicks.evaluation.log_values import log_value
from swaprank.clicks.evaluation.log_variance import LogView, Units, expect, spread_of, view_of
from swaprank.clicks.evaluation.ranked_pairs import RankedPairs, ranked_pairs
from swaprank.clicks.evaluation.supported_results import SupportedDifference
from swaprank.clicks.learning.relevance_estimates import Estimator
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.click_dependence import quick_check
from swaprank.data.dataset import Dataset
from swaprank.evaluation.differences import DifferenceTable, check_systems, corrected
from swaprank.metrics.cascade import Cascade
from swaprank.metrics.cumulative import Cumulative
from swaprank.metrics.metric import Metric


@final
@dataclass(frozen=True)
class LogDifference(SupportedDifference):
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

    coverage: float
    """The share of the ranking, weighted by the metric's discounts, that the log has ever shown."""

    def _more_cells(self) -> dict[str, str]:
        return {**super()._more_cells(), "coverage": f"{self.coverage:.1%}"}


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogComparison(DifferenceTable[LogDifference]):
    """Rankings against a baseline, as estimated from clicks; prints as a table with the results in words.

    >>> import swaprank as sr
    >>> shown = {"qid": [7] * 4, "docid": [1, 2] * 2, "position": [1, 2] * 2}
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], click=[1, 0, 0, 1], **shown)
    >>> systems, bias = {"old": [2.0, 1.0], "new": [1.0, 2.0]}, sr.clicks.Propensities([1.0, 0.8])
    >>> comparison = sr.clicks.compare(log, systems, "p@1", propensities=bias)
    >>> isinstance(comparison, sr.clicks.LogComparison)
    True
    """

    contradictions: tuple[str, ...] = ()
    """Sentences about what in the log contradicts the position-based model, on which the estimates rest."""

    def _notes(self) -> list[str]:
        return list(self.contradictions)


def compare(
    log: ClickLog,
    systems: Mapping[str, Any],
    metrics: str | Metric | Iterable[str | Metric] = "dcg@10(gain=linear)",
    *,
    propensities: Propensities | None = None,
    data: Dataset | None = None,
    baseline: str | None = None,
    estimator: Estimator = "self_normalized",
    clip: float = 0.0,
    units: Units = "sessions",
) -> LogComparison:
    """Compare rankings with a baseline, from clicks on the rankings that were shown; none of them need be.

    Where `evaluate` says that the log does not support an answer, there is none here either.

    Args:
        log: The clicks.
        systems: Fitted rankers or scores by name, as for `evaluate`.
        metrics: One or several metrics, or their names.
        propensities: The position bias; if None, it is estimated from this log. See `evaluate`.
        data: All documents that the rankings order, with docid; the default is the documents of the log.
        baseline: The system that the others are compared with. The default is the first one.
        estimator: "self_normalized", or "ips"; see `unbiased`.
        clip: For "ips": divide by a propensity of at least this.
        units: What intervals are for: other "sessions" with the same queries, or other "queries", too.

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(50, random_state=0)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 20_000, random_state=0)
    >>> shown = log.features[:, log.feature_names.index("match")]
    >>> comparison = sr.clicks.compare(log, {"match": shown, "best": truth.relevance})
    >>> print(comparison.differences[0].sentence())
    dcg@10(gain=linear): best is better than match by 1.7084 (95% interval 1.3318 to 2.0849); p < .0001.
    """
    against = check_systems(systems, baseline)
    chosen = countable_metrics(metrics)
    view = view_of(log, propensities, estimator, clip, units)
    ranked = {name: ranked_pairs(log, system, data) for name, system in systems.items()}
    rows: list[LogDifference] = []
    for metric in chosen:
        estimates = {name: estimate(view, metric, each) for name, each in ranked.items()}
        differences = [
            _difference(view, metric, {name: estimates[name], against: estimates[against]}, ranked)
            for name in systems
            if name != against
        ]
        rows += corrected(differences, "p")
    return LogComparison(tuple(rows), tuple(quick_check(log)))


def _difference(
    view: LogView,
    metric: Cumulative | Cascade,
    estimates: Mapping[str, LogEstimate],
    ranked: Mapping[str, RankedPairs],
) -> LogDifference:
    """The first of two rankings against the second."""
    (name, new), (against, old) = estimates.items()
    expected = expect(view, [ranked[name], ranked[against]])
    first, second = (
        log_value(view.log, view.shares, ranked[each], metric, expected.relevance) for each in (name, against)
    )
    value = first.minus(second)
    spread = spread_of(view, value, expected)
    difference = new.mean - old.mean
    low, high = (float(np.clip(end, value.low, value.high)) for end in spread.interval(difference))
    doubts = tuple(dict.fromkeys((*new.doubts(), *old.doubts())))
    p = float("nan") if doubts else spread.p_value(difference)
    return LogDifference(str(metric), name, against, new.mean, old.mean, difference, low, high, p, doubts, new.coverage)
