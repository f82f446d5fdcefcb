"""Agreement of a ranking with the labels as a whole: Kendall's tau, Spearman's rho, compatibility."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.metrics.evaluation_only import EvaluationMetric, JudgedQuery, OfOrder
from swaprank.metrics.metric import BoundMetric
from swaprank.metrics.terms import Lists


@final
@dataclass(frozen=True, kw_only=True)
class Compatibility(EvaluationMetric):
    """Rank-biased overlap of the list with the ideal list [Clarke2021].

    The ideal list has the judged documents with labels above 0 by falling label; equal labels keep the order of the
    ranking, and those that were not retrieved come last among them. With normalize=True it is divided by its largest
    possible value.

    >>> import swaprank as sr
    >>> sr.metrics.Compatibility().mean([2, 1, 0], [3, 2, 1], [0, 3])
    1.0
    """

    names: ClassVar = ("compat", "compatibility")
    title: ClassVar = "compatibility with the ideal list"
    takes_k: ClassVar = False
    rel: ClassVar = 1  # type: ignore[misc]
    p: float = 0.95
    normalize: bool = True

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`."""
        wanted = query.pool_labels[query.pool_labels > 0]
        if len(wanted) == 0:
            return None
        levels = np.unique(wanted)[::-1]
        starts = {level: int((wanted > level).sum()) for level in levels.tolist()}
        depth = max(len(query.labels), len(wanted))
        weights = self.p ** np.arange(depth)
        total, shares = weights.sum(), weights / np.arange(1, depth + 1)
        best = (
            float((shares * np.minimum(np.arange(1, depth + 1), len(wanted))).sum() / total) if self.normalize else 1.0
        )

        def value(order: Ints) -> float:
            labels, ideal_rank = query.labels[order], np.full(len(order), -1)
            for level, start in starts.items():
                places = np.flatnonzero(labels == level)
                ideal_rank[places] = start + np.arange(len(places))
            found = ideal_rank >= 0
            both = np.maximum(ideal_rank, np.arange(len(order)))[found]
            overlap = np.cumsum(np.bincount(both, minlength=depth))
            return float((shares * overlap).sum() / total) / best

        return value


@dataclass(frozen=True, kw_only=True)
class RankCorrelation(EvaluationMetric):
    """A rank correlation of scores and labels within a query. Documents without a judgement are left out."""

    needs: ClassVar[str] = "two different labels"
    expectation: ClassVar[str] = "part of the definition"
    takes_k: ClassVar[bool] = False
    ties: ClassVar = "expected"  # type: ignore[misc]
    rel: ClassVar = 1  # type: ignore[misc]

    @abstractmethod
    def correlation(self, labels: Floats, scores: Floats) -> float:
        """The correlation of at least two documents; NaN if all scores are equal."""

    def measure_query(self, query: JudgedQuery) -> OfOrder | None:
        """See `EvaluationMetric`; equal scores matter, so that the values come from `measure_bound`."""
        different = len(np.unique(query.labels[query.judged])) > 1
        return (lambda order: self.correlation(query.labels, -order.astype(np.float64))) if different else None

    def measure_bound(self, bound: BoundMetric, scores: Floats) -> Floats:
        """See `Metric.measure_bound`."""
        values, lists = bound.terms.base.copy(), bound.lists
        judged = _judged(lists)
        for number in np.flatnonzero(~bound.terms.is_empty):
            rows = np.arange(lists.indptr[number], lists.indptr[number + 1])
            rows = rows[judged[rows]]
            found = self.correlation(lists.labels[rows], scores[rows])
            values[number] = found if found == found else 0.0
        return values


def _judged(lists: Lists) -> Floats:
    return np.asarray(lists.labels >= 0 if lists.judged is None else lists.judged)


@final
@dataclass(frozen=True, kw_only=True)
class KendallTau(RankCorrelation):
    """Kendall's tau-b of scores and labels: pairs in the right order less those in the wrong one, ties accounted for.

    >>> import swaprank as sr
    >>> round(sr.metrics.KendallTau().mean([0, 1, 2], [1, 3, 2], [0, 3]), 4)
    0.3333
    """

    names: ClassVar = ("kendall", "kendall_tau", "tau")
    title: ClassVar = "Kendall's tau-b of scores and labels, which accounts for tied scores"

    def correlation(self, labels: Floats, scores: Floats) -> float:
        """See `RankCorrelation`."""
        from scipy.stats import kendalltau

        return 0.0 if (scores == scores[0]).all() else float(kendalltau(scores, labels).statistic)


@final
@dataclass(frozen=True, kw_only=True)
class SpearmanRho(RankCorrelation):
    """Spearman's rho of scores and labels: the correlation of their ranks, equal values with their mean rank.

    >>> import swaprank as sr
    >>> round(sr.metrics.SpearmanRho().mean([0, 1, 2], [1, 3, 2], [0, 3]), 4)
    0.5
    """

    names: ClassVar = ("spearman", "spearman_rho", "rho")
    title: ClassVar = "Spearman's rho of scores and labels, tied scores with their mean rank"

    def correlation(self, labels: Floats, scores: Floats) -> float:
        """See `RankCorrelation`."""
        from scipy.stats import rankdata

        first, second = (ranks - ranks.mean() for ranks in (rankdata(scores), rankdata(labels)))
        scale = np.sqrt((first * first).sum() * (second * second).sum())
        return float((first * second).sum() / scale) if scale > 0 else 0.0
