"""A smooth metric as an objective for trees: functional gradient boosting [Chapelle2010, section 6].

Two things differ from the linear case, where the smoothing factor is annealed and the weights are regularized. Scores
grow with every tree, so a fixed smoothing factor would smooth less and less; and no regularization holds them back.
Where the smoothing factor is large compared with the scores, raising the smooth metric no longer means "relevant
documents first": its gradient draws them to the middle of the list and the others to both ends. A tree can do that, a
linear model cannot.

So the smoothing factor is relative to the spread of the current scores. The width of a list's soft indicators is

    w = sqrt(smoothing_factor) sqrt(2) 1.06 s n^(-1/5)    s: standard deviation of scores within lists; n: documents

which for smoothing_factor = 1 is Silverman's rule for the kernel width of a density estimate from n numbers.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import deviation_within_lists, sum_by_query
from swaprank.elementary import exps2, logs2
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.objectives.smooth import BoundSmooth, SmoothObjective, all_equal, check_smoothing_factor


@final
@dataclass(frozen=True)
class SmoothBoostingObjective(Objective):
    """Minus the smooth metric of scores in units of their own spread; for trees.

    Args:
        metric: The metric to smooth, or its name.
        smoothing_factor: How much is smoothed, in units of the spread of the current scores; 1 is Silverman's rule. On
            top of a good base ranker, 0.1 to 1 works well.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0], [3.0]], [0, 2, 1], qid=[1, 1, 1])
    >>> bound = sr.objectives.SmoothBoostingObjective(sr.metric("ndcg"), 0.1).bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(3), np.empty(3)
    >>> bound.update(np.array([1.0, 2.0, 3.0]), grad, hess)
    >>> bool(grad[1] < 0 < grad[2])
    True
    """

    metric: Metric
    smoothing_factor: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", parse_metric(self.metric))
        check_smoothing_factor(self.smoothing_factor)

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> "BoundSmoothBoosting":
        """See `Objective`."""
        smooth = SmoothObjective(self.metric).bind(data, random_state=random_state, n_threads=n_threads)
        return BoundSmoothBoosting(smooth, float(self.smoothing_factor), smooth.indptr, smooth.weights)


@final
@dataclass(frozen=True, eq=False)
class BoundSmoothBoosting(BoundObjective):
    """A smooth metric for trees, bound to one data set."""

    smooth: BoundSmooth
    smoothing_factor: float
    indptr: Ints
    weights: Floats

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        """See `BoundObjective`; the hessian is |gradient| / w.

        The metric is not convex, so its second derivative is of no use. Its gradient is valid as far as the soft
        indicators reach: with this hessian the step of a single document is w, and that of a leaf is
        w (sum of gradients) / (sum of their absolute values), which is less the less its documents agree.
        """
        smooth = self.smooth
        if taken is not None:
            smooth = replace(smooth, query_weights=smooth.query_weights * taken)
        deviation = deviation_within_lists(scores, smooth.indptr)
        if deviation > 0:
            widths = list_widths(smooth.indptr, deviation, self.smoothing_factor)
            smooth.update(scores / widths, grad, hess)
            grad /= widths
            np.divide(np.abs(grad), widths, out=hess)
        else:
            grad[:] = 0.0
            hess[:] = 0.0
        leave_saddle_points(smooth, scores, deviation, grad, hess)


def list_widths(indptr: Ints, deviation: float, smoothing_factor: float) -> Floats:
    """The width w of the soft indicators for every document; see the top of this file."""
    lengths = np.diff(indptr)
    widths: Floats = np.sqrt(2.0 * smoothing_factor) * 1.06 * deviation * exps2(-0.2 * logs2(np.maximum(lengths, 1.0)))
    return widths.repeat(lengths)


def leave_saddle_points(smooth: BoundSmooth, scores: Floats, deviation: float, grad: Floats, hess: Floats) -> None:
    """Step towards the gains where all scores of a list are equal, as before the first tree, and the gradient is 0.

    That is a saddle point, where only the gains tell which way to go. The step is as long as scores are spread.
    """
    lengths, gains = np.diff(smooth.indptr), smooth.terms.gains
    difference = gains - (sum_by_query(gains, smooth.indptr) / np.maximum(lengths, 1)).repeat(lengths)
    weights = np.zeros(len(lengths))
    tied = all_equal(scores, smooth.indptr)
    weights[tied] = smooth.query_weights[tied] * (sum_by_query(np.abs(difference), smooth.indptr)[tied] > 0)
    rows = np.flatnonzero(weights.repeat(lengths) > 0)
    if len(rows) == 0:
        return
    spread = float(gains.std()) or 1.0
    moved = hess > 0
    typical = float(hess[moved].mean()) if moved.any() else 1.0
    hess[rows] = typical * weights.repeat(lengths)[rows]
    grad[rows] = -hess[rows] * difference[rows] / spread * (deviation or 1.0)
