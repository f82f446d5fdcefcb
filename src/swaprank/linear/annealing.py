"""Annealing [Chapelle2010, Algorithm 1]: maximize the smooth metric A, starting each step at the result of the last.

minimize over w   (lambda |w - w0|² - sum_q A_q(w, sigma)) / number of queries        sigma: the smoothing factor
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Literal, Self, final

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.lanes import dot
from swaprank.linear.architectures import ScoreFunction
from swaprank.linear.minimization import conjugate_gradients, limited_memory_bfgs
from swaprank.objectives.smooth import BoundSmooth

Minimizer = Literal["cg", "l-bfgs"]
MINIMIZERS: tuple[Minimizer, ...] = ("cg", "l-bfgs")

REGULARIZATIONS = (1e4, 1e2, 1.0, 1e-2, 1e-4)
"""The values of "auto", in descending order.

The paper has 10^3 to 10^-6 in steps of 10, for features from 0 to 1 [Chapelle2010, section 7], whose standard
deviations are about 1/4. Weights of standardized features are about a quarter as large, so that the same penalty takes
a lambda about ten times as large. For a mean over lambdas, steps of 100 are as good, and leave time for more folds.
"""

_LEAST_SLOPE = 1e-6
"""An annealing step ends when no component of the gradient is larger than this."""


class Stopped(Exception):  # noqa: N818
    """Raised by `Ascent.cost` after its `stop` event has been set."""


@final
@dataclass(frozen=True, eq=False)
class Ascent:
    """The smooth metric as a function of the parameters, regularized towards w0, and its maximization."""

    score_function: ScoreFunction
    metric: BoundSmooth
    center: Floats
    """w0."""
    regularization: float
    """lambda."""
    minimizer: Minimizer = "cg"
    max_iterations: int = 50
    stop: Event = field(default_factory=Event)
    """Set it to end a running `climb`: the next evaluation of the cost raises Stopped."""

    def cost(self, parameters: Floats, smooth: BoundSmooth) -> tuple[float, Floats]:
        """Return the cost and its gradient with respect to the parameters, for the metric with a smoothing factor."""
        if self.stop.is_set():
            raise Stopped
        scores = self.score_function(parameters, smooth.n_threads)
        grad, hess = np.empty(len(scores)), np.empty(len(scores))
        costs = smooth.update(scores, grad, hess)
        away = parameters - self.center
        back = self.score_function.pull_back(parameters, grad, smooth.n_threads)
        # If lambda is near the largest float, a long step has an infinite cost.
        with np.errstate(over="ignore"):
            total = self.regularization * dot(away, away) + costs.sum()
            return float(total / len(costs)), (self.regularization * (2.0 * away) + back) / len(costs)

    def smoothed(self, smoothing_factor: float) -> BoundSmooth:
        """Return the metric with this smoothing factor, and a ranking order of its own for one thread."""
        return replace(self.metric, smoothing_factor=smoothing_factor, order=self.metric.tie_order.copy())

    def climb(self, parameters: Floats, smoothing_factor: float) -> Floats:
        """Return the parameters after one annealing step, which starts at the given ones."""
        smooth = self.smoothed(smoothing_factor)
        minimize = conjugate_gradients if self.minimizer == "cg" else limited_memory_bfgs
        found = minimize(lambda at: self.cost(at, smooth), parameters, self.max_iterations, _LEAST_SLOPE)
        return found if np.isfinite(found).all() else parameters

    def smooth_mean(self, parameters: Floats, smoothing_factor: float) -> float:
        """Return the mean of the smooth metric over the queries."""
        scores, smooth = self.score_function(parameters, self.metric.n_threads), self.smoothed(smoothing_factor)
        return smooth.mean(smooth.update(scores, np.empty(len(scores)), np.empty(len(scores))))

    def without(self, queries: Bools) -> Self:
        """Return the same ascent without some of the queries."""
        return replace(self, metric=replace(self.metric, query_weights=self.metric.query_weights * ~queries))


@final
@dataclass(eq=False)
class Candidate:
    """One annealing run."""

    ascent: Ascent
    parameters: Floats
    """The parameters after the last step so far; the start before the first."""


def annealing_step(candidates: Sequence[Candidate], smoothing_factor: float, n_threads: int) -> None:
    """Run one annealing step of every candidate. If it is interrupted, no candidate changes.

    Each result depends on its own candidate only, so that it is the same for any number of threads.
    """
    stop = Event()
    n_workers = min(n_threads, len(candidates))
    threads_per_worker = max(1, n_threads // n_workers)

    def work(candidate: Candidate) -> Floats | None:
        ascent = candidate.ascent
        ascent = replace(ascent, metric=replace(ascent.metric, n_threads=threads_per_worker), stop=stop)
        try:
            return ascent.climb(candidate.parameters, smoothing_factor)
        except Stopped:
            return None

    if n_workers == 1:
        found = [work(candidate) for candidate in candidates]
    else:
        with ThreadPoolExecutor(n_workers) as pool:
            try:
                found = list(pool.map(work, candidates))
            except BaseException:
                # Ctrl-C: running candidates end at their next evaluation, and waiting ones at their first.
                stop.set()
                raise
    for candidate, parameters in zip(candidates, found, strict=True):
        if parameters is not None:
            candidate.parameters = parameters
