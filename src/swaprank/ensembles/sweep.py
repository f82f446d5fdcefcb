"""Kernels that find every change of a metric while alpha mixes the scores of two rankers.

    s_i(alpha) = alpha a_i + (1 - alpha) b_i = b_i - alpha c_i,  c = b - a        one straight line per document

Two lines cross once, at alpha = (b_i - b_j) / (c_i - c_j), or never. At alpha = -infinity documents are ranked by
descending c. From there on every crossing swaps two neighbours, so that no further sorting is needed.
Documents with the same line are tied at every alpha. They form one block, which moves as a whole.
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.families import WORK_ROWS, list_value
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import CUMULATIVE, PAIRWISE, MetricTerms


@kernel
def sweep_queries(
    terms: MetricTerms, indptr: Ints, tie_order: Ints, b: Floats, c: Floats, break_ties: bool, longest: int,
    first: int, last: int, starts: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The alphas at which the metrics of the queries first to last change, and the changes, grouped by query.

    Writes the metric at alpha = -infinity to starts[query].
    """
    order, blocks = np.empty(longest, np.int64), np.empty(longest + 1, np.int64)
    n_pairs = longest * (longest - 1) // 2
    scratch, gathered = np.empty(longest, np.int64), np.empty(max(longest, n_pairs))
    crossings, sequence, merged = np.empty(n_pairs), np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    upper, lower = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    alphas, changes, count = np.empty(1024), np.empty(1024), 0
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = tie_order[start + r]
        rank_documents(b, order[:n], scratch, gathered)
        rank_documents(c, order[:n], scratch, gathered)
        n_blocks = _find_blocks(b, c, order[:n], break_ties, blocks)
        n_crossings = 0
        if terms.divisors[query] != np.inf:
            n_crossings = _find_crossings(b, c, order, blocks, n_blocks, crossings, upper, lower)
        for e in range(n_crossings):
            sequence[e] = e
        rank_documents(crossings, sequence[:n_crossings], merged, gathered)
        if count + n_crossings > len(alphas):
            alphas, changes = _grown(alphas, count, n_crossings), _grown(changes, count, n_crossings)
        starts[query], n_changes = _sweep_query(
            terms, query, order[:n], blocks[: n_blocks + 1], crossings, sequence[:n_crossings], upper, lower,
            alphas[count:], changes[count:],
        )  # fmt: skip
        count += n_changes
    return alphas[:count].copy(), changes[:count].copy()


@kernel
def _grown(values: Floats, count: int, more: int) -> Floats:
    grown = np.empty(max(2 * len(values), count + more))
    for at in range(count):
        grown[at] = values[at]
    return grown


@kernel
def _find_blocks(b: Floats, c: Floats, order: Ints, break_ties: bool, blocks: Ints) -> int:
    """Write where each block of equal lines starts in `order`, and where the last ends; return their number."""
    n_blocks = 0
    for r in range(len(order)):
        i, j = order[r], order[r - 1]
        if r == 0 or break_ties or b[i] != b[j] or c[i] != c[j]:
            blocks[n_blocks] = r
            n_blocks += 1
    blocks[n_blocks] = len(order)
    return n_blocks


@kernel
def _find_crossings(
    b: Floats, c: Floats, order: Ints, blocks: Ints, n_blocks: int, crossings: Floats, upper: Ints, lower: Ints
) -> int:
    """Write -alpha of the crossing of each pair of blocks, the upper and the lower block before it; return the count.

    The sign is negative because sorting is descending and alphas must ascend.
    """
    count = 0
    for p in range(n_blocks):
        i = order[blocks[p]]
        for q in range(p + 1, n_blocks):
            j = order[blocks[q]]
            if c[i] > c[j]:
                crossings[count] = (b[j] - b[i]) / (c[i] - c[j])
                upper[count], lower[count] = p, q
                count += 1
    return count


