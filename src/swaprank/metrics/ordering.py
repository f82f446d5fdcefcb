"""Documents by descending score, and which of them are tied."""

from __future__ import annotations

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.terms import own_ints

_COUNTED = 400
"""Lists up to here are ranked by comparing all pairs, which vectorises and so beats any sort; longer ones merged."""
_RUN = 12
"""Merging starts from runs of this length, sorted by insertion."""
SELECTED = 32
"""Cut-offs up to here are found by keeping the best so far."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""What splitmix64 adds to its state at each step."""
MIXER = np.uint64(0xD1342543DE82EF95)
"""Odd, and not GOLDEN: sets apart the states in which the shuffles of neighbouring queries begin."""


@kernel
def rank_documents(scores: Floats, order: Ints, scratch: Ints, gathered: Floats) -> None:
    """Sort `order`, positions in `scores`, by descending score; tied documents keep the order they came in.

    Stable, so that whoever fills `order` decides the ties: rows as given, document ids, a seeded shuffle. `scratch` and
    `gathered` are at least as long as `order`.
    """
    if len(order) <= _COUNTED:
        _rank_by_counting(scores, order, scratch, gathered)
    else:
        _rank_by_merging(scores, order, scratch)


@kernel
def _rank_by_counting(scores: Floats, order: Ints, scratch: Ints, gathered: Floats) -> None:
    """A document's rank is the number of those with a larger score, and of those tied that came before it."""
    n = len(order)
    for i in range(n):
        scratch[i] = order[i]
        gathered[i] = scores[order[i]]
    for i in range(n):
        score = gathered[i]
        rank = np.int64(0)
        for j in range(n):
            rank += np.int64(gathered[j] > score)
        for j in range(i):
            rank += np.int64(gathered[j] == score)
        order[rank] = scratch[i]


@kernel
def _rank_by_merging(scores: Floats, order: Ints, scratch: Ints) -> None:
    n = len(order)
    for start in range(0, n, _RUN):
        for i in range(start + 1, min(start + _RUN, n)):
            document = order[i]
            score = scores[document]
            j = i
            while j > start and scores[order[j - 1]] < score:
                order[j] = order[j - 1]
                j -= 1
            order[j] = document
    width = _RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            stop = min(middle + width, n)
            if middle < stop and scores[order[middle - 1]] < scores[order[middle]]:
                _merge(scores, order, scratch, start, middle, stop)
        width *= 2


@kernel
def _merge(scores: Floats, order: Ints, scratch: Ints, start: int, middle: int, stop: int) -> None:
    for i in range(start, middle):
        scratch[i] = order[i]
    left, right, out = start, middle, start
    while left < middle and right < stop:
        if scores[scratch[left]] >= scores[order[right]]:
            order[out] = scratch[left]
            left += 1
        else:
            order[out] = order[right]
            right += 1
        out += 1
    while left < middle:
        order[out] = scratch[left]
        left += 1
        out += 1


@kernel
def largest(values: Floats, start: int, stop: int, k: int, top: Floats) -> None:
    """top[:k]: the k largest of values[start:stop], descending."""
    for i in range(k):
        top[i] = -np.inf
    for i in range(start, stop):
        value = values[i]
        if value > top[k - 1]:
            j = k - 1
            while j > 0 and top[j - 1] < value:
                top[j] = top[j - 1]
                j -= 1
            top[j] = value


@kernel
def score_at(scores: Floats, order: Ints, depth: int, gathered: Floats, top: Floats) -> float:
    """The score at rank `depth`, and the scores gathered; -inf, and nothing gathered, if ranking all costs no more."""
    n = len(order)
    if depth > SELECTED or n < 2 * depth:
        return -np.inf
    for i in range(n):
        gathered[i] = scores[order[i]]
    largest(gathered, 0, n, depth, top)
    return float(top[depth - 1])


@kernel
def keep_top(scores: Floats, order: Ints, depth: int, gathered: Floats, top: Floats) -> int:
    """Move to the front of `order` those documents that can stand within `depth`, ties with the last one included.

    Gives their number; the others are lost. All are kept where the list is short or the depth large.
    """
    n = len(order)
    last = score_at(scores, order, depth, gathered, top)
    if last == -np.inf:
        return n
    kept = 0
    for i in range(n):
        if gathered[i] >= last:
            order[kept] = order[i]
            kept += 1
    return kept


@kernel
def rank_leading(scores: Floats, order: Ints, depth: int, scratch: Ints, gathered: Floats, top: Floats) -> None:
    """Sort those documents that can stand within `depth` to the front of `order`, the others behind them as they came.

    Enough for a metric that looks no deeper, and several times faster than sorting all.
    """
    n = len(order)
    kept, others = n, 0
    last = score_at(scores, order, depth, gathered, top)
    if last > -np.inf:
        kept = 0
        for i in range(n):
            document = order[i]
            if gathered[i] >= last:
                order[kept] = document
                kept += 1
            else:
                scratch[others] = document
                others += 1
        for i in range(others):
            order[kept + i] = scratch[i]
    rank_documents(scores, order[:kept], scratch, gathered)


@kernel
def tie_groups(scores: Floats, order: Ints, apart: bool, ends: Ints) -> int:
    """For the first rank of each group of equal scores, where the group ends; each document alone if `apart`.

    Gives a document that is tied with another, or -1.
    """
    n = len(order)
    tied = -1
    start = 0
    while start < n:
        end = start + 1
        while end < n and scores[order[end]] == scores[order[start]]:
            tied = order[end]
            if apart:
                break
            end += 1
        ends[start] = end
        start = end
    return tied


@kernel
def shuffle(values: AnyArray, state: np.uint64) -> np.uint64:
    """Shuffle in place [Fisher & Yates], by splitmix64 from `state`; gives the state to go on from."""
    for r in range(len(values) - 1, 0, -1):
        state += GOLDEN
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        other = np.int64((z ^ (z >> np.uint64(31))) % np.uint64(r + 1))
        values[r], values[other] = values[other], values[r]
    return state


@kernel
def _shuffle_queries(indptr: Ints, seed: np.uint64, tie_order: Ints) -> None:
    for query in range(len(indptr) - 1):
        shuffle(tie_order[indptr[query] : indptr[query + 1]], (seed + np.uint64(query)) * MIXER)


def seeded_tie_order(indptr: Ints, seed: int) -> Ints:
    """Positions, query after query, shuffled within each query: an order for ties that knows nothing of the rows.

    The same for the same seed on every machine, and for a query whatever follows it.
    """
    tie_order = np.arange(indptr[-1])
    _shuffle_queries(own_ints(indptr), np.uint64(seed % 2**64), tie_order)
    return tie_order
