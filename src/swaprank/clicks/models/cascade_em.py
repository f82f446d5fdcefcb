"""Cascades by expectation maximization: people read from top to bottom until they stop.

    P(click | examined) = attraction(query, document)
    P(next one is examined | examined, not clicked) = patience
    P(next one is examined | clicked) = a number of the place [Guo2009, dependent click], patience x (1 - satisfaction)
    of the document [Chapelle2009, dynamic Bayesian; simplified with patience 1], or a mean of two numbers, weighed by
    attraction [Guo2009b, click chain]; 0 in the cascade model [Craswell2008]

Everything above the last click was examined. What is hidden is where people stopped after it, so that only this rest of
a page needs more than one round. Pages with the same rest are one: few rankings make few rests.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Bools, Floats, Ints
from swaprank.clicks.models.shown_pages import Pages
from swaprank.elementary import log2, logs2
from swaprank.kernels import kernel
from swaprank.threads import run_strided

_PARTS, _FEW = 8, 20_000
"""Rests are added up in so many parts, whatever the number of threads: the sums have the same bits."""


class Rests(NamedTuple):
    """What stands from the last click on, or on the whole page without a click; each with how often it occurred."""

    indptr: Ints
    """Rest r has the entries `indptr[r]` to `indptr[r + 1]` of the next two arrays."""
    pair: NDArray[np.int32]
    unit: NDArray[np.int32]
    clicked: Bools
    """Whether the first row was clicked."""
    weight: Floats


class Reading(NamedTuple):
    """How often something was examined, and how often people went on, as far as it is known or expected."""

    examined: Floats
    """Of each pair."""
    after_click: Floats
    """How often people went on after a click, for each unit: a pair, or a place."""
    after_skip: Floats
    """One number: how often people went on after a document that they did not click."""
    skipped: Floats
    """One number: how often they could have gone on after such a document."""
    likelihood: Floats
    """One number: the log2 likelihood of the rests."""


class Heads(NamedTuple):
    """Counts of what is known without a model."""

    reading: Reading
    clicks: Floats
    """Of each pair."""
    clicked: Floats
    """Clicks of each unit after which people could have gone on."""
    rests: Rests


def no_reading(n_pairs: int, n_units: int) -> Reading:
    """Nothing has been read."""
    return Reading(np.zeros(n_pairs), np.zeros(n_units), np.zeros(1), np.zeros(1), np.zeros(1))


def known_likelihood(heads: Heads, attraction: Floats, after_click: Floats, patience: float) -> float:
    """The log2 likelihood of what is known without the rests."""
    seen, clicks = heads.reading, heads.clicks
    total = (clicks * logs2(attraction)).sum() + ((seen.examined - clicks) * logs2(1.0 - attraction)).sum()
    went_on = seen.after_click > 0
    total += (seen.after_click[went_on] * logs2(after_click[went_on])).sum()
    return float(total + seen.after_skip[0] * log2(patience))


def count_heads(pages: Pages, unit: Ints, n_pairs: int, n_units: int, *, first_click_only: bool) -> Heads:
    """Count what is known, and collect the rests. `unit` is the number of each row's pair, or of its place."""
    known, clicks, clicked = no_reading(n_pairs, n_units), np.zeros(n_pairs), np.zeros(n_units)
    n_pages = len(pages.indptr) - 1
    first, code = np.empty(n_pages, np.int64), np.empty(n_pages, np.uint64)
    _count_heads(pages, unit, first_click_only, known, clicks, clicked, first, code)
    # The code is of 64 bits: among a million rests, two have the same one by chance once in 30 million logs.
    _, at, weight = np.unique(code, return_index=True, return_counts=True)
    some = np.flatnonzero(first[at] < pages.indptr[at + 1])
    # Rests of the same query next to each other: their documents are near in memory.
    some = some[np.argsort(pages.pair[first[at[some]]], kind="stable")]
    starts, lengths = first[at[some]], pages.indptr[at[some] + 1] - first[at[some]]
    indptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    row = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], lengths)
    numbers = pages.pair[row].astype(np.int32), unit[row].astype(np.int32)
    return Heads(known, clicks, clicked, Rests(indptr, *numbers, pages.click[starts], weight[some].astype(np.float64)))


