"""Evaluate a ranking that was never shown, from a log of clicks on other rankings."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.evaluation.log_values import check_countable, log_value
from swaprank.clicks.evaluation.log_variance import LogView, Units, expect, spread_of, view_of
from swaprank.clicks.evaluation.ranked_pairs import RankedPairs, ranked_pairs
from swaprank.clicks.evaluation.supported_results import EstimateTable
from swaprank.clicks.learning.relevance_estimates import Estimator
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.click_dependence import quick_check
from swaprank.data.dataset import Dataset
from swaprank.metrics.cascade import Cascade
from swaprank.metrics.cumulative import Cumulative
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rendering.tables import Blocks, Table, decimals

_FEWEST_CLICKS = 30
"""The least effective number: from fewer, estimates are too far from normally distributed for an interval."""
_LEAST_COVERAGE = 0.95
_MOST_CLIPPED = 0.05


@final
@dataclass(frozen=True)
class LogEstimate:
    """One metric of one ranking, as estimated from clicks.

    >>> import swaprank as sr
    >>> shown = {"qid": [7] * 4, "docid": [1, 2] * 2, "position": [1, 2] * 2}
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], click=[1, 0, 0, 1], **shown)
    >>> (estimate,) = sr.clicks.evaluate(log, [1.0, 2.0], "p@1", propensities=sr.clicks.Propensities([1.0, 0.8]))
    >>> estimate.mean  # document 2 was clicked once in 1.6 expected examinations
    0.625
    """

    metric: str
    mean: float
    low: float
    high: float
    """95% confidence interval of the mean over sessions."""
    n_sessions: int
    n_effective: float
    """The number of clicks that would tell as much if all counted the same."""
    coverage: float
    """The share of the ranking, weighted by the metric's discounts, that the log has ever shown."""
    clipped: float
    """The share of rows with a propensity below the clip."""
    n_units: int
    """The number of sessions, or of queries, that the interval is for."""

    @property
    def is_supported(self) -> bool:
        """True if the log can answer: enough clicks, on documents that the ranking would show."""
        return not self.doubts()

    def doubts(self) -> list[str]:
        """Sentences that speak against the estimate; empty if nothing does."""
        doubts = []
        if self.n_effective < _FEWEST_CLICKS:
            sessions = self.n_sessions * _FEWEST_CLICKS / max(self.n_effective, 1e-9)
            needed = f", from about {sessions:,.2g} sessions" if sessions < 1e9 else ""
            doubts.append(
                f"The log does not support an answer: its clicks on the documents that this ranking puts first tell as "
                f"much as {int(self.n_effective):,} clicks of equal weight, and {_FEWEST_CLICKS} are needed{needed}."
            )
        if self.n_units < 2:
            doubts.append("The log does not support an answer: an interval takes at least two sessions, or queries.")
        if self.coverage < _LEAST_COVERAGE:
            doubts.append(
                f"The log never showed {1 - self.coverage:.0%} of what this ranking would show; it counts as not "
                "relevant, so that the estimate is a lower bound."
            )
        if self.clipped > _MOST_CLIPPED:
            doubts.append(
                f"{self.clipped:.0%} of the rows have a propensity below the clip, so that the estimate is too low."
            )
        return doubts

    def sentence(self) -> str:
        """The result in words."""
        doubts = self.doubts()
        size = (
            f"{self.metric} would be {decimals(self.mean)} (95% interval {decimals(self.low)} to {decimals(self.high)})"
        )
        return " ".join([f"{size}.", *doubts])


