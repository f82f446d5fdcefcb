"""RankNet's cost of each query [Burges2005, Eq. 3; Burges2006, Eq. 8]: what its gradients go down.

A pair whose first document is ahead by m = sigma (s_i - s_j), with the target P, costs log(1 + exp(-m)) + (1 - P) m. As
log(1 + exp(-m)) = max(0, -m) + log(1 + exp(-|m|)), and the last term is at most log 2, hundreds of pairs are multiplied
before one logarithm is taken. Long lists take the cells of pair_sums.py, in about n log n.
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp, log, log1p
from swaprank.kernels import kernel
from swaprank.lanes import sum_of
from swaprank.metrics.ordering import rank_documents
from swaprank.objectives.objective import BoundKernelObjective
from swaprank.objectives.pair_sums import BLOCK, WIDTH, Cells, descending, make_cells, merge_sorted
from swaprank.objectives.query_gradients import WIDEST_RANGE, longest_of
from swaprank.objectives.ranknet_objective import LONG_LIST, GivenPairsArrays, LongRankNetArrays, RankNetArrays
from swaprank.threads import run_in_threads

_FAR = 40.0
"""Beyond this difference of sigma * score, a pair costs 0 or the difference, in double precision."""
_LARGE = 1e150
"""The logarithm of a product is taken when it becomes larger than this."""


def ranknet_costs(bound: BoundKernelObjective, scores: Floats) -> Floats:
    """The cost of each query, the sum over its pairs, at the scores of all documents, query after query.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.ranknet_costs import ranknet_costs
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 1, 1], qid=[1, 1, 1])
    >>> bound = sr.objectives.RankNetObjective().bind(data, random_state=0, n_threads=1)
    >>> ranknet_costs(bound, np.zeros(3)).round(4).tolist()  # Two pairs, log 2 each
    [1.3863]
    """
    arrays, costs = bound.arrays, np.empty(len(bound.indptr) - 1)

    def work(first: int, last: int) -> None:
        if isinstance(arrays, GivenPairsArrays):
            given_pairs_costs(arrays, scores, first, last, costs)
        elif isinstance(arrays, LongRankNetArrays):
            long_lists_costs(arrays.lists, bound.indptr, scores, first, last, costs)
        else:
            lists_costs(arrays, bound.indptr, scores, first, last, costs)

    run_in_threads(work, bound.chunks)
    return costs


def total_cost(bound: BoundKernelObjective, scores: Floats) -> float:
    """The cost of all queries. A query counts by the mean weight of its documents, if they have weights."""
    costs = ranknet_costs(bound, scores)
    if len(bound.weights) > 0:
        costs *= np.add.reduceat(bound.weights, bound.indptr[:-1]) / np.diff(bound.indptr)
    return float(costs.sum())


@kernel
def pair_cost(margin: float) -> float:
    """log(1 + exp(-margin)), without overflow."""
    return log1p(exp(-abs(margin))) + max(0.0, -margin)


@kernel
def given_pairs_costs(arrays: GivenPairsArrays, scores: Floats, first: int, last: int, costs: Floats) -> None:
    """Fill costs[q] for the queries from first to last, from the given pairs with their targets P."""
    for query in range(first, last):
        total = 0.0
        for pair in range(arrays.pair_indptr[query], arrays.pair_indptr[query + 1]):
            margin = arrays.sigma * (scores[arrays.above[pair]] - scores[arrays.below[pair]])
            total += pair_cost(margin) + (1.0 - arrays.targets[pair]) * margin
        costs[query] = total


@kernel
def read_list(arrays: RankNetArrays, indptr: Ints, scores: Floats, query: int, labels: Floats, x: Floats) -> int:
    """Labels and x = sigma * score of a query's documents by descending label; returns their number."""
    order = arrays.by_label[indptr[query] : indptr[query + 1]]
    for r in range(len(order)):
        labels[r] = arrays.labels[order[r]]
        x[r] = arrays.sigma * scores[order[r]]
    return len(order)


@kernel
def lists_costs(arrays: RankNetArrays, indptr: Ints, scores: Floats, first: int, last: int, costs: Floats) -> None:
    """Fill costs[q] for the queries from first to last, from labels."""
    longest = longest_of(indptr, first, last)
    labels, x, work = np.empty(longest), np.empty(longest), np.empty((3, longest))
    for query in range(first, last):
        n = read_list(arrays, indptr, scores, query, labels, x)
        costs[query] = list_cost(labels[:n], x[:n], arrays.ties, work) / arrays.divisors[query]


@kernel
def long_lists_costs(arrays: RankNetArrays, indptr: Ints, scores: Floats, first: int, last: int, costs: Floats) -> None:
    """`lists_costs` for lists of any length."""
    longest = longest_of(indptr, first, last)
    labels, x, work = np.empty(longest), np.empty(longest), np.empty((3, longest))
    for query in range(first, last):
        n = read_list(arrays, indptr, scores, query, labels, x)
        if n > LONG_LIST:
            total = long_list_cost(labels[:n], x[:n], arrays.ties, work)
        else:
            total = list_cost(labels[:n], x[:n], arrays.ties, work)
        costs[query] = total / arrays.divisors[query]


