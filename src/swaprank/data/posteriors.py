"""Consistent target probabilities: from adjacent pairs in some order to all pairs, and back [Burges2005, 3.1].

RankNet's probability that i ranks above j is P_ij = 1 / (1 + exp(-(o_i - o_j))) for its outputs o. Outputs with given
probabilities exist only if these are consistent; then the adjacent pairs of any order determine all others.

>>> import swaprank as sr
>>> sr.data.posteriors.all_pairs([0.6, 0.6])[0, 2].round(4)  # 0.6 and 0.6 make 0.6923
np.float64(0.6923)
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from swaprank.arrays import Floats, Ints
from swaprank.errors import DataError


def chain(p_ij: ArrayLike, p_jk: ArrayLike) -> Floats:
    """P_ik from P_ij and P_jk: P_ij P_jk / (1 + 2 P_ij P_jk - P_ij - P_jk) [Burges2005, Eq. 5].

    NaN if one of them is 1 and the other 0, because then P_ik is undetermined.

    >>> import swaprank as sr
    >>> sr.data.posteriors.chain([0.6, 0.5, 1.0], [0.6, 0.5, 0.7]).round(4).tolist()
    [0.6923, 0.5, 1.0]
    """
    first, second = _probabilities("p_ij", p_ij), _probabilities("p_jk", p_jk)
    both, neither = first * second, (1.0 - first) * (1.0 - second)
    with np.errstate(invalid="ignore"):
        return np.asarray(both / (both + neither), dtype=np.float64)


def all_pairs(adjacent: ArrayLike, order: ArrayLike | None = None) -> Floats:
    """P_ij for all pairs, from adjacent pairs [Burges2005, theorem in section 3.1].

    Args:
        adjacent: P(order[i] above order[i + 1]), from 0 to 1, one fewer than there are documents.
        order: A permutation of the documents. The default is 0, 1, 2, …

    Returns:
        A matrix of P(i above j), with 1/2 on the diagonal, and NaN where probabilities of both 1 and 0 lie between i
        and j, because then P_ij is undetermined.

    >>> import swaprank as sr
    >>> sr.data.posteriors.all_pairs([0.6, 0.6]).round(4)
    array([[0.5   , 0.6   , 0.6923],
           [0.4   , 0.5   , 0.6   ],
           [0.3077, 0.4   , 0.5   ]])
    """
    steps = _probabilities("adjacent", adjacent)
    if steps.ndim != 1:
        raise DataError(f"adjacent must be one probability per adjacent pair, found shape {steps.shape}.")
    documents = _order(order, len(steps) + 1)
    # Probabilities of 1 and 0 have infinite log odds: they are counted separately to avoid inf - inf.
    certain, impossible = steps == 1.0, steps == 0.0
    odds = _before(logit(np.where(certain | impossible, 0.5, steps)))
    ups, downs = _before(certain), _before(impossible)
    up, down = ups - ups[:, None], downs - downs[:, None]
    # Backwards along the order, each step has the opposite sign.
    wins, losses = np.maximum(up, -down), np.maximum(down, -up)
    found = expit(odds - odds[:, None])
    found = np.where((wins > 0) & (losses > 0), np.nan, np.where(wins > 0, 1.0, np.where(losses > 0, 0.0, found)))
    matrix = np.empty_like(found)
    matrix[np.ix_(documents, documents)] = found
    return matrix


def adjacency(posteriors: ArrayLike, order: ArrayLike | None = None) -> Floats:
    """The inverse of `all_pairs`: P(order[i] above order[i + 1]), from a matrix of all pairs.

    >>> import swaprank as sr
    >>> matrix = sr.data.posteriors.all_pairs([0.9, 0.2], order=[1, 2, 0])
    >>> sr.data.posteriors.adjacency(matrix, order=[1, 2, 0]).round(4).tolist()
    [0.9, 0.2]
    """
    matrix = _matrix(posteriors)
    documents = _order(order, len(matrix))
    return matrix[documents[:-1], documents[1:]]


def is_consistent(posteriors: ArrayLike, tolerance: float = 1e-9) -> bool:
    """True if there are RankNet outputs with exactly these probabilities, so that its cost can reach the minimum.

    >>> import swaprank as sr
    >>> sr.data.posteriors.is_consistent([[0.5, 0.6, 0.6], [0.4, 0.5, 0.6], [0.4, 0.4, 0.5]])  # 0.6 and 0.6 make 0.6923
    False
    """
    matrix = _matrix(posteriors)
    return bool(np.allclose(all_pairs(adjacency(matrix)), matrix, rtol=0.0, atol=tolerance))


def _before(steps: ArrayLike) -> Floats:
    """The sum of the steps before each document."""
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
        raise DataError(f"order must contain each document from 0 to {n - 1} once, found {documents.tolist()}.")
    return documents.astype(np.int64)
