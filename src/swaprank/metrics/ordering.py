"""Sort documents by descending score, find ties, and shuffle with a seed."""

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.document_places import Places
from swaprank.kernels import kernel

_COUNTING_LIMIT = 800
"""Lists up to this length are ranked by comparing all pairs, which is vectorized and faster than sorting."""
_RUN_LENGTH = 12
"""Merge sort starts from runs of this length, sorted by insertion."""
SELECTION_LIMIT = 32
"""Up to this many largest values are found by insertion into a list of the best so far."""
_SELECTION_LENGTH = 8
"""Selecting before sorting is faster for lists that are so many times longer than what is selected."""
_SAMPLE_SIZE = 32
"""The score that documents need to lead is estimated from so many of a list."""
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""The increment of splitmix64."""
MIXER = np.uint64(0xD1342543DE82EF95)
"""Odd and different from GOLDEN, so that the random states of neighbouring queries do not overlap."""


@kernel
def rank_documents(scores: Floats, order: Ints, scratch: Ints, gathered: Floats) -> None:
    """Sort `order`, positions in `scores`, by descending score; tied documents keep their order.

    The sort is stable, so the caller decides ties by the order it fills in: row order, document ids, a seeded shuffle.
    `scratch` and `gathered` must be at least as long as `order`, and are overwritten.
    """
    if len(order) <= _COUNTING_LIMIT:
        _rank_by_counting(scores, order, scratch, gathered)
    else:
        _rank_by_merging(scores, order, scratch)


@kernel
def _rank_by_counting(scores: Floats, order: Ints, scratch: Ints, gathered: Floats) -> None:
    """Take in the documents one after the other: each passes those with a smaller score and moves them down a rank.

    One comparison decides a pair, in a loop that is vectorized; scratch[j] is the rank so far of document order[j].
    """
    n = len(order)
    for i in range(n):
        score, behind = scores[order[i]], np.int64(0)
        for j in range(i):
            passed = np.int64(gathered[j] < score)
            behind += passed
            scratch[j] += passed
        gathered[i], scratch[i] = score, i - behind
    for i in range(n):  # the scores are not needed any more: the old order takes their place
        gathered[i] = order[i]
    for i in range(n):
        order[scratch[i]] = np.int64(gathered[i])


@kernel
def _rank_by_merging(scores: Floats, order: Ints, scratch: Ints) -> None:
    n = len(order)
    for start in range(0, n, _RUN_LENGTH):
        for i in range(start + 1, min(start + _RUN_LENGTH, n)):
            document = order[i]
            score = scores[document]
            j = i
            while j > start and scores[order[j - 1]] < score:
                order[j] = order[j - 1]
                j -= 1
            order[j] = document
    width = _RUN_LENGTH
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
    """top[:k]: the k largest of values[start:stop], in descending order."""
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
    """Gather the scores and return the score at rank `depth`; -inf, without gathering, if sorting all is as fast."""
    n = len(order)
    if depth > SELECTION_LIMIT or n < _SELECTION_LENGTH * depth:
        return -np.inf
    for i in range(n):
        gathered[i] = scores[order[i]]
    largest(gathered, 0, n, depth, top)
    return float(top[depth - 1])


@kernel
def keep_top(scores: Floats, order: Ints, depth: int, gathered: Floats, top: Floats) -> int:
    """Move the documents that can rank within `depth`, ties included, to the front of `order`; return their number.

    The other documents are lost. All are kept if the list is short or the depth large.
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
    """Sort the documents that can rank within `depth` to the front of `order`; the others follow in their old order.

    This is enough for a metric with that cut-off, and several times faster than sorting all. `gathered` and `top` are
    work arrays.
    """
    n = len(order)
    for i in range(n):
        gathered[i] = scores[order[i]]
    last, kept, others = low_score(gathered, n, depth, top), np.int64(0), np.int64(0)
    if last > -np.inf:
        for i in range(n):
            document, leads = order[i], np.int64(gathered[i] >= last)
            scratch[others] = document
            order[kept] = document
            kept += leads
            others += 1 - leads
        for i in range(others):
            order[kept + i] = scratch[i]
    rank_documents(scores, order[: kept if last > -np.inf else n], scratch, gathered)


@kernel
def low_score(values: Floats, n: int, depth: int, top: Floats) -> float:
    """A value that at least `depth` of the first n values reach, but not many more; -inf if sorting all is as fast.

    Every so many values are a sample. A few more of them than expected are likely to be below enough others.
    """
    expected = _SAMPLE_SIZE * depth / n
    place = int(expected + 1.5 * np.sqrt(expected) + 1.0)
    if n < 2 * _SAMPLE_SIZE or place > _SAMPLE_SIZE // 2:
        return -np.inf
    for i in range(_SAMPLE_SIZE):
        top[_SAMPLE_SIZE + i] = values[i * n // _SAMPLE_SIZE]
    largest(top, _SAMPLE_SIZE, 2 * _SAMPLE_SIZE, place, top)
    last, count = top[place - 1], np.int64(0)
    for i in range(n):
        count += np.int64(values[i] >= last)
    return float(last) if count >= depth else -np.inf


@kernel
def tie_groups(scores: Floats, order: Ints, depth: int, break_ties: bool, ends: Ints) -> int:
    """ends[r], for the first rank r of each group of tied scores: where the group ends.

    With `break_ties`, every document is a group of its own. Returns a document that is tied with one within the depth,
    or -1.
    """
    n = len(order)
    tied = -1
    start = 0
    while start < n:
        end = start + 1
        while end < n and scores[order[end]] == scores[order[start]]:
            if start < depth:
                tied = order[end]
            if break_ties:
                break
            end += 1
        ends[start] = end
        start = end
    return tied


@kernel
def shuffle(values: AnyArray, state: np.uint64) -> np.uint64:
    """Shuffle in place [Fisher & Yates] with splitmix64 from `state`; return the next state."""
    for r in range(len(values) - 1, 0, -1):
        state += GOLDEN
        z = state
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        other = np.int64((z ^ (z >> np.uint64(31))) % np.uint64(r + 1))
        values[r], values[other] = values[other], values[r]
    return state


@kernel
def _shuffle_queries(places: Places, seed: np.uint64, tie_order: Ints) -> None:
    indptr, keys = places.indptr, places.keys
    for query in range(len(keys)):
        shuffle(tie_order[indptr[query] : indptr[query + 1]], (seed + keys[query]) * MIXER)


def seeded_tie_order(places: Places, seed: int) -> Ints:
    """A tie order that does not depend on the row order: positions grouped by query, shuffled within each query.

    It is the same for a seed on every machine, and a query's order does not depend on the other queries.
    """
    tie_order = np.arange(places.indptr[-1])
    _shuffle_queries(places, np.uint64(seed % 2**64), tie_order)
    return tie_order
