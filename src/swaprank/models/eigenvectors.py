"""Eigenvectors of a symmetric matrix, with the same bits everywhere; those of LAPACK depend on BLAS, and so on the CPU.

One-sided Jacobi rotations [Hestenes1958]: rotate pairs of rows of A until all rows are orthogonal. The product of the
rotations then has the eigenvectors of A² as rows. If no eigenvalue of A is negative, they are those of A.
"""

import numpy as np

from swaprank.arrays import Floats
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, dot, load, store

_ORTHOGONAL = 1e-15
"""Rows whose cosine is smaller than this are orthogonal."""
_MAX_SWEEPS = 40
"""Ten are usually enough."""


def eigenvectors(matrix: Floats) -> tuple[Floats, Floats]:
    """The eigenvalues of a symmetric matrix, largest first, and the eigenvectors as rows; no eigenvalue is negative.

    >>> import numpy as np
    >>> from swaprank.models.eigenvectors import eigenvectors
    >>> values, vectors = eigenvectors(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(6).tolist(), np.abs(vectors).round(3).tolist()
    ([3.0, 1.0], [[0.707, 0.707], [0.707, 0.707]])
    """
    size = np.abs(matrix).max(initial=0.0) or 1.0  # Squares of large numbers would overflow.
    rows, vectors = np.array(matrix / size, order="C"), np.eye(len(matrix))
    for _ in range(_MAX_SWEEPS):
        if orthogonalize_rows(rows, vectors) == 0:
            break
    # v'Av, not the length of a rotated row, so that rounding errors may be negative, and are not taken for eigenvalues.
    values = size * np.array([dot(vector, row) for vector, row in zip(vectors, rows, strict=True)])
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[order]


@kernel
def orthogonalize_rows(rows: Floats, vectors: Floats) -> int:
    """Rotate every pair of rows once, and the vectors with them; return how many pairs were not orthogonal."""
    n, rotated, squares = len(rows), 0, np.empty(len(rows))
    for i in range(n):
        squares[i] = dot(rows[i], rows[i])
    for i in range(n):
        for j in range(i + 1, n):
            product = dot(rows[i], rows[j])
            if abs(product) <= _ORTHOGONAL * np.sqrt(squares[i]) * np.sqrt(squares[j]):
                continue
            rotated += 1
            half = 0.5 * (squares[j] - squares[i]) / product
            tangent = (1.0 if half >= 0.0 else -1.0) / (abs(half) + np.sqrt(1.0 + half * half))
            cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
            rotate(cosine, cosine * tangent, rows[i], rows[j])
            rotate(cosine, cosine * tangent, vectors[i], vectors[j])
            squares[i], squares[j] = dot(rows[i], rows[i]), dot(rows[j], rows[j])
    return rotated


@kernel
def rotate(cosine: float, sine: float, x: Floats, y: Floats) -> None:
    """Rotate two vectors in their plane."""
    n, k = np.uint64(len(x)), np.uint64(0)
    while k + WIDTH <= n:
        a, b = load(x, k), load(y, k)
        store(x, k, cosine * a - sine * b)
        store(y, k, sine * a + cosine * b)
        k += WIDTH
    for r in range(k, n):
        x[r], y[r] = cosine * x[r] - sine * y[r], sine * x[r] + cosine * y[r]
