"""Dispatch to the kernels of each metric family: the value of a list, and the gains of its swaps.

Objectives call `prepare_swaps` once per query, then `swap_gain_rows` for any of the ranks that count
(`rows_that_count`), in any order. Nothing is allocated. A new metric of a known family is a class in that family's
file; a new family is a kernel file, a class and one branch in each function here.
"""

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.average_precision_kernel import (
    average_precision_swaps,
    average_precision_value,
    prepare_average_precision,
)
from swaprank.metrics.bpref_kernel import bpref_swaps, bpref_value, prepare_bpref
from swaprank.metrics.cascade_kernel import cascade_swaps, cascade_value, prepare_cascade
from swaprank.metrics.cumulative_kernel import cumulative_swaps, cumulative_value
from swaprank.metrics.custom_kernel import custom_swaps, custom_value, prepare_custom
from swaprank.metrics.pairwise_kernel import pairwise_swaps, pairwise_value, prepare_pairwise
from swaprank.metrics.r_precision_kernel import r_precision_swaps, r_precision_value
from swaprank.metrics.terms import (
    AVERAGE_PRECISION,
    BPREF,
    CASCADE,
    CUMULATIVE,
    CUSTOM,
    PAIRWISE,
    R_PRECISION,
    MetricTerms,
)

WORK_ROWS = 3
"""Every family needs a work array of at most shape (WORK_ROWS, longest list + 1)."""


@kernel
def list_value(
    terms: MetricTerms, query: int, ranked: Floats, ends: Ints, work: Floats, places: Ints, scratch: Ints
) -> float:
    """The metric of one query, from its gains in rank order and the ends of its tie groups."""
    raw = 0.0
    if terms.divisors[query] != np.inf:
        if terms.family == CUMULATIVE:
            raw = cumulative_value(ranked, ends, terms.discounts)
        elif terms.family == AVERAGE_PRECISION:
            raw = average_precision_value(ranked, ends, terms.discounts)
        elif terms.family == CASCADE:
            raw = cascade_value(ranked, ends, terms.discounts, work)
        elif terms.family == PAIRWISE:
            raw = pairwise_value(ranked, ends, work, places, scratch)
        elif terms.family == BPREF:
            raw = bpref_value(ranked, ends, terms.pool[query, 0], terms.pool[query, 1])
        elif terms.family == R_PRECISION:
            raw = r_precision_value(ranked, ends, terms.pool[query, 0])
        elif terms.family == CUSTOM:
            raw = custom_value(terms.evaluate, ranked, ends, work)
    return float(terms.base[query] + raw / terms.divisors[query])


@kernel
def rows_that_count(terms: MetricTerms, query: int, n: int) -> int:
    """How many ranks, from the top, can change the metric by a swap with a lower rank; 0 if the order cannot matter."""
    return min(n, terms.depth) if terms.divisors[query] != np.inf else 0


@kernel
def prepare_swaps(terms: MetricTerms, query: int, ranked: Floats, work: Floats) -> None:
    """Fill `work` with prefix sums of one query's list, from which all its swap gains are computed."""
    if terms.family == AVERAGE_PRECISION:
        prepare_average_precision(ranked, terms.discounts, work)
    elif terms.family == CASCADE:
        prepare_cascade(ranked, work)
    elif terms.family == PAIRWISE:
        prepare_pairwise(ranked, work)
    elif terms.family == BPREF:
        prepare_bpref(ranked, terms.pool[query, 0], terms.pool[query, 1], work)
    elif terms.family == CUSTOM:
        prepare_custom(terms.evaluate, ranked, work)


@kernel
def rows_reached(terms: MetricTerms, rows: int, work: Floats) -> int:
    """How many of the first `rows` ranks a cascade user can reach: below a certain stop, swaps change nothing."""
    if terms.family == CASCADE:
        while rows > 0 and work[0, rows - 1] == 0.0:
            rows -= 1
    return rows


@kernel
def swap_gain_rows(
    terms: MetricTerms, query: int, ranked: Floats, first: int, last: int, work: Floats, out: Floats
) -> None:
    """out[i - first, j], for ranks i from first to last and every j below i: the change if the two are swapped.

    One call does several ranks, because Numba counts references to every array argument with atomic operations.
    """
    norm = 1.0 / terms.divisors[query]
    if terms.family == AVERAGE_PRECISION:
        average_precision_swaps(ranked, terms.discounts, norm, first, last, work, out)
    elif terms.family == CASCADE:
        cascade_swaps(ranked, terms.discounts, norm, first, last, work, out)
    else:
        for i in range(first, last):
            if terms.family == CUMULATIVE:
                cumulative_swaps(ranked, terms.discounts, norm, i, out[i - first])
            elif terms.family == PAIRWISE:
                pairwise_swaps(ranked, norm, i, work, out[i - first])
            elif terms.family == BPREF:
                bpref_swaps(ranked, terms.pool[query, 0], terms.pool[query, 1], norm, i, work, out[i - first])
            elif terms.family == R_PRECISION:
                r_precision_swaps(ranked, terms.pool[query, 0], norm, i, out[i - first])
            elif terms.family == CUSTOM:
                custom_swaps(terms.evaluate, norm, i, len(ranked), work, out[i - first])
