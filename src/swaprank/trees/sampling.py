"""Which documents a tree's splits are found on, and their gradients as integers.

Gradients of a ranking are few and large: a tenth of the documents has two thirds of them. A tree's splits are found on
a random share of the documents, each drawn with a probability p in proportion to its gradient and hessian, the largest
for certain, and counted 1/p times: unbiased, and of nearly the least variance for its size [Ibragimov & Gusev 2019].
Leaf values do not depend on it: they come from the exact gradients of all documents.

Integers, because sums of integers do not depend on the order of adding: any number of threads grows the same tree. The
scale is such that all sampled gradients together, taken as sizes, just fit into 32 bits, so that no sum of some of them
can overflow. Rounding is random, unbiased, and seeded by row and tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.kernels import kernel, run_in_threads

CHUNK = 32_768
"""Rows are handled in chunks of this size, whatever the threads: sums of floats depend on how they are cut."""

_ROOM = 2.0**31 - 2.0
_MOST_STEPS = 2.0**24
"""No single gradient gets more steps than these, however few gradients there are."""
_LOOKED_AT = 20_000


class Sample(NamedTuple):
    """The sampled documents of one tree; gains and hessians of its histograms are in these steps."""

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
    rows: AnyArray,
    packed: Ints,
) -> Sample:
    """Draw documents among the `taken`, list them in `rows`, and write their rounded gradients into `packed`."""
    starts = list(range(0, len(grad), CHUNK))
    among = np.flatnonzero(taken)
    mean_grad, mean_hess = _means(grad[among], hess[among])
    # Rows at random: every so-many-th one might always be the first of its list.
    looked_at = among if len(among) <= _LOOKED_AT else np.random.default_rng(seed).choice(among, _LOOKED_AT)
    threshold = _threshold(np.abs(grad[looked_at]) / mean_grad + hess[looked_at] / mean_hess, fraction)
    sums = np.zeros((len(starts), 5))

    def look(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            add_up_sampled(grad, hess, taken, mean_grad, mean_hess, threshold, seed, starts[c], sums[c])

    run_in_threads(look, [(t,) for t in range(n_threads)])
    n_rows = int(sums[:, 0].sum())
    if n_rows == 0:
        return Sample(0, 1.0, 1.0, 1)
    # Rounding may add one step a document.
    grad_scale = min((_ROOM - n_rows) / max(sums[:, 1].sum(), 1e-300), _MOST_STEPS / max(sums[:, 2].max(), 1e-300))
    hess_scale = min((_ROOM - n_rows) / max(sums[:, 3].sum(), 1e-300), _MOST_STEPS / max(sums[:, 4].max(), 1e-300))
    begins = np.concatenate(([0], np.cumsum(sums[:, 0]))).astype(np.int64)

    def write(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            pack_sampled(
                grad, hess, taken, mean_grad, mean_hess, threshold, seed, starts[c], grad_scale, hess_scale,
                begins[c], rows, packed,
            )  # fmt: skip

    run_in_threads(write, [(t,) for t in range(n_threads)])
    return Sample(n_rows, grad_scale, hess_scale, int(np.ceil(hess_scale * sums[:, 4].max())) + 1)


def _means(grad: Floats, hess: Floats) -> tuple[float, float]:
    return float(np.abs(grad).mean()) or 1.0, float(hess.mean()) or 1.0


def _threshold(importance: Floats, fraction: float) -> float:
    """The importance from which on a document is certain to be drawn, judged by some of the documents."""
    if fraction >= 1.0:
        return 0.0
    importance = np.sort(importance)[::-1]
    wanted = fraction * len(importance)
    # With the k largest certain, the others are drawn with importance / threshold: their expected number is the rest.
    rest = np.concatenate((np.cumsum(importance[::-1])[::-1], [0.0]))
    certain = np.arange(len(importance))
    room = np.maximum(wanted - certain, 1e-12)
    thresholds = rest[:-1] / room
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
def sample_weight(
    g: float, h: float, taken: int, mean_grad: float, mean_hess: float, threshold: float, bits: np.uint64
) -> float:
    """1/p for a document that is drawn, 0 for one that is not."""
    if taken == 0 or (g == 0.0 and h == 0.0):
        return 0.0
    importance = abs(g) / mean_grad + h / mean_hess
    if importance >= threshold:
        return 1.0
    drawn = np.float64(bits >> np.uint64(40)) / 2.0**24 * threshold < importance
    return threshold / importance if drawn else 0.0


@kernel
def add_up_sampled(
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    mean_grad: float,
    mean_hess: float,
    threshold: float,
    seed: int,
    start: int,
    sums: Floats,
) -> None:
    """Of one chunk: documents drawn, sum and largest of weighted |grad|, sum and largest of weighted hess."""
    for row in range(start, min(start + CHUNK, len(grad))):
        bits = random_bits(row, seed)
        weight = sample_weight(grad[row], hess[row], taken[row], mean_grad, mean_hess, threshold, bits)
        if weight > 0.0:
            g, h = weight * abs(grad[row]), weight * hess[row]
            sums[0] += 1.0
            sums[1] += g
            sums[2] = max(sums[2], g)
            sums[3] += h
            sums[4] = max(sums[4], h)


@kernel
def pack_sampled(
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    mean_grad: float,
    mean_hess: float,
    threshold: float,
    seed: int,
    start: int,
    grad_scale: float,
    hess_scale: float,
    begin: int,
    rows: AnyArray,
    packed: Ints,
) -> None:
    """Of one chunk: list the documents drawn, and pack gradient * 2^32 + hessian, both rounded."""
    for row in range(start, min(start + CHUNK, len(grad))):
        bits = random_bits(row, seed)
        weight = sample_weight(grad[row], hess[row], taken[row], mean_grad, mean_hess, threshold, bits)
        if weight > 0.0:
            up, over = (
                np.float64(bits & np.uint64(0xFFFFF)) / 2.0**20,
                np.float64((bits >> np.uint64(20)) & np.uint64(0xFFFFF)) / 2.0**20,
            )
            g = np.int64(np.floor(weight * grad[row] * grad_scale + up))
            h = np.int64(np.floor(weight * hess[row] * hess_scale + over))
            packed[row] = (g << np.int64(32)) + h
            rows[begin] = row
            begin += 1
