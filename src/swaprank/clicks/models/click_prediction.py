"""The probability of each click given the clicks above it, for every click model; and clicks that are drawn from it."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.clicks.models.shown_pages import Pages
from swaprank.kernels import kernel
from swaprank.threads import query_chunks, run_in_threads

LEAST = 1e-6
"""The least probability of a click, and of none: a model may call impossible what people do."""


class Chances(NamedTuple):
    """A click model, with the numbers of the pairs of a log."""

    attraction: Floats
    """P(click | examined) of each pair."""
    examination: Floats
    """Of browsing models: place x last click x clicks above. Empty for cascades."""
    patience: float
    after_click: Floats
    """Of cascades: P(next one is examined | clicked) of each unit."""
    unit: Ints
    """Of cascades: the unit of each row."""


def examined_rows(pages: Pages, chances: Chances, n_threads: int) -> Floats:
    """P(examined | clicks above) of each row."""
    examined = np.empty(len(pages.pair))
    _in_threads(pages, chances, pages.click, np.empty(0), examined, n_threads)
    return examined


def drawn_clicks(pages: Pages, chances: Chances, draws: Floats, n_threads: int) -> Bools:
    """New clicks on the same pages, given one uniform random number for each row."""
    click = np.empty(len(pages.pair), np.bool_)
    _in_threads(pages, chances, click, draws, np.empty(len(pages.pair)), n_threads)
    return click


def click_chances(pages: Pages, chances: Chances, examined: Floats) -> Floats:
    """P(click | clicks above) of each row."""
    return np.clip(examined * chances.attraction[pages.pair], LEAST, 1.0 - LEAST)


def _in_threads(pages: Pages, chances: Chances, click: Bools, draws: Floats, examined: Floats, n_threads: int) -> None:
    run_in_threads(
        lambda first, last: _read(pages, chances, first, last, click, draws, examined),
        query_chunks(pages.indptr, n_threads),
    )


@kernel
def _read(pages: Pages, chances: Chances, first: int, last: int, click: Bools, draws: Floats, examined: Floats) -> None:
    """Go down the pages from first to last; `click` is written if there are draws, and read otherwise."""
    n_places, n_last, n_above = chances.examination.shape
    for page in range(first, last):
        examination, latest, above = 1.0, 0, 0
        for row in range(pages.indptr[page], pages.indptr[page + 1]):
            place = pages.place[row]
            if n_places > 0:
                at = min(place, n_places - 1), min(latest, n_last - 1), min(above, n_above - 1)
                examination = chances.examination[at]
            examined[row] = examination
            attraction = chances.attraction[pages.pair[row]]
            chance = min(max(examination * attraction, LEAST), 1.0 - LEAST)
            if len(draws) > 0:
                click[row] = draws[row] < chance
            if click[row]:
                latest, above = place + 1, above + 1
                if n_places == 0:
                    examination = chances.after_click[chances.unit[row]]
            elif n_places == 0:
                # Who did not click may not have looked.
                examination = chances.patience * examination * (1.0 - attraction) / (1.0 - chance)
