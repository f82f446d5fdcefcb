"""The sample of documents on which a tree's splits are found, and their gradients as integers.

The gradients of a ranking are concentrated: a tenth of the documents has two thirds of them. The splits of a tree are
found on a random sample of the documents. Each document is drawn with a probability p proportional to its gradient and
hessian, the largest ones with certainty, and weighted by 1/p: this is unbiased, with nearly the lowest variance for its
size [Ibragimov2019]. Leaf values do not depend on the sample: they use the exact gradients of all documents.

Gradients are rounded to integers because integer sums do not depend on the order of addition: any number of threads or
workers grows the same tree. The scale is chosen so that the absolute values of all sampled gradients of all workers
together just fit into 32 bits, so that no partial sum can overflow. Rounding is random, unbiased, and seeded by the
document's place and the tree.

For least squares, hessians are replaced by the weights of documents, and gradients are rounded to the nearest multiple
of a power of two. Then documents with equal gradients stay equal, weights of 1 and labels are exact, and so are the
ties between splits that they give: the first one wins, as in exact arithmetic.
"""

import math
from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.collective import Collective, add_with_largest
from swaprank.data.document_places import Places, first_place, query_at, random_bits
from swaprank.errors import DataError
from swaprank.exact_sums import N_LIMBS, add_exactly, carry, rounded_sums
from swaprank.kernels import kernel
from swaprank.threads import query_chunks, row_chunks, run_in_threads

DIVERGED = (
    "the gradients or leaf values are too large or too small to be summed: choose a smaller learning_rate or sigma, or "
    "rescale the labels, the weights or the base scores."
)
_MAX_SUM = 2.0**31 - 2.0
_MAX_INTEGER = 2.0**24
"""No single gradient is scaled beyond this, even if there are few gradients."""
_LEAST_ROWS = 30_000
"""Fewer rows are not worth starting a thread."""
_THRESHOLD_SAMPLE = 10_000
"""The sampling threshold is estimated from about this many documents."""
_LARGEST_SAMPLE = 2**29
"""Each rounding may add 1 to the sum of a sample: those of more documents would take up most of the 31 bits."""


class Sample(NamedTuple):
    """The sampled documents of one tree, and the scales of the integers in its histograms."""

    n_rows: int
    """The rows of this worker."""
    n_total: int
    """The rows of all workers."""
    grad_scale: float
    hess_scale: float
    largest_hessian: int


class Totals(NamedTuple):
    """Sums over the documents that are taken, of all workers."""

    n_documents: int
    gradient: float
    """The sum of |grad|."""
    hessian: float


class Glance(NamedTuple):
    """Every so many documents of each query are looked at, to estimate the sampling threshold."""

    every: int
    seed: int
    room: int
    """The most that a worker finds, unless it is very unlucky."""


class Rates(NamedTuple):
    """A document's probability is min(1, importance / threshold), with importance = |g| per_grad + h per_hess."""

    per_grad: float
    per_hess: float
    threshold: float


def draw_sample(
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    totals: Totals,
    some: Floats,
    places: Places,
    fraction: float,
    seed: int,
    n_threads: int,
    by_position: bool,
    collective: Collective,
    rows: AnyArray,
    packed: Ints,
    to_nearest: bool = False,
) -> Sample:
    """Draw from the documents with `taken` > 0, list them in rows[0], and write their rounded gradients to `packed`.

    `some` has |grad| and hess of some documents of all workers, if the fraction is below 1. `packed` is indexed by the
    position in the list if `by_position`, otherwise by row. rows[1] is a work array. If `to_nearest`, gradients are
    rounded to the nearest multiple of a power of two, and not at random.
    """
    # The mean |gradient| and the mean hessian are scaled to 1.
    rates = Rates(
        totals.n_documents / totals.gradient if totals.gradient > 0 else 1.0,
        totals.n_documents / totals.hessian if totals.hessian > 0 else 1.0,
        0.0,
    )
    chunks = query_chunks(places.indptr, n_threads, least_cost=_LEAST_ROWS)
    if fraction < 1.0:
        rates = rates._replace(threshold=_threshold(some[0] * rates.per_grad + some[1] * rates.per_hess, fraction))
    limbs, largest = np.zeros((len(chunks), 2, N_LIMBS), np.int64), np.zeros((len(chunks), 2))
    counts = run_in_threads(
        lambda c, first, last: draw_rows(
            grad, hess, taken, rates, places, seed, first, last, rows[1], limbs[c], largest[c]
        ),
        [(c, *chunk) for c, chunk in enumerate(chunks)],
    )
    sums = np.concatenate(([sum(counts)], limbs.sum(axis=0).reshape(-1)))
    sums, (max_grad, max_hess) = add_with_largest(collective, sums, largest.max(axis=0))
    n_total = int(sums[0])
    if n_total == 0:
        return Sample(0, 0, 1.0, 1.0, 1)
    sum_grad, sum_hess = rounded_sums(sums[1:].reshape(2, N_LIMBS)).tolist()
    if not np.isfinite([sum_grad, max_grad, sum_hess, max_hess]).all():
        raise DataError(DIVERGED)
    grad_scale = _scale(sum_grad, max_grad, n_total, to_nearest)
    hess_scale = _scale(sum_hess, max_hess, n_total, to_nearest)
    offsets = np.concatenate(([0], np.cumsum(counts))).tolist()

    def pack(c: int) -> None:
        start = places.indptr[chunks[c][0]]
        drawn = rows[1][start : start + counts[c]]
        pack_rows(
            grad, hess, rates, places, seed, grad_scale, hess_scale, to_nearest, drawn, offsets[c], by_position,
            rows[0], packed,
        )  # fmt: skip

    run_in_threads(pack, [(c,) for c in range(len(chunks))])
    return Sample(sum(counts), n_total, grad_scale, hess_scale, int(np.ceil(hess_scale * max_hess)) + 1)


