"""Regression trees, MART and LambdaMART as [Burges2010] describes them: every threshold of every feature is tried.

Where the paper leaves a choice: the leaf whose split reduces the squared error most is split next, and of equally good
splits the first feature and the lowest threshold win. Differences below 1e-10 are rounding errors, and count as equal.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Measure = Callable[[list[float]], float]
"""Of the labels of a list, from the top."""


@dataclass
class Tree:
    """The splits in the order in which they were made, and the samples of each leaf."""

    features: list[int]
    left_sides: list[frozenset[int]]
    right_sides: list[frozenset[int]]
    leaves: list[frozenset[int]]


def squared_error_reduction(y: Floats) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """How much less [Burges2010, Eq. 11] is than the squared error of the unsplit samples."""

    def of(left: NDArray[Any], right: NDArray[Any]) -> float:
        both = np.concatenate((left, right))
        return float(sum(sign * ((y[s] - y[s].mean()) ** 2).sum() for sign, s in ((1, both), (-1, left), (-1, right))))

    return of


def newton_gain(g: Floats, h: Floats) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """How much more one Newton step per side reduces the cost (to second order) than one for both: not in the paper.

    A side without curvature has no Newton step.
    """

    def of(left: NDArray[Any], right: NDArray[Any]) -> float:
        if h[left].sum() == 0 or h[right].sum() == 0:
            return 0.0
        both = np.concatenate((left, right))
        return float(sum(sign * g[s].sum() ** 2 / h[s].sum() for sign, s in ((-1, both), (1, left), (1, right))))

    return of


def best_split(
    X: Floats, samples: NDArray[Any], gain: Callable[[NDArray[Any], NDArray[Any]], float]
) -> tuple[float, int, NDArray[Any], NDArray[Any]] | None:
    """Loop through all features and thresholds; samples with x <= t are on the left."""
    best = None
    for feature in range(X.shape[1]):
        values = X[samples, feature]
        for low, high in pairwise(np.unique(values)):
            goes_left = values <= (low + high) / 2
            left, right = samples[goes_left], samples[~goes_left]
            found = gain(left, right)
            if found > (1e-12 if best is None else best[0] * (1 + 1e-10)):
                best = (found, feature, left, right)
    return best


def grow(X: Floats, n_leaves: int, gain: Callable[[NDArray[Any], NDArray[Any]], float]) -> Tree:
    """Split n_leaves - 1 times."""
    leaves = [np.arange(len(X))]
    splits = [best_split(X, leaves[0], gain)]
    tree = Tree([], [], [], [])
    while len(leaves) < n_leaves:
        chosen = None
        for leaf, split in enumerate(splits):
            if split is not None and (chosen is None or split[0] > splits[chosen][0] * (1 + 1e-10)):  # type: ignore[index]
                chosen = leaf
        if chosen is None:
            break
        _, feature, left, right = splits[chosen]  # type: ignore[misc]
        tree.features.append(feature)
        tree.left_sides.append(frozenset(left.tolist()))
        tree.right_sides.append(frozenset(right.tolist()))
        leaves[chosen] = left
        leaves.append(right)
        splits[chosen] = best_split(X, left, gain)
        splits.append(best_split(X, right, gain))
    tree.leaves = [frozenset(leaf.tolist()) for leaf in leaves]
    return tree


@dataclass
class Boosted:
    """The trees, the values of their leaves times the learning rate, and the scores after the last one."""

    trees: list[Tree]
    values: list[list[float]]
    scores: Floats


def boost(
    X: Floats,
    start: Floats,
    responses: Callable[[Floats], tuple[Floats, Floats]],
    n_leaves: list[int],
    learning_rate: float,
    newton_splits: bool = False,
) -> Boosted:
    """The algorithm of section 7; `responses` gives y and w, and there is one number of leaves per tree.

    A leaf's value is the sum of its y over the sum of its w; it is 0 if there is no w.
    """
    scores, trees, values = start.copy(), [], []
    for size in n_leaves:
        y, w = responses(scores)
        tree = grow(X, size, newton_gain(y, w) if newton_splits else squared_error_reduction(y))
        steps = []
        for leaf in tree.leaves:
            samples = sorted(leaf)
            curvature = float(w[samples].sum())
            steps.append(learning_rate * float(y[samples].sum()) / curvature if curvature > 0 else 0.0)
            scores[samples] += steps[-1]
        trees.append(tree)
        values.append(steps)
    return Boosted(trees, values, scores)


def squared_responses(labels: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Squared error: a leaf's value is the mean of what is left of the labels [Burges2010, section 5]."""
    return lambda scores: (labels - scores, np.ones(len(labels)))


def logistic_responses(y: Floats, sigma: float, balanced: bool) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Two classes, y = 1 or -1 [Burges2010, section 6]; with the balanced loss of section 6.1, Eq. 15."""

    def of(scores: Floats) -> tuple[Floats, Floats]:
        response = 2 * y * sigma / (1 + np.exp(2 * y * sigma * scores))
        share = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum()) if balanced else np.ones(len(y))
        return response * share, np.abs(response) * (2 * sigma - np.abs(response)) * share

    return of


def lambda_responses(
    labels: Floats, queries: list[NDArray[Any]], ties: list[int], measure: Measure | None, sigma: float
) -> Callable[[Floats], tuple[Floats, Floats]]:
    """The lambdas of all documents, as utilities, and their derivatives [Burges2010, section 7].

    measure: None for RankNet, where every |dZ| is 1.
    ties: Each document's place; of documents with equal scores the one with the lower place ranks higher.
    """

    def of(scores: Floats) -> tuple[Floats, Floats]:
        y, w = np.zeros(len(labels)), np.zeros(len(labels))
        for query in queries:
            # Leaves of documents that are better than all others have equal values, up to rounding.
            ranked = sorted(query.tolist(), key=lambda d: (-round(float(scores[d]), 10), ties[d]))
            found = [float(labels[d]) for d in ranked]
            for a, b in combinations(range(len(ranked)), 2):
                if found[a] == found[b]:
                    continue
                swapped = found.copy()
                swapped[a], swapped[b] = found[b], found[a]
                delta = 1.0 if measure is None else abs(measure(swapped) - measure(found))
                i, j = (ranked[a], ranked[b]) if found[a] > found[b] else (ranked[b], ranked[a])
                rho = 1 / (1 + np.exp(sigma * (scores[i] - scores[j])))
                y[i] += sigma * delta * rho
                y[j] -= sigma * delta * rho
                w[i] += sigma**2 * delta * rho * (1 - rho)
                w[j] += sigma**2 * delta * rho * (1 - rho)
        return y, w

    return of


def ndcg(labels: list[float], k: int) -> float:
    """[Burges2010, Eq. 5]; 0 if no label is above 0."""

    def dcg(order: list[float]) -> float:
        return sum((2**label - 1) / math.log2(1 + rank) for rank, label in enumerate(order[:k], start=1))

    best = dcg(sorted(labels, reverse=True))
    return dcg(labels) / best if best > 0 else 0.0


def err(labels: list[float], largest: float) -> float:
    """[Burges2010, section 3]."""
    total, left = 0.0, 1.0
    for rank, label in enumerate(labels, start=1):
        relevant = (2**label - 1) / 2**largest
        total += left * relevant / rank
        left *= 1 - relevant
    return total
