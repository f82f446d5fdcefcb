"""Sums of a hinge loss over all pairs of a query in n log n, for any number of labels [Chapelle2010b].

The margin of a pair is m = 1 - (s_i - s_j): i is the better document, and m > 0 is too little of a lead. The loss is

    0 if m <= 0,    k m² / 2 if m < width (the pair is near),    k width (m - width / 2) beyond (it is far).

With an infinite width this is the squared hinge loss; with k = 1 / width, the hinge loss with a rounded corner.

Documents are sorted by descending score. From one better document to the next, the worse documents that are near or
far enter from the top and leave there, because margins only grow. A Fenwick tree over the labels has those that have
entered, so that those with a smaller label are summed in log(labels) steps. The same backwards gives the sums of the
worse documents.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.ordering import rank_documents

FEW = 8
"""The largest number of levels whose sums are kept one by one."""
_IS_BELOW = np.triu(np.ones((FEW, FEW)), 1)


class SortedLists(NamedTuple):
    """The documents of every query by descending score."""

    order: Ints
    scores: Floats
    """The scores minus the median of their query, for precision."""
    level: Ints
    near: Floats
    """The number of near pairs of each document, filled in by `hinge_queries`."""


def sorted_lists(n: int) -> SortedLists:
    """Allocate the lists of n documents."""
    return SortedLists(np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64), np.empty(n))


@kernel
def sort_queries(
    level: Ints, indptr: Ints, scores: Floats, longest: int, first: int, last: int, lists: SortedLists
) -> None:
    """Fill in the lists of the queries from first to last."""
    scratch, gathered = np.empty(longest, np.int64), np.empty(longest)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        order = lists.order[start:stop]
        for r in range(start, stop):
            lists.order[r] = r
        rank_documents(scores, order, scratch, gathered)
        for r in range(start, stop):
            lists.scores[r] = scores[lists.order[r]] - scores[lists.order[(start + stop) // 2]]
            lists.level[r] = level[lists.order[r]]


@kernel
def add_level(sums: Floats, level: int, value: float) -> None:
    """Add a value at a level: to the sums of all higher levels if there are few, otherwise to a Fenwick tree."""
    if len(sums) <= FEW:
        for k in range(FEW):  # no branch depends on the level
            sums[k] += value * _IS_BELOW[level, k]
        return
    at = level + 1
    while at < len(sums):
        sums[at] += value
        at += at & -at


@kernel
def sum_below(sums: Floats, level: int) -> float:
    """Return the sum of the values at lower levels."""
    if len(sums) <= FEW:
        return float(sums[level])
    total, at = 0.0, level
    while at > 0:
        total += sums[at]
        at -= at & -at
    return total


@kernel
def sum_pairs(
    s: Floats, level: Ints, n_levels: int, better: bool, width: float, values: Floats, trees: Floats, n_sums: int,
    sums: Floats,
) -> None:  # fmt: skip
    """Sum over the pairs of each document of a sorted list, as the better one or as the worse one.

    Row 0 of `sums` has the sum of the partners' values over near pairs, row 1 the number of near pairs, and row 2 that
    of far pairs; only the first `n_sums` are computed.
    """
    n, size = len(s), max(n_levels + 1, FEW)
    for t in range(n_sums):
        for k in range(size):
            trees[t, k] = 0.0
    near, n_near, n_far = trees[0, :size], trees[1, :size], trees[2, :size]
    entered, left = 0, 0
    for step in range(n):
        p = step if better else n - 1 - step
        while entered < n:
            e = entered if better else n - 1 - entered
            # The same expression in both directions: both ends of a pair must agree on what it is.
            if not ((1.0 - s[p]) + s[e] if better else (1.0 - s[e]) + s[p]) > 0.0:
                break
            own = level[e] if better else n_levels - 1 - level[e]
            add_level(near, own, values[e])
            if n_sums > 1:
                add_level(n_near, own, 1.0)
            entered += 1
        while left < entered:
            e = left if better else n - 1 - left
            if not ((1.0 - s[p]) + s[e] if better else (1.0 - s[e]) + s[p]) >= width:
                break
            own = level[e] if better else n_levels - 1 - level[e]
            add_level(near, own, -values[e])
            if n_sums > 1:
                add_level(n_near, own, -1.0)
                add_level(n_far, own, 1.0)
            left += 1
        mine = level[p] if better else n_levels - 1 - level[p]
        sums[0, p] = sum_below(near, mine)
        if n_sums > 1:
            sums[1, p] = sum_below(n_near, mine)
        if n_sums > 2:
            sums[2, p] = sum_below(n_far, mine)


@kernel
def levels_of(level: Ints) -> int:
    """Return the number of different labels in a list."""
    highest = 0
    for r in range(len(level)):
        highest = max(highest, level[r])
    return highest + 1


@kernel
def hinge_queries(
    lists: SortedLists, indptr: Ints, curvature: float, width: float, longest: int, first: int, last: int,
    totals: Floats, grad: Floats,
) -> None:  # fmt: skip
    """Compute the gradient of each query's loss with respect to the scores, and four sums over its pairs.

    totals[q]: sum of m over near pairs, sum of m² over near pairs, the number of far pairs, sum of m over far pairs.
    """
    up, down, trees = np.zeros((3, longest)), np.zeros((3, longest)), np.zeros((3, longest + FEW))
    slope, n_sums = (curvature * width, 3) if width < np.inf else (0.0, 2)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        s, level = lists.scores[start:stop], lists.level[start:stop]
        n_levels = levels_of(level)
        sum_pairs(s, level, n_levels, True, width, s, trees, n_sums, up)
        sum_pairs(s, level, n_levels, False, width, s, trees, n_sums, down)
        near, squares, n_far, far = 0.0, 0.0, 0.0, 0.0
        for p in range(stop - start):
            above = up[1, p] * (1.0 - s[p]) + up[0, p]
            below = down[1, p] * (1.0 + s[p]) - down[0, p]
            near += above
            # The sum of m² = m (1 - s_i + s_j) over pairs, by documents.
            squares += above + s[p] * (below - above)
            n_far += up[2, p]
            far += up[2, p] + s[p] * (down[2, p] - up[2, p])
            lists.near[start + p] = up[1, p] + down[1, p]
            grad[lists.order[start + p]] = curvature * (below - above) + slope * (down[2, p] - up[2, p])
        totals[query, 0], totals[query, 1], totals[query, 2], totals[query, 3] = near, squares, n_far, far


@kernel
def hessian_queries(
    lists: SortedLists, indptr: Ints, curvature: float, width: float, longest: int, first: int, last: int,
    move: Floats, product: Floats,
) -> None:  # fmt: skip
    """Multiply each query's hessian by a move v of the scores: k times the sum of v_i - v_j over near pairs."""
    up, down, trees = np.empty((1, longest)), np.empty((1, longest)), np.empty((3, longest + FEW))
    v = np.empty(longest)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        s, level = lists.scores[start:stop], lists.level[start:stop]
        n_levels = levels_of(level)
        for p in range(stop - start):
            v[p] = move[lists.order[start + p]]
        sum_pairs(s, level, n_levels, True, width, v, trees, 1, up)
        sum_pairs(s, level, n_levels, False, width, v, trees, 1, down)
        for p in range(stop - start):
            product[lists.order[start + p]] = curvature * (lists.near[start + p] * v[p] - up[0, p] - down[0, p])
