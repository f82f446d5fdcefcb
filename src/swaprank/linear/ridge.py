"""Ridge regression from sums over the rows: one pass over the data serves all regularization strengths.

minimize   sum_i v_i (w'x_i + b - y_i)² / sum_i v_i  +  alpha |w|²        x: standardized features; v: row weights
"""

from collections.abc import Sequence

import numpy as np

from swaprank.arrays import Bools, Features, Floats, Ints, row_blocks
from swaprank.linear.architectures import LinearScoreFunction
from swaprank.linear.cross_validation import Fit, FitProblem
from swaprank.models.eigenvectors import eigenvectors
from swaprank.models.products import add_outer_products

STRENGTHS = tuple(float(f"1e{n // 2}") * (1.0, 3.1622776601683795)[n % 2] for n in range(6, -13, -1))
"""The values of alpha that "auto" chooses from: 10^3 to 10^-6 in half decades, in descending order."""

_BLOCK_ROWS = 8192


def moments_of(
    features: Features, factor: Floats, origin: Floats, targets: Floats, weights: Floats, rows: Ints
) -> Floats:
    """Return the sums over these rows of v (1, x)' (1, y, x), (1 + features) x (2 + features); no value may be missing.

    Sums of several sets of rows can be added and subtracted.

    >>> import numpy as np
    >>> from swaprank.linear.ridge import moments_of, ridge
    >>> X = np.array([[0.0], [1.0], [2.0]], dtype=np.float32)
    >>> sums = moments_of(X, np.ones(1), np.zeros(1), np.array([1.0, 3.0, 5.0]), np.ones(3), np.arange(3))
    >>> [weights.round(3).tolist() for weights in ridge(sums, [0.0, 1.0])]
    [[2.0], [0.8]]
    """
    d = features.shape[1]
    sums = np.zeros((1 + d, 2 + d))
    for block in row_blocks(len(rows), _BLOCK_ROWS):
        chosen = rows[block]
        x = (features[chosen].astype(np.float64) - origin) * factor
        ones, y = np.ones((len(x), 1)), targets[chosen, None]
        add_outer_products(np.hstack((ones, x)) * weights[chosen, None], np.hstack((ones, y, x)), sums)
    return sums


def ridge(moments: Floats, strengths: Sequence[float], intercept: bool = True) -> list[Floats]:
    """Return the weights for each alpha; for alpha = 0, the least squares solution of minimum norm.

    Without an intercept, b = 0.
    """
    weight = moments[0, 0]
    if weight <= 0:
        return [np.zeros(len(moments) - 1) for _ in strengths]
    means = moments[0, 1:] / weight if intercept else np.zeros(len(moments))
    mean_y, mean_x = means[0], means[1:]
    covariance = moments[1:, 2:] / weight - np.outer(mean_x, mean_x)
    covariance_with_y = moments[1:, 1] / weight - mean_x * mean_y
    eigenvalues, vectors = eigenvectors(covariance)
    rotated = (vectors * covariance_with_y).sum(axis=1)  # sums instead of `@`, whose last bits depend on the CPU
    # Along the other eigenvectors the rows differ by rounding errors only, which must not be divided by.
    nonzero = eigenvalues > max(eigenvalues.max(initial=0.0), 0.0) * len(eigenvalues) * 1e-12
    results = []
    for alpha in strengths:
        shrunk = np.zeros(len(eigenvalues))
        np.divide(rotated, eigenvalues + alpha, out=shrunk, where=nonzero)
        results.append((shrunk[:, None] * vectors).sum(axis=0))
    return results


def overweighted(relevant: Floats, weights: Floats) -> Floats:
    """Return weights that give the relevant documents the same total weight as the others [Chapelle2010, section 7].

    >>> import numpy as np
    >>> from swaprank.linear.ridge import overweighted
    >>> overweighted(np.array([1.0, 0.0, 0.0, 0.0]), np.ones(4)).round(3).tolist()
    [2.0, 0.667, 0.667, 0.667]
    """
    is_relevant = relevant > 0
    total, of_relevant = weights.sum(), weights[is_relevant].sum()
    if of_relevant <= 0 or of_relevant >= total:
        return weights
    shares: Floats = np.where(is_relevant, weights / of_relevant, weights / (total - of_relevant))
    return np.asarray(shares * (total / 2))


def ridge_fit(
    problem: FitProblem, strengths: Sequence[float], overweight: bool, center: Floats, intercept: bool = True
) -> Fit:
    """Return the ridge regression of the targets minus the base scores, regularized towards `center`."""
    score_function = problem.score_function
    if not isinstance(score_function, LinearScoreFunction):
        raise TypeError("ridge regression is for linear score functions")
    # Sums of centred features have smaller rounding errors; only an intercept leaves the choice.
    origin = score_function.features.mean(axis=0, dtype=np.float64) * intercept
    residual = problem.targets - score_function(center, problem.n_threads)
    is_relevant = problem.targets > problem.targets.min()
    classes = [is_relevant, ~is_relevant] if overweight else [np.ones(len(is_relevant), np.bool_)]

    def sums_by_class(rows: Bools) -> Floats:
        arrays = score_function.features, score_function.factor, origin, residual, problem.weights
        return np.array([moments_of(*arrays, np.flatnonzero(rows & of_class)) for of_class in classes])

    whole = sums_by_class(np.ones(len(is_relevant), np.bool_))

    def fit(queries: Bools) -> list[Floats]:
        # Without the held-out queries, which are few: folds take no more passes over the data than one.
        sums = whole - sums_by_class(np.repeat(~queries, np.diff(problem.indptr)))
        totals = sums[:, 0, 0]
        if (totals > 1e-9 * whole[:, 0, 0]).all():
            sums *= (totals.sum() / (len(totals) * totals))[:, None, None]  # as `overweighted` does
        return [center + difference for difference in ridge(sums.sum(axis=0), strengths, intercept)]

    return fit
