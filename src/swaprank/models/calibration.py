"""A calibration: scores as probabilities of relevance, or as expected labels, in the same order.

Isotonic: steps, joined by lines between their centres, so that a higher score always has a higher value. Beyond the
outer centres a value moves by at most 1% of the way to its limit. Platt: 1 / (1 + exp(-slope score - shift)).
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Floats
from swaprank.elementary import exp
from swaprank.kernels import kernel

TAIL = 0.01
"""How far values move beyond the outer centres, of the way to the limit."""


@final
@dataclass(frozen=True)
class Calibration:
    """A rising function from scores to probabilities of relevance, or to expected labels.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((30, 30), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=5).fit(train).calibrate(vali, method="platt")
    >>> ranker.calibration_.method, ranker.calibration_.target, ranker.calibration_.n_queries
    ('platt', 'probability', 30)
    """

    method: str
    target: str
    rel: float
    """Labels from here on are relevant."""
    low: float
    """No value is below; 0 for probabilities."""
    high: float
    scores: tuple[float, ...]
    """The centres of the steps; the slope of Platt's function."""
    values: tuple[float, ...]
    """The values there; the shift of Platt's function."""
    n_queries: int
    """Those that it was fitted to."""

    def of(self, scores: Floats) -> Floats:
        """The values of scores."""
        if self.method == "platt":
            share = sigmoids(self.scores[0] * np.asarray(scores, np.float64) + self.values[0])
            platt: Floats = self.low + (self.high - self.low) * share
            return platt
        return _interpolated(self, np.asarray(scores, np.float64))

    def targets(self, labels: Floats) -> Floats:
        """What the values estimate: 0 or 1 for relevance, or the labels."""
        return (labels >= self.rel).astype(np.float64) if self.target == "probability" else labels.astype(np.float64)


def _interpolated(found: Calibration, scores: Floats) -> Floats:
    x, y = np.array(found.scores), np.array(found.values)
    at = np.clip(np.searchsorted(x, scores, side="right") - 1, 0, len(x) - 2)
    share = np.clip((scores - x[at]) / (x[at + 1] - x[at]), 0.0, 1.0)
    inner = np.minimum(y[at] + (y[at + 1] - y[at]) * share, y[at + 1])
    span = x[-1] - x[0]
    below, above = np.maximum(x[0] - scores, 0.0), np.maximum(scores - x[-1], 0.0)
    values: Floats = inner - TAIL * (y[0] - found.low) * (below / (span + below))
    values += TAIL * (found.high - y[-1]) * (above / (span + above))
    return values


def sigmoids(z: Floats) -> Floats:
    """1 / (1 + exp(-z)), with the same bits everywhere."""
    found = np.empty(len(z))
    _write_sigmoids(np.ascontiguousarray(z), found)
    return found


@kernel
def _write_sigmoids(z: Floats, found: Floats) -> None:
    for k in range(len(z)):
        small = exp(-abs(z[k]))
        found[k] = 1.0 / (1.0 + small) if z[k] >= 0 else small / (1.0 + small)
