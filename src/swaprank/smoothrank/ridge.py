"""Ridge regression from sums over the rows: one pass over the data serves every strength.

minimise   sum_i v_i (w'x_i + b - y_i)² / sum_i v_i  +  alpha |w|²        x in units of each feature's deviation
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, row_blocks

STRENGTHS = tuple(10.0 ** (power / 2) for power in range(6, -13, -1))
"""What "auto" chooses alpha from: 10^3 to 10^-6 in half decades, the strongest first."""

_BLOCK_ROWS = 8192


class Moments(NamedTuple):
    """Sums over rows of v, v x, v y, v x x' and v x y, with x measured from an origin."""

    weight: float
    x: Floats
    y: float
    xx: Floats
    xy: Floats

    def plus(self, part: Moments) -> Moments:
        """The sums of these rows and others."""
        return Moments(
            self.weight + part.weight, self.x + part.x, self.y + part.y, self.xx + part.xx, self.xy + part.xy
        )


def moments_of(features: Features, factor: Floats, origin: Floats, targets: Floats, weights: Floats) -> Moments:
    """The sums of these rows; nothing may be missing.

    >>> import numpy as np
    >>> from swaprank.smoothrank.ridge import moments_of, ridge
    >>> X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    >>> sums = moments_of(X, np.ones(1), np.zeros(1), np.array([1.0, 3.0, 5.0]), np.ones(3))
    >>> [weights.round(3).tolist() for weights in ridge(sums, [0.0, 1.0])]
    [[2.0], [0.8]]
    """
    d = features.shape[1]
    total = Moments(0.0, np.zeros(d), 0.0, np.zeros((d, d)), np.zeros(d))
    for block in row_blocks(len(features), _BLOCK_ROWS):
        x = (features[block].astype(np.float64) - origin) * factor
        v, y = weights[block], targets[block]
        weighed = x * v[:, None]
        total = total.plus(Moments(float(v.sum()), weighed.sum(axis=0), float(v @ y), x.T @ weighed, weighed.T @ y))
    return total


def ridge(moments: Moments, strengths: Sequence[float]) -> list[Floats]:
    """The weights for every strength alpha; of strength 0, the shortest ones that fit best."""
    if moments.weight <= 0:
        return [np.zeros(len(moments.x)) for _ in strengths]
    mean = moments.x / moments.weight
    covariance = moments.xx / moments.weight - np.outer(mean, mean)
    answer = moments.xy / moments.weight - mean * (moments.y / moments.weight)
    lengths, axes = np.linalg.eigh(covariance)
    along = axes.T @ answer
    # Axes on which the rows do not differ but for rounding can say nothing, and would say it loudly.
    known = lengths > max(lengths.max(initial=0.0), 0.0) * len(lengths) * 1e-12
    results = []
    for alpha in strengths:
        shrunk = np.zeros(len(lengths))
        np.divide(along, lengths + alpha, out=shrunk, where=known)
        results.append(axes @ shrunk)
    return results


def overweighted(relevant: Floats, weights: Floats) -> Floats:
    """Weights such that relevant documents count as much in all as the others [Chapelle2010, section 7].

    >>> import numpy as np
    >>> from swaprank.smoothrank.ridge import overweighted
    >>> overweighted(np.array([1.0, 0.0, 0.0, 0.0]), np.ones(4)).round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    """
    is_relevant = relevant > 0
    total, of_relevant = weights.sum(), weights[is_relevant].sum()
    if of_relevant <= 0 or of_relevant >= total:
        return weights
    shares: Floats = np.where(is_relevant, weights / of_relevant, weights / (total - of_relevant))
    return np.asarray(shares * (total / 2))
