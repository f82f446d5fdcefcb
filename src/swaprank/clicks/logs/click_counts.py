"""Clicks as counts of each document at each position, shown and clicked, and resamples of these counts."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.errors import DataError, Hint
from swaprank.kernels import kernel
from swaprank.threads import run_strided

HARVEST = Hint("method", "harvest")
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

    @property
    def unit_of_cell(self) -> Ints:
        """The place of each cell's unit in `unit`."""
        return np.repeat(np.arange(len(self.unit)), np.diff(self.indptr))


class CountedRows(NamedTuple):
    """The rows behind the counts, sorted by cell."""

    indptr: Ints
    """Cell c has the rows `indptr[c]` to `indptr[c + 1]`."""
    session: Ints
    click: Floats
    n_sessions: int


_NO_ROWS = CountedRows(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0), 0)
"""Behind counts that were made before."""


def sums(group: Ints, values: Floats, n_groups: int) -> Floats:
    """The sum of the values of each group, one by one: it may enter a model, which must be the same on every CPU."""
    return np.bincount(group, values, n_groups).astype(np.float64, copy=False)


def count_rows(
    unit: AnyArray, position: AnyArray, click: Floats, session: AnyArray, n_sessions: int
) -> tuple[ClickCounts, CountedRows]:
    """Count how often each unit was shown and clicked at each position; positions are from 1."""
    n_units, n_positions = int(unit.max()) + 1, int(position.max()) + 1
    # Two stable passes, by position and then by unit, sort in linear time and little memory.
    order = _stable_order(position, np.arange(len(unit), dtype=np.int32), n_positions)
    order = _stable_order(unit, order, n_units)
    units, places = unit[order], position[order]
    starts = np.flatnonzero(np.concatenate(([True], (units[1:] != units[:-1]) | (places[1:] != places[:-1]))))
    units, places, click = units[starts].astype(np.int64), places[starts].astype(np.int64), click[order]
    row_indptr = np.append(starts, len(order)).astype(np.int64)
    first = np.flatnonzero(np.concatenate(([True], units[1:] != units[:-1])))
    counts = ClickCounts(
        indptr=np.append(first, len(units)).astype(np.int64),
        unit=units[first],
        position=places - 1,
        shown=np.diff(row_indptr).astype(np.float64),
        clicks=np.add.reduceat(click, starts),
    )
    return counts, CountedRows(row_indptr, session[order].astype(np.int64), click, n_sessions)


@kernel
def _stable_order(value: AnyArray, rows: NDArray[np.int32], n_values: int) -> NDArray[np.int32]:
    """The given rows sorted by a value from 0 to n_values - 1; rows of equal values keep their order."""
    start = np.zeros(n_values + 1, np.int64)
    for row in rows:
        start[value[row] + 1] += 1
    for each in range(n_values):
        start[each + 1] += start[each]
    ordered = np.empty_like(rows)
    for row in rows:
        ordered[start[value[row]]] = row
        start[value[row]] += 1
    return ordered


def count_log(log: ClickLog | LogCounts, last: int) -> tuple[ClickCounts, CountedRows]:
    """Counts of the documents of a log, up to a position. Counts have no rows behind them."""
    if isinstance(log, LogCounts):
        return _count_cells(log, last), _NO_ROWS
    row = slice(None) if last == log.max_position else np.flatnonzero(log.position <= last)
    if not isinstance(row, slice) and len(row) == 0:
        raise DataError(f"no document was shown at a position up to {last}.")
    return count_rows(log.document[row], log.position[row], log.click[row], _sessions(log)[row], log.n_sessions)


def _count_cells(counts: LogCounts, last: int) -> ClickCounts:
    """Counts of all contexts together."""
    kept = np.flatnonzero((counts.position <= last) & (counts.shown > 0))
    if len(kept) == 0:
        raise DataError("the counts show no document at these positions.")
    unit, place = counts.document[kept], counts.position[kept].astype(np.int64) - 1
    # Rows are sorted by document and position: those of one cell are neighbours.
    starts = np.flatnonzero(np.concatenate(([True], (unit[1:] != unit[:-1]) | (place[1:] != place[:-1]))))
    unit, place = unit[starts], place[starts]
    first = np.flatnonzero(np.concatenate(([True], unit[1:] != unit[:-1])))
    return ClickCounts(
        indptr=np.append(first, len(unit)).astype(np.int64),
        unit=unit[first],
        position=place,
        shown=np.add.reduceat(counts.shown[kept], starts).astype(np.float64),
        clicks=np.add.reduceat(counts.clicks[kept], starts),
    )


