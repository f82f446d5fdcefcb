"""The lambdas of [Donmez2009, section 4] and its test of local optimality, from the equations, with plain loops."""

import math
from collections.abc import Callable, Sequence
from typing import Any

Ranks = dict[int, int]


def ranked(scores: Sequence[float]) -> Ranks:
    """The rank of each document, from 1."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return {document: rank for rank, document in enumerate(order, 1)}


def average_precision_gain(relevant: Sequence[float], i: int, j: int, ranks: Ranks) -> float:
    """Section 4.2: relevant i at r_i, other j at r_j above it; n, m relevant documents in the top r_j, r_i."""
    at = {rank: relevant[document] for document, rank in ranks.items()}
    r_i, r_j = ranks[i], ranks[j]
    n = sum(at[k] for k in range(1, r_j + 1))
    m = sum(at[k] for k in range(1, r_i + 1))
    between = sum(at[k] / k for k in range(r_j + 1, r_i))
    return ((n + 1) / r_j - m / r_i + between) / sum(relevant)


def reciprocal_rank_gain(relevant: Sequence[float], i: int, j: int, ranks: Ranks) -> float:
    """Eq. 11: 1 / r_j - 1 / r if r_j < r <= r_i, with r the rank of the top relevant document; else 0."""
    top = min(ranks[d] for d in range(len(relevant)) if relevant[d])
    return 1 / ranks[j] - 1 / top if ranks[j] < top <= ranks[i] else 0.0


def ndcg_gain(labels: Sequence[float], i: int, j: int, ranks: Ranks, cut: int | None = None) -> float:
    """Section 4.1: N (2^l_i - 2^l_j) (D(r_i) - D(r_j)), by size."""

    def discount(rank: int) -> float:
        return 1 / math.log2(1 + rank) if cut is None or rank <= cut else 0.0

    best = sum((2**label - 1) * discount(r) for r, label in enumerate(sorted(labels, reverse=True), 1))
    return abs((2 ** labels[i] - 2 ** labels[j]) * (discount(ranks[i]) - discount(ranks[j]))) / best


def lambdas(
    labels: Sequence[float], scores: Sequence[float], gain: Callable[..., float], **options: Any
) -> list[float]:
    """lambda of each document: what raises it, RankNet's derivative times the gain of each pair, summed over pairs."""
    ranks, total = ranked(scores), [0.0] * len(labels)
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                size = abs(gain(labels, i, j, ranks, **options))
                force = size / (1 + math.exp(scores[i] - scores[j]))
                total[i] += force
                total[j] -= force
    return total


def effective_pairs(labels: Sequence[float], scores: Sequence[float]) -> int:
    """Pairs with a lambda that is not zero by Eq. 11 [section 7.2]."""
    if not any(labels):
        return 0
    ranks, n = ranked(scores), len(labels)
    pairs = [(i, j) for i in range(n) for j in range(n) if labels[i] > labels[j]]
    return sum(reciprocal_rank_gain(labels, i, j, ranks) != 0 for i, j in pairs)


def directions(delta: float, eps: float) -> int:
    """Section 5: the number of directions to test, K = ln(delta) / ln(1 - eps), rounded up."""
    return math.ceil(math.log(delta) / math.log(1 - eps))
