"""Which documents a tree's splits are found on, and their gradients as integers.

The gradients of a ranking are concentrated: a tenth of the documents has two thirds of them. The splits of a tree are
found on a random sample of the documents. Each document is drawn with a probability p proportional to its gradient and
hessian, the largest ones with certainty, and weighted by 1/p: this is unbiased, with nearly the lowest variance for its
size [Ibragimov & Gusev 2019]. Leaf values do not depend on the sample: they use the exact gradients of all documents.

Gradients are rounded to integers because integer sums do not depend on the order of addition: any number of threads
grows the same tree. The scale is chosen so that the absolute values of all sampled gradients together just fit into 32
bits, so that no partial sum can overflow. Rounding is random, unbiased, and seeded by row and tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads, run_strided

CHUNK = 32_768
"""Rows are processed in chunks of this size for any number of threads: float sums depend on where they are cut."""

DIVERGED = (
    "the gradients or leaf values are too large or too small to be summed: choose a smaller learning_rate or sigma, or "
    "rescale the labels, the weights or the base scores."
)
_MAX_SUM = 2.0**31 - 2.0
_MAX_INTEGER = 2.0**24
"""No single gradient is scaled beyond this, even if there are few gradients."""
_THRESHOLD_SAMPLE = 10_000
"""The sampling threshold is estimated from this many documents."""


class Sample(NamedTuple):
    """The sampled documents of one tree, and the scales of the integers in its histograms."""

    n_rows: int
    grad_scale: float
    hess_scale: float
    largest_hessian: int


def draw_sample(
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    fraction: float,
    seed: int,
    n_threads: int,
    by_position: bool,
    rows: AnyArray,
    packed: Ints,
) -> Sample:
    """Draw from the documents with `taken` > 0, list them in rows[0], and write their rounded gradients to `packed`.

    `packed` is indexed by the position in the list if `by_position`, otherwise by row. rows[1] is a work array.
    """
    starts = list(range(0, len(grad), CHUNK))
    count, gradient, hessian = total_sums(grad, hess, taken, n_threads)
    # The mean |gradient| and the mean hessian are scaled to 1.
    rates = Rates(count / gradient if gradient > 0 else 1.0, count / hessian if hessian > 0 else 1.0, 0.0)
    if fraction < 1.0:
        rates = rates._replace(threshold=_threshold(_some_importances(grad, hess, taken, rates, seed), fraction))
    sums = np.zeros((len(starts), 5))
    run_strided(
        lambda c: draw_rows(grad, hess, taken, rates, seed, starts[c], rows[1], sums[c]), len(starts), n_threads
    )
    n_rows = int(sums[:, 0].sum())
    if n_rows == 0:
        return Sample(0, 1.0, 1.0, 1)
    if not np.isfinite(sums).all():
        raise DataError(DIVERGED)
    # Rounding adds at most 1 per document.
    grad_scale = min((_MAX_SUM - n_rows) / max(sums[:, 1].sum(), 1e-300), _MAX_INTEGER / max(sums[:, 2].max(), 1e-300))
    hess_scale = min((_MAX_SUM - n_rows) / max(sums[:, 3].sum(), 1e-300), _MAX_INTEGER / max(sums[:, 4].max(), 1e-300))
    offsets = np.concatenate(([0], np.cumsum(sums[:, 0]))).astype(np.int64).tolist()

    def pack(c: int) -> None:
        drawn = rows[1][starts[c] : starts[c] + offsets[c + 1] - offsets[c]]
        pack_rows(grad, hess, rates, seed, grad_scale, hess_scale, drawn, offsets[c], by_position, rows[0], packed)

    run_strided(pack, len(starts), n_threads)
    return Sample(n_rows, grad_scale, hess_scale, int(np.ceil(hess_scale * sums[:, 4].max())) + 1)


def gather_bins(blocks: Bytes, rows: AnyArray, n_threads: int, target: Bytes) -> None:
    """Copy the bins of the listed rows next to each other: a cache line then holds four of them instead of one."""
    words, copies = blocks.view(np.int64), target.view(np.int64)
    run_in_threads(lambda start, stop: copy_rows(words, rows, start, stop, copies), row_chunks(len(rows), n_threads))


@kernel
def copy_rows(blocks: Ints, rows: AnyArray, start: int, stop: int, target: Ints) -> None:
    """Copy rows[start:stop] of every block."""
    for b in range(len(blocks)):
        for k in range(np.uint64(start), np.uint64(stop)):
            row = np.uint64(rows[k])
            target[b, k, 0] = blocks[b, row, 0]
            target[b, k, 1] = blocks[b, row, 1]


class Rates(NamedTuple):
    """A document's probability is min(1, importance / threshold), with importance = |g| per_grad + h per_hess."""

    per_grad: float
    per_hess: float
    threshold: float


def total_sums(grad: Floats, hess: Floats, taken: AnyArray, n_threads: int) -> tuple[float, float, float]:
    """The number of documents with `taken` > 0, and the sums of their |grad| and hess."""
    starts = range(0, len(grad), CHUNK)
    sums = np.zeros((len(starts), 3))

    def add(c: int) -> None:
        sums[c] = sum_chunk(grad, hess, taken, starts[c])

    run_strided(add, len(starts), n_threads)
    count, gradient, hessian = sums.sum(axis=0).tolist()
    return count, gradient, hessian


