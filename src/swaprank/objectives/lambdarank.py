"""LambdaRank for any metric: the objective of LambdaMART, bound to a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.dataset import Dataset
from swaprank.errors import MetricError
from swaprank.kernels import query_chunks, run_in_threads, thread_count
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import seeded_arrangement
from swaprank.metrics.terms import CUSTOM, MetricTerms, longest_list
from swaprank.objectives.lambdas import lambda_queries
from swaprank.objectives.objective import BoundObjective, Objective

_PAIRS_WORTH_A_THREAD = 100_000.0


@final
@dataclass(frozen=True)
class LambdaRankObjective(Objective):
    """Pairs pushed apart with the RankNet force times what swapping them would change [Burges2010, section 4].

    Args:
        metric: What the swap changes.
        sigma: How steep the force is in the difference of scores.
        normalize: Divide each pair's weight by the difference of its scores, and scale each query's forces to
            log2(1 + their sum), as LightGBM does; else as in the paper.
        truncation: Only pairs with one document ranked within this count; all that the metric can feel if None.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.lambdarank import LambdaRankObjective
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bound = LambdaRankObjective(sr.metric("ndcg"), normalize=False).bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> bound.update(np.array([1.0, 0.0]), grad, hess)
    >>> grad.round(4).tolist()  # |dNDCG| = 1 - 1 / log2(3), rho = 1 / (1 + exp(-1))
    [0.2698, -0.2698]
    """

    metric: Metric
    sigma: float = 1.0
    normalize: bool = True
    truncation: int | None = None

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundObjective:
        """See `Objective`."""
        labels = np.array(data.by_query(data.labels))
        docid = None if data.docid is None else data.by_query(data.docid)
        terms = self.metric.bind(labels, data.indptr, docid=docid).terms
        lengths = np.diff(data.indptr).astype(np.float64)
        deep = np.minimum(lengths, min(terms.depth, self.truncation or terms.depth))
        weights = None if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        return BoundLambdaRank(
            objective=self,
            terms=terms,
            indptr=np.array(data.indptr),
            arrangement=seeded_arrangement(data.indptr, random_state),
            weights=weights,
            chunks=query_chunks(
                data.indptr,
                thread_count(n_threads),
                costs=deep * lengths + 30.0 * lengths,
                least_cost=_PAIRS_WORTH_A_THREAD,
            ),
        )


@final
@dataclass(frozen=True, eq=False)
class BoundLambdaRank(BoundObjective):
    """LambdaRank bound to one data set."""

    objective: LambdaRankObjective
    terms: MetricTerms
    indptr: Ints
    arrangement: Ints
    """Documents in the order that decides between tied scores: shuffled, for files sorted by label must not help."""
    weights: Floats | None
    chunks: list[tuple[int, int]]

    def update(self, scores: Floats, grad: Floats, hess: Floats) -> None:
        """See `BoundObjective`."""
        rule = self.objective
        truncation = np.iinfo(np.int64).max if rule.truncation is None else rule.truncation
        longest = longest_list(self.indptr)

        def work(first: int, last: int) -> None:
            lambda_queries(
                self.terms, self.indptr, self.arrangement, scores, float(rule.sigma), rule.normalize, truncation,
                longest, first, last, grad, hess,
            )  # fmt: skip

        run_in_threads(work, self.chunks)
        if self.terms.family == CUSTOM and not np.isfinite(grad.sum()):
            raise MetricError(
                f"{rule.metric}: evaluate failed or gave no finite number for a list with two documents swapped."
            )
        if self.weights is not None:
            grad *= self.weights
            hess *= self.weights
