"""The Shapley values of the step from one document to another, for models without contributions of their own."""

from math import comb

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.models.model import Model

MOST_EXACT = 12
"""Up to so many features that differ, all orders count: 2^12 documents are scored."""
N_ORDERS = 500
"""So many random orders, and their reverses, if more features differ."""


def differing_features(a: Features, b: Features) -> Ints:
    """The features with different values; two missing values are the same."""
    return np.flatnonzero((a != b) & ~(np.isnan(a) & np.isnan(b)))


def exchange_contributions(model: Model, a: Features, b: Features, n_threads: int | None = None) -> Floats:
    """What each feature contributes when the values of b are exchanged for those of a, one after the other.

    It is the mean over all orders of the exchange [Shapley1953]; if more than 12 features differ, over 500 random
    orders and their reverses, always the same. Features with the same value contribute 0. The sum is the score of a
    minus that of b, in any case.

    >>> import numpy as np
    >>> from swaprank.instruments.exchange_game import exchange_contributions
    >>> from swaprank.models.linear import LinearModel
    >>> model = LinearModel(np.array([2.0, -1.0]), np.zeros(2, np.float32))
    >>> exchange_contributions(model, np.array([1, 5], np.float32), np.array([0, 5], np.float32)).tolist()
    [2.0, 0.0]
    """
    differ = differing_features(a, b)
    exchanged = _over_all_orders if len(differ) <= MOST_EXACT else _over_random_orders
    contributions = np.zeros(len(a))
    contributions[differ] = exchanged(model, a, b, differ, n_threads)
    return contributions


def _over_all_orders(model: Model, a: Features, b: Features, differ: Ints, n_threads: int | None) -> Floats:
    n = len(differ)
    subsets = np.arange(2**n)
    from_a = (subsets[:, None] >> np.arange(n)) & 1 == 1
    documents = np.repeat(b[None, :], len(subsets), axis=0)
    documents[:, differ] = np.where(from_a, a[differ], b[differ])
    scores = model.score(read_only(documents), n_threads)
    contributions, sizes = np.zeros(n), from_a.sum(axis=1)
    weights = np.array([1.0 / (n * comb(n - 1, size)) for size in range(n)])
    for place in range(n):
        without = subsets[~from_a[:, place]]
        gained = scores[without | (1 << place)] - scores[without]
        contributions[place] = np.sum(weights[sizes[without]] * gained)
    return contributions


def _over_random_orders(model: Model, a: Features, b: Features, differ: Ints, n_threads: int | None) -> Floats:
    generator, n = np.random.default_rng(0), len(differ)
    contributions = np.zeros(n)
    for _ in range(N_ORDERS):
        order = generator.permutation(n)
        for each in (order, order[::-1]):
            documents = np.repeat(b[None, :], n + 1, axis=0)
            for step, place in enumerate(each.tolist()):
                documents[step + 1 :, differ[place]] = a[differ[place]]
            contributions[each] += np.diff(model.score(read_only(documents), n_threads))
    return contributions / (2 * N_ORDERS)
