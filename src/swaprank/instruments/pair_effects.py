"""Effective pairs of a metric: those whose lambda is not zero [Donmez2009, section 7.2]."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import longest_list, sum_by_query
from swaprank.data.row_values import check_scores
from swaprank.errors import ParameterError
from swaprank.kernels import kernel
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.relevance_kernels import count_pairs
from swaprank.metrics.terms import PAIRWISE, WORK_ROWS, MetricTerms, prepare_swaps, rows_that_count, swap_gain_rows
from swaprank.objectives.constructions import (
    CONSTRUCTIONS,
    DISCRETE_BOUNDED,
    LOCAL_COST,
    LOCAL_GRADIENT,
    PAIRS,
    SPRING,
    ConstructionArrays,
)
from swaprank.objectives.diagonal import without_diagonal
from swaprank.objectives.lambdarank_objective import LambdaArrays, LambdaRankObjective
from swaprank.objectives.long_lists import LongLambdaArrays
from swaprank.objectives.objective_names import PairwiseObjective, pairwise_objective
from swaprank.objectives.query_gradients import longest_of
from swaprank.objectives.ranknet_objective import GivenPairsArrays
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table
from swaprank.threads import run_in_threads


@final
@dataclass(frozen=True, eq=False, repr=False)
class EffectivePairs(Result):
    """The numbers of pairs of each query; prints as a table of their sums. Its data frame has one row per query.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3]], [0, 0, 1], qid=[7, 7, 7])
    >>> pairs = sr.instruments.effective_pairs("map", data, [3, 2, 1])
    >>> isinstance(pairs, sr.instruments.EffectivePairs)
    True
    >>> pairs.to_frame()
       qid  pairs  distinguished  effective
    0    7      2              2          2
    """

    name: str
    """The objective: "ranknet", or a metric."""
    qids: AnyArray
    pairs: Floats
    """Pairs of different labels; for RankNet on a data set with `pairs`, these."""
    distinguished: Floats
    """Pairs of different gains: fewer if the metric gives several labels the same gain."""
    effective: Floats
    """Pairs whose lambda is not zero."""

    @property
    def n_pairs(self) -> int:
        """The number of pairs of all queries."""
        return int(self.pairs.sum())

    @property
    def n_effective(self) -> int:
        """The number of effective pairs of all queries."""
        return int(self.effective.sum())

    def _blocks(self) -> Blocks:
        rows = [
            [words, f"{counts.sum():,.0f}", f"{counts.mean():,.1f}", _share(counts.sum(), self.pairs.sum())]
            for words, counts in (
                ("of different labels", self.pairs),
                ("of different gains", self.distinguished),
                ("with a lambda", self.effective),
            )
        ]
        return [Table([self.name, "pairs", "per query", "share"], rows)]

    def _values(self) -> dict[str, Any]:
        return {
            "objective": self.name,
            "n_queries": len(self.qids),
            "n_pairs": self.n_pairs,
            "n_distinguished": int(self.distinguished.sum()),
            "n_effective": self.n_effective,
        }

    def _columns(self) -> dict[str, list[Any]]:
        counts = {"pairs": self.pairs, "distinguished": self.distinguished, "effective": self.effective}
        return {"qid": self.qids.tolist(), **{name: each.astype(np.int64).tolist() for name, each in counts.items()}}


def effective_pairs(objective: str | Metric | PairwiseObjective, data: Dataset, scores: ArrayLike) -> EffectivePairs:
    """Count the pairs of each query, and those whose lambda is not zero at these scores.

    Args:
        objective: "ranknet", a metric or its name for LambdaRank, or an objective.
        data: The judged documents.
        scores: One per row, in the order of the rows; ties are broken as in training.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3], [4]], [0, 0, 1, 1], qid=[1, 1, 1, 1])
    >>> print(sr.instruments.effective_pairs("mrr", data, [4, 3, 2, 1]))
    mrr                  pairs  per query   share
    -------------------  -----  ---------  ------
    of different labels      4        4.0  100.0%
    of different gains       4        4.0  100.0%
    with a lambda            4        4.0  100.0%
    >>> sr.instruments.effective_pairs("mrr", data, [4, 1, 3, 2]).n_effective  # all but the swap of the last two
    3
    >>> sr.instruments.effective_pairs("mrr(swaps=raising)", data, [4, 1, 3, 2]).n_effective  # [Donmez2009, Eq. 11]
    2
    """
    chosen = pairwise_objective(objective)
    bound = chosen.bind(data, random_state=0, n_threads=None)
    arrays, indptr = without_diagonal(bound.arrays), bound.indptr
    arrays = arrays.lists if isinstance(arrays, LongLambdaArrays) else arrays
    here = np.array(data.by_query(check_scores(scores, len(data))))
    construction = CONSTRUCTIONS.get(getattr(chosen, "construction", ""), PAIRS)
    if construction == DISCRETE_BOUNDED:
        raise ParameterError("construction='discrete_bounded' moves documents one by one: it has no pairs to count.")
    margin = arrays.margin if isinstance(arrays, ConstructionArrays) else np.inf
    weighted = isinstance(arrays, ConstructionArrays | LambdaArrays) and (
        arrays.terms.family != PAIRWISE or margin < np.inf
    )
    labels = np.array(data.by_query(data.labels))
    pairs, distinguished, effective = (np.zeros(data.n_queries) for _ in range(3))
    count_pairs(labels, indptr, longest_list(indptr), pairs)
    gains = arrays.terms.gains if weighted else labels
    count_pairs(gains, indptr, longest_list(indptr), distinguished)
    if isinstance(arrays, GivenPairsArrays):
        pairs = distinguished = np.diff(arrays.pairs.indptr).astype(np.float64)
        effective = sum_by_query(arrays.pairs.weight > 0, arrays.pairs.indptr)
    elif not weighted:
        lengths = np.diff(indptr)
        effective = lengths * (lengths - 1) / 2.0 if getattr(chosen, "ties", False) else distinguished
    else:
        run_in_threads(
            lambda first, last: count_effective(
                construction, arrays.terms, arrays.tie_order, indptr, here, margin, first, last, effective
            ),
            bound.chunks,
        )
    name = "ranknet"
    if isinstance(chosen, LambdaRankObjective) and isinstance(arrays, ConstructionArrays | LambdaArrays):
        name = str(chosen.metric)
    return EffectivePairs(name, data.qids, pairs, distinguished, effective)


@kernel
def count_effective(
    construction: int, terms: MetricTerms, tie_order: Ints, indptr: Ints, scores: Floats, margin: float,
    first: int, last: int, counts: Floats,
) -> None:  # fmt: skip
    """counts[q]: pairs of the queries from first to last whose weight is not zero."""
    longest = longest_of(indptr, first, last)
    order, scratch = np.empty(longest, np.int64), np.empty(longest, np.int64)
    gains, swap, work = np.empty(longest), np.empty((1, longest)), np.empty((WORK_ROWS, longest + 1))
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = tie_order[start + r]
        rank_documents(scores, order[:n], scratch, gains)
        for r in range(n):
            gains[r] = terms.gains[order[r]]
        counts[query], below = 0.0, 0
        rows = rows_that_count(terms, query, n)
        if rows == 0:
            continue
        prepare_swaps(terms, query, gains[:n], work)
        for i in range(n if construction == SPRING else rows):
            if i < rows:
                swap_gain_rows(terms, query, gains[:n], i, i + 1, work, swap)
            while below < n and (below <= i or gains[below] == gains[i]):
                below += 1
            for j in range(i + 1, n):
                change = swap[0, j] if i < rows else 0.0
                nearest = j == below or (below == i + 1 and gains[j] == gains[below])
                chosen = (construction != LOCAL_GRADIENT or j == i + 1) and (construction != LOCAL_COST or nearest)
                counted = change != 0.0 or construction == SPRING
                near = gains[i] < gains[j] or scores[order[i]] - scores[order[j]] <= margin
                counts[query] += gains[i] != gains[j] and chosen and counted and near


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole > 0 else "-"
