"""[Burges2006] in plain Python: NDCG, lambda functions, factored training. Takes nothing from the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, log1p
from typing import Any

import numpy as np

Floats = Any
Force = Callable[[float, float], float]
"""The force on the better document of a pair, from the change of NDCG and from its lead in score."""


def ranks_of(scores: Floats) -> list[int]:
    """The rank of each document, from 1; the scores differ."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    ranks = [0] * len(scores)
    for place, document in enumerate(order):
        ranks[document] = place + 1
    return ranks


def ndcg(gains: Sequence[float], scores: Floats, depth: int = 10**9) -> float:
    """Eq. 1: N times the sum over ranks to L of gain / log(1 + rank); N makes the best order 1."""
    by_rank = sorted(zip(ranks_of(scores), gains, strict=True))
    found = sum(gain / log(1 + rank) for rank, gain in by_rank if rank <= depth)
    best = sum(gain / log(2 + place) for place, gain in enumerate(sorted(gains, reverse=True)[:depth]))
    return found / best if best else 0.0


def swapped(gains: Sequence[float], scores: Floats, i: int, j: int) -> float:
    """The size of the change of NDCG if documents i and j changed places."""
    other = list(scores)
    other[i], other[j] = other[j], other[i]
    return abs(ndcg(gains, other) - ndcg(gains, scores))


def ranknet_cost(lead: float) -> float:
    """Eq. 8: s_j - s_i + log(1 + exp(s_i - s_j)), for i better than j, with lead = s_i - s_j."""
    return -lead + log1p(exp(lead))


def chosen_force(change: float, lead: float) -> float:
    """Section 6.2: the slope of the RankNet cost, scaled by the change of NDCG."""
    return change / (1 + exp(lead))


def ranknet_force(change: float, lead: float) -> float:
    """The slope of Eq. 8."""
    return 1 / (1 + exp(lead))


def step_force(margin: float) -> Force:
    """Section 6.2: a constant force in proportion to the change of NDCG, until the lead exceeds the margin."""
    return lambda change, lead: change if lead <= margin else 0.0


def spring_force(margin: float) -> Force:
    """Section 4: a force that is linear in the scores; a spring that is relaxed at the margin, and beyond it."""
    return lambda change, lead: change * (margin - lead) if lead <= margin else 0.0


def with_margin(force: Force, margin: float) -> Force:
    """Section 6.2: the force is exerted until the lead exceeds the margin."""
    return lambda change, lead: force(change, lead) if lead <= margin else 0.0


def closed_form(gains: Sequence[float], scores: Floats, i: int, j: int) -> float:
    """Eq. 9: N (1 / (1 + exp(s_i - s_j))) (gain_i - gain_j) (1 / log(1 + r_i) - 1 / log(1 + r_j)), in size."""
    ranks, best = ranks_of(scores), sorted(gains, reverse=True)
    norm = 1 / sum(gain / log(2 + place) for place, gain in enumerate(best))
    discount = 1 / log(1 + ranks[i]) - 1 / log(1 + ranks[j])
    return abs(norm * (gains[i] - gains[j]) * discount) / (1 + exp(scores[i] - scores[j]))


def lambdas(gains: Sequence[float], scores: Floats, force: Force, diagonal: float = 0.0) -> Floats:
    """The force on each document: up from those that are worse, down from those that are better.

    The diagonal regularizer pulls each score towards 0 [section 4].
    """
    n = len(gains)
    total = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if gains[i] > gains[j]:
                pair = force(swapped(gains, scores, i, j), scores[i] - scores[j])
                total[i] += pair
                total[j] -= pair
    return total - diagonal * np.array(scores)


def jacobian(at: Callable[[Floats], Floats], scores: Floats, step: float = 1e-5) -> Floats:
    """Eq. 4: the derivative of the cost's gradient, which is minus the lambdas, by central differences."""
    columns = [(at(scores - step * move) - at(scores + step * move)) / (2 * step) for move in np.eye(len(scores))]
    return np.stack(columns, axis=1)


def pair_by_pair(X: Floats, gains: Sequence[float], weights: Floats, force: Force) -> Floats:
    """The gradient of a linear net's cost, summed over the pairs: two derivatives of the score for each."""
    scores, total = X @ weights, np.zeros(X.shape[1])
    for i in range(len(gains)):
        for j in range(len(gains)):
            if gains[i] > gains[j]:
                pair = force(swapped(gains, scores, i, j), scores[i] - scores[j])
                total += -pair * X[i] + pair * X[j]
    return total


def factored(X: Floats, gains: Sequence[float], weights: Floats, force: Force) -> Floats:
    """Eqs. 5 to 7: the same, with the pairs of each document summed first: one derivative for each document."""
    return -sum(one * x for one, x in zip(lambdas(gains, X @ weights, force), X, strict=True))
