"""All products of two features as features, and a weighted sum of them as a kernel machine.

A document x of d features has the terms x_1, …, x_d, then x_i x_j for all i <= j. For 569 features these are 162,734,
as in [Burges2005, section 6.2]. They are computed when they are used, and never stored.
"""

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.kernel_map import KernelMap
from swaprank.models.scaling import Units

_MOST_FEATURES = 2000


def n_terms(n_features: int, degree: int) -> int:
    """How many terms there are: the features, and for degree 2 their products.

    >>> from swaprank.baselines.feature_products import n_terms
    >>> n_terms(569, 1), n_terms(569, 2)
    (569, 162734)
    """
    if degree == 1:
        return n_features
    n_products = n_features * (n_features + 1) // 2
    if n_features > _MOST_FEATURES:
        raise DataError(
            f"degree=2 has {n_products:,} products of {n_features:,} features, too many to learn from: select "
            f"{_MOST_FEATURES:,} features or fewer, or set degree=1."
        )
    return n_features + n_products


@kernel
def add_products(x: Floats, n_features: int) -> None:
    """Write the products of the first features behind them."""
    at = n_features
    for i in range(n_features):
        for j in range(i, n_features):
            x[at] = x[i] * x[j]
            at += 1


def model_of_products(units: Units, weights: Floats) -> KernelMachine:
    """The weighted sum of all terms of standardized features, exactly, as sums of (x'z + 1)².

    With a_i, the weights of the products of feature i, and the unit vector e_i,

        (x'(e_i + a_i) + 1)² - (x'(e_i - a_i) + 1)² = 4 x_i a_i'x + 4 a_i'x

    The last term is linear, as is (x'v + 1)² - (-x'v + 1)² = 4 v'x: here v is what remains of the linear weights.

    >>> import numpy as np
    >>> from swaprank.models.scaling import Units
    >>> from swaprank.baselines.feature_products import model_of_products
    >>> model = model_of_products(Units(np.ones(2), np.zeros(2, np.float32)), np.array([5.0, 6.0, 1.0, 2.0, 3.0]))
    >>> model.score(np.array([[10.0, 100.0]], dtype=np.float32)).tolist()  # 5x + 6y + x² + 2xy + 3y²
    [32750.0]
    """
    d = len(units.factor)
    products, units_of_features = np.zeros((d, d)), np.eye(d)
    products[np.triu_indices(d)] = weights[d:]
    rest = (weights[:d] - np.sum(products, axis=0))[None]
    landmarks = np.concatenate((units_of_features + products, rest, units_of_features - products, -rest))
    quarter = 0.25 * np.eye(d + 1)
    projection = np.concatenate((quarter, -quarter))
    return KernelMachine(KernelMap("polynomial", 1.0, 2, units, landmarks, projection), np.ones(d + 1))
