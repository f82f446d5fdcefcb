"""LambdaRank pair by pair, as the papers write it: slow, plain, the kernel's twin."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from swaprank.arrays import Floats
from tests.metrics.naive import TWINS, Labels, Value, dcg, precision, swap_gains


def own_sum(labels: Labels) -> float:
    """The labels of the first four, divided by their ranks."""
    return sum(label / rank for rank, label in enumerate(labels[:4], 1))


def own_cascade(labels: Labels) -> float:
    """One fifth of the label is the probability to stop."""
    value, unsatisfied = 0.0, 1.0
    for rank, label in enumerate(labels, 1):
        value += unsatisfied * label / 5 / rank
        unsatisfied *= 1 - label / 5
    return value


VALUES: dict[str, Value] = TWINS | {
    "dcg@5": lambda x: dcg(x, 5),
    "dcg@5 linear": lambda x: sum(label / np.log2(rank + 1) for rank, label in enumerate(x[:5], 1)),
    "p@2": lambda x: precision(x, 2),
    "own": lambda x: own_sum(x) / (own_sum(sorted(x, reverse=True)) or 1.0),
    "own cascade": own_cascade,
    "own function": lambda x: x[0] + 0.5 * x[-1],
}
"""By the names in test_lambdas.py."""


def weights_of(metric: str, labels: Floats, scores: Floats, normalize: bool) -> Floats:
    """|dZ_ij| for every pair of documents, 0 between equals; divided by the difference of scores if normalized."""
    order = np.argsort(-scores, kind="stable")
    n = len(labels)
    weights = np.zeros((n, n))
    if metric == "pairwise":  # All pairs count the same, wherever they stand.
        pairs = (labels[:, None] > labels).sum()
        gains = np.full((n, n), 1.0 / max(pairs, 1))
    else:
        gains = np.abs(swap_gains(VALUES[metric], labels[order].tolist()))
    weights[np.ix_(order, order)] = gains
    weights[labels[:, None] == labels] = 0.0
    return weights / (0.01 + np.abs(scores[:, None] - scores)) if normalize else weights


def cost(weights: Floats, labels: Floats, scores: Floats, sigma: float) -> float:
    """sum over i better than j of |dZ_ij| log(1 + exp(-sigma (s_i - s_j))), with |dZ| held fixed."""
    better = labels[:, None] > labels
    return float((weights * np.logaddexp(0, -sigma * (scores[:, None] - scores)))[better].sum())


def lambdas(metric: str, labels: Floats, scores: Floats, sigma: float, normalize: bool) -> tuple[Floats, Floats]:
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