def _scale(total: float, largest: float, n_rows: int, power_of_two: bool) -> float:
    """The largest factor, or power of two, with which neither the sum nor a single value is too large an integer."""
    if total == 0:
        return 1.0
    # Rounding adds at most 1 per document: see `_LARGEST_SAMPLE`.
    scale = float(min((_MAX_SUM - n_rows) / max(total, 1e-300), _MAX_INTEGER / max(largest, 1e-300)))
    return math.ldexp(0.5, math.frexp(scale)[1]) if power_of_two else scale


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


def sampled_fraction(wanted: float, n_documents: int) -> float:
    """The fraction of the documents that are sampled: less than is wanted if these were more than can be summed.

    >>> from swaprank.trees.document_sampling import sampled_fraction
    >>> sampled_fraction(0.7, 10**6), sampled_fraction(1.0, 2**32)
    (0.7, 0.125)
    """
    return min(wanted, _LARGEST_SAMPLE / max(n_documents, 1))


def make_glance(n_documents: int, seed: int, n_rows: Ints, n_queries: Ints) -> Glance:
    """A look at about `_THRESHOLD_SAMPLE` of so many documents; n_rows, n_queries: of each worker."""
    every = max(1, n_documents // _THRESHOLD_SAMPLE)
    expected = n_rows / every
    # The number of each query is one of two: its variance is at most 1/4, and at most its mean.
    deviation = np.sqrt(np.minimum(n_queries / 4, expected))
    return Glance(every, seed, int(np.ceil(expected + 5 * deviation).max()) + 1)


def total_sums(
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    places: Places,
    n_threads: int,
    collective: Collective,
    glance: Glance | None = None,
) -> tuple[Totals, Floats]:
    """Sum over the documents with `taken` > 0; with a glance, |grad| and hess of some documents in the same message."""
    indptr = places.indptr
    chunks = query_chunks(indptr, n_threads, least_cost=_LEAST_ROWS)
    limbs = np.zeros((len(chunks), 2, N_LIMBS), np.int64)
    counts = run_in_threads(
        lambda c, first, last: sum_queries(grad, hess, taken, indptr, first, last, limbs[c]),
        [(c, *chunk) for c, chunk in enumerate(chunks)],
    )
    sums, some = np.concatenate((np.sum(counts, axis=0), limbs.sum(axis=0).reshape(-1))), np.empty((2, 0))
    if glance is None:
        collective.add(sums)
    else:
        some, all_sums = gather_with(collective, some_gradients(grad, hess, taken, places, glance), glance.room, sums)
        sums = all_sums.sum(axis=0)
    if sums[1] > 0:
        raise DataError(DIVERGED)
    gradient, hessian = rounded_sums(sums[2:].reshape(2, N_LIMBS)).tolist()
    return Totals(int(sums[0]), gradient, hessian), some


def gather_with(collective: Collective, found: Floats, room: int, others: Ints) -> tuple[Floats, Ints]:
    """The columns of all workers' (2, n) arrays, and a row of other integers of each worker, in one message.

    If one has found more than there is room for, there is another message.
    """
    n_others = len(others)
    while True:
        slots = np.zeros((2, room))
        slots[:, : found.shape[1]] = found[:, :room]
        rows = collective.gather(np.concatenate((others, [found.shape[1]], slots.view(np.int64).reshape(-1))))
        numbers = rows[:, n_others].tolist()
        if max(numbers) <= room:
            of_workers = np.ascontiguousarray(rows[:, n_others + 1 :]).view(np.float64).reshape(-1, 2, room)
            some = [each[:, :number] for each, number in zip(of_workers, numbers, strict=True)]
            return np.concatenate(some, axis=1), rows[:, :n_others]
        room = max(numbers)


def smoothed_l2(l2: float, leaf_smoothing: float, totals: Totals) -> float:
    """The term that is added to the hessian of every leaf: l2, and the mean hessian of so many documents."""
    return l2 + leaf_smoothing * totals.hessian / max(totals.n_documents, 1)


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
def sum_queries(
    grad: Floats, hess: Floats, taken: AnyArray, indptr: Ints, first: int, last: int, limbs: Ints
) -> tuple[int, int]:
    """Add |grad| and hess of the documents taken; returns how many these are, and of how many queries sums overflow.

    The documents of a query always come in the same order, so that a plain sum of a query is the same everywhere.
    """
    count, n_bad = np.int64(0), np.int64(0)
    for query in range(first, last):
        sum_grad, sum_hess = 0.0, 0.0
        for row in range(np.uint64(indptr[query]), np.uint64(indptr[query + 1])):
            counts = taken[row] > 0
            count += np.int64(counts)
            sum_grad += abs(grad[row]) if counts else 0.0
            sum_hess += hess[row] if counts else 0.0
        if sum_grad < np.inf and sum_hess < np.inf:
            add_exactly(sum_grad, limbs[0])
            add_exactly(sum_hess, limbs[1])
        else:
            n_bad += 1
    carry(limbs[0])
    carry(limbs[1])
    return int(count), int(n_bad)


@kernel
def some_gradients(grad: Floats, hess: Floats, taken: AnyArray, places: Places, glance: Glance) -> Floats:
    """|grad| and hess of every so many documents of each query, from a random one on, if they are taken."""
    indptr, every = places.indptr, glance.every
    found, n = np.empty((2, len(grad) // every + len(places.keys))), 0
    for query in range(len(places.keys)):
        # Other bits than those that draw documents. A list that is shorter than `every` has one document or none.
        start = indptr[query] + np.int64(random_bits(places.keys[query], glance.seed + 1) % np.uint64(every))
        for row in range(start, indptr[query + 1], every):
            if taken[row] > 0:
                found[0, n], found[1, n] = abs(grad[row]), hess[row]
                n += 1
    return found[:, :n].copy()


@kernel
def draw_rows(
    grad: Floats,
    hess: Floats,
    taken: AnyArray,
    rates: Rates,
    places: Places,
    seed: int,
    first: int,
    last: int,
    rows: AnyArray,
    limbs: Ints,
    largest: Floats,
) -> int:
    """Draw documents of the queries from first to last; list them from the first query's row on, return their number.

    limbs, largest: The sums and the maxima of their weighted |grad| and hess.
    """
    per_grad, per_hess, threshold = rates.per_grad, rates.per_hess, rates.threshold
    at, indptr = np.uint64(places.indptr[first]), places.indptr
    max_grad, max_hess = 0.0, 0.0
    for query in range(first, last):
        sum_grad, sum_hess, place = 0.0, 0.0, first_place(places, query)
        for row in range(np.uint64(indptr[query]), np.uint64(indptr[query + 1])):
            g, h = abs(grad[row]), hess[row]
            importance = g * per_grad + h * per_hess
            if taken[row] == 0 or importance == 0.0:
                continue
            if importance < threshold:
                if np.float64(random_bits(place + row, seed) >> np.uint64(40)) / 2.0**24 * threshold >= importance:
                    continue
                g, h = threshold / importance * g, threshold / importance * h
            sum_grad += g
            sum_hess += h
            max_grad, max_hess = max(max_grad, g), max(max_hess, h)
            rows[at] = row
            at += np.uint64(1)
        if not (sum_grad < np.inf and sum_hess < np.inf):
            max_grad = np.inf
            break
        add_exactly(sum_grad, limbs[0])
        add_exactly(sum_hess, limbs[1])
    carry(limbs[0])
    carry(limbs[1])
    largest[0], largest[1] = max_grad, max_hess
    return int(at) - int(indptr[first])


@kernel
def pack_rows(
    grad: Floats,
    hess: Floats,
    rates: Rates,
    places: Places,
    seed: int,
    grad_scale: float,
    hess_scale: float,
    to_nearest: bool,
    drawn: AnyArray,
    offset: int,
    by_position: bool,
    rows: AnyArray,
    packed: Ints,
) -> None:
    """List the drawn documents from rows[offset] on and pack gradient * 2^32 + hessian, both weighted and rounded."""
    if len(drawn) == 0:
        return
    query = query_at(places.indptr, int(drawn[0]))
    for k in range(len(drawn)):
        row = np.uint64(drawn[k])
        importance = abs(grad[row]) * rates.per_grad + hess[row] * rates.per_hess
        weight = rates.threshold / importance if importance < rates.threshold else 1.0
        while row >= np.uint64(places.indptr[query + 1]):
            query += 1
        bits = random_bits(first_place(places, query) + row, seed)
        grad_noise = 0.5 if to_nearest else np.float64(bits & np.uint64(0xFFFFF)) / 2.0**20
        hess_noise = 0.5 if to_nearest else np.float64((bits >> np.uint64(20)) & np.uint64(0xFFFFF)) / 2.0**20
        g = np.int64(np.floor(weight * grad[row] * grad_scale + grad_noise))
        h = np.int64(np.floor(weight * hess[row] * hess_scale + hess_noise))
        position = np.uint64(offset + k)
        packed[position if by_position else row] = (g << np.int64(32)) + h
        rows[position] = row
