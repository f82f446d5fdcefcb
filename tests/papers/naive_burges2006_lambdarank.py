"""LambdaRank from the text of [Burges2006], sections 5 and 6.2, in plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tests.papers.naive_burges2005_ranknet import Floats, TwoLayerNet

Lambdas = Callable[[Floats, Floats], Floats]
"""The force on each document of a query, from labels and scores."""


def ndcg(labels: Sequence[float], k: int) -> float:
    """Of labels in the order of the ranks, Eq. 1."""

    def sum_of_gains(ranked: Sequence[float]) -> float:
        return float(sum((2.0**label - 1) / np.log(1 + j) for j, label in enumerate(ranked[:k], 1)))

    return sum_of_gains(labels) / sum_of_gains(sorted(labels, reverse=True))


def ndcg_lambdas(k: int) -> Lambdas:
    """The derivative of RankNet's cost times the change of NDCG@k when the two documents are swapped, section 6.2."""

    def lambdas(labels: Floats, scores: Floats) -> Floats:
        order = list(np.argsort(-scores, kind="stable"))
        ranked = [float(labels[i]) for i in order]
        forces = np.zeros(len(labels))
        for a, i in enumerate(order):
            for b, j in enumerate(order):
                if labels[i] > labels[j]:
                    swapped = list(ranked)
                    swapped[a], swapped[b] = ranked[b], ranked[a]
                    change = abs(ndcg(swapped, k) - ndcg(ranked, k))
                    force = change / (1 + np.exp(scores[i] - scores[j]))
                    forces[i] += force
                    forces[j] -= force
        return forces

    return lambdas


def ndcg_lambda_of_a_pair(labels: Floats, scores: Floats, i: int, j: int) -> float:
    """The increment of document i by a less relevant document j, in the closed form, without a cut-off."""
    rank = 1 + np.argsort(np.argsort(-scores, kind="stable"))
    best = sorted(labels, reverse=True)
    norm = 1 / sum((2.0**label - 1) / np.log(1 + r) for r, label in enumerate(best, 1))
    gain = norm * (2.0 ** labels[i] - 2.0 ** labels[j]) * (1 / np.log(1 + rank[i]) - 1 / np.log(1 + rank[j]))
    return float(abs(gain) / (1 + np.exp(scores[i] - scores[j])))


def train(
    net: TwoLayerNet, queries: Sequence[tuple[Floats, Floats]], orders: Sequence[Sequence[int]], rate: float,
    lambdas: Lambdas,
) -> TwoLayerNet:  # fmt: skip
    """One epoch per order of the queries, matrices and labels; a step per query, a pass per document, section 5."""
    for order in orders:
        for q in order:
            X, labels = queries[q]
            forces = lambdas(labels, np.array([net.output(x) for x in X]))
            net = net.stepped([net.document_gradient(x, -force) for x, force in zip(X, forces, strict=True)], rate)
    return net


def ranknet_lambdas(labels: Floats, scores: Floats) -> Floats:
    """RankNet's gradient of each document, summed over its pairs: the factored training of section 5."""
    forces = np.zeros(len(labels))
    for i in range(len(labels)):
        for j in range(len(labels)):
            if labels[i] > labels[j]:
                force = 1 / (1 + np.exp(scores[i] - scores[j]))
                forces[i] += force
                forces[j] -= force
    return forces
