"""One query's forces, called from inside a kernel that is compiled for one rule alone.

`rule` is a tuple of as many zeros as the rule has for its number: Numba drops the branches that a tuple of that length
never takes, before it compiles what they call. A first fit then compiles for 8 s; with all rules it would for 40.
"""

from __future__ import annotations

from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import longest_list
from swaprank.kernels import kernel
from swaprank.objectives.constructions import construction_queries
from swaprank.objectives.forces import RANKNET, Forces
from swaprank.objectives.lambdas import lambda_queries
from swaprank.objectives.ranknet_queries import given_pairs_queries, long_lists, ranknet_queries

Rule = tuple[int, ...]


def rule_of(forces: Forces, indptr: Ints) -> Rule:
    """The rule of an objective, as `forces_of_query` takes it: constructions share a branch, so they share a length.

    RankNet has another one if there are lists so long that they take the fast pair sums, which are long to compile.

    >>> import swaprank as sr
    >>> from swaprank.nets.query_forces import rule_of
    >>> from swaprank.objectives.ranknet_objective import RankNetObjective
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bound = RankNetObjective().bind(data, random_state=0, n_threads=1)
    >>> rule_of(bound.forces, bound.indptr)
    (0,)
    """
    if forces.rule == RANKNET and long_lists(longest_list(indptr)):
        return (0,) * 4
    return (0,) * min(forces.rule, 3)


@kernel
def forces_of_query(
    rule: Rule, forces: Forces, indptr: Ints, scores: Floats, query: int, grad: Floats, hess: Floats
) -> None:
    """Write gradient and curvature of one query's documents: `write_forces` for one query and one rule."""
    start, stop, next_query = indptr[query], indptr[query + 1], query + 1
    terms, tie_order, sigma = forces.terms, forces.tie_order, forces.sigma
    if len(rule) == 0:
        lambda_queries(
            terms, indptr, tie_order, scores, sigma, forces.normalize, forces.truncation, stop - start, query,
            next_query, grad, hess,
        )  # fmt: skip
    elif len(rule) == 1:
        ranknet_queries(
            terms.gains, terms.divisors, indptr, tie_order, scores, sigma, forces.ties, (), stop - start, query,
            next_query, grad, hess,
        )  # fmt: skip
    elif len(rule) == 4:
        ranknet_queries(
            terms.gains, terms.divisors, indptr, tie_order, scores, sigma, forces.ties, (0,), stop - start, query,
            next_query, grad, hess,
        )  # fmt: skip
    elif len(rule) == 2:
        given_pairs_queries(
            indptr, forces.pair_indptr, forces.above, forces.below, forces.targets, scores, sigma, query, next_query,
            grad, hess,
        )  # fmt: skip
    else:
        construction_queries(
            forces.rule, terms, indptr, tie_order, scores, sigma, forces.normalize, stop - start, query, next_query,
            grad, hess,
        )  # fmt: skip
    if len(forces.weights) > 0:
        for r in range(start, stop):
            grad[r] *= forces.weights[r]
            hess[r] *= forces.weights[r]
