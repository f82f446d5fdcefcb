"""Products of matrices, in the same order of additions everywhere: BLAS has another one for every kind of CPU."""

import numpy as np

from swaprank.arrays import Features, Floats, Reals, read_only
from swaprank.kernels import kernel
from swaprank.lanes import WIDTH, dot, load, spread, sum_lanes
from swaprank.threads import row_chunks, run_in_threads, thread_count

_BLOCK = 4096
"""Rows of features per block. The sums of the blocks are added in order, for any number of threads."""
_MIN_VALUES_PER_THREAD = 500_000
"""Values of the features per thread, at least."""


@kernel
def inner_products(matrix: Reals, biases: Reals, inputs: Reals, values: Reals) -> None:
    """values = inputs matrix' + biases.

    Two documents by five units at a time, so that every number read is used in more than one product. If fewer are
    left, the last one is repeated, so that every document takes the same path through the code. The inputs that do not
    fill the lanes are added one by one.
    """
    n, n_units, n_in = len(inputs), len(matrix), np.uint64(inputs.shape[1])
    zero, n_full = spread(inputs.dtype.type(0)), n_in // WIDTH * WIDTH
    for i in range(0, n, 2):
        j = min(i + 1, n - 1)
        x, y = inputs[i], inputs[j]
        for a in range(0, n_units, 5):
            b, c = min(a + 1, n_units - 1), min(a + 2, n_units - 1)
            d, e = min(a + 3, n_units - 1), min(a + 4, n_units - 1)
            w_a, w_b, w_c, w_d, w_e = matrix[a], matrix[b], matrix[c], matrix[d], matrix[e]
            x_a, x_b, x_c, x_d, x_e = zero, zero, zero, zero, zero
            y_a, y_b, y_c, y_d, y_e = zero, zero, zero, zero, zero
            for k in range(np.uint64(0), n_full, WIDTH):
                x_k, y_k = load(x, k), load(y, k)
                x_a += load(w_a, k) * x_k
                x_b += load(w_b, k) * x_k
                x_c += load(w_c, k) * x_k
                x_d += load(w_d, k) * x_k
                x_e += load(w_e, k) * x_k
                y_a += load(w_a, k) * y_k
                y_b += load(w_b, k) * y_k
                y_c += load(w_c, k) * y_k
                y_d += load(w_d, k) * y_k
                y_e += load(w_e, k) * y_k
            values[i, a], values[j, a] = sum_lanes(x_a) + biases[a], sum_lanes(y_a) + biases[a]
            values[i, b], values[j, b] = sum_lanes(x_b) + biases[b], sum_lanes(y_b) + biases[b]
            values[i, c], values[j, c] = sum_lanes(x_c) + biases[c], sum_lanes(y_c) + biases[c]
            values[i, d], values[j, d] = sum_lanes(x_d) + biases[d], sum_lanes(y_d) + biases[d]
            values[i, e], values[j, e] = sum_lanes(x_e) + biases[e], sum_lanes(y_e) + biases[e]
    if n_full < n_in:
        for i in range(n):
            for unit in range(n_units):
                total = values[i, unit]
                for k in range(n_full, n_in):
                    total += matrix[unit, k] * inputs[i, k]
                values[i, unit] = total


@kernel
def add_outer_products(rows: Reals, inputs: Reals, total: Reals) -> None:
    """total += rows' inputs, four rows at a time, for a quarter of the writes to `total`."""
    n = len(rows)
    for i in range(0, n - n % 4, 4):
        for unit in range(len(total)):
            a, b, c, d = rows[i, unit], rows[i + 1, unit], rows[i + 2, unit], rows[i + 3, unit]
            for k in range(inputs.shape[1]):
                total[unit, k] += (a * inputs[i, k] + b * inputs[i + 1, k]) + (
                    c * inputs[i + 2, k] + d * inputs[i + 3, k]
                )
    for i in range(n - n % 4, n):
        for unit in range(len(total)):
            factor = rows[i, unit]
            for k in range(inputs.shape[1]):
                total[unit, k] += factor * inputs[i, k]


@kernel
def project_rows(X: Features, weights: Floats, first: int, last: int, scores: Floats) -> None:
    """scores[r] = sum_f X[r, f] w_f for the rows from first to last."""
    for r in range(first, last):
        scores[r] = dot(X[r], weights)


@kernel
def pull_back_blocks(X: Features, grad: Floats, first: int, last: int, sums: Floats) -> None:
    """sums[b] = X' g over the rows of block b, for the blocks from first to last."""
    for block in range(first, last):
        total = sums[block]
        total[:] = 0.0
        for r in range(block * _BLOCK, min((block + 1) * _BLOCK, len(X))):
            g, row = grad[r], X[r]
            if g != 0.0:
                for f in range(len(total)):
                    total[f] += g * row[f]


def project(X: Features, weights: Floats, n_threads: int | None = None) -> Floats:
    """X w in double precision; the score of a row does not depend on other rows.

    >>> import numpy as np
    >>> from swaprank.models.products import project, pull_back
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    >>> project(X, np.array([1.0, -1.0])).tolist(), pull_back(X, np.array([1.0, 1.0])).tolist()
    ([-1.0, -1.0], [4.0, 6.0])
    """
    scores = np.empty(len(X))
    view = read_only(X)
    run_in_threads(
        lambda first, last: project_rows(view, weights, first, last, scores), _chunks(len(X), X.size, n_threads)
    )
    return scores


def pull_back(X: Features, grad: Floats, n_threads: int | None = None) -> Floats:
    """X' g: the gradient with respect to the weights, from the gradient with respect to the scores."""
    n_blocks = -(-len(X) // _BLOCK)
    sums = np.empty((n_blocks, X.shape[1]))
    view = read_only(X)
    run_in_threads(
        lambda first, last: pull_back_blocks(view, grad, first, last, sums), _chunks(n_blocks, X.size, n_threads)
    )
    total: Floats = sums.sum(axis=0)
    return total


def _chunks(n: int, n_values: int, n_threads: int | None) -> list[tuple[int, int]]:
    return row_chunks(n, min(thread_count(n_threads), max(1, n_values // _MIN_VALUES_PER_THREAD)))
