"""Target probabilities that fit together: from neighbours in some order to all pairs, and back [Burges2005, 3.1].

RankNet's probability that i is above j is P_ij = 1 / (1 + exp(-(o_i - o_j))) for its outputs o. Some outputs can meet
given probabilities only if these are consistent, and then those of neighbours in any one order determine all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from swaprank.arrays import Floats, Ints
from swaprank.errors import DataError


def chain(p_ij: ArrayLike, p_jk: ArrayLike) -> Floats:
    """P_ik from P_ij and P_jk: P_ij P_jk / (1 + 2 P_ij P_jk - P_ij - P_jk) [Burges2005, Eq. 5].

    NaN where one of them is certain, and the other impossible: then nothing follows.

    >>> import swaprank as sr
    >>> sr.posteriors.chain([0.6, 0.5, 1.0], [0.6, 0.5, 0.7]).round(4).tolist()
    [0.6923, 0.5, 1.0]
    """
    first, second = _probabilities("p_ij", p_ij), _probabilities("p_jk", p_jk)
    both, neither = first * second, (1.0 - first) * (1.0 - second)
    with np.errstate(invalid="ignore"):
        return np.asarray(both / (both + neither), dtype=np.float64)


def all_pairs(adjacent: ArrayLike, order: ArrayLike | None = None) -> Floats:
    """P_ij for every pair, from those of neighbours: the Theorem of [Burges2005, 3.1].

    Args:
        adjacent: P(order[i] above order[i + 1]), one fewer than there are documents; any from 0 to 1.
        order: The documents, each once; as they come if None.

    Returns:
        A matrix of P(i above j), with 1/2 on its diagonal, and NaN where both a certain and an impossible step lie
        between i and j, from which nothing follows.

    >>> import swaprank as sr
    >>> sr.posteriors.all_pairs([0.6, 0.6]).round(4)
    array([[0.5   , 0.6   , 0.6923],
           [0.4   , 0.5   , 0.6   ],
           [0.3077, 0.4   , 0.5   ]])
    """
    steps = _probabilities("adjacent", adjacent)
    if steps.ndim != 1:
        raise DataError(f"adjacent must be one probability for every two neighbours, found shape {steps.shape}.")
    documents = _order(order, len(steps) + 1)
    # Certain steps are infinite in log odds: they are counted apart, ups and downs, so that inf - inf never occurs.
    certain, impossible = steps == 1.0, steps == 0.0
    odds = _before(logit(np.where(certain | impossible, 0.5, steps)))
    ups, downs = _before(certain), _before(impossible)
    up, down = ups - ups[:, None], downs - downs[:, None]
    # Going back along the order, each step counts with the other sign.
    wins, losses = np.maximum(up, -down), np.maximum(down, -up)
    found = expit(odds - odds[:, None])
    found = np.where((wins > 0) & (losses > 0), np.nan, np.where(wins > 0, 1.0, np.where(losses > 0, 0.0, found)))
    matrix = np.empty_like(found)
    matrix[np.ix_(documents, documents)] = found
    return matrix


def adjacency(posteriors: ArrayLike, order: ArrayLike | None = None) -> Floats:
    """The inverse of `all_pairs`: P(order[i] above order[i + 1]), from a matrix of all pairs.

    >>> import swaprank as sr
    >>> sr.posteriors.adjacency(sr.posteriors.all_pairs([0.9, 0.2], order=[1, 2, 0]), order=[1, 2, 0]).round(4).tolist()
    [0.9, 0.2]
    """
    matrix = _matrix(posteriors)
    documents = _order(order, len(matrix))
    return matrix[documents[:-1], documents[1:]]


def is_consistent(posteriors: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether some outputs of a RankNet have exactly these probabilities, so that its cost can reach its least.

    >>> import swaprank as sr
    >>> sr.posteriors.is_consistent([[0.5, 0.6, 0.6], [0.4, 0.5, 0.6], [0.4, 0.4, 0.5]])  # 0.6 and 0.6 make 0.6923
    False
    """
    matrix = _matrix(posteriors)
    return bool(np.allclose(all_pairs(adjacency(matrix)), matrix, rtol=0.0, atol=tolerance))


def _before(steps: ArrayLike) -> Floats:
    """Sums of the steps before each document."""
    return np.concatenate(([0.0], np.cumsum(np.asarray(steps, dtype=np.float64))))


def _probabilities(name: str, values: ArrayLike) -> Floats:
    checked = np.asarray(values, dtype=np.float64)
    if not ((checked >= 0.0) & (checked <= 1.0)).all():
        raise DataError(f"{name} must be probabilities, from 0 to 1.")
    return checked


def _matrix(values: ArrayLike) -> Floats:
    matrix = _probabilities("posteriors", values)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise DataError(f"posteriors must be a square matrix of P(i above j), found shape {matrix.shape}.")
    return matrix


def _order(order: ArrayLike | None, n: int) -> Ints:
    if order is None:
        return np.arange(n)
    documents = np.asarray(order)
    if documents.dtype.kind not in "iu" or sorted(documents.tolist()) != list(range(n)):
        raise DataError(f"order must name each document from 0 to {n - 1} once, found {documents.tolist()}.")
    return documents.astype(np.int64)