@kernel
def _count_heads(
    pages: Pages, unit: Ints, first_click_only: bool, known: Reading, clicks: Floats, clicked: Floats, first: Ints,
    code: NDArray[np.uint64],
) -> None:  # fmt: skip
    for page in range(len(pages.indptr) - 1):
        start, end = pages.indptr[page], pages.indptr[page + 1]
        last = -1
        for row in range(start, end):
            if pages.click[row] and (last < 0 or not first_click_only):
                last = row
        for row in range(start, last + 1):
            known.examined[pages.pair[row]] += 1.0
            if pages.click[row]:
                clicks[pages.pair[row]] += 1.0
            if row + 1 == end:
                continue
            if pages.click[row]:
                clicked[unit[row]] += 1.0
            else:
                known.skipped[0] += 1.0
            if row < last:
                if pages.click[row]:
                    known.after_click[unit[row]] += 1.0
                else:
                    known.after_skip[0] += 1.0
        # A click at the end of the page, or the only one that a cascade knows, has no rest.
        first[page] = start if last < 0 else (end if last + 1 == end or first_click_only else last)
        number = np.uint64(1469598103934665603) if last < 0 else np.uint64(7809847782465536322)
        for row in range(first[page], end):
            number = (number ^ np.uint64(pages.pair[row] * 10007 + unit[row] + 1)) * np.uint64(0x9E3779B97F4A7C15)
            number ^= number >> np.uint64(29)
        code[page] = number


def expected_reading(heads: Heads, attraction: Floats, after_click: Floats, patience: float, n_threads: int) -> Reading:
    """What is known, and what is expected of the rests."""
    parts = [no_reading(len(attraction), len(after_click)) for _ in range(_PARTS)]
    rests, n_rests = heads.rests, len(heads.rests.weight)
    silent = np.empty((_PARTS, int(np.diff(rests.indptr).max(initial=1))))

    def work(part: int) -> None:
        span = n_rests * part // _PARTS, n_rests * (part + 1) // _PARTS
        _expect(rests, *span, attraction, after_click, patience, silent[part], parts[part])

    # Starting threads takes as long as some thousand entries.
    run_strided(work, _PARTS, n_threads if len(rests.pair) > _FEW else 1)
    total = Reading(*(each.copy() for each in heads.reading))
    for part in parts:
        for sum_of, added in zip(total, part, strict=True):
            sum_of += added
    return total


@kernel
def _expect(
    rests: Rests, first: int, last: int, attraction: Floats, after_click: Floats, patience: float, silent: Floats,
    reading: Reading,
) -> None:  # fmt: skip
    """`silent` has room for the probability that there is no click from each row on if it is examined."""
    for rest in range(first, last):
        start, n = rests.indptr[rest], rests.indptr[rest + 1] - rests.indptr[rest]
        pair, weight = rests.pair[start : start + n], rests.weight[rest]
        silent[n - 1] = 1.0 - attraction[pair[n - 1]]
        for k in range(n - 2, -1, -1):
            silent[k] = (1.0 - attraction[pair[k]]) * (1.0 - patience + patience * silent[k + 1])
        reads, chance, top = weight, silent[0], 0
        if rests.clicked[rest]:
            unit, top = rests.unit[start], 1
            stays = after_click[unit] * silent[1]
            chance = 1.0 - after_click[unit] + stays
            reads = weight * stays / chance
            reading.after_click[unit] += reads
        reading.likelihood[0] += weight * log2(chance)
        for k in range(top, n - 1):
            reading.examined[pair[k]] += reads
            reading.skipped[0] += reads
            if patience < 1.0:
                stays = patience * silent[k + 1]
                reads *= stays / (1.0 - patience + stays)
            reading.after_skip[0] += reads
        reading.examined[pair[n - 1]] += reads