def count_neighbours(log: ClickLog | LogCounts, last: int) -> tuple[ClickCounts, CountedRows]:
    """Counts of documents next to the same neighbour, in one order or the other [Radlinski2006], up to a position."""
    if isinstance(log, LogCounts):
        raise DataError("counts do not tell which documents were neighbours: give the log, or ", HARVEST, ".")
    row, unit = _neighbour_units(log, last)
    if len(row) == 0:
        raise DataError("the log cannot tell the position bias: no session shows two neighbours.")
    return count_rows(unit, log.position[row], log.click[row], _sessions(log)[row], log.n_sessions)


def _sessions(log: ClickLog) -> NDArray[np.int32]:
    """The session of each row, in half the memory of `log.session`."""
    return np.repeat(np.arange(log.n_sessions, dtype=np.int32), np.diff(log.indptr))


def upper_neighbours(log: ClickLog, last: int) -> Ints:
    """Rows whose next row is the next place of the same session, up to the last position."""
    below = log.position[1:]
    are_neighbours = (below == log.position[:-1] + 1) & (below <= last)
    are_neighbours[log.indptr[1:-1] - 1] = False  # The next row is of another session.
    return np.flatnonzero(are_neighbours)


def _neighbour_units(log: ClickLog, last: int) -> tuple[Ints, Ints]:
    """Rows of neighbours up to the last position, and a number for each (document, neighbour, upper position).

    A row occurs twice if the document has a neighbour above and one below. The same document next to the same neighbour
    at the same two positions is one unit: all that changes is the order of the two.
    """
    upper = upper_neighbours(log, last)
    row = np.concatenate((upper, upper + 1))
    neighbour = np.concatenate((upper + 1, upper))
    place = log.position[np.concatenate((upper, upper))].astype(np.int64)
    # A neighbour is a document of the same query, so that its number there is small.
    within = log.document[neighbour] - log.pair_indptr[log.pair_query[log.document[neighbour]]]
    widest = int(np.diff(log.pair_indptr).max())
    unit = (log.document[row] * widest + within) * (log.max_position + 1) + place
    return row, np.unique(unit, return_inverse=True)[1].astype(np.int64)


def chosen_units(counts: ClickCounts, rows: CountedRows, chosen: Bools) -> tuple[ClickCounts, CountedRows]:
    """The counts and rows of some of the units."""
    lengths = np.diff(counts.indptr)
    cell = np.repeat(chosen, lengths)
    part = ClickCounts(
        indptr=np.concatenate(([0], np.cumsum(lengths[chosen]))).astype(np.int64),
        unit=counts.unit[chosen],
        position=counts.position[cell],
        shown=counts.shown[cell],
        clicks=counts.clicks[cell],
    )
    if rows is _NO_ROWS:
        return part, rows
    row_lengths = np.diff(rows.indptr)
    row = np.repeat(cell, row_lengths)
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
    """Estimates from bootstrap resamples of the sessions, in threads.

    Each session occurs Poisson(1) times: as if sessions were drawn with replacement, and their number varied, too.
    Without rows, each shown document is drawn on its own, as if a page had a single document.
    """
    estimates: list[Floats] = [np.empty(0)] * n_resamples
    for start in range(0, n_resamples, _LANES):
        shown, clicks = _resampled_cells(counts, rng) if rows is _NO_ROWS else _resampled_sessions(counts, rows, rng)

        def work(lane: int, start: int = start, shown: Floats = shown, clicks: Floats = clicks) -> None:
            estimates[start + lane] = estimate(counts._replace(shown=shown[lane], clicks=clicks[lane]))

        n_lanes = min(_LANES, n_resamples - start)
        run_strided(work, n_lanes, n_threads)
        progress(start + n_lanes, n_resamples)
    return estimates


def _resampled_sessions(counts: ClickCounts, rows: CountedRows, rng: np.random.Generator) -> tuple[Floats, Floats]:
    weights = rng.poisson(1.0, (rows.n_sessions, _LANES)).astype(np.uint8)
    shown, clicks = np.zeros((_LANES, len(counts.shown))), np.zeros((_LANES, len(counts.shown)))
    _count_weighted(rows.indptr, rows.session, rows.click, weights, shown, clicks)
    return shown, clicks


def _resampled_cells(counts: ClickCounts, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """If each shown document occurs Poisson(1) times, those with and without a click do so Poisson(number) times.

    A sum of grades is taken for as many clicks, which vary more: intervals are then too wide rather than too narrow.
    """
    clicks = rng.poisson(counts.clicks, (_LANES, len(counts.clicks))).astype(np.float64)
    others = np.maximum(counts.shown - counts.clicks, 0.0)
    return clicks + rng.poisson(others, (_LANES, len(others))), clicks


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
