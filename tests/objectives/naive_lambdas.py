"""LambdaRank pair by pair, as the papers write it: slow, plain, the kernel's twin."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

import swaprank as sr
from swaprank.arrays import Floats


def weights_of(metric: sr.Metric, labels: Floats, scores: Floats, normalize: bool) -> Floats:
    """|dZ_ij| for every pair of documents, 0 between equals; divided by the difference of scores if normalized."""
    order = np.argsort(-scores, kind="stable")
    n = len(labels)
    weights = np.zeros((n, n))
    if isinstance(metric, sr.PairwiseCorrect):
        pairs = (labels[:, None] > labels).sum()
        gains = np.full((n, n), 1.0 / max(pairs, 1))
    else:
        gains = np.abs(metric.swap_gains(labels[order]))
    weights[np.ix_(order, order)] = gains
    weights[labels[:, None] == labels] = 0.0
    return weights / (0.01 + np.abs(scores[:, None] - scores)) if normalize else weights


def cost(weights: Floats, labels: Floats, scores: Floats, sigma: float) -> float:
    """sum over i better than j of |dZ_ij| log(1 + exp(-sigma (s_i - s_j))), with |dZ| held fixed."""
    better = labels[:, None] > labels
    return float((weights * np.logaddexp(0, -sigma * (scores[:, None] - scores)))[better].sum())


def lambdas(metric: sr.Metric, labels: Floats, scores: Floats, sigma: float, normalize: bool) -> tuple[Floats, Floats]:
    """grad and hess of one query."""
    weights = weights_of(metric, labels, scores, normalize)
    grad, hess, total = np.zeros(len(labels)), np.zeros(len(labels)), 0.0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                ahead = sigma * (scores[i] - scores[j])
                rho, other = expit(-ahead), expit(ahead)
                force, bend = sigma * weights[i, j] * rho, sigma**2 * weights[i, j] * rho * other
                grad[i] -= force
                grad[j] += force
                hess[i] += bend
                hess[j] += bend
                total += force
    factor = np.log2(1 + 2 * total) / (2 * total) if normalize and total > 0 else 1.0
    # The curvature of forces that are nearly straight is bounded below: no Newton step is longer than 100 / sigma.
    return factor * grad, factor * np.maximum(hess, sigma * np.abs(grad) / 100)
