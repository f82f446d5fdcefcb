"""RankNet pair by pair in plain Python, as [Burges2005] writes it: the kernels' twin."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from swaprank.arrays import Floats

Pair = tuple[int, int, float]


def pairs_of(labels: Floats, ties: bool) -> list[Pair]:
    """(i, j, P_ij) for every pair that counts, once."""
    pairs = []
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                pairs.append((i, j, 1.0))
            elif ties and i < j and labels[i] == labels[j]:
                pairs.append((i, j, 0.5))
    return pairs


def cost(pairs: list[Pair], scores: Floats, sigma: float) -> float:
    """sum of -P log p - (1 - P) log(1 - p)."""
    total = 0.0
    for i, j, target in pairs:
        ahead = sigma * (scores[i] - scores[j])
        total += target * np.logaddexp(0, -ahead) + (1 - target) * np.logaddexp(0, ahead)
    return total


def gradients(pairs: list[Pair], scores: Floats, sigma: float) -> tuple[Floats, Floats]:
    """grad and hess, the latter at least sigma |grad| / 100."""
    grad, hess = np.zeros(len(scores)), np.zeros(len(scores))
    for i, j, target in pairs:
        ahead = sigma * (scores[i] - scores[j])
        force = (1 - target) * expit(ahead) - target * expit(-ahead)
        bend = expit(ahead) * expit(-ahead)
        grad[i] += sigma * force
        grad[j] -= sigma * force
        hess[i] += sigma**2 * bend
        hess[j] += sigma**2 * bend
    return grad, np.maximum(hess, sigma * np.abs(grad) / 100)
