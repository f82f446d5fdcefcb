"""A linear SVM of pairs in the primal, by truncated Newton steps [Keerthi2005, Chapelle2010b].

minimize   sum over pairs of  u loss(s_i - s_j)   +   strength |w - center|²        s = X w; the u of all pairs sum to 1

The steps take any convex cost of pairs, see `PairCost`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.baselines.hinge_pairs import hessian_queries, hinge_queries, sort_queries, sorted_lists
from swaprank.baselines.pair_shares import LabelPairs
from swaprank.data.grouping import longest_list
from swaprank.lanes import dot
from swaprank.linear.minimization import Point, line_search
from swaprank.rankers.linear_rounds import LinearProblem
from swaprank.threads import query_chunks, run_in_threads, thread_count

LARGEST_GAP = {"squared_hinge": 1e-8, "hinge": 1e-5}
"""The duality gap, relative to the cost, at which a fit ends. The hinge loss has corners, and is harder."""
_MAX_STEPS = 200
"""Newton steps of one fit. Ten to thirty are usual."""
_WIDTHS = (0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)
"""The widths of the rounded corner of the hinge loss, from one fit to the next."""
_CURVATURE = 0.3
"""The constant c2 of the line search, which is cheap: it needs sums over pairs, but no pass over the features."""


class Hinge(NamedTuple):
    """A loss of `hinge_pairs`."""

    curvature: float
    width: float


SQUARED_HINGE = Hinge(2.0, np.inf)


class Losses(NamedTuple):
    """The pairs at some scores: sums weighted with u, and the gradient with respect to the scores."""

    smooth: float
    """The loss; the corner of the hinge loss is rounded."""
    sharp: float
    """The loss with its corner."""
    corner: float
    """The part of the duality gap that the rounded corner adds: the sum of m - m² / width over near pairs."""
    grad: Floats


class PairCost(ABC):
    """A convex cost of the pairs of a data set, and its hessian at the scores that came last."""

    @abstractmethod
    def at(self, scores: Floats) -> Losses:
        """Return the cost at these scores."""

    @abstractmethod
    def hessian_product(self, moves: Floats) -> Floats:
        """Return the hessian times moves of the scores."""


@final
class PairLoss(PairCost):
    """The hinge losses of the pairs of a data set."""

    loss: Hinge = SQUARED_HINGE

    def __init__(self, problem: LinearProblem, pairs: LabelPairs) -> None:
        self.level, self.shares = pairs.level, pairs.shares
        self.indptr, n = problem.indptr, len(problem.labels)
        self.longest, self.lists = longest_list(self.indptr), sorted_lists(n)
        self.share_of_row = np.repeat(pairs.shares, np.diff(self.indptr))
        self.chunks = query_chunks(self.indptr, thread_count(problem.n_threads))
        self.totals, self.grad, self.product = np.empty((len(self.shares), 4)), np.empty(n), np.empty(n)

    def at(self, scores: Floats) -> Losses:
        """See `PairCost`."""
        loss = self.loss

        def work(first: int, last: int) -> None:
            sort_queries(self.level, self.indptr, scores, self.longest, first, last, self.lists)
            hinge_queries(self.lists, self.indptr, *loss, self.longest, first, last, self.totals, self.grad)

        run_in_threads(work, self.chunks)
        near, squares, n_far, far = (dot(self.shares, np.ascontiguousarray(column)) for column in self.totals.T)
        grad, smooth = self.grad * self.share_of_row, 0.5 * loss.curvature * squares
        if loss.width == np.inf:
            return Losses(smooth, smooth, 0.0, grad)
        smooth += far - 0.5 * loss.width * n_far
        return Losses(smooth, near + far, near - loss.curvature * squares, grad)

    def hessian_product(self, moves: Floats) -> Floats:
        """See `PairCost`."""
        loss = self.loss

        def work(first: int, last: int) -> None:
            hessian_queries(self.lists, self.indptr, *loss, self.longest, first, last, moves, self.product)

        run_in_threads(work, self.chunks)
        return self.product * self.share_of_row


class Solution(NamedTuple):
    """Weights, and a bound on the distance of their cost from the minimum, relative to the cost."""

    weights: Floats
    gap: float


def fit_svm(problem: LinearProblem, pairs: PairLoss, loss: str, strength: float, start: Floats) -> Solution:
    """Find the weights with the lowest cost, from `start`; the base ranker is the center.

    The hinge loss is approached by losses with sharper and sharper corners.
    """
    enough = LARGEST_GAP[loss]
    pairs.loss = SQUARED_HINGE
    if loss == "squared_hinge":
        return newton(problem, pairs, strength, start, enough)
    found = Solution(start, np.inf)
    for width in _WIDTHS:
        pairs.loss = Hinge(1.0 / width, width)
        found = newton(problem, pairs, strength, found.weights, 0.1 * enough)
        if found.gap <= enough:
            break
    return found


def newton(problem: LinearProblem, pairs: PairCost, strength: float, start: Floats, enough: float) -> Solution:
    """Take Newton steps until the part of the duality gap that the gradient causes is `enough`, or nothing improves.

    The cost is above its minimum by at most |gradient|² / (4 strength), as the cost of the pairs is convex. For the
    hinge loss, whose slopes are a feasible point of the dual, this is the duality gap without the part that the rounded
    corner adds.
    """
    score_function, n_threads, weights = problem.score_function, problem.n_threads, start
    scores = score_function(weights, n_threads)
    losses = pairs.at(scores)
    for step in range(_MAX_STEPS + 1):
        offset = weights - problem.start
        penalty = strength * dot(offset, offset)
        gradient = score_function.pull_back(weights, losses.grad, n_threads) + 2.0 * strength * offset
        by_gradient = dot(gradient, gradient) / (4.0 * strength)
        cost = max(losses.sharp + penalty, np.finfo(float).tiny)
        if by_gradient <= enough * cost or step == _MAX_STEPS:
            break

        def times_hessian(vector: Floats) -> Floats:
            moves = score_function(vector, n_threads) - score_function.base
            product = score_function.pull_back(vector, pairs.hessian_product(moves), n_threads)
            return product + 2.0 * strength * vector

        direction = newton_direction(times_hessian, gradient)
        line = Line(
            pairs, strength, scores, score_function(direction, n_threads) - score_function.base, offset, direction
        )
        here = Point(0.0, losses.smooth + penalty, dot(gradient, direction), gradient)
        reached = line_search(line, np.zeros(1), np.ones(1), here, 1.0, _CURVATURE).step
        if reached == 0.0:
            break  # what is left is rounding error
        weights, scores = weights + reached * direction, line.scores_at(reached)
        losses = line.losses if line.step == reached else pairs.at(scores)
    return Solution(weights, (by_gradient + losses.corner) / cost)


@final
@dataclass
class Line:
    """The cost along a direction of the weights, which moves the scores; it remembers the losses that came last."""

    pairs: PairCost
    strength: float
    scores: Floats
    moves: Floats
    offset: Floats
    direction: Floats
    step: float = np.nan
    losses: Losses = field(init=False)

    def scores_at(self, step: float) -> Floats:
        """Return the scores after a step."""
        return self.scores + step * self.moves

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        """Return the cost after a step, and its slope."""
        self.step = float(at[0])
        self.losses = self.pairs.at(self.scores_at(self.step))
        there = self.offset + self.step * self.direction
        slope = dot(self.losses.grad, self.moves) + 2.0 * self.strength * dot(there, self.direction)
        return self.losses.smooth + self.strength * dot(there, there), np.array([slope])


def newton_direction(times_hessian: Callable[[Floats], Floats], gradient: Floats) -> Floats:
    """Return about minus the inverse hessian times the gradient, by linear conjugate gradients.

    >>> import numpy as np
    >>> from swaprank.baselines.primal_svm import newton_direction
    >>> newton_direction(lambda vector: np.array([2.0, 4.0]) * vector, np.array([2.0, -4.0])).round(9).tolist()
    [-1.0, 1.0]
    """
    found, residual = np.zeros(len(gradient)), -gradient
    direction, squared = residual, dot(gradient, gradient)
    # A tenth of the gradient may be left: farther from the minimum, the hessian changes with every step anyway.
    enough = 0.01 * squared
    for _ in range(len(gradient)):
        product = times_hessian(direction)
        step = squared / dot(direction, product)
        found, residual = found + step * direction, residual - step * product
        before, squared = squared, dot(residual, residual)
        if squared <= enough:
            break
        direction = residual + squared / before * direction
    return found
