"""Annealing [Chapelle2010, Algorithm 1]: maximize the smooth metric A, starting each step at the result of the last.

minimize over w   (lambda |w - w0|² - sum_q A_q(w, sigma)) / number of queries        sigma: the smoothing factor
"""

from dataclasses import dataclass, field, replace
from threading import Event
from typing import Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.lanes import dot
from swaprank.linear.conjugate_gradients import conjugate_gradients
from swaprank.linear.limited_memory_bfgs import limited_memory_bfgs
from swaprank.linear.scorers import Scorer
from swaprank.objectives.smooth import BoundSmooth

Optimizer = Literal["cg", "l-bfgs"]
OPTIMIZERS: tuple[Optimizer, ...] = ("cg", "l-bfgs")

_LEAST_SLOPE = 1e-6
"""An annealing step ends when no component of the gradient is larger than this."""


class Stopped(Exception):  # noqa: N818
    """Raised by `Ascent.cost` after its `stop` event has been set."""


@final
@dataclass(frozen=True, eq=False)
class Ascent:
    """The smooth metric as a function of the parameters, regularized towards w0, and how it is maximized."""

    scorer: Scorer
    metric: BoundSmooth
    center: Floats
    """w0."""
    regularization: float
    """lambda."""
    optimizer: Optimizer = "cg"
    max_iterations: int = 50
    stop: Event = field(default_factory=Event)
    """Set it to end a running `climb`: the next evaluation of the cost raises Stopped."""

    def cost(self, parameters: Floats, smooth: BoundSmooth) -> tuple[float, Floats]:
        """The cost and its gradient with respect to the parameters, for the metric with some smoothing factor."""
        if self.stop.is_set():
            raise Stopped
        scores = self.scorer.scores(parameters, smooth.n_threads)
        grad, hess = np.empty(len(scores)), np.empty(len(scores))
        costs = smooth.update(scores, grad, hess)
        away = parameters - self.center
        back = self.scorer.pull_back(parameters, grad, smooth.n_threads)
        # If lambda is near the largest float, a long step has an infinite cost.
        with np.errstate(over="ignore"):
            total = self.regularization * dot(away, away) + costs.sum()
            return float(total / len(costs)), (self.regularization * (2.0 * away) + back) / len(costs)

    def smoothed(self, smoothing_factor: float) -> BoundSmooth:
        """The metric with this smoothing factor, and a ranking order of its own for one thread."""
        return replace(self.metric, smoothing_factor=smoothing_factor, order=self.metric.tie_order.copy())

    def climb(self, parameters: Floats, smoothing_factor: float) -> Floats:
        """The parameters after one annealing step, which starts at the given ones."""
        smooth = self.smoothed(smoothing_factor)

        def cost(at: Floats) -> tuple[float, Floats]:
            return self.cost(at, smooth)

        if self.optimizer == "cg":
            found = conjugate_gradients(cost, parameters, self.max_iterations, _LEAST_SLOPE)
        else:
            found = limited_memory_bfgs(cost, parameters, self.max_iterations, _LEAST_SLOPE)
        return found if np.isfinite(found).all() else parameters

    def smooth_mean(self, parameters: Floats, smoothing_factor: float) -> float:
        """The mean of the smooth metric over the queries."""
        scores, smooth = self.scorer.scores(parameters, self.metric.n_threads), self.smoothed(smoothing_factor)
        return smooth.mean(smooth.update(scores, np.empty(len(scores)), np.empty(len(scores))))
