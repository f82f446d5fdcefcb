"""Products of matrices and eigenvectors against NumPy's."""

import numpy as np
import pytest

from swaprank.arrays import Floats
from swaprank.models.eigenvectors import eigenvectors
from swaprank.models.products import add_outer_products, inner_products


@pytest.mark.parametrize(("n", "units", "inputs"), [(1, 1, 1), (2, 5, 8), (7, 4, 19), (10, 13, 40), (3, 2, 0)])
def test_products_are_those_of_numpy(n: int, units: int, inputs: int) -> None:
    rng = np.random.default_rng(n)
    X, W, biases = rng.normal(size=(n, inputs)), rng.normal(size=(units, inputs)), rng.normal(size=units)
    values = np.full((n, units), np.nan)
    inner_products(W, biases, X, values)
    np.testing.assert_allclose(values, X @ W.T + biases, rtol=1e-12, atol=1e-13)
    total = rng.normal(size=(units, inputs))
    expected = total + values.T @ X
    add_outer_products(values, X, total)
    np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)


def test_a_row_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(0)
    X, W, biases = rng.normal(size=(9, 21)), rng.normal(size=(6, 21)), rng.normal(size=6)
    together, alone = np.empty((9, 6)), np.empty((1, 6))
    inner_products(W, biases, X, together)
    for row in range(9):
        inner_products(W, biases, X[row : row + 1], alone)
        np.testing.assert_array_equal(alone[0], together[row])


def covariances() -> dict[str, Floats]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 17)) * 10.0 ** rng.uniform(-4, 4, 17)
    return {
        "full rank": X.T @ X,
        "low rank": X[:5].T @ X[:5],
        "equal eigenvalues": np.eye(9),
        "zero": np.zeros((4, 4)),
        "one": np.array([[3.0]]),
        "huge": 1e300 * np.array([[2.0, 1.0], [1.0, 2.0]]),
        "tiny": 1e-300 * np.array([[2.0, 1.0], [1.0, 2.0]]),
    }


@pytest.mark.parametrize("name", covariances())
def test_eigenvectors_are_orthonormal_and_make_up_the_matrix(name: str) -> None:
    matrix = covariances()[name]
    values, vectors = eigenvectors(matrix)
    size = np.abs(matrix).max() or 1.0
    np.testing.assert_allclose(values / size, np.linalg.eigvalsh(matrix / size)[::-1], atol=1e-13)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(len(matrix)), atol=1e-13)
    np.testing.assert_allclose((vectors.T * (values / size)) @ vectors, matrix / size, atol=1e-13)
