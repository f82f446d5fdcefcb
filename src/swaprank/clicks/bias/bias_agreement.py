"""Do several ways to estimate the position bias agree? Their difference, with the standard error of the difference.

Harvesting and swaps use the same clicks, so that their intervals say little about their difference. It is estimated
again without each of twenty groups of sessions [Quenouille1956, the jackknife with groups]: both ways at once.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.bias.harvesting import check_identified, harvested_examination, moved_units
from swaprank.clicks.logs.click_counts import ClickCounts, chosen_units, count_log, count_neighbours
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.errors import DataError
from swaprank.evaluation.significance import holm

_GROUPS = 20
_LEVEL = 0.01
_MATERIAL = 0.05
"""Smaller differences of the logarithm do no harm, however certain they are."""


class Agreement(NamedTuple):
    """Two estimates of the examination at positions 1, 2, …, and p-values of their differences, corrected (Holm)."""

    names: tuple[str, str]
    first: Floats
    second: Floats
    p: Floats
    """NaN at position 1, where both are 1."""

    @property
    def worst(self) -> int | None:
        """The position at which they contradict each other most surely; None if they do not."""
        apart = np.abs(np.log(self.second / self.first)) > _MATERIAL
        p = np.where(apart & ~np.isnan(self.p), self.p, 1.0)
        return int(p.argmin()) + 1 if p.min() < _LEVEL else None


def agreement(log: ClickLog, other: str, last: int) -> Agreement | None:
    """Harvesting against "swaps", or "weighted": with logged propensities. None if the log cannot tell."""
    try:
        estimates = {name: _estimates(log, name, last) for name in ("harvest", other)}
    except DataError:
        return None
    return _compared(estimates)


def _compared(estimates: Mapping[str, Floats]) -> Agreement:
    """Each estimate has the log examination from all sessions, then those without a group."""
    from scipy.special import stdtr

    (first, one), (second, two) = estimates.items()
    difference = two - one
    spread = difference[1:] - difference[1:].mean(axis=0)
    error = np.sqrt((_GROUPS - 1) / _GROUPS * (spread**2).sum(axis=0))
    t = difference[0, 1:] / np.maximum(error[1:], 1e-12)
    p = holm(2.0 * stdtr(_GROUPS - 1, -np.abs(t)))
    return Agreement((first, second), np.exp(one[0]), np.exp(two[0]), np.append(np.nan, p))


def _estimates(log: ClickLog, name: str, last: int) -> Floats:
    """The log examination, from all sessions and without each group."""
    counts, rows = count_neighbours(log, last) if name == "swaps" else count_log(log, last)
    counts, rows = chosen_units(counts, rows, moved_units(counts))
    check_identified(counts, last, log.n_sessions, neighbours=name == "swaps")
    cell = np.repeat(np.arange(len(counts.shown)), np.diff(rows.indptr))
    weight = np.ones(len(cell))
    if name == "weighted":
        weight = _inverse_propensities(log, counts, cell, rows.session)
    # Sessions in the order of a log may be of one day: groups take them in turns.
    group = rows.session % _GROUPS
    shown = np.bincount(cell * _GROUPS + group, weight, len(counts.shown) * _GROUPS).reshape(-1, _GROUPS)
    clicks = np.bincount(cell * _GROUPS + group, weight * rows.click, shown.size).reshape(-1, _GROUPS)
    start, found = np.ones(last), []
    for left_out in (None, *range(_GROUPS)):
        kept = [g for g in range(_GROUPS) if g != left_out]
        of_kept = counts._replace(shown=shown[:, kept].sum(axis=1), clicks=clicks[:, kept].sum(axis=1))
        found.append(harvested_examination(of_kept, start))
        start = found[0]
    return np.log(np.stack(found))


def _inverse_propensities(log: ClickLog, counts: ClickCounts, cell: Ints, session: Ints) -> Floats:
    """1 / propensity of each counted row: as if every document had been shown at every place equally often."""
    if log.propensity is None:
        raise DataError("this click log has no propensities.")
    pair = counts.unit[counts.unit_of_cell[cell]]
    # A document is on a page once, so that session and pair name a row.
    key = log.session * log.n_pairs + log.document
    order = np.argsort(key, kind="stable")
    return 1.0 / log.propensity[order[np.searchsorted(key, session * log.n_pairs + pair, sorter=order)]]
