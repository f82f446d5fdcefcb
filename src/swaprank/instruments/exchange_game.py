"""The exact Shapley values of the step from one document to another, for models without contributions of their own."""

from math import comb

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.errors import ParameterError
from swaprank.models.model import Model

MOST_DIFFERENT = 12
"""Up to so many features may differ: 2^12 documents are scored."""


def exchange_contributions(model: Model, a: Features, b: Features, n_threads: int | None = None) -> Floats:
    """What each feature contributes when the values of b are exchanged for those of a, one after the other.

    It is the mean over all orders of the exchange [Shapley 1953]. Features with the same value contribute 0. The sum is
    the score of a minus that of b.

    >>> import numpy as np
    >>> from swaprank.instruments.exchange_game import exchange_contributions
    >>> from swaprank.models.linear import LinearModel
    >>> model = LinearModel(np.array([2.0, -1.0]), np.zeros(2, np.float32))
    >>> exchange_contributions(model, np.array([1, 5], np.float32), np.array([0, 5], np.float32)).tolist()
    [2.0, 0.0]
    """
    differ: Ints = np.flatnonzero((a != b) & ~(np.isnan(a) & np.isnan(b)))
    n = len(differ)
    if n > MOST_DIFFERENT:
        raise ParameterError(
            f"{model.describe()}: the documents differ in {n:,} features. Trees and linear models have exact "
            f"contributions; for other models they are computed for up to {MOST_DIFFERENT} different features."
        )
    subsets = np.arange(2**n)
    from_a = (subsets[:, None] >> np.arange(n)) & 1 == 1
    documents = np.repeat(b[None, :], len(subsets), axis=0)
    documents[:, differ] = np.where(from_a, a[differ], b[differ])
    scores = model.score(read_only(documents), n_threads)
    contributions, sizes = np.zeros(len(a)), from_a.sum(axis=1)
    for place, feature in enumerate(differ.tolist()):
        without = subsets[~from_a[:, place]]
        weights = np.array([1.0 / (n * comb(n - 1, size)) for size in range(n)])[sizes[without]]
        contributions[feature] = np.sum(weights * (scores[without | (1 << place)] - scores[without]))
    return contributions