def smoothed_l2(l2: float, leaf_smoothing: float, hess: Floats, taken: AnyArray, n_threads: int) -> float:
    """What is added to the hessian of every leaf: l2, and the mean hessian of so many documents."""
    if leaf_smoothing == 0.0:
        return l2
    count, _, hessian = total_sums(hess, hess, taken, n_threads)
    return l2 + leaf_smoothing * hessian / max(count, 1.0)


def _some_importances(grad: Floats, hess: Floats, taken: AnyArray, rates: Rates, seed: int) -> Floats:
    if len(grad) <= _THRESHOLD_SAMPLE:
        rows = np.flatnonzero(taken)
    else:
        # Random rows: every n-th row could always be the first of its query.
        rows = np.random.default_rng(seed).integers(0, len(grad), _THRESHOLD_SAMPLE)
        rows = rows[taken[rows] > 0]
    return np.asarray(np.abs(grad[rows]) * rates.per_grad + hess[rows] * rates.per_hess)


def _threshold(importance: Floats, fraction: float) -> float:
    """The importance above which a document is drawn with certainty, estimated from some of the documents."""
    importance = np.sort(importance)[::-1]
    wanted = fraction * len(importance)
    # If the k largest are certain, the expected number of the others, sum(importance) / threshold, is wanted - k.
    rest = np.concatenate((np.cumsum(importance[::-1])[::-1], [0.0]))
    certain = np.arange(len(importance))
    uncertain = np.maximum(wanted - certain, 1e-12)
    thresholds = rest[:-1] / uncertain
    fits = np.flatnonzero(importance <= thresholds)
    return float(thresholds[fits[0]]) if len(fits) else 0.0


@kernel
def random_bits(row: int, seed: int) -> np.uint64:
    """splitmix64 of row and seed."""
    z = np.uint64(row) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def sum_chunk(grad: Floats, hess: Floats, taken: AnyArray, start: int) -> tuple[float, float, float]:
    """Number of documents taken in one chunk, and the sums of their |grad| and hess."""
    count, gradient, hessian = 0.0, 0.0, 0.0
    for row in range(np.uint64(start), np.uint64(min(start + CHUNK, len(grad)))):
        counts = taken[row] > 0
        count += 1.0 if counts else 0.0
        gradient += abs(grad[row]) if counts else 0.0
        hessian += hess[row] if counts else 0.0
    return count, gradient, hessian


@kernel
def draw_rows(
    grad: Floats, hess: Floats, taken: AnyArray, rates: Rates, seed: int, start: int, rows: AnyArray, sums: Floats
) -> None:
    """Draw documents from one chunk and list them from rows[start] on.

    sums: Number of documents, sum and maximum of their weighted |grad|, sum and maximum of their weighted hess.
    """
    per_grad, per_hess, threshold = rates.per_grad, rates.per_hess, rates.threshold
    end, sum_grad, max_grad, sum_hess, max_hess = np.uint64(start), 0.0, 0.0, 0.0, 0.0
    for row in range(np.uint64(start), np.uint64(min(start + CHUNK, len(grad)))):
        g, h = abs(grad[row]), hess[row]
        importance = g * per_grad + h * per_hess
        if taken[row] == 0 or importance == 0.0:
            continue
        weight = 1.0
        if importance < threshold:
            if np.float64(random_bits(row, seed) >> np.uint64(40)) / 2.0**24 * threshold >= importance:
                continue
            weight = threshold / importance
        g, h = weight * g, weight * h
        sum_grad += g
        max_grad = max(max_grad, g)
        sum_hess += h
        max_hess = max(max_hess, h)
        rows[end] = row
        end += np.uint64(1)
    sums[0], sums[1], sums[2], sums[3], sums[4] = end - np.uint64(start), sum_grad, max_grad, sum_hess, max_hess


@kernel
def pack_rows(
    grad: Floats,
    hess: Floats,
    rates: Rates,
    seed: int,
    grad_scale: float,
    hess_scale: float,
    drawn: AnyArray,
    offset: int,
    by_position: bool,
    rows: AnyArray,
    packed: Ints,
) -> None:
    """List the drawn documents from rows[offset] on and pack gradient * 2^32 + hessian, both weighted and rounded."""
    for k in range(len(drawn)):
        row = np.uint64(drawn[k])
        importance = abs(grad[row]) * rates.per_grad + hess[row] * rates.per_hess
        weight = rates.threshold / importance if importance < rates.threshold else 1.0
        bits = random_bits(int(row), seed)
        grad_noise = np.float64(bits & np.uint64(0xFFFFF)) / 2.0**20
        hess_noise = np.float64((bits >> np.uint64(20)) & np.uint64(0xFFFFF)) / 2.0**20
        g = np.int64(np.floor(weight * grad[row] * grad_scale + grad_noise))
        h = np.int64(np.floor(weight * hess[row] * hess_scale + hess_noise))
        position = np.uint64(offset + k)
        packed[position if by_position else row] = (g << np.int64(32)) + h
        rows[position] = row
