"""A smooth metric as trees climb it: functional gradient boosting [Chapelle2010, section 6].

Two things differ from the linear case, where sigma is annealed and weights are held to a regression. Scores of trees
grow with every tree, so that a fixed sigma would smooth less and less; and nothing holds them back. Where sigma is
large beside the scores, the smooth metric no longer means "relevant documents first": its slope draws them to the
middle of the list, and pushes the others to both ends. A tree can do that, a line cannot.

So sigma is measured in the scores so far. The width of a list's soft indicators is

    w = sqrt(sigma) sqrt(2) 1.06 s n^(-1/5)        s: the deviation of scores within lists; n: documents of the list

which for sigma = 1 is Silverman's rule for the kernel that best shows the density of n numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import sum_by_query
from swaprank.metrics.metric import Metric
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.objectives.smooth import BoundSmooth, SmoothObjective, all_equal


@final
@dataclass(frozen=True)
class SmoothBoostingObjective(Objective):
    """Minus the smooth metric, of scores measured in their own deviation.

    Args:
        metric: What is smoothed.
        sigma: How much; 1 is what Silverman's rule gives.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.smooth_boosting import SmoothBoostingObjective
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 2, 1], qid=[1, 1, 1])
    >>> bound = SmoothBoostingObjective(sr.metric("ndcg"), 0.1).bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(3), np.empty(3)
    >>> bound.update(np.array([1.0, 2.0, 3.0]), grad, hess)
    >>> bool(grad[1] < 0 < grad[2])
    True
    """

    metric: Metric
    sigma: float = 1.0

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundSmoothBoosting:
        """See `Objective`."""
        smooth = SmoothObjective(self.metric).bind(data, random_state=random_state, n_threads=n_threads)
        return BoundSmoothBoosting(smooth, self.sigma)


@final
@dataclass(frozen=True, eq=False)
class BoundSmoothBoosting(BoundObjective):
    """A smooth metric for trees, bound to one data set."""

    smooth: BoundSmooth
    sigma: float

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`: the cost is minus the metric, and the curvature |gradient| / w.

        The metric is not convex, so its second derivative will not do. Its slope says where to go, and is worth
        believing as far as the soft indicators reach: with this curvature a document alone goes w far, and a leaf
        w (sum of gradients) / (sum of their sizes), which is less the less its documents agree.
        """
        smooth = self.smooth
        if taken is not None:
            smooth = replace(smooth, weights=smooth.weights * taken)
        deviation = deviation_within_lists(scores, smooth.indptr)
        if deviation > 0:
            widths = list_widths(smooth.indptr, deviation, self.sigma)
            smooth.evaluate(scores / widths, 1.0, grad)
            grad /= -widths
            np.divide(np.abs(grad), widths, out=hess)
        else:
            grad[:] = 0.0
            hess[:] = 0.0
        leave_saddles(smooth, scores, deviation, grad, hess)


def deviation_within_lists(scores: Floats, indptr: Ints) -> float:
    """The root of the mean square of what parts scores from the mean of their list.

    >>> import numpy as np
    >>> from swaprank.objectives.smooth_boosting import deviation_within_lists
    >>> deviation_within_lists(np.array([1.0, 3.0, 11.0, 13.0]), np.array([0, 2, 4]))
    1.0
    """
    if len(scores) == 0:
        return 0.0
    lengths = np.diff(indptr)
    # From the first score on, so that equal scores have a deviation of 0, and not that of their rounding.
    ahead = scores - scores[np.minimum(indptr[:-1], len(scores) - 1)].repeat(lengths)
    means = sum_by_query(ahead, indptr) / np.maximum(lengths, 1)
    return float(np.sqrt(np.mean((ahead - means.repeat(lengths)) ** 2)))


def list_widths(indptr: Ints, deviation: float, sigma: float) -> Floats:
    """The width w of soft indicators, for every document: see the top of this file."""
    lengths = np.diff(indptr)
    widths: Floats = np.sqrt(2.0 * sigma) * 1.06 * deviation * np.maximum(lengths, 1) ** -0.2
    return widths.repeat(lengths)


def leave_saddles(smooth: BoundSmooth, scores: Floats, deviation: float, grad: Floats, hess: Floats) -> None:
    """Where all scores of a list are equal, as before the first tree, a step to its gains stands for the slope of 0.

    That is no maximum, and there is no way to tell up from down but the gains. The step is as long as scores are wide.
    """
    lengths, gains = np.diff(smooth.indptr), smooth.terms.gains
    ahead = gains - (sum_by_query(gains, smooth.indptr) / np.maximum(lengths, 1)).repeat(lengths)
    weights = np.zeros(len(lengths))
    tied = all_equal(scores, smooth.indptr)
    weights[tied] = smooth.weights[tied] * (sum_by_query(np.abs(ahead), smooth.indptr)[tied] > 0)
    rows = np.flatnonzero(weights.repeat(lengths) > 0)
    if len(rows) == 0:
        return
    spread = float(gains.std()) or 1.0
    moved = hess > 0
    typical = float(hess[moved].mean()) if moved.any() else 1.0
    hess[rows] = typical * weights.repeat(lengths)[rows]
    grad[rows] = -hess[rows] * ahead[rows] / spread * (deviation or 1.0)
