"""Every pairwise objective as plain data and one kernel, so that any learner can call it from inside its own kernels.

    objective.bind(data) -> bound.forces, bound.indptr
    write_forces(bound.forces, bound.indptr, scores, q, q + 1, grad, hess)

A rule is a number here and one branch in `write_forces`; its equations stand at the top of its own file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.errors import MetricError
from swaprank.kernels import kernel
from swaprank.metrics.terms import CUSTOM, MetricTerms
from swaprank.objectives.constructions import construction_queries
from swaprank.objectives.lambdas import lambda_queries
from swaprank.objectives.objective import BoundObjective
from swaprank.objectives.ranknet_queries import LONG_LIST, given_pairs_queries, long_lists, ranknet_queries
from swaprank.threads import query_chunks, run_in_threads, thread_count

PAIRS = 0
"""Pairs pushed with the RankNet force times what swapping them would change: lambdas.py."""
RANKNET = 1
"""Pairs of different labels, each counting 1 / divisor of its query: ranknet_queries.py."""
GIVEN_PAIRS = 2
"""Pairs that the data set brings along, with their targets: ranknet_queries.py. Others are in constructions.py."""

_PAIRS_WORTH_A_THREAD = 100_000.0
_DOCUMENT_OF_A_LONG_LIST = 400.0
"""What a document costs by the fast pair sums, in pairs."""


class Forces(NamedTuple):
    """One pairwise objective on one data set, as kernels take it; documents are numbered query after query."""

    rule: int
    terms: MetricTerms
    """What a swap changes; of the pairwise metric for the rules without one, so that `gains` are labels."""
    tie_order: Ints
    """Each query's documents in the order that decides between tied scores; by descending label for RANKNET."""
    sigma: float
    normalize: bool
    truncation: int
    ties: bool
    """Whether RankNet pulls documents of equal labels together."""
    pair_indptr: Ints
    """Query q has the given pairs from pair_indptr[q] to pair_indptr[q + 1]."""
    above: Ints
    below: Ints
    targets: Floats
    weights: Floats
    """What each document's gradient and curvature are multiplied by; empty for 1."""


