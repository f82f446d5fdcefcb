"""What a metric compiles to: plain arrays and a family number, so that one cached kernel works for every metric.

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
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints, contiguous_floats

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

UNLIMITED = np.iinfo(np.int64).max


class Lists(NamedTuple):
    """Labels grouped by query, and where each query starts."""

    labels: Floats
    indptr: Ints


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
    )