@kernel
def _sweep_query(
    terms: MetricTerms, query: int, order: Ints, blocks: Ints, crossings: Floats, sequence: Ints, upper: Ints,
    lower: Ints, alphas: Floats, changes: Floats,
) -> tuple[float, int]:  # fmt: skip
    """Write the changes of one query's metric; return its value at alpha = -infinity and the number of changes.

    The place of a block is the number of documents above it. If three lines cross in one point, rounding may sort the
    crossings into an impossible sequence. Places are then wrong between these crossings, but correct after them.
    """
    n, n_blocks = len(order), len(blocks) - 1
    gains = np.empty(n)
    for r in range(n):
        gains[r] = terms.gains[order[r]]
    place, by_place, sizes = np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64), np.empty(n_blocks, np.int64)
    means = np.zeros(n_blocks)
    for p in range(n_blocks):
        place[p], by_place[p], sizes[p] = blocks[p], p, blocks[p + 1] - blocks[p]
        for r in range(blocks[p], blocks[p + 1]):
            means[p] += gains[r] / sizes[p]
    discounted = np.zeros(n + 1)
    for r in range(n):
        discounted[r + 1] = discounted[r] + (terms.discounts[r] if r < len(terms.discounts) else 0.0)
    ranked, work = np.empty(n), np.empty((WORK_ROWS, n + 1))
    ends, places, scratch = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    start_value = _current_value(terms, query, gains, blocks, place, by_place, ranked, ends, work, places, scratch)
    incremental = terms.family == CUMULATIVE or terms.family == PAIRWISE
    value, change, count, may_change = start_value, 0.0, 0, False
    for e in range(len(sequence)):
        p, q = upper[sequence[e]], lower[sequence[e]]
        was_p, was_q = place[p], place[q]
        place[p] += sizes[q]
        place[q] -= sizes[p]
        top = min(min(was_p, was_q), min(place[p], place[q]))
        if terms.family == CUMULATIVE and top < terms.depth:
            change += means[p] * _moved_discounts(discounted, was_p, place[p], sizes[p])
            change += means[q] * _moved_discounts(discounted, was_q, place[q], sizes[q])
        elif terms.family == PAIRWISE:
            change += _pairs_won(gains[blocks[q] : blocks[q + 1]], gains[blocks[p] : blocks[p + 1]])
        differ = sizes[p] > 1 or sizes[q] > 1 or gains[blocks[p]] != gains[blocks[q]]
        may_change = may_change or (differ and top < terms.depth)
        alpha = -crossings[sequence[e]]
        if not may_change or (e + 1 < len(sequence) and -crossings[sequence[e + 1]] == alpha):
            continue
        if incremental:
            change /= terms.divisors[query]
        else:
            now = _current_value(terms, query, gains, blocks, place, by_place, ranked, ends, work, places, scratch)
            value, change = now, now - value
        if change != 0.0:
            alphas[count], changes[count] = alpha, change
            count += 1
        change, may_change = 0.0, False
    return start_value, count


@kernel
def _moved_discounts(discounted: Floats, before: int, after: int, size: int) -> float:
    """The change of the sum of a block's discounts when it moves from one place to another."""
    return _discount_sum(discounted, after, size) - _discount_sum(discounted, before, size)


@kernel
def _discount_sum(discounted: Floats, place: int, size: int) -> float:
    """The sum of the discounts of a block's places."""
    low = max(0, min(place, len(discounted) - 1))
    return float(discounted[max(0, min(place + size, len(discounted) - 1))] - discounted[low])


@kernel
def _pairs_won(rising: Floats, falling: Floats) -> float:
    """The change in the number of correctly ordered pairs when one block passes another."""
    won = 0.0
    for i in range(len(rising)):
        for j in range(len(falling)):
            won += np.sign(rising[i] - falling[j])
    return won


@kernel
def _current_value(
    terms: MetricTerms, query: int, gains: Floats, blocks: Ints, place: Ints, by_place: Ints, ranked: Floats,
    ends: Ints, work: Floats, places: Ints, scratch: Ints,
) -> float:  # fmt: skip
    """The metric with the blocks at their current places; updates `by_place` by insertion sort."""
    for at in range(1, len(by_place)):
        moved, to = by_place[at], at
        while to > 0 and place[by_place[to - 1]] > place[moved]:
            by_place[to] = by_place[to - 1]
            to -= 1
        by_place[to] = moved
    r = 0
    for at in range(len(by_place)):
        block = by_place[at]
        size = blocks[block + 1] - blocks[block]
        ends[r] = r + size
        for d in range(size):
            ranked[r + d] = gains[blocks[block] + d]
        r += size
    return list_value(terms, query, ranked, ends, work, places, scratch)
