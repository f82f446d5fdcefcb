"""A bound of the expected loss from the training loss [Chapelle2010, section 5.2].

It says how much room a smoothing factor leaves for overfitting: the bound grows as 1 / sigma. The numbers themselves
are far above 1 for the sizes of most data sets.
"""

import math

from swaprank.errors import ParameterError


def generalization_bound(
    training_loss: float,
    lipschitz: float,
    *,
    weight_norm: float,
    feature_norm: float,
    n_documents: int,
    n_queries: int,
    delta: float = 0.05,
) -> float:
    """The bound of Theorem 1 of [Chapelle2010] for the expected loss of a linear model, with probability 1 - delta.

    training loss + 3 L B R sqrt(m / n) + sqrt(8 log(2 / delta) / n)        [Eq. 14]

    It holds for all weights with |w| <= B together, and for a loss between 0 and 1, such as 1 - NDCG, smooth or not.

    Args:
        training_loss: The mean loss of the training queries.
        lipschitz: L: the loss of a query changes by at most L |f - f'| if its scores change from f to f'.
            `smooth_lipschitz` has it for the smooth NDCG.
        weight_norm: B, the largest norm of the weights.
        feature_norm: R, the largest norm of a document's features.
        n_documents: m, the number of documents of each query.
        n_queries: n, the number of training queries, which are drawn independently.
        delta: The probability that the bound does not hold.

    >>> import swaprank as sr
    >>> sizes = dict(weight_norm=1.0, feature_norm=1.0, n_documents=10)
    >>> L = sr.instruments.smooth_lipschitz(64.0, **sizes)
    >>> round(L, 4)  # 8 / 64 * 10^1.5
    3.9528
    >>> for n_queries in (100, 10**6):
    ...     print(round(sr.instruments.generalization_bound(0.3, L, n_queries=n_queries, **sizes), 3))
    4.593
    0.343
    """
    _check_positive(
        lipschitz=lipschitz,
        weight_norm=weight_norm,
        feature_norm=feature_norm,
        n_documents=n_documents,
        n_queries=n_queries,
    )
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be a number between 0 and 1; found {delta!r}.")
    complexity = 3.0 * lipschitz * weight_norm * feature_norm * math.sqrt(n_documents / n_queries)
    return training_loss + complexity + math.sqrt(8.0 * math.log(2.0 / delta) / n_queries)


def smooth_lipschitz(smoothing_factor: float, *, weight_norm: float, feature_norm: float, n_documents: int) -> float:
    """L, the most by which the smooth NDCG of a query changes per distance of its scores [Chapelle2010, section 5.2].

    L <= 8 B R m^(3/2) / sigma

    Args:
        smoothing_factor: sigma, as in `SmoothObjective` with smoothing="indicators".
        weight_norm: B, the largest norm of the weights.
        feature_norm: R, the largest norm of a document's features.
        n_documents: m, the number of documents of the query.

    >>> import swaprank as sr
    >>> sr.instruments.smooth_lipschitz(0.5, weight_norm=1.0, feature_norm=2.0, n_documents=4)
    256.0
    """
    _check_positive(
        smoothing_factor=smoothing_factor, weight_norm=weight_norm, feature_norm=feature_norm, n_documents=n_documents
    )
    return 8.0 * weight_norm * feature_norm / smoothing_factor * n_documents * math.sqrt(n_documents)


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise ParameterError(f"{name} must be a number above 0; found {value!r}.")
