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

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.kernels import kernel, vector_kernel
from swaprank.threads import run_in_threads

CHUNK = 32_768
"""Rows are handled in chunks of this size, whatever the threads: sums of floats depend on how they are cut."""

_ROOM = 2.0**31 - 2.0
_MOST_STEPS = 2.0**24
"""No single gradient gets more steps than these, however few gradients there are."""
_LOOKED_AT = 10_000


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
    by_place: bool,
    rows: AnyArray,
    packed: Ints,
) -> Sample:
    """Draw documents among the `taken`, list them in rows[0], and write their rounded gradients into `packed`.

    Gradients are found there by their place in the list if `by_place`, else by their row. rows[1] is used on the way.
    """
    starts = list(range(0, len(grad), CHUNK))
    share = _Share(*_means(grad, hess, taken, starts, n_threads), 0.0)
    if fraction < 1.0:
        share = share._replace(threshold=_threshold(_some_importances(grad, hess, taken, share, seed), fraction))
    sums = np.zeros((len(starts), 5))

    def draw(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            draw_rows(grad, hess, taken, share, seed, starts[c], rows[1], sums[c])

    run_in_threads(draw, [(t,) for t in range(n_threads)])
    n_rows = int(sums[:, 0].sum())
    if n_rows == 0:
        return Sample(0, 1.0, 1.0, 1)
    # Rounding may add one step a document.
    grad_scale = min((_ROOM - n_rows) / max(sums[:, 1].sum(), 1e-300), _MOST_STEPS / max(sums[:, 2].max(), 1e-300))
    hess_scale = min((_ROOM - n_rows) / max(sums[:, 3].sum(), 1e-300), _MOST_STEPS / max(sums[:, 4].max(), 1e-300))
    begins = np.concatenate(([0], np.cumsum(sums[:, 0]))).astype(np.int64).tolist()

    def pack(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            drawn = rows[1][starts[c] : starts[c] + begins[c + 1] - begins[c]]
            pack_rows(grad, hess, share, seed, grad_scale, hess_scale, drawn, begins[c], by_place, rows[0], packed)

    run_in_threads(pack, [(t,) for t in range(n_threads)])
    return Sample(n_rows, grad_scale, hess_scale, int(np.ceil(hess_scale * sums[:, 4].max())) + 1)


def gather_bins(blocks: Bytes, rows: AnyArray, n_threads: int, target: Bytes) -> None:
    """Copy the bins of the listed rows: side by side, a cache line holds four of them, scattered only one."""
    words, copies = blocks.view(np.int64), target.view(np.int64)
    bounds = np.linspace(0, len(rows), n_threads + 1).astype(np.int64).tolist()
    run_in_threads(
        lambda start, stop: copy_rows(words, rows, start, stop, copies),
        list(zip(bounds[:-1], bounds[1:], strict=True)),
    )


@kernel
def copy_rows(blocks: Ints, rows: AnyArray, start: int, stop: int, target: Ints) -> None:
    """Copy rows[start:stop] of every block."""
    for b in range(len(blocks)):
        for k in range(np.uint64(start), np.uint64(stop)):
            row = np.uint64(rows[k])
            target[b, k, 0] = blocks[b, row, 0]
            target[b, k, 1] = blocks[b, row, 1]


class _Share(NamedTuple):
    """How likely a document is drawn: importance, |g| a + h b, over the threshold."""

    per_grad: float
    per_hess: float
    threshold: float


def _means(grad: Floats, hess: Floats, taken: AnyArray, starts: list[int], n_threads: int) -> tuple[float, float]:
    """What makes the mean importance of gradients and that of hessians 1."""
    sums = np.zeros((len(starts), 3))

    def add(thread: int) -> None:
        for c in range(thread, len(starts), n_threads):
            sums[c] = add_up(grad, hess, taken, starts[c])

    run_in_threads(add, [(t,) for t in range(n_threads)])
    count, gradient, hessian = sums.sum(axis=0)
    return (count / gradient if gradient > 0 else 1.0), (count / hessian if hessian > 0 else 1.0)


def _some_importances(grad: Floats, hess: Floats, taken: AnyArray, share: _Share, seed: int) -> Floats:
    if len(grad) <= _LOOKED_AT:
        rows = np.flatnonzero(taken)
    else:
        # Rows at random: every so-many-th one might always be the first of its list.
        rows = np.random.default_rng(seed).integers(0, len(grad), _LOOKED_AT)
        rows = rows[taken[rows] > 0]
    return np.asarray(np.abs(grad[rows]) * share.per_grad + hess[rows] * share.per_hess)


def _threshold(importance: Floats, fraction: float) -> float:
    """The importance from which on a document is certain to be drawn, judged by some of the documents."""
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


@vector_kernel
def add_up(grad: Floats, hess: Floats, taken: AnyArray, start: int) -> tuple[float, float, float]:
    """Of one chunk: documents taken, the sum of their |grad| and of their hess."""
    count, gradient, hessian = 0.0, 0.0, 0.0
    for row in range(np.uint64(start), np.uint64(min(start + CHUNK, len(grad)))):
        counts = taken[row] > 0
        count += 1.0 if counts else 0.0
        gradient += abs(grad[row]) if counts else 0.0
        hessian += hess[row] if counts else 0.0
    return count, gradient, hessian


@kernel
def draw_rows(
    grad: Floats, hess: Floats, taken: AnyArray, share: _Share, seed: int, start: int, rows: AnyArray, sums: Floats
) -> None:
    """List the documents drawn from one chunk, from rows[start] on.

    sums: how many they are, sum and largest of weighted |grad|, sum and largest of weighted hess.
    """
    per_grad, per_hess, threshold = share.per_grad, share.per_hess, share.threshold
    drawn, gradient, most, hessian, bent = np.uint64(start), 0.0, 0.0, 0.0, 0.0
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
        gradient += g
        most = max(most, g)
        hessian += h
        bent = max(bent, h)
        rows[drawn] = row
        drawn += np.uint64(1)
    sums[0], sums[1], sums[2], sums[3], sums[4] = drawn - np.uint64(start), gradient, most, hessian, bent


@kernel
def pack_rows(
    grad: Floats,
    hess: Floats,
    share: _Share,
    seed: int,
    grad_scale: float,
    hess_scale: float,
    drawn: AnyArray,
    begin: int,
    by_place: bool,
    rows: AnyArray,
    packed: Ints,
) -> None:
    """List the documents drawn from `begin` on, and pack gradient * 2^32 + hessian, both times 1/p and rounded."""
    for k in range(len(drawn)):
        row = np.uint64(drawn[k])
        importance = abs(grad[row]) * share.per_grad + hess[row] * share.per_hess
        weight = share.threshold / importance if importance < share.threshold else 1.0
        bits = random_bits(int(row), seed)
        up = np.float64(bits & np.uint64(0xFFFFF)) / 2.0**20
        over = np.float64((bits >> np.uint64(20)) & np.uint64(0xFFFFF)) / 2.0**20
        g = np.int64(np.floor(weight * grad[row] * grad_scale + up))
        h = np.int64(np.floor(weight * hess[row] * hess_scale + over))
        place = np.uint64(begin + k)
        packed[place if by_place else row] = (g << np.int64(32)) + h
        rows[place] = row
