"""LambdaRank for any metric: the objective of LambdaRank and LambdaMART, bound to a data set."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError, did_you_mean
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.terms import CUMULATIVE, CUSTOM, PAIRWISE
from swaprank.objectives.constructions import CONSTRUCTIONS, ConstructionArrays
from swaprank.objectives.kernel_objective import BoundKernelObjective, bind_kernel
from swaprank.objectives.lambdas import LambdaArrays
from swaprank.objectives.objective import Objective
from swaprank.objectives.ranknet_objective import bind_ranknet


@final
@dataclass(frozen=True)
class LambdaRankObjective(Objective):
    """The RankNet gradient of every pair times the change of a metric if the pair swapped [Burges2010, section 4].

    Args:
        metric: The metric to optimize, or its name.
        sigma: Steepness of the pair probabilities in the score difference.
        normalize: Divide each pair's weight by its score difference, and scale each query's gradients to log2(1 + their
            sum), as LightGBM does. False: as in the paper.
        horizon: How deep to learn: as if the metric were cut off at this rank. Default: the metric as it is.
        construction: How lambdas are made: "pairs" (the standard), or "spring", "local_gradient", "local_cost" or
            "discrete_bounded" [Donmez2009]; constructions.py has the equations.

    For metric="pairwise" all pairs weigh the same, so this is RankNet divided by the number of pairs of each query.
    With normalize=False it then takes about n log n, also for lists of millions of documents; with normalize=True it
    visits all pairs.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bound = sr.objectives.LambdaRankObjective(sr.metric("ndcg"), normalize=False).bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> bound.update(np.array([1.0, 0.0]), grad, hess)
    >>> grad.round(4).tolist()  # |dNDCG| = 1 - 1 / log2(3), rho = 1 / (1 + exp(-1))
    [0.2698, -0.2698]
    """

    metric: Metric
    sigma: float = 1.0
    normalize: bool = True
    horizon: int | None = None
    construction: str = "pairs"

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", parse_metric(self.metric))
        if self.construction not in ("pairs", *CONSTRUCTIONS):
            names = did_you_mean(self.construction, ["pairs", *CONSTRUCTIONS])
            raise ParameterError(f"there is no construction '{self.construction}'; {names}")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`."""
        terms = bind_metric(learned_metric(self.metric, self.horizon), data).terms
        sigma, pairs = float(self.sigma), self.construction == "pairs"
        if pairs and terms.family == PAIRWISE and not self.normalize:
            # All pairs weigh the same, so no ranks are needed [Burges2010, section 2].
            return bind_ranknet(data, terms.gains, terms.divisors, sigma, False, n_threads)
        tie_order = seeded_tie_order(data.places, random_state)
        swaps = None if terms.family == CUMULATIVE else terms
        arrays: Any = LambdaArrays(terms, swaps, tie_order, sigma, self.normalize)
        if not pairs:
            arrays = ConstructionArrays(CONSTRUCTIONS[self.construction], terms, tie_order, sigma, self.normalize)
        lengths = np.diff(data.indptr).astype(np.float64)
        costs = lengths * np.minimum(lengths, terms.depth)
        own_metric = str(self.metric) if terms.family == CUSTOM else ""
        return bind_kernel(arrays, data, costs, n_threads, own_metric)


_LEAST_HORIZON = 30


def default_horizon(metric: Metric) -> int | None:
    """How deep trees learn for a metric: to rank 30 if its cut-off is above that; None for the metric as it is.

    With few ranks that count, few pairs have a gradient, and trees learn little from most documents. Precision, recall
    and success are about their cut-off, and so are a user's own metrics, as far as we know.

    >>> import swaprank as sr
    >>> from swaprank.objectives.lambdarank_objective import default_horizon
    >>> [default_horizon(sr.metric(name)) for name in ("ndcg@10", "ndcg@50", "map", "p@10")]
    [30, None, None, None]
    """
    about_its_cut_off = metric.needs_k or metric.is_own
    return None if metric.k is None or metric.k >= _LEAST_HORIZON or about_its_cut_off else _LEAST_HORIZON


def learned_metric(metric: Metric, horizon: int | None) -> Metric:
    """The metric cut off at the horizon; itself if there is none.

    >>> import swaprank as sr
    >>> from swaprank.objectives.lambdarank_objective import learned_metric
    >>> str(learned_metric(sr.metric("ndcg@10(gain=linear)"), 30))
    'ndcg@30(gain=linear)'
    """
    if horizon is None or metric.k == horizon:
        return metric
    if not metric.takes_k:
        raise ParameterError(f"{metric} has no cut-off, and so no horizon: found horizon={horizon}.")
    return replace(metric, k=int(horizon))
