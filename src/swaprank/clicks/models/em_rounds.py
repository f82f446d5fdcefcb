"""Rounds of expectation maximization until nothing changes, with long steps where rounds agree.

Rounds take small steps in almost the same direction. So after two of them a long step is tried [Varadhan2008], on the
scale of log odds, where no probability leaves its bounds. It is given up if it makes the clicks less likely.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np

from swaprank.arrays import Floats
from swaprank.elementary import exps2, logs2

_MOST_ROUNDS = 300
_LONGEST_STEP = 64.0
_CONVERGED = 1e-5
"""The largest change of a probability in one round."""
_SLACK = 1e-4
"""A long step may lower the log likelihood by this share: shrinkage is worth something, too."""


def repeat_rounds(
    improve: Callable[[Floats], tuple[Floats, float]], start: Floats, n_shared: int
) -> tuple[Floats, int]:
    """The probabilities that `improve` no longer changes, and the number of rounds.

    `improve` returns the probabilities of the next round, and the log likelihood of those that it was given. The first
    `n_shared` are of all pages. The others are of documents, whose mean change counts: a few that were seldom shown go
    on changing for long.
    """
    now, rounds = start, 0
    while rounds < _MOST_ROUNDS:
        first, _ = improve(now)
        change = np.abs(first - now)
        if change[:n_shared].max(initial=0.0) < _CONVERGED and change[n_shared:].mean() < _CONVERGED:
            return first, rounds + 1
        second, likelihood = improve(first)
        far, reached = improve(_extrapolated(now, first, second))
        now = far if reached >= likelihood - _SLACK * abs(likelihood) else second
        rounds += 3
    return now, rounds


def _extrapolated(start: Floats, first: Floats, second: Floats) -> Floats:
    """The point to which the steps from start to first to second lead."""
    a, b, c = (_log_odds(each) for each in (start, first, second))
    step, turn = b - a, (c - b) - (b - a)
    length, bend = float((step * step).sum()), float((turn * turn).sum())
    far = max(1.0, min(sqrt(length / bend), _LONGEST_STEP)) if bend > 0 else 1.0
    odds = np.clip(a + 2 * far * step + far**2 * turn, -30.0, 30.0)
    return 1.0 / (1.0 + exps2(-odds))


def _log_odds(p: Floats) -> Floats:
    return logs2(p) - logs2(1.0 - p)
