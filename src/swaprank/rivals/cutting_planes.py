"""Cutting planes: a convex cost, approached from below by planes that touch it [Joachims2009]."""

from __future__ import annotations

from typing import final

import numpy as np

from swaprank.arrays import Floats
from swaprank.kernels import kernel
from swaprank.lanes import dot

_MOST_STEPS = 100_000
"""A guard: rounding might make the steps useless."""


@final
class CuttingPlanes:
    """Bounds of a cost from below, offset - slope·w, and the weights at which the highest of them is lowest.

        minimize over w   strength |w|² + max_t (offset_t - slope_t·w)
        maximize over a   offset·a - |sum_t a_t slope_t|² / (4 strength),   a >= 0, sum of a = 1        the dual

    with w = sum_t a_t slope_t / (2 strength). The first plane is 0: the loss of the best ranking.
    """

    def __init__(self, n_weights: int) -> None:
        self.slopes, self.offsets = np.zeros((1, n_weights)), np.zeros(1)
        self.products, self.shares = np.zeros((1, 1)), np.ones(1)

    def add(self, slope: Floats, offset: float) -> None:
        """Add a plane."""
        products = np.array([dot(slope, other) for other in (*self.slopes, slope)])
        self.slopes, self.offsets = np.vstack((self.slopes, slope)), np.append(self.offsets, offset)
        self.products = np.block([[self.products, products[:-1, None]], [products[None, :]]])
        self.shares = np.append(self.shares, 0.0)

    def lowest_point(self, strength: float, tolerance: float) -> tuple[Floats, float]:
        """The weights, and a bound of the cost from below that is within `tolerance` of the lowest for these planes."""
        climb_dual(self.products, self.offsets, strength, tolerance, self.shares)
        weights = (self.slopes * self.shares[:, None]).sum(axis=0) / (2.0 * strength)
        return weights, dot(self.offsets, self.shares) - strength * dot(weights, weights)


@kernel
def climb_dual(products: Floats, offsets: Floats, strength: float, tolerance: float, shares: Floats) -> None:
    """Raise the dual: move shares from the lowest plane that has any to the highest one, as far as it helps."""
    n, width = len(shares), 2.0 * strength
    heights = offsets.copy()
    for t in range(n):
        for u in range(n):
            heights[t] -= products[t, u] * shares[u] / width
    for _ in range(_MOST_STEPS):
        up, down, mean = 0, -1, 0.0
        for t in range(n):
            mean += shares[t] * heights[t]
            if heights[t] > heights[up]:
                up = t
            if shares[t] > 0.0 and (down < 0 or heights[t] < heights[down]):
                down = t
        if heights[up] - mean <= tolerance:
            break
        curvature = (products[up, up] - 2.0 * products[up, down] + products[down, down]) / width
        rise, step = heights[up] - heights[down], shares[down]
        if curvature * step > rise:
            step = rise / curvature
        shares[up] += step
        shares[down] -= step
        for t in range(n):
            heights[t] -= step * (products[t, up] - products[t, down]) / width
