"""What a metric compiles to: plain arrays and a family number, so that one cached kernel serves every metric.

    value of query q  =  base[q] + raw(family, gains of q's documents in rank order, discounts) / divisors[q]

           gains      [ g g g g g g g g g g ... ]     one a document, query after query (what a gain is, the
           indptr     [ 0     3         8   ... ]       family says: 2^l - 1, a stop probability, 0 or 1, …)
           base       [ b     b         b   ... ]     one a query
           divisors   [ d     d         d   ... ]     one a query: best possible DCG, relevant documents, …
           discounts  [ D(1) D(2) D(3)  ... ]         one a rank, 0 beyond the cut-off k

A query whose order cannot matter (no relevant document, say) has an infinite divisor and its value in `base`, which
is NaN where it is left out. Nothing else is infinite: sums that could overflow are refused. Dividing, not multiplying
by an inverse, makes a perfect NDCG exactly 1.

Every array is writable and contiguous, whatever the user's were: Numba compiles a kernel anew for each kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints

CUMULATIVE = 0
"""sum over ranks of gain * D(rank): DCG, precision, recall, RBP."""
AVERAGE_PRECISION = 1
"""sum over relevant ranks of D(rank) * relevant documents down to there."""
CASCADE = 2
"""A user goes down the list and stops at each document with its probability: ERR, reciprocal rank, success."""
PAIRWISE = 3
"""Pairs of different labels in the right order; the gains are the labels."""
BPREF = 4
"""Judged non-relevant documents above each relevant one; gains are 1, 0, or -1 for unjudged."""
CUSTOM = 5
"""A user's compiled function of the labels in rank order; the gains are the labels."""

UNLIMITED = np.iinfo(np.int64).max


class Lists(NamedTuple):
    """Labels, query after query, and where each query begins."""

    labels: Floats
    indptr: Ints


class MetricTerms(NamedTuple):
    """One metric on one data set, as kernels take it."""

    family: int
    gains: Floats
    discounts: Floats
    base: Floats
    divisors: Floats
    is_empty: Bools
    """Queries without anything to gain, whether they count or are left out."""
    pool: Floats
    """(n_queries, 2): relevant and judged non-relevant documents of each query, for the families that count them."""
    depth: int
    """Trading two documents that are both ranked beyond this changes nothing."""
    evaluate: int
    """Address of a user's compiled function; 0 for every other family."""


def make_terms(
    family: int,
    gains: Floats | Bools,
    lists: Lists,
    *,
    discounts: Floats | None = None,
    divisors: Floats | None = None,
    is_empty: Bools | None = None,
    empty: float | str = 0,
    pool: Floats | None = None,
    depth: int | None = None,
    evaluate: int = 0,
) -> MetricTerms:
    """Terms with their defaults filled in; queries marked is_empty get the value that `empty` says."""
    n_queries = len(lists.indptr) - 1
    is_empty = np.zeros(n_queries, np.bool_) if is_empty is None else is_empty
    empty_value = np.nan if empty == "skip" else float(empty)
    return MetricTerms(
        family=family,
        gains=own_floats(gains),
        discounts=own_floats(np.ones(1) if discounts is None else discounts),
        base=np.where(is_empty, empty_value, 0.0),
        divisors=np.where(is_empty, np.inf, np.ones(n_queries) if divisors is None else divisors),
        is_empty=is_empty,
        pool=own_floats(np.zeros((1, 2)) if pool is None else pool),
        depth=UNLIMITED if depth is None else depth,
        evaluate=evaluate,
    )


def own_floats(values: AnyArray) -> Floats:
    """As float64, writable and contiguous; copied only if it is not."""
    return np.require(values, np.float64, ["C", "A", "W"])


def own_ints(values: AnyArray) -> Ints:
    """As int64, writable and contiguous; copied only if it is not."""
    return np.require(values, np.int64, ["C", "A", "W"])


def longest_list(indptr: Ints) -> int:
    """Documents in the longest list."""
    return int(np.diff(indptr).max(initial=0))


def sum_by_query(values: Floats | Bools, indptr: Ints) -> Floats:
    """The sum of each query's values; a query without documents has 0."""
    sums = np.zeros(len(indptr) - 1)
    filled = indptr[:-1] < indptr[1:]
    if filled.any():
        # Between the starts of two lists that hold documents there are only lists that hold none.
        sums[filled] = np.add.reduceat(values.astype(np.float64, copy=False), indptr[:-1][filled])
    return sums


def any_by_query(flags: Bools, indptr: Ints) -> Bools:
    """Whether any of each query's flags is set; for a query without documents none is."""
    found = np.zeros(len(indptr) - 1, np.bool_)
    filled = indptr[:-1] < indptr[1:]
    if filled.any():
        found[filled] = np.logical_or.reduceat(flags, indptr[:-1][filled])
    return found
