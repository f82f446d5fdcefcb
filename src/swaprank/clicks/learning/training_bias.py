"""The position bias to train with: from documents that moved, shrunk toward none by its uncertainty.

Training needs no proof of a bias, but numbers that do more good than harm. Where clicks are few, the estimates of
harvesting.py vary between 0 and infinity; so a prior holds them near no bias. If the log says next to nothing, there is
no correction at all, and training is the same as on click rates.
"""

import numpy as np
from scipy.stats import chi2

from swaprank.arrays import Floats
from swaprank.clicks.bias.harvesting import harvested_examination, information, log_errors, moved_units, power_prior
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.logs.click_counts import ClickCounts, chosen_units, count_log
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_counts import LogCounts
from swaprank.elementary import log as log_of
from swaprank.errors import SwaprankWarning, warn_user
from swaprank.rendering.tables import counted

_LEAST_INFORMATION = 30.0
"""About so many clicks on documents that moved must tell how steep the bias is."""
_LARGEST_P = 1e-4
_LARGEST_RATIO = 1.5
"""Given propensities contradict a log if they are off by more than this factor, and not by chance."""


def bias_for_training(log: ClickLog | LogCounts) -> Propensities:
    """The bias that documents that moved tell, or none if they say next to nothing."""
    found = bias_of_moves(log)
    if found is not None:
        return found
    return Propensities(np.ones(log.max_position), method="as none, because the log is too small to tell the bias")


def bias_of_moves(log: ClickLog | LogCounts) -> Propensities | None:
    """The examination with the highest posterior, or None if clicks on documents that moved say next to nothing."""
    if log.max_position < 2:
        return None
    counts, found = _harvest(log)
    if _information_of_powers(counts, found) < _LEAST_INFORMATION:
        return None
    whom = counted(len(counts.unit), "document", "documents")
    return Propensities(found, method=f"from {whom} that changed places, shrunk toward no bias by its uncertainty")


def _harvest(log: ClickLog | LogCounts) -> tuple[ClickCounts, Floats]:
    last = log.max_position
    counts, rows = count_log(log, last)
    counts, _ = chosen_units(counts, rows, moved_units(counts))
    return counts, harvested_examination(counts, np.ones(last), power_prior(last))


def _information_of_powers(counts: ClickCounts, theta: Floats) -> float:
    """How much the clicks tell about the power a of theta_k = 1 / k^a: one over the variance of its estimate."""
    logs = np.array([log_of(float(k)) for k in range(1, len(theta) + 1)])
    return float(np.sum(information(counts, theta) * np.outer(logs, logs)))


def warn_if_contradicted(log: ClickLog, given: Propensities) -> None:
    """Give a warning if documents that moved say clearly that the given position bias is wrong.

    All places alike is no estimate, but the wish to train on click rates.
    """
    is_plain = given.by is None and given.epsilon_plus is None
    last = log.max_position
    if not is_plain or not 2 <= last <= given.n_positions or (given.examination == given.examination[0]).all():
        return
    counts, found = _harvest(log)
    if _information_of_powers(counts, found) < _LEAST_INFORMATION:
        return
    known = given.examination[:last] / given.examination[0]
    difference = np.log(known / found)
    curvature = information(counts, found)
    if chi2.sf(float(difference @ curvature @ difference), last - 1) > _LARGEST_P:
        return
    errors = log_errors(counts, found)
    sure = np.where(np.isfinite(errors), np.abs(difference) - 1.96 * errors, -np.inf)
    worst = int(np.argmax(sure))
    if sure[worst] < np.log(_LARGEST_RATIO):
        return
    low, high = (found[worst] * np.exp(sign * 1.96 * errors[worst]) for sign in (-1, 1))
    warn_user(
        SwaprankWarning(
            f"the propensities contradict the log: they say {known[worst]:.2g} at position {worst + 1} relative to "
            f"position 1, but documents that changed places say {found[worst]:.2g} (95% interval {low:.2g} to "
            f"{high:.2g}). Estimate them from this log, or leave them out."
        )
    )
