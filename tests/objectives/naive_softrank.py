"""SoftRank in plain Python."""

from math import erf

import numpy as np

from swaprank.arrays import Floats


def rank_distribution(scores: Floats, document: int, sigma: float) -> Floats:
    """The probabilities of the ranks of one document, from 0: the product of the polynomials 1 - pi + pi x."""
    product = np.ones(1)
    for other, score in enumerate(scores):
        if other != document:
            win = 0.5 * (1.0 + erf((score - scores[document]) / (2.0 * sigma)))
            product = np.convolve(product, [1.0 - win, win])
    return product


def softrank_cost(gains: Floats, discounts: Floats, scores: Floats, sigma: float) -> float:
    """Minus the expected sum of discounted gains; there are no gains beyond the last discount."""
    padded = np.pad(discounts, (0, max(0, len(scores) - len(discounts))))[: len(scores)]
    return -float(sum(gain * rank_distribution(scores, j, sigma) @ padded for j, gain in enumerate(gains)))
