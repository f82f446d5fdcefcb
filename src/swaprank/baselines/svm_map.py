"""SVM-MAP: a linear ranker with a large margin in average precision [Yue2007]."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.baselines.cutting_planes import CuttingPlanes
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.lanes import dot
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import rank_documents
from swaprank.parameters import parameter
from swaprank.rankers.linear_rounds import LinearProblem, RegularizationPath
from swaprank.threads import query_chunks, run_in_threads, thread_count

_PAIRS_WORTH_A_THREAD = 100_000.0


@final
class SVMMAP(RegularizationPath):
    """A structural SVM whose loss of a ranking is 1 - AP, its average precision [Yue2007].

        minimize   regularization |w|² + mean over queries of  max over rankings y of  (1 - AP(y)) - w·(F(best) - F(y))

    The features of a ranking are F(y) = mean over pairs of a relevant i and an irrelevant j of ±(x_i - x_j), + if y has
    i above j. The maximum is a bound of the loss: the best ranking must win by as much as another one is wrong.

    For given weights, the ranking with the maximum is found greedily: both groups stay sorted by score, and every
    irrelevant document is put to its best place among the relevant ones. Such rankings of all queries are one cutting
    plane: a linear bound of the cost from below. Planes are added at the weights that are best for those so far, until
    the bound and the cost differ by `tolerance` at most [Joachims2009]. C of [Yue2007] is 1 / (2 regularization).

    A query counts by the mean weight of its documents. Missing values are the mean of their feature.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_polynomial((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.baselines.SVMMAP(rel=2).fit(train)
    >>> ranker.score(test) > 0.6
    True
    """

    kind: ClassVar[str] = "svmmap"
    auto: ClassVar[Sequence[float]] = (10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5)
    alone: ClassVar[float] = 0.01
    metric: str | Metric = parameter(default="map", kw_only=False)
    rel: float = parameter(default=1, low=0, whole=False, text="Documents with labels from here on are relevant.")
    regularization: float | str | Sequence[float] = parameter(
        default="auto",
        text='A number, a tuple of numbers to choose from on a watched set, or "auto": 10 to 10^-5 in decades, or 0.01 '
        "if no set is watched. Every strength is one round, from the strongest; they share their planes.",
    )
    tolerance: float = parameter(
        default=1e-3, above=0, text="By how much the cost may be above its minimum. It is at most 1 at the start."
    )
    max_iterations: int = parameter(
        default=1000, low=1, high=10**7, text="The maximum number of planes for one strength."
    )

    def _fits(self, problem: LinearProblem, strengths: Sequence[float]) -> Iterator[tuple[Floats, float]]:
        loss, planes = _Loss(problem, float(self.rel)), CuttingPlanes(len(problem.start))
        for strength in strengths:
            for _ in range(self.max_iterations):
                weights, least_cost = planes.lowest_point(strength, 0.1 * self.tolerance)
                slope, offset = loss.plane(weights)
                gap = strength * dot(weights, weights) + offset - dot(slope, weights) - least_cost
                if gap <= self.tolerance:
                    break
                planes.add(slope, offset)
            yield problem.start + weights, gap


@final
class _Loss:
    """The mean loss of the worst rankings, as a function of the weights."""

    def __init__(self, problem: LinearProblem, rel: float) -> None:
        self.problem, self.relevant = problem, problem.labels >= rel
        lengths = np.diff(problem.indptr)
        n_relevant = sum_by_query(self.relevant, problem.indptr)
        self.pairs = n_relevant * (lengths - n_relevant)
        weights = sum_by_query(problem.document_weights, problem.indptr) / np.maximum(lengths, 1)
        weights = np.where(self.pairs > 0, weights, 0.0)
        if weights.sum() == 0.0:
            raise DataError(f"no query has documents with labels below {rel:g} and others: choose another rel.")
        self.shares = weights / weights.sum()

    def plane(self, weights: Floats) -> tuple[Floats, float]:
        """Return slope and offset of the plane that touches the mean loss at these weights minus the base ranker's."""
        problem, indptr = self.problem, self.problem.indptr
        scores = problem.score_function(problem.start + weights, problem.n_threads)
        losses, pull = np.zeros(len(indptr) - 1), np.zeros(len(scores))
        longest, threads = longest_list(indptr), thread_count(problem.n_threads)
        run_in_threads(
            lambda first, last: worst_rankings(self.relevant, indptr, scores, longest, first, last, losses, pull),
            query_chunks(indptr, threads, costs=self.pairs, least_cost=_PAIRS_WORTH_A_THREAD),
        )
        pull *= np.repeat(self.shares, np.diff(indptr))
        slope = problem.score_function.pull_back(weights, pull, problem.n_threads)
        return slope, dot(losses, self.shares) - dot(pull, scores) + dot(slope, weights)


@kernel
def worst_rankings(
    relevant: Bools, indptr: Ints, scores: Floats, longest: int, first: int, last: int, losses: Floats, pull: Floats
) -> None:
    """Find each query's ranking with the highest (1 - AP) - w·(F(best) - F(y)), greedily [Yue2007, Algorithm 2].

    The j-th irrelevant document by score, put above the k-th relevant one and all those below it, costs

        sum from k on of  (j / (j + k) - (j - 1) / (j - 1 + k)) / n_relevant - 2 (s_k - s_j) / n_pairs

    which is highest at the same place as that of document j - 1, or further down. Writes 1 - AP to `losses`, and the
    derivative of w·(F(best) - F(y)) by the score of each document to `pull`.
    """
    order, scratch, gathered = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest)
    good, bad = np.empty(longest, np.int64), np.empty(longest, np.int64)
    above = np.empty(longest + 1, np.int64)
    for query in range(first, last):
        start, n = indptr[query], indptr[query + 1] - indptr[query]
        for r in range(n):
            order[r] = start + r
        rank_documents(scores, order[:n], scratch, gathered)
        n_good, n_bad = 0, 0
        for r in range(n):
            if relevant[order[r]]:
                good[n_good], above[n_good] = order[r], 0
                n_good += 1
            else:
                bad[n_bad] = order[r]
                n_bad += 1
        if n_good == 0 or n_bad == 0:
            continue
        share, place = 2.0 / (n_good * n_bad), 0
        for j in range(1, n_bad + 1):
            total, highest, best = 0.0, 0.0, n_good
            for k in range(n_good, place, -1):
                lost = (j / (j + k) - (j - 1) / (j - 1 + k)) / n_good
                total += lost - share * (scores[good[k - 1]] - scores[bad[j - 1]])
                if total > highest:
                    highest, best = total, k - 1
            place = best
            above[place] += 1
            pull[bad[j - 1]] = -share * (n_good - place)
        passed, precision = 0, 0.0
        for k in range(n_good):
            passed += above[k]
            precision += (k + 1) / (k + 1 + passed)
            pull[good[k]] = share * passed
        losses[query] = 1.0 - precision / n_good
