"""Rates that were seldom observed are drawn towards those of their group: empirical Bayes, level by level.

A rate with n observations keeps n / (n + s) of itself; the rest is the rate of its group, which is drawn towards that
of a larger group. Strengths s were chosen on parts of one real log, by held-out likelihood, which is flat about them.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.logs.click_counts import sums

PAIR_STRENGTH = 5.0
"""Imaginary observations of each document with the rate of its query."""
_QUERY_STRENGTH = 5.0
"""Imaginary documents of each query with the rate of all documents."""
_CONTEXT_STRENGTH = 10.0
"""Imaginary observations of a place after clicks at others with the rate of the place, and so on."""
_LEAST = 1e-6


class PairRates(NamedTuple):
    """Rates of (query, document) pairs, and those that pairs without observations have."""

    rate: Floats
    of_query: Floats
    overall: float


def pair_rates(hits: Floats, seen: Floats, pair_query: Ints, n_queries: int) -> PairRates:
    """Rates of pairs, drawn towards their query's, which is drawn towards that of all.

    A document weighs as much in its group as its rate is known: those shown a million times do not drown the others.
    """
    weight = seen / (seen + PAIR_STRENGTH)
    own = weight * hits / np.maximum(seen, _LEAST)
    # One more document of rate 1/2, for logs that are so small that nothing or everything was clicked.
    overall = float(own.sum() + 0.5) / float(weight.sum() + 1.0)
    of_query = sums(pair_query, own, n_queries) + _QUERY_STRENGTH * overall
    of_query = within(of_query / (sums(pair_query, weight, n_queries) + _QUERY_STRENGTH))
    rate = (hits + PAIR_STRENGTH * of_query[pair_query]) / (seen + PAIR_STRENGTH)
    return PairRates(within(rate), of_query, overall)


def context_rates(hits: Floats, seen: Floats) -> Floats:
    """Rates of places x last clicks x clicks above, drawn towards those without the last axis, and so on."""
    rate: Floats = np.full((1,) * hits.ndim, within(hits.sum() / max(seen.sum(), _LEAST)))
    for n_axes in range(1, hits.ndim + 1):
        others = tuple(range(n_axes, hits.ndim))
        n = seen.sum(axis=others, keepdims=True)
        rate = (hits.sum(axis=others, keepdims=True) + _CONTEXT_STRENGTH * rate) / (n + _CONTEXT_STRENGTH)
    return within(rate)


def within(rate: Floats) -> Floats:
    """Rates that are neither 0 nor 1: what was never seen is still possible."""
    return np.clip(rate, _LEAST, 1.0 - _LEAST)