@final
@dataclass(frozen=True, eq=False, repr=False)
class LogEvaluation(EstimateTable[LogEstimate]):
    """The estimated metrics of a ranking; prints as a table with doubts in words.

    >>> import swaprank as sr
    >>> shown = {"qid": [7] * 4, "docid": [1, 2] * 2, "position": [1, 2] * 2}
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], click=[1, 0, 0, 1], **shown)
    >>> bias = sr.clicks.Propensities([1.0, 0.8])
    >>> evaluation = sr.clicks.evaluate(log, [1.0, 2.0], ["p@1", "mrr"], propensities=bias)
    >>> isinstance(evaluation, sr.clicks.LogEvaluation), evaluation["p@1"].mean
    (True, 0.625)
    """

    contradictions: tuple[str, ...] = ()
    """Sentences about what in the log contradicts the position-based model, on which the estimates rest."""

    def _name_of(self, metric: str | Metric) -> str:
        return str(check_countable(parse_metrics(metric)[0]))

    def _blocks(self) -> Blocks:
        header = ["metric", "estimate", "95% interval", "sessions", "effective clicks", "coverage"]
        rows = [
            [
                row.metric,
                decimals(row.mean),
                f"{decimals(row.low)} to {decimals(row.high)}",
                f"{row.n_sessions:,}",
                f"{row.n_effective:,.0f}",
                f"{row.coverage:.1%}",
            ]
            for row in self.results
        ]
        doubts = list(dict.fromkeys(f"{row.metric}: {doubt}" for row in self.results for doubt in row.doubts()))
        words = [*doubts, *self.contradictions]
        return [Table(header, rows), *(["\n".join(words)] if words else [])]

    def _values(self) -> dict[str, Any]:
        return {**super()._values(), "contradictions": list(self.contradictions)}


def evaluate(
    log: ClickLog,
    ranking: Any,
    metrics: str | Metric | Iterable[str | Metric] = "dcg@10(gain=linear)",
    *,
    propensities: Propensities | None = None,
    data: Dataset | None = None,
    estimator: Estimator = "self_normalized",
    clip: float = 0.0,
    units: Units = "sessions",
) -> LogEvaluation:
    """Estimate the metrics of a ranking that was never shown, from clicks on the rankings that were.

    Documents count with their relevance, the probability that people who examine them click. Metrics are sums of
    discounted gains, such as dcg(gain=linear), p@k and rbp; or cascades, such as mrr and success@k. If the log has
    propensities, each row counts with the inverse of its own: then it does not matter if the production ranker
    knew the user.

    Args:
        log: The clicks.
        ranking: A fitted ranker, or scores: one per (query, document) pair of the log, or per row of `data`.
        metrics: One or several metrics, or their names.
        propensities: The position bias, taken as exact. If None, it is estimated from this log, and intervals also
            contain the uncertainty of that estimate.
        data: All documents that the ranking orders, with docid, if it would also show others than the log did. The
            default is the documents of the log.
        estimator: "self_normalized", or "ips", inverse propensity scores; see `unbiased`.
        clip: For "ips": divide by a propensity of at least this. This trades less noise for bias.
        units: What intervals are for: "sessions" for other sessions with the same queries, "queries" for other queries,
            too, which takes many queries, and gives wider intervals.

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(50, random_state=0)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 100_000, random_state=0)
    >>> shown = log.features[:, log.feature_names.index("title_match")]
    >>> print(sr.clicks.evaluate(log, shown, ["dcg@10(gain=linear)", "mrr"], propensities=truth.propensities))
    metric               estimate      95% interval  sessions  effective clicks  coverage
    -------------------  --------  ----------------  --------  ----------------  --------
    dcg@10(gain=linear)    2.0184  1.7454 to 2.2914   100,000               190    100.0%
    mrr                    0.6932  0.5702 to 0.8162   100,000                38    100.0%
    """
    view = view_of(log, propensities, estimator, clip, units)
    ranked = ranked_pairs(log, ranking, data)
    results = tuple(estimate(view, metric, ranked) for metric in countable_metrics(metrics))
    return LogEvaluation(results, tuple(quick_check(log)))


def countable_metrics(metrics: str | Metric | Iterable[str | Metric]) -> list[Cumulative | Cascade]:
    """The metrics, each of which clicks can tell."""
    return [check_countable(metric) for metric in parse_metrics(metrics)]


def estimate(view: LogView, metric: Cumulative | Cascade, ranked: RankedPairs) -> LogEstimate:
    """Estimate one metric of one ranking."""
    expected = expect(view, [ranked])
    value = log_value(view.log, view.shares, ranked, metric, expected.relevance)
    spread = spread_of(view, value, expected)
    # Without a click, nothing tells how far the estimate is off.
    interval = spread.interval(spread.mean) if view.log.click.any() else (value.low, value.high)
    mean, low, high = (float(np.clip(each, value.low, value.high)) for each in (spread.mean, *interval))
    return LogEstimate(
        metric=str(metric),
        mean=mean,
        low=low,
        high=high,
        n_sessions=view.log.n_sessions,
        n_effective=spread.n_effective,
        coverage=value.coverage,
        clipped=value.clipped,
        n_units=spread.n_units,
    )
