"""Browsing models by expectation maximization: a click is an examined document that attracts.

    P(click | clicks above) = examination(context) x attraction(query, document)

The context is the place [Richardson2007], the place and that of the last click [Dupret2008], or these and the number of
clicks above. It is known, so that all that a log tells are counts of each (context, pair): EM goes over these cells,
not over the rows. For n times shown and c clicks, the expected numbers of examined and of attracting ones are

    c + (n - c) e (1 - a) / (1 - e a)    and    c + (n - c) a (1 - e) / (1 - e a).
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.models.click_model_names import Assumptions
from swaprank.clicks.models.em_rounds import repeat_rounds
from swaprank.clicks.models.shown_pages import Pages, clicks_above
from swaprank.clicks.models.shrinkage import PairRates, context_rates, pair_rates
from swaprank.elementary import log2
from swaprank.kernels import kernel
from swaprank.threads import run_strided

MOST_CLICKS_ABOVE = 4
"""0, 1, 2, and 3 or more clicks above are told apart."""
_PARTS, _FEW = 8, 20_000
"""Cells are added up in so many parts, whatever the number of threads: the sums have the same bits."""


class Cells(NamedTuple):
    """Counts of (pair, context), sorted by pair, then by context."""

    pair: Ints
    context: Ints
    shown: Floats
    clicks: Floats


class Browsing(NamedTuple):
    """A fitted browsing model."""

    examination: Floats
    """Place x place of the last click, from 1, 0 for none x clicks above; axes of length 1 do not matter."""
    seen: Floats
    """How often each of these was shown."""
    attraction: PairRates
    rounds: int


def context_shape(kind: Assumptions, n_places: int) -> tuple[int, int, int]:
    """The lengths of the axes of `Browsing.examination`."""
    return {
        "": (1, 1, 1),
        "all": (1, 1, 1),
        "place": (n_places, 1, 1),
        "last click": (n_places, n_places + 1, 1),
        "clicks above": (n_places, n_places + 1, MOST_CLICKS_ABOVE),
    }[kind.examination]


def count_cells(pages: Pages, shape: tuple[int, int, int]) -> Cells:
    """Count what was shown and clicked in each context."""
    last, above = np.zeros((2, len(pages.pair)), np.int64)
    if shape[1] > 1:
        clicks_above(pages, last, above)
    n_contexts = shape[0] * shape[1] * shape[2]
    key = np.minimum(pages.place, shape[0] - 1) * shape[1] + np.minimum(last, shape[1] - 1)
    key = pages.pair * n_contexts + key * shape[2] + np.minimum(above, shape[2] - 1)
    key = np.sort(key * 2 + pages.click)
    clicked, key = (key & 1).astype(np.float64), key >> 1
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    pair, context = np.divmod(key[starts], n_contexts)
    shown = np.diff(np.append(starts, len(key))).astype(np.float64)
    return Cells(pair, context, shown, np.add.reduceat(clicked, starts))


def fit_browsing(
    pages: Pages, kind: Assumptions, n_places: int, pair_query: Ints, n_queries: int, n_threads: int
) -> Browsing:
    """The browsing model of some pages."""
    shape = context_shape(kind, n_places)
    cells = count_cells(pages, shape)
    seen = sums(cells.context, cells.shown, int(np.prod(shape))).reshape(shape)
    shown = sums(cells.pair, cells.shown, len(pair_query))
    clicks = sums(cells.pair, cells.clicks, len(pair_query))
    n_pairs, ones = len(pair_query), PairRates(np.ones(len(pair_query)), np.ones(n_queries), 1.0)

    def next_round(now: Floats) -> tuple[PairRates, Floats, float]:
        examination, attraction = now[:-n_pairs].reshape(shape), now[-n_pairs:]
        attracted, examined, likelihood = expected(cells, attraction, examination, n_threads)
        found = pair_rates(attracted, shown, pair_query, n_queries) if kind.documents else ones
        return found, context_rates(examined, seen) if kind.examination else examination, likelihood

    def improve(now: Floats) -> tuple[Floats, float]:
        attraction, examination, likelihood = next_round(now)
        return np.concatenate((examination.ravel(), attraction.rate)), likelihood

    start = pair_rates(clicks, shown, pair_query, n_queries) if kind.documents else ones
    now, rounds = np.concatenate((np.full(seen.size, 0.7 if kind.examination else 1.0), start.rate)), 1
    if kind.documents and kind.examination:
        now, rounds = repeat_rounds(improve, now, seen.size)
    attraction, examination, _ = next_round(now)
    # Only products are known. So that relevance is the click rate at the top, examination is 1 there.
    top = float(examination[0, 0, 0]) if kind.documents else 1.0
    scaled = PairRates(attraction.rate * top, attraction.of_query * top, attraction.overall * top)
    return Browsing(examination / top, seen, scaled, rounds)


def expected(cells: Cells, attraction: Floats, examination: Floats, n_threads: int) -> tuple[Floats, Floats, float]:
    """The expected number of times that each pair attracted and each context was examined; the log2 likelihood."""
    attracted = np.zeros(len(attraction))
    examined, likelihood = np.zeros((_PARTS, examination.size)), np.zeros(_PARTS)
    # A pair is in one part only.
    cuts = np.searchsorted(cells.pair, np.arange(_PARTS + 1) * len(attraction) // _PARTS)

    def work(part: int) -> None:
        of_part = cuts[part], cuts[part + 1], attraction, examination.ravel(), attracted, examined[part]
        likelihood[part] = _expect(cells, *of_part)

    # Starting threads takes as long as some thousand cells.
    run_strided(work, _PARTS, n_threads if len(cells.pair) > _FEW else 1)
    return attracted, examined.sum(axis=0).reshape(examination.shape), float(likelihood.sum())


@kernel
def _expect(
    cells: Cells, first: int, last: int, attraction: Floats, examination: Floats, attracted: Floats, examined: Floats
) -> float:
    likelihood = 0.0
    for cell in range(first, last):
        pair, context = cells.pair[cell], cells.context[cell]
        a, e = attraction[pair], examination[context]
        chance = e * a
        missed = (cells.shown[cell] - cells.clicks[cell]) / (1.0 - chance)
        attracted[pair] += cells.clicks[cell] + missed * a * (1.0 - e)
        examined[context] += cells.clicks[cell] + missed * e * (1.0 - a)
        likelihood += missed * (1.0 - chance) * log2(1.0 - chance)
        if cells.clicks[cell] > 0.0:
            likelihood += cells.clicks[cell] * log2(chance)
    return likelihood
