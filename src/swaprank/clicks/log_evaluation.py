"""Evaluate a ranking that was never shown, from a log of clicks on other rankings."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.bias_estimation import position_bias
from swaprank.clicks.click_log import ClickLog
from swaprank.clicks.log_columns import rows_of_pairs
from swaprank.clicks.log_values import LogValue, bias_influence, check_countable, log_value, new_ranks
from swaprank.clicks.propensities import Propensities
from swaprank.clicks.relevance_estimates import Estimator, row_shares
from swaprank.clicks.training_data import pair_data
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import Places, query_keys
from swaprank.data.grouping import query_of_row
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError, MetricError, did_you_mean
from swaprank.evaluation.significance import mean_interval
from swaprank.metrics.cascade import Cascade
from swaprank.metrics.cumulative import Cumulative
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, decimals

_FEWEST_CLICKS = 100
"""The least effective number: an interval from fewer is too short, because some documents have no click yet."""
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

    @property
    def is_supported(self) -> bool:
        """True if the log can answer: enough clicks, on documents that the ranking would show."""
        return not self.doubts()

    def doubts(self) -> list[str]:
        """Sentences that speak against the estimate; empty if nothing does."""
        doubts = []
        if self.n_effective < _FEWEST_CLICKS:
            doubts.append(
                f"The log does not support an answer: its clicks on the documents that this ranking puts first tell as "
                f"much as {self.n_effective:,.0f} clicks of equal weight, and {_FEWEST_CLICKS} are needed."
            )
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
class LogEvaluation(Result):
    """The estimated metrics of a ranking; prints as a table with doubts in words.

    >>> import swaprank as sr
    >>> shown = {"qid": [7] * 4, "docid": [1, 2] * 2, "position": [1, 2] * 2}
    >>> log = sr.clicks.ClickLog(session=[1, 1, 2, 2], click=[1, 0, 0, 1], **shown)
    >>> bias = sr.clicks.Propensities([1.0, 0.8])
    >>> evaluation = sr.clicks.evaluate(log, [1.0, 2.0], ["p@1", "mrr"], propensities=bias)
    >>> isinstance(evaluation, sr.clicks.LogEvaluation), evaluation["mrr"].mean
    (True, 0.71875)
    """

    results: tuple[LogEstimate, ...]

    def __getitem__(self, metric: str | Metric) -> LogEstimate:
        by_name = {result.metric: result for result in self.results}
        wanted = str(check_countable(parse_metrics(metric)[0]))
        if wanted not in by_name:
            raise MetricError(f"'{metric}' was not evaluated; {did_you_mean(wanted, by_name)}")
        return by_name[wanted]

    def __iter__(self) -> Iterator[LogEstimate]:
        return iter(self.results)

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
        return [Table(header, rows), *(["\n".join(doubts)] if doubts else [])]

    def _values(self) -> dict[str, Any]:
        return {"results": [{**asdict(row), "sentence": row.sentence()} for row in self.results]}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns([asdict(row) for row in self.results])


def evaluate(
    log: ClickLog,
    ranking: Any,
    metrics: str | Metric | Iterable[str | Metric] = "dcg@10",
    *,
    propensities: Propensities | None = None,
    data: Dataset | None = None,
    estimator: Estimator = "self_normalized",
    clip: float = 0.0,
) -> LogEvaluation:
    """Estimate the metrics of a ranking that was never shown, from clicks on the rankings that were.

    Documents count with their relevance, the probability that people who examine them click. Metrics are sums of
    discounted gains, such as dcg, p@k and rbp; or cascades, such as mrr and success@k.

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

    >>> import swaprank as sr
    >>> (judged,) = sr.datasets.random_search(50, random_state=0)
    >>> log, truth = sr.datasets.clicks(judged, judged.column("match"), 100_000, random_state=0)
    >>> shown = log.features[:, log.feature_names.index("title_match")]
    >>> print(sr.clicks.evaluate(log, shown, ["dcg@10", "mrr"], propensities=truth.propensities))
    metric               estimate      95% interval  sessions  effective clicks  coverage
    -------------------  --------  ----------------  --------  ----------------  --------
    dcg@10(gain=linear)    1.9527  1.8235 to 2.0819   100,000               290    100.0%
    mrr                    0.6212  0.5735 to 0.6688   100,000               111    100.0%
    """
    found = session_values(log, [ranking], metrics, propensities, data, estimator, clip)
    return LogEvaluation(tuple(_estimate(metric, value) for metric, (value,) in found))


def session_values(
    log: ClickLog,
    rankings: Iterable[Any],
    metrics: str | Metric | Iterable[str | Metric],
    propensities: Propensities | None,
    data: Dataset | None,
    estimator: Estimator,
    clip: float,
) -> list[tuple[str, list[LogValue]]]:
    """The name of each metric, and its estimates for all rankings; the arguments are those of `evaluate`.

    If the position bias is estimated from this log, sessions have an influence through it, too.
    """
    chosen = [check_countable(metric) for metric in parse_metrics(metrics)]
    bias = position_bias(log, n_resamples=0) if propensities is None else propensities
    shares = row_shares(log, bias, estimator, clip)
    ranked = [_ranked_pairs(log, ranking, data) for ranking in rankings]

    def estimate(metric: Cumulative | Cascade, ranks: Ints, list_lengths: Ints) -> LogValue:
        value = log_value(log, shares, ranks, metric, list_lengths)
        if propensities is not None:
            return value
        through_bias = bias_influence(log, bias.examination, value.by_position)
        return value._replace(influence=value.influence + through_bias)

    return [(str(metric), [estimate(metric, *pairs) for pairs in ranked]) for metric in chosen]


def _ranked_pairs(log: ClickLog, ranking: Any, data: Dataset | None) -> tuple[Ints, Ints]:
    """The new ranks of the log's pairs, from 1, and the number of ranked documents of each query of the log.

    They are ranked by a ranker or by scores. Ties are broken by a seeded shuffle.
    """
    predict = getattr(ranking, "predict", None)
    if data is None:
        everything = np.arange(log.n_pairs)
        scores = predict(pair_data(log, everything, np.zeros(log.n_pairs))) if predict else ranking
        indptr = np.array(log.pair_indptr)
        tie_order = seeded_tie_order(Places(indptr, query_keys(log.qids)), 0)
        ranks = new_ranks(check_scores(scores, log.n_pairs), indptr, tie_order)
        return ranks, np.diff(indptr)
    scores = check_scores(predict(data) if predict else ranking, len(data))
    ranks = new_ranks(data.by_query(scores), data.indptr, seeded_tie_order(data.places, 0))
    rows = rows_of_pairs(log.qids, log.pair_query, log.pair_docid, data)
    lengths = np.zeros(log.n_queries, np.int64)
    lengths[log.pair_query] = np.diff(data.indptr)[query_of_row(data.indptr, data.order)[rows]]
    return data.as_given(ranks)[rows], lengths


def feature_of_pairs(log: ClickLog, name: str) -> Floats:
    """One feature of every pair, as scores."""
    if log.features is None or name not in log.feature_names:
        raise DataError(f"the click log has no feature '{name}'; {did_you_mean(name, log.feature_names)}")
    return log.features[:, log.feature_names.index(name)].astype(np.float64)


def _estimate(metric: str, value: LogValue) -> LogEstimate:
    # The influences have a mean of 0 up to rounding.
    low, high = mean_interval(value.mean + value.influence - value.influence.mean())
    n_sessions = len(value.influence)
    return LogEstimate(metric, value.mean, low, high, n_sessions, value.n_effective, value.coverage, value.clipped)