@kernel
def list_cost(labels: Floats, x: Floats, ties: bool, work: Floats) -> float:
    """The cost of all pairs of a list by descending label; x = sigma * score.

    work: Three rows as long as the list.
    """
    highest, lowest = -np.inf, np.inf
    for r in range(len(x)):
        highest = max(highest, x[r])
        lowest = min(lowest, x[r])
    e, near, behind = work[0], work[1], work[2]
    narrow = highest - lowest < WIDEST_RANGE
    for r in range(len(x)):
        e[r] = exp(x[r] - highest) if narrow else 1.0
    total, product, end = 0.0, 1.0, 0
    for i in range(len(x)):
        while end < len(x) and labels[end] == labels[i]:
            end += 1
        first = i + 1 if ties else end
        if narrow:
            mine = e[i]
            for j in range(first, len(x)):
                near[j] = 1.0 + min(mine, e[j]) / max(mine, e[j])
        else:
            for j in range(first, len(x)):
                near[j] = 1.0 + exp(-abs(x[i] - x[j]))
        for j in range(first, end):
            behind[j] = 0.5 * abs(x[j] - x[i])
        for j in range(end, len(x)):
            behind[j] = max(0.0, x[j] - x[i])
        for j in range(first, len(x)):
            product *= near[j]
            if product > _LARGE:
                total += log(product)
                product = 1.0
        total += sum_of(behind, first, len(x))
    return total + log(product)


@kernel
def long_list_cost(labels: Floats, x: Floats, ties: bool, work: Floats) -> float:
    """`list_cost` in about n log n.

    Parts of the list, each at most a block or all of one label, are paired with the next one and merged, until one part
    is left.
    """
    n, parts, start, total = len(x), 0, 0, 0.0
    order, scratch, ends = np.arange(n), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    ends[0] = 0
    while start < n:
        stop = end_of_part(labels, start)
        own = order[start:stop]
        rank_documents(x, own, scratch, work[0])
        if stop - start <= BLOCK:
            total += list_cost(labels[start:stop], x[start:stop], ties, work)
        elif ties:
            # Every pair twice, P = 1/2 being the mean of both directions, and each document with itself.
            total += 0.5 * (two_sets_cost(x, own, own) - (stop - start) * log(2.0))
        parts += 1
        ends[parts], start = stop, stop
    while parts > 1:
        for part in range(0, parts - 1, 2):
            first, middle, last = ends[part], ends[part + 1], ends[part + 2]
            total += two_sets_cost(x, order[first:middle], order[middle:last])
            merge_sorted(x, order[first:last], middle - first, scratch)
        for part in range(1, (parts + 1) // 2 + 1):
            ends[part] = ends[min(2 * part, parts)]
        parts = (parts + 1) // 2
    return total


@kernel
def end_of_part(labels: Floats, start: int) -> int:
    """The end of as many whole levels as fit into a block, or of one level."""
    end = stop = start
    while stop < len(labels):
        while stop < len(labels) and labels[stop] == labels[end]:
            stop += 1
        if end > start and stop - start > BLOCK:
            return end
        end = stop
    return end


@kernel
def two_sets_cost(x: Floats, up: Ints, low: Ints) -> float:
    """The cost of the pairs between documents that should be above and others, both by descending x = sigma * score.

    It is the sum of log(1 + exp(z_up - z_low)) with z = -x: from the nodes of cells that are near each other, and
    z_up - z_low where documents are above by far that should be below.
    """
    z_up, z_low = descending(x, up), descending(x, low)
    upper, lower = make_cells(z_up), make_cells(z_low)
    begin, total, n_far, sum_far = 0, 0.0, 0, 0.0
    for a in range(len(upper.base)):
        while begin < len(lower.base) and upper.base[a] - lower.base[begin] >= _FAR + WIDTH:
            for r in range(lower.first[begin], lower.first[begin + 1]):
                sum_far += z_low[r] - z_low[0]
            n_far = lower.first[begin + 1]
            begin += 1
        if n_far > 0:
            for r in range(upper.first[a], upper.first[a + 1]):
                total += n_far * (z_up[r] - z_low[0]) - sum_far
        for b in range(begin, len(lower.base)):
            distance = lower.base[b] - upper.base[a]
            if distance >= _FAR + WIDTH:
                break
            total += near_cells_cost(upper, a, lower, b, exp(distance))
    return total


@kernel
def near_cells_cost(upper: Cells, a: int, lower: Cells, b: int, q: float) -> float:
    """The cost of the pairs of two cells; q converts the lower cell's e to the base of the upper one."""
    total = 0.0
    for u in range(upper.node[a], upper.node[a + 1]):
        own = 0.0
        for v in range(lower.node[b], lower.node[b + 1]):
            own += lower.weight[v] * log1p(upper.e[u] / (q * lower.e[v]))
        total += upper.weight[u] * own
    return total
