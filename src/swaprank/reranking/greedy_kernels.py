"""Greedy re-ranking of one list: each rank takes the document that is best after those above it.

Both kernels write into `order` the positions of the documents from the first rank on, as many as it has. Of documents
that are equally good, the first wins.
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel


@kernel
def mmr_order(relevance: Floats, vectors: Floats, similarities: Floats, weight: float, order: Ints) -> None:
    """weight * relevance - (1 - weight) * largest similarity to a document above [Carbonell1998].

    The similarities are a square matrix, or, if that is empty, the products of the vectors.
    """
    n = len(relevance)
    nearest, taken = np.full(n, -np.inf), np.zeros(n, np.bool_)
    for rank in range(len(order)):
        best, best_value = -1, -np.inf
        for d in range(n):
            if not taken[d]:
                value = weight * relevance[d] - (0.0 if rank == 0 else (1.0 - weight) * nearest[d])
                if best < 0 or value > best_value:
                    best, best_value = d, value
        order[rank] = best
        taken[best] = True
        for d in range(n):
            if taken[d]:
                continue
            if len(similarities):
                similarity = similarities[best, d]
            else:
                similarity = 0.0
                for at in range(vectors.shape[1]):
                    similarity += vectors[best, at] * vectors[d, at]
            nearest[d] = max(nearest[d], similarity)


@kernel
def xquad_order(relevance: Floats, probabilities: Floats, subtopics: Floats, weight: float, order: Ints) -> None:
    """weight * relevance + (1 - weight) * sum over subtopics of P(s) P(d | s) P(none above is about s).

    [Santos2010, Eq. 2 and 5]
    """
    n, n_subtopics = probabilities.shape
    missing, taken = subtopics.copy(), np.zeros(n, np.bool_)
    for rank in range(len(order)):
        best, best_value = -1, -np.inf
        for d in range(n):
            if not taken[d]:
                novelty = 0.0
                for s in range(n_subtopics):
                    novelty += missing[s] * probabilities[d, s]
                value = weight * relevance[d] + (1.0 - weight) * novelty
                if best < 0 or value > best_value:
                    best, best_value = d, value
        order[rank] = best
        taken[best] = True
        for s in range(n_subtopics):
            missing[s] *= 1.0 - probabilities[best, s]