def make_forces(
    rule: int,
    data: Dataset,
    terms: MetricTerms,
    tie_order: Ints,
    *,
    sigma: float,
    normalize: bool = False,
    truncation: int | None = None,
    ties: bool = False,
) -> Forces:
    """Forces with their defaults filled in; weights are the data set's, and its pairs where the rule takes them."""
    pair_indptr, above, below = np.zeros(data.n_queries + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    targets = np.empty(0)
    if rule == GIVEN_PAIRS and data.pairs is not None:
        place = np.arange(len(data)) if data.order is None else np.argsort(data.order)
        by_query = np.argsort(place[data.pairs.above], kind="stable")
        above, below = place[data.pairs.above][by_query], place[data.pairs.below][by_query]
        pair_indptr, targets = np.searchsorted(above, data.indptr), data.pairs.probability[by_query]
    return Forces(
        rule=rule,
        terms=terms,
        tie_order=tie_order,
        sigma=float(sigma),
        normalize=normalize,
        truncation=np.iinfo(np.int64).max if truncation is None else int(truncation),
        ties=ties,
        pair_indptr=pair_indptr.astype(np.int64),
        above=above,
        below=below,
        targets=contiguous_floats(targets),
        weights=np.empty(0) if data.sample_weight is None else np.array(data.by_query(data.sample_weight)),
    )


@kernel
def longest_of(indptr: Ints, first: int, last: int) -> int:
    """Documents in the longest list of the queries from first to last."""
    longest = 0
    for query in range(first, last):
        longest = max(longest, indptr[query + 1] - indptr[query])
    return longest


@kernel
def multiply(weights: Floats, grad: Floats, hess: Floats) -> None:
    """Multiply gradient and curvature by the documents' weights."""
    for r in range(len(weights)):
        grad[r] *= weights[r]
        hess[r] *= weights[r]


def write_forces(
    forces: Forces, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write gradient and curvature of the documents of the queries from first to last; `scores` has all documents.

    A metric of a user's own that fails leaves NaN in `grad`: see `BoundForces.refuse_failures`. It is not a kernel
    itself, so that only the kernel of its rule is compiled; net/query_forces.py is its twin for kernels.
    """
    longest = longest_of(indptr, first, last)
    if forces.rule == PAIRS:
        lambda_queries(
            forces.terms, indptr, forces.tie_order, scores, forces.sigma, forces.normalize, forces.truncation,
            longest, first, last, grad, hess,
        )  # fmt: skip
    elif forces.rule == RANKNET:
        ranknet_queries(
            forces.terms.gains, forces.terms.divisors, indptr, forces.tie_order, scores, forces.sigma, forces.ties,
            long_lists(longest), longest, first, last, grad, hess,
        )  # fmt: skip
    elif forces.rule == GIVEN_PAIRS:
        given_pairs_queries(
            indptr, forces.pair_indptr, forces.above, forces.below, forces.targets, scores, forces.sigma,
            first, last, grad, hess,
        )  # fmt: skip
    else:
        construction_queries(
            forces.rule, forces.terms, indptr, forces.tie_order, scores, forces.sigma, forces.normalize,
            longest, first, last, grad, hess,
        )  # fmt: skip
    if len(forces.weights) > 0:
        start, stop = indptr[first], indptr[last]
        multiply(forces.weights[start:stop], grad[start:stop], hess[start:stop])


@final
@dataclass(frozen=True, eq=False)
class BoundForces(BoundObjective):
    """A pairwise objective bound to one data set."""

    name: str
    """Of the metric, for errors."""
    forces: Forces
    indptr: Ints
    chunks: list[tuple[int, int]]

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`."""

        def work(first: int, last: int) -> None:
            for start, stop in [(first, last)] if taken is None else runs(taken, first, last):
                write_forces(self.forces, self.indptr, scores, start, stop, grad, hess)

        run_in_threads(work, self.chunks)
        self.refuse_failures(grad)

    def refuse_failures(self, grad: Floats) -> None:
        """Refuse gradients that a user's own metric spoiled; for whoever called the kernel directly."""
        if self.forces.terms.family == CUSTOM and not np.isfinite(grad.sum()):
            raise MetricError(
                f"{self.name}: evaluate failed or gave no finite number for a list with two documents swapped."
            )


def runs(taken: Bools, first: int, last: int) -> list[tuple[int, int]]:
    """Where the queries from first to last that are taken begin and end, as far as they are neighbours.

    >>> import numpy as np
    >>> from swaprank.objectives.forces import runs
    >>> runs(np.array([True, True, False, True, True]), 1, 5)
    [(1, 2), (3, 5)]
    """
    changes = np.flatnonzero(np.diff(taken[first:last], prepend=False, append=False)) + first
    return list(zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True))


def bind_forces(name: str, forces: Forces, data: Dataset, n_threads: int | None) -> BoundForces:
    """Forces with the queries of a data set cut into chunks of about as many pairs."""
    lengths = np.diff(data.indptr).astype(np.float64)
    if forces.rule == GIVEN_PAIRS:
        costs = 10.0 * np.diff(forces.pair_indptr)
    elif forces.rule == RANKNET:
        costs = lengths * np.where(lengths > LONG_LIST, _DOCUMENT_OF_A_LONG_LIST, lengths)
    else:
        costs = lengths * np.minimum(lengths, min(forces.terms.depth, forces.truncation))
    threads = thread_count(n_threads)
    chunks = query_chunks(data.indptr, threads, costs=costs + 30.0 * lengths, least_cost=_PAIRS_WORTH_A_THREAD)
    return BoundForces(name, forces, np.array(data.indptr), chunks)
