"""Matrix products with the features, X w and X' g: the same bits for any number of threads."""

import numpy as np

from swaprank.arrays import Features, Floats, read_only
from swaprank.kernels import kernel
from swaprank.lanes import dot
from swaprank.threads import row_chunks, run_in_threads, thread_count

_BLOCK = 4096
"""Rows per block. The sums of the blocks are added in order."""

_MIN_VALUES_PER_THREAD = 500_000
"""Values of X per thread, at least."""


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
    >>> from swaprank.models.projection import project, pull_back
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
