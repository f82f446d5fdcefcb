"""The one place where kernels learn of every family: a list's value, and the gains of its swaps, row by row.

Objectives call `prepare_swaps` once a query and then `swap_gain_rows` for those ranks that they want, in any order, of
those that count (`rows_that_count`); nothing is allocated on the way. A new metric of a known family is a class in that
family's file; a new family is a file and one branch in each function here.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.kernels import kernel
from swaprank.metrics.average_precision import (
    average_precision_swaps,
    average_precision_value,
    prepare_average_precision,
)
from swaprank.metrics.bpref import bpref_swaps, bpref_value, prepare_bpref
from swaprank.metrics.cascade import cascade_swaps, cascade_value, prepare_cascade
from swaprank.metrics.cumulative import cumulative_swaps, cumulative_value
from swaprank.metrics.custom import custom_swaps, custom_value, prepare_custom
from swaprank.metrics.pairwise_correct import pairwise_swaps, pairwise_value, prepare_pairwise
from swaprank.metrics.terms import (
    AVERAGE_PRECISION,
    BPREF,
    CASCADE,
    CUMULATIVE,
    CUSTOM,
    PAIRWISE,
    MetricTerms,
)

WORK_ROWS = 3
"""A work array of shape (WORK_ROWS, longest list + 1) serves every family."""


@kernel
def list_value(
    terms: MetricTerms, query: int, ranked: Floats, ends: Ints, work: Floats, places: Ints, scratch: Ints
) -> float:
    """The metric of one query, from the gains in rank order and the ends of their tie groups."""
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
        elif terms.family == CUSTOM:
            raw = custom_value(terms.evaluate, ranked, ends, query, work)
    return float(terms.base[query] + raw / terms.divisors[query])


@kernel
def rows_that_count(terms: MetricTerms, query: int, n: int) -> int:
    """Ranks from which a swap with a lower one can change the metric: 0 where the order cannot matter."""
    return min(n, terms.depth) if terms.divisors[query] != np.inf else 0


@kernel
def prepare_swaps(terms: MetricTerms, query: int, ranked: Floats, work: Floats) -> None:
    """Prefix sums of one query's list, which its swap gains share."""
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
    """Of so many ranks, those that a user of a cascade may arrive at: below a certain stop, swaps change nothing."""
    if terms.family == CASCADE:
        while rows > 0 and work[0, rows - 1] == 0.0:
            rows -= 1
    return rows


@kernel
def swap_gain_rows(
    terms: MetricTerms, query: int, ranked: Floats, first: int, last: int, work: Floats, out: Floats
) -> None:
    """out[i - first, j], for ranks i from first to last and every j below i: the change if the two traded places.

    Several ranks a call, because Numba counts the references of every array that is handed on, and atomically.
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
            elif terms.family == CUSTOM:
                custom_swaps(terms.evaluate, norm, i, len(ranked), work, out[i - first])
