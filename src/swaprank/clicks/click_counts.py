"""Clicks as counts: how often each document was shown and clicked at each position, and resamples of these counts."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.kernels import kernel
from swaprank.threads import run_strided

_LANES = 8
"""Resamples that are counted in one pass over the rows."""


class ClickCounts(NamedTuple):
    """Counts of units (documents of queries) at positions. Cells are sorted by unit, then by position.

    unit             0           1       2
    indptr           0           3       5  6
    position         0   1   4   0   1   2            numbered from 0
    shown, clicks    one number per cell
    """

    indptr: Ints
    """Unit u has the cells `indptr[u]` to `indptr[u + 1]`."""
    unit: Ints
    """The number that each unit had in the rows."""
    position: Ints
    shown: Floats
    clicks: Floats


class CountedRows(NamedTuple):
    """The rows behind the counts, sorted by cell."""

    indptr: Ints
    """Cell c has the rows `indptr[c]` to `indptr[c + 1]`."""
    session: Ints
    click: Floats
    n_sessions: int


def count_clicks(
    unit: Ints, position: AnyArray, click: Floats, session: Ints, n_sessions: int
) -> tuple[ClickCounts, CountedRows]:
    """Count how often each unit was shown and clicked at each position; positions are from 1."""
    n_positions = int(position.max())
    key = unit * n_positions + (position - 1)
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    row_indptr = np.append(starts, len(key)).astype(np.int64)
    units, positions = np.divmod(key[starts], n_positions)
    first = np.flatnonzero(np.concatenate(([True], units[1:] != units[:-1])))
    counts = ClickCounts(
        indptr=np.append(first, len(units)).astype(np.int64),
        unit=units[first],
        position=positions,
        shown=np.diff(row_indptr).astype(np.float64),
        clicks=np.add.reduceat(click[order], starts),
    )
    return counts, CountedRows(row_indptr, session[order], click[order], n_sessions)


def chosen_units(counts: ClickCounts, rows: CountedRows, chosen: Bools) -> tuple[ClickCounts, CountedRows]:
    """The counts and rows of some of the units."""
    lengths = np.diff(counts.indptr)
    cell = np.repeat(chosen, lengths)
    row_lengths = np.diff(rows.indptr)
    row = np.repeat(cell, row_lengths)
    part = ClickCounts(
        indptr=np.concatenate(([0], np.cumsum(lengths[chosen]))).astype(np.int64),
        unit=counts.unit[chosen],
        position=counts.position[cell],
        shown=counts.shown[cell],
        clicks=counts.clicks[cell],
    )
    indptr = np.concatenate(([0], np.cumsum(row_lengths[cell]))).astype(np.int64)
    return part, CountedRows(indptr, rows.session[row], rows.click[row], rows.n_sessions)


def bootstrapped(
    counts: ClickCounts,
    rows: CountedRows,
    estimate: Callable[[ClickCounts], Floats],
    n_resamples: int,
    rng: np.random.Generator,
    n_threads: int,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> list[Floats]:
    """What is estimated from bootstrap resamples of the sessions, in threads.

    Each session occurs Poisson(1) times: as if sessions were drawn with replacement, and their number varied, too.
    """
    estimates: list[Floats] = [np.empty(0)] * n_resamples
    for start in range(0, n_resamples, _LANES):
        weights = rng.poisson(1.0, (rows.n_sessions, _LANES)).astype(np.uint8)
        shown, clicks = np.zeros((_LANES, len(counts.shown))), np.zeros((_LANES, len(counts.shown)))
        _count_weighted(rows.indptr, rows.session, rows.click, weights, shown, clicks)

        def work(lane: int, start: int = start, shown: Floats = shown, clicks: Floats = clicks) -> None:
            estimates[start + lane] = estimate(counts._replace(shown=shown[lane], clicks=clicks[lane]))

        n_lanes = min(_LANES, n_resamples - start)
        run_strided(work, n_lanes, n_threads)
        progress(start + n_lanes, n_resamples)
    return estimates


@kernel
def _count_weighted(
    indptr: Ints, session: Ints, click: Floats, weights: NDArray[np.uint8], shown: Floats, clicks: Floats
) -> None:
    n_lanes = weights.shape[1]
    for cell in range(len(indptr) - 1):
        for row in range(indptr[cell], indptr[cell + 1]):
            for lane in range(n_lanes):
                weight = float(weights[session[row], lane])
                shown[lane, cell] += weight
                clicks[lane, cell] += weight * click[row]
