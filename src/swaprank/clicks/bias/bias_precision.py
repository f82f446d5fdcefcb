"""How precise an estimate of position bias must be to say anything, and how many sessions that takes."""

import math

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import DataError, Hint, Part, Wording
from swaprank.rendering.tables import counted

WIDEST_FACTOR = 4.0
"""An interval that reaches beyond so many times the estimate says hardly more than the order of magnitude."""
LARGEST_ERROR = math.log(WIDEST_FACTOR) / 1.96
"""The largest standard error of the logarithm of the examination."""


def check_precise(errors: Floats, n_sessions: int, *, has_features: bool) -> None:
    """Raise DataError with the number of sessions that it takes if a standard error of log examination is too large.

    Standard errors fall with the square root of the sessions.
    """
    wide = np.flatnonzero(~(errors <= LARGEST_ERROR))
    if len(wide) == 0:
        return
    first, worst = int(wide[0]), float(errors[wide].max())
    some = ", ".join(str(position + 1) for position in wide[:10].tolist())
    advice: list[Part] = ["let documents change places (swap neighbours at random in a small share of the sessions)"]
    if first > 1:
        advice += [", ask only for the first positions: ", Hint("max_position", first)]
    if has_features:
        advice += [
            ", or use features: ",
            Wording("method='regression'", "`swaprank clicks propensity --method regression`"),
        ]
    raise DataError(
        f"the log cannot tell the position bias at position {some}: from {counted(n_sessions, 'session', 'sessions')}, "
        f"intervals would be wider than a factor of {WIDEST_FACTOR:g} in both directions. ",
        f"{more_sessions(worst, n_sessions)}, ",
        *advice,
        ".",
    )


def more_sessions(error: float, n_sessions: int) -> str:
    """Advice to log as many sessions as bring the standard error down to the largest, in two digits."""
    needed = n_sessions * (error / LARGEST_ERROR) ** 2
    if not n_sessions < needed < math.inf:
        return "Log more sessions"
    step = 10.0 ** (math.floor(math.log10(needed)) - 1)
    return f"Log about {math.ceil(needed / step) * step:,.0f} sessions"
