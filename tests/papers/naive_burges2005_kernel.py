"""Kernel RankNet [Burges2005, section 7] in plain NumPy, with the whole kernel matrix; nothing of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

Floats = Any
Pair = tuple[int, int, float, float]
"""i, j, the target probability that i is above j, and a weight."""


def rbf(X: Floats, Z: Floats, gamma: float) -> Floats:
    """exp(-gamma |x - z|²)."""
    return np.array([[np.exp(-gamma * np.sum((x - z) ** 2)) for z in Z] for x in X])


def polynomial(X: Floats, Z: Floats, gamma: float, degree: int) -> Floats:
    """(gamma x'z + 1)^degree."""
    return np.array([[(gamma * np.sum(x * z) + 1) ** degree for z in Z] for x in X])


def objective(K: Floats, alpha: Floats, pairs: Sequence[Pair], strength: float, sigma: float) -> float:
    """Eq. 17: the cross entropy of the pairs plus lambda |f|², where |f|² = alpha' K alpha for f of Eq. 18."""
    f, total = K @ alpha, strength * float(alpha @ K @ alpha)
    for i, j, target, weight in pairs:
        o = sigma * (f[i] - f[j])
        total += weight * (-target * o + float(np.logaddexp(0, o)))  # Eq. 3
    return total


def slope(K: Floats, alpha: Floats, pairs: Sequence[Pair], strength: float, sigma: float) -> Floats:
    """The derivative of Eq. 17 with respect to f at the training documents, and that of the norm: K times this."""
    f, by_score = K @ alpha, np.zeros(len(K))
    for i, j, target, weight in pairs:
        off = weight * sigma * (1 / (1 + np.exp(-sigma * (f[i] - f[j]))) - target)
        by_score[i] += off
        by_score[j] -= off
    return by_score + 2 * strength * alpha


def solution(K: Floats, pairs: Sequence[Pair], strength: float, sigma: float, start: Floats) -> Floats:
    """The alpha of Eq. 18 with the least objective: scipy's trust region with the exact hessian, then Newton steps."""

    def laplacian(alpha: Floats) -> Floats:
        f, bends = K @ alpha, np.zeros((len(K), len(K)))
        for i, j, _, weight in pairs:
            p = 1 / (1 + np.exp(-sigma * (f[i] - f[j])))
            bend = weight * sigma**2 * p * (1 - p)
            bends[i, i] += bend
            bends[j, j] += bend
            bends[i, j] -= bend
            bends[j, i] -= bend
        return bends

    found = minimize(
        lambda alpha: objective(K, alpha, pairs, strength, sigma),
        start,
        jac=lambda alpha: K @ slope(K, alpha, pairs, strength, sigma),
        hess=lambda alpha: K @ laplacian(alpha) @ K + 2 * strength * K,
        method="trust-exact",
        options={"gtol": 1e-6, "maxiter": 500},
    ).x
    identity = np.eye(len(K))
    for _ in range(20):
        system = laplacian(found) @ K + 2 * strength * identity
        found = found - np.linalg.solve(system, slope(K, found, pairs, strength, sigma))
    return found
