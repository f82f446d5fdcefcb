"""The terms of a metric: plain arrays and the number of its family, so that one cached kernel serves every metric.

    value of query q  =  base[q] + raw(family, gains of q's documents in rank order, discounts) / divisors[q]

           gains      [ g g g g g g g g g g ... ]     one per document, grouped by query; the family defines
           indptr     [ 0     3         8   ... ]       its meaning: 2^l - 1, a stop probability, 0 or 1, …
           base       [ b     b         b   ... ]     one per query
           divisors   [ d     d         d   ... ]     one per query: best possible DCG, relevant documents, …
           discounts  [ D(1) D(2) D(3)  ... ]         one per rank, 0 beyond the cut-off k

If the order of a query's documents cannot matter (no relevant document, for example), its divisor is infinite and
`base` holds its value, which is NaN if the query is left out. Nothing else is infinite: metrics raise an error for sums
that could overflow. Dividing, rather than multiplying by an inverse, makes a perfect NDCG exactly 1.

Every array is writable and contiguous, because Numba compiles a kernel again for every other layout.

The kernels at the end call those of the family. Objectives call `prepare_swaps` once per query, then `swap_gain_rows`
for any of the ranks that count (`rows_that_count`), in any order. Nothing is allocated. A new metric of a known family
is a class; a new family is a class, its kernels, a number, and a branch in three functions here.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints, contiguous_floats
from swaprank.data.pairs import PairLists
from swaprank.kernels import kernel
from swaprank.metrics.cascade_kernels import cascade_swaps, cascade_value, prepare_cascade
from swaprank.metrics.cumulative_kernels import cumulative_swaps, cumulative_value
from swaprank.metrics.custom_kernels import custom_swaps, custom_value, prepare_custom
from swaprank.metrics.relevance_kernels import (
    average_precision_swaps,
    average_precision_value,
    bpref_swaps,
    bpref_value,
    pairwise_swaps,
    pairwise_value,
    prepare_average_precision,
    prepare_bpref,
    prepare_pairwise,
    r_precision_swaps,
    r_precision_value,
)

CUMULATIVE = 0
"""sum over ranks of gain * D(rank): DCG, precision, recall, RBP."""
AVERAGE_PRECISION = 1
"""sum over relevant ranks of D(rank) * number of relevant documents down to that rank."""
CASCADE = 2
"""A user walks down the list and stops at each document with its probability: ERR, reciprocal rank, success."""
PAIRWISE = 3
"""Pairs of different labels in the right order; the gains are the labels."""
BPREF = 4
"""Judged non-relevant documents above each relevant one; gains are 1, 0, or -1 for unjudged."""
CUSTOM = 5
"""A user's compiled function of the labels in rank order; the gains are the labels."""
R_PRECISION = 6
"""Relevant documents among the first R, the number of all relevant ones."""
GIVEN_PAIRS = 7
"""Given pairs in the right order. Its value is no function of a ranked list of gains, and it has no swap gains."""
EVALUATION_ONLY = 8
"""Measured by the metric itself, list by list, from more than gains: subtopics, what is judged. No swap gains."""
WITHOUT_SWAP_GAINS = (GIVEN_PAIRS, EVALUATION_ONLY)
"""Families that `list_value` and `swap_gain_rows` do not know: `Metric.measure_bound` gives their values."""

UNLIMITED = np.iinfo(np.int64).max
WORK_ROWS = 3
"""Every family needs a work array of at most shape (WORK_ROWS, longest list + 1)."""


class Lists(NamedTuple):
    """Labels grouped by query, where each query starts, and what else is known of the documents."""

    labels: Floats
    indptr: Ints
    pairs: PairLists | None = None
    """Preferences between the documents."""
    subtopics: Floats | None = None
    """(documents, subtopics): the labels of each document for the subtopics of its query; NaN where none was given."""
    judged: Bools | None = None
    """The documents with a judgement; if None, those whose label is not negative."""


class MetricTerms(NamedTuple):
    """One metric on one data set, in the form that kernels take."""

    family: int
    gains: Floats
    discounts: Floats
    base: Floats
    divisors: Floats
    is_empty: Bools
    """Queries whose value does not depend on the order of their documents."""
    pool: Floats
    """(n_queries, 2): the numbers of relevant and of judged non-relevant documents, for bpref and R-precision."""
    depth: int
    """Swapping two documents that both rank beyond this depth changes nothing."""
    evaluate: int
    """Address of a user's compiled function; 0 for all other families."""
    raising: bool
    """The swaps that lower the metric count as no change."""


def make_terms(
    family: int,
    gains: Floats | Bools,
    lists: Lists,
    *,
    discounts: Floats | None = None,
    divisors: Floats | float = 1.0,
    is_empty: Bools | None = None,
    empty: float | str = 0,
    pool: Floats | None = None,
    depth: int | None = None,
    evaluate: int = 0,
) -> MetricTerms:
    """Terms with defaults filled in; `empty` is the value of the queries marked is_empty."""
    n_queries = len(lists.indptr) - 1
    is_empty = np.zeros(n_queries, np.bool_) if is_empty is None else is_empty
    empty_value = np.nan if empty == "skip" else float(empty)
    return MetricTerms(
        family=family,
        gains=contiguous_floats(gains),
        discounts=contiguous_floats(np.ones(1) if discounts is None else discounts),
        base=np.where(is_empty, empty_value, 0.0),
        divisors=np.where(is_empty, np.inf, divisors),
        is_empty=is_empty,
        pool=contiguous_floats(np.zeros((1, 2)) if pool is None else pool),
        depth=UNLIMITED if depth is None else depth,
        evaluate=evaluate,
        raising=False,
    )


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
    """The number of ranks, from the top, whose swap with a lower rank can change the metric; 0 if no order matters."""
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
    """The number of the first `rows` ranks that a cascade's user can reach: below, swaps change nothing."""
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
    if terms.raising:
        for i in range(first, last):
            for j in range(i + 1, len(ranked)):
                out[i - first, j] = max(out[i - first, j], 0.0)
