"""Down the steps of sigma: the smooth metric is climbed at each, from where the step before arrived.

[Chapelle2010, Algorithm 1]

minimise over w   (lambda |w - w0|² - sum_q A_q(w, sigma)) / number of queries
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Event
from typing import Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.objectives.smooth import BoundSmooth
from swaprank.smoothrank.conjugate_gradients import conjugate_gradients
from swaprank.smoothrank.scorers import Scorer

Optimizer = Literal["cg", "l-bfgs"]
OPTIMIZERS: tuple[Optimizer, ...] = ("cg", "l-bfgs")

_LEAST_SLOPE = 1e-6
"""A step of sigma ends where no parameter changes the cost by more than this."""


class Stopped(Exception):  # noqa: N818
    """Someone asked for an end."""


@final
@dataclass(frozen=True, eq=False)
class Ascent:
    """The smooth metric as a function of parameters, regularised towards w0: what one candidate climbs."""

    scorer: Scorer
    metric: BoundSmooth
    center: Floats
    """w0."""
    regularization: float
    """lambda."""
    optimizer: Optimizer = "cg"
    max_iterations: int = 50
    stop: Event = field(default_factory=Event)
    """Set by whoever wants an end: the next evaluation raises Stopped."""

    def cost(self, parameters: Floats, smooth: BoundSmooth) -> tuple[float, Floats]:
        """The cost and its gradient by the parameters, for the metric with some smoothing factor."""
        if self.stop.is_set():
            raise Stopped
        scores = self.scorer.scores(parameters, smooth.n_threads)
        grad, hess = np.empty(len(scores)), np.empty(len(scores))
        costs = smooth.update(scores, grad, hess)
        away = parameters - self.center
        back = self.scorer.pull_back(parameters, grad, smooth.n_threads)
        # If lambda is near the largest float, a long step has an infinite cost.
        with np.errstate(over="ignore"):
            total = self.regularization * (away @ away) + costs.sum()
            return float(total / len(costs)), (self.regularization * (2.0 * away) + back) / len(costs)

    def smoothed(self, sigma: float) -> BoundSmooth:
        """The metric with this smoothing factor, and a ranking order of its own for one thread."""
        return replace(self.metric, smoothing_factor=sigma, order=self.metric.tie_order.copy())

    def climb(self, parameters: Floats, sigma: float) -> Floats:
        """The parameters that one step of sigma arrives at."""
        smooth = self.smoothed(sigma)

        def cost(at: Floats) -> tuple[float, Floats]:
            return self.cost(at, smooth)

        if self.optimizer == "cg":
            found = conjugate_gradients(cost, parameters, self.max_iterations, _LEAST_SLOPE)
        else:
            from scipy.optimize import minimize

            options = {"maxiter": self.max_iterations, "gtol": _LEAST_SLOPE}
            found = np.asarray(minimize(cost, parameters, jac=True, method="L-BFGS-B", options=options).x)
        return found if np.isfinite(found).all() else parameters

    def smooth_mean(self, parameters: Floats, sigma: float) -> float:
        """The mean of the smooth metric over the queries."""
        scores, smooth = self.scorer.scores(parameters, self.metric.n_threads), self.smoothed(sigma)
        return smooth.mean(smooth.update(scores, np.empty(len(scores)), np.empty(len(scores))))
