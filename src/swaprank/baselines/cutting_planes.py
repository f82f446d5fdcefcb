"""Cutting planes: a convex cost, approached from below by planes that touch it [Joachims2009]."""

from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.lanes import dot

_MOST_STEPS = 10_000
"""The limit of the steps of one search. A few more than there are planes are usual."""
_LEAST_RIDGE = 1e-13
"""The rounding error of a plane that depends on others, relative to the largest product."""


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
        """Return the weights, and a lower bound of the cost, within `tolerance` of the lowest for these planes."""
        climb_dual(self.products, self.offsets, strength, tolerance, self.shares)
        weights = (self.slopes * self.shares[:, None]).sum(axis=0) / (2.0 * strength)
        return weights, dot(self.offsets, self.shares) - strength * dot(weights, weights)


@kernel
def climb_dual(products: Floats, offsets: Floats, strength: float, tolerance: float, shares: Floats) -> None:
    """Raise the dual until no plane is above the mean of all, weighted by their shares, by more than the tolerance.

    An active-set method: the highest plane joins those with shares. The best shares of these few are the solution of a
    linear system. If some are negative, go there only until the first share is 0, leave this plane out, and repeat.
    """
    width, n = 2.0 * strength, len(shares)
    members = np.empty(n, np.int64)
    before = -np.inf
    for _ in range(_MOST_STEPS):
        heights, value = offsets.copy(), 0.0
        for u in np.flatnonzero(shares):
            for t in range(n):
                heights[t] -= products[u, t] * shares[u] / width
        up, mean = np.argmax(heights), 0.0
        for u in np.flatnonzero(shares):
            mean += shares[u] * heights[u]
            value += 0.5 * shares[u] * (heights[u] + offsets[u])
        if heights[up] - mean <= tolerance or value <= before:
            break
        before, n_members = value, 0
        for t in range(n):
            if shares[t] > 0.0 or t == up:
                members[n_members] = t
                n_members += 1
        while n_members > 0:
            best = best_shares(products, offsets, width, 0.1 * tolerance, members[:n_members])
            step, first = 1.0, -1
            for m in range(n_members):
                share = shares[members[m]]
                if best[m] <= 0.0 and share <= step * (share - best[m]):
                    step, first = share / (share - best[m]) if share > 0.0 else 0.0, m
            for m in range(n_members):
                shares[members[m]] += step * (best[m] - shares[members[m]])
            if first < 0:
                break
            shares[members[first]] = 0.0
            n_members -= 1
            members[first:n_members] = members[first + 1 : n_members + 1].copy()


@kernel
def best_shares(products: Floats, offsets: Floats, width: float, ridge: float, members: Ints) -> Floats:
    """Return the shares of these planes, of any sign, with the sum 1 and the highest dual: K a + mu = offsets.

    K are the products / width, plus a ridge, because planes may depend on each other: a = y - mu z with K y = offsets
    and K z = 1, by the Cholesky factors of K.
    """
    n = len(members)
    factor, y, z = np.zeros((n, n)), np.empty(n), np.empty(n)
    largest = 0.0
    for i in range(n):
        largest = max(largest, products[members[i], members[i]] / width)
    ridge = max(ridge, _LEAST_RIDGE * largest)
    for i in range(n):
        y[i], z[i] = offsets[members[i]], 1.0
        for j in range(i + 1):
            total = products[members[i], members[j]] / width + (ridge if i == j else 0.0)
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(max(total, ridge)) if i == j else total / factor[j, j]
        for k in range(i):
            y[i] -= factor[i, k] * y[k]
            z[i] -= factor[i, k] * z[k]
        y[i] /= factor[i, i]
        z[i] /= factor[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            y[i] -= factor[k, i] * y[k]
            z[i] -= factor[k, i] * z[k]
        y[i] /= factor[i, i]
        z[i] /= factor[i, i]
    return y - (np.sum(y) - 1.0) / np.sum(z) * z
