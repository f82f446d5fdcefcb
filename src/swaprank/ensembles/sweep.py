"""Every change of a metric while one ranker's scores turn into another's: kernels.

    s_i(alpha) = alpha a_i + (1 - alpha) b_i = b_i - alpha c_i,  c = b - a        a straight line a document

Two lines cross once, at alpha = (b_i - b_j) / (c_i - c_j), or never. At alpha = -infinity documents stand by
descending c; from there on every crossing moves two documents by one place, and no sorting is needed any more.
Documents whose lines are the same are tied at every alpha. They make one block, which moves as a whole.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.families import WORK_ROWS, list_value
from swaprank.metrics.ordering import rank_documents
from swaprank.metrics.terms import CUMULATIVE, PAIRWISE, MetricTerms


@kernel
def sweep_queries(
    terms: MetricTerms,
    indptr: Ints,
    tie_order: Ints,
    b: Floats,
    c: Floats,
    ties_apart: bool,
    longest: int,
    first: int,
    last: int,
    starts: Floats,
) -> tuple[Floats, Floats]:
    """The alphas at which the metric of a query from first to last changes, and by how much; query after query.

    starts[q] becomes the metric at alpha = -infinity.
    """
    order, blocks = np.empty(longest, np.int64), np.empty(longest + 1, np.int64)
    scratch, gathered = np.empty(longest, np.int64), np.empty(longest)
    n_pairs = longest * (longest - 1) // 2
    crossings, sequence, merged = np.empty(n_pairs), np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    ahead, behind = np.empty(n_pairs, np.int64), np.empty(n_pairs, np.int64)
    alphas, changes, count = np.empty(1024), np.empty(1024), 0
    for query in range(first, last):
        start = indptr[query]
        n = indptr[query + 1] - start
        for r in range(n):
            order[r] = tie_order[start + r]
        rank_documents(b, order[:n], scratch, gathered)
        rank_documents(c, order[:n], scratch, gathered)
        n_blocks = _same_lines(b, c, order[:n], ties_apart, blocks)
        n_crossings = 0
        if terms.divisors[query] != np.inf:
            n_crossings = _cross(b, c, order, blocks, n_blocks, crossings, ahead, behind)
        for e in range(n_crossings):
            sequence[e] = e
        # Crossings gathered in the sequence 0, 1, 2, … are what they were: no second array is needed.
        rank_documents(crossings, sequence[:n_crossings], merged, crossings)
        if count + n_crossings > len(alphas):
            alphas, changes = _longer(alphas, count, n_crossings), _longer(changes, count, n_crossings)
        starts[query], n_changes = _walk(
            terms, query, order[:n], blocks[: n_blocks + 1], crossings, sequence[:n_crossings], ahead, behind,
            alphas[count:], changes[count:],
        )  # fmt: skip
        count += n_changes
    return alphas[:count].copy(), changes[:count].copy()


@kernel
def _longer(values: Floats, count: int, more: int) -> Floats:
    longer = np.empty(max(2 * len(values), count + more))
    for at in range(count):
        longer[at] = values[at]
    return longer


@kernel
def _same_lines(b: Floats, c: Floats, order: Ints, ties_apart: bool, blocks: Ints) -> int:
    """Where each block of equal lines begins in `order`, and last where all end; gives the number of blocks."""
    n_blocks = 0
    for r in range(len(order)):
        i, j = order[r], order[r - 1]
        if r == 0 or ties_apart or b[i] != b[j] or c[i] != c[j]:
            blocks[n_blocks] = r
            n_blocks += 1
    blocks[n_blocks] = len(order)
    return n_blocks


@kernel
def _cross(
    b: Floats, c: Floats, order: Ints, blocks: Ints, n_blocks: int, crossings: Floats, ahead: Ints, behind: Ints
) -> int:
    """Minus the alpha at which each pair of blocks crosses, who is ahead before, and who behind; gives their number.

    Negative, because documents are ranked by descending numbers and alphas are wanted rising.
    """
    count = 0
    for p in range(n_blocks):
        i = order[blocks[p]]
        for q in range(p + 1, n_blocks):
            j = order[blocks[q]]
            if c[i] > c[j]:
                crossings[count] = (b[j] - b[i]) / (c[i] - c[j])
                ahead[count], behind[count] = p, q
                count += 1
    return count


@kernel
def _walk(
    terms: MetricTerms,
    query: int,
    order: Ints,
    blocks: Ints,
    crossings: Floats,
    sequence: Ints,
    ahead: Ints,
    behind: Ints,
    alphas: Floats,
    changes: Floats,
) -> tuple[float, int]:
    """One query's metric at the start, and the number of its changes, which are written.

    A place is the number of documents before a block. Where rounding puts crossings of three lines in one point into an
    impossible sequence, places are wrong between them, and right again after them: nothing has to be mended.
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
    begun = _value(terms, query, gains, blocks, place, by_place, ranked, ends, work, places, scratch)
    quick = terms.family == CUMULATIVE or terms.family == PAIRWISE
    value, change, count, felt = begun, 0.0, 0, False
    for e in range(len(sequence)):
        p, q = ahead[sequence[e]], behind[sequence[e]]
        was_p, was_q = place[p], place[q]
        place[p] += sizes[q]
        place[q] -= sizes[p]
        top = min(min(was_p, was_q), min(place[p], place[q]))
        if terms.family == CUMULATIVE and top < terms.depth:
            change += means[p] * (_worth(discounted, place[p], sizes[p]) - _worth(discounted, was_p, sizes[p]))
            change += means[q] * (_worth(discounted, place[q], sizes[q]) - _worth(discounted, was_q, sizes[q]))
        elif terms.family == PAIRWISE:
            change += _pairs_won(gains[blocks[q] : blocks[q + 1]], gains[blocks[p] : blocks[p + 1]])
        differ = sizes[p] > 1 or sizes[q] > 1 or gains[blocks[p]] != gains[blocks[q]]
        felt = felt or (differ and top < terms.depth)
        alpha = -crossings[sequence[e]]
        if not felt or (e + 1 < len(sequence) and -crossings[sequence[e + 1]] == alpha):
            continue
        if quick:
            change /= terms.divisors[query]
        else:
            now = _value(terms, query, gains, blocks, place, by_place, ranked, ends, work, places, scratch)
            value, change = now, now - value
        if change != 0.0:
            alphas[count], changes[count] = alpha, change
            count += 1
        change, felt = 0.0, False
    return begun, count


@kernel
def _worth(discounted: Floats, place: int, size: int) -> float:
    """The discounts of a block's places, added up."""
    low = max(0, min(place, len(discounted) - 1))
    return float(discounted[max(0, min(place + size, len(discounted) - 1))] - discounted[low])


@kernel
def _pairs_won(rising: Floats, falling: Floats) -> float:
    """Pairs in the right order after one block has passed another, less those before."""
    won = 0.0
    for i in range(len(rising)):
        for j in range(len(falling)):
            won += np.sign(rising[i] - falling[j])
    return won


@kernel
def _value(
    terms: MetricTerms,
    query: int,
    gains: Floats,
    blocks: Ints,
    place: Ints,
    by_place: Ints,
    ranked: Floats,
    ends: Ints,
    work: Floats,
    places: Ints,
    scratch: Ints,
) -> float:
    """The metric with the blocks where they are now; `by_place` is brought up to date by insertion."""
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
