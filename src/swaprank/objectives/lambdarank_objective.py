"""LambdaRank for any metric: the objective of LambdaMART, bound to a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError, did_you_mean
from swaprank.metrics.metric import Metric
from swaprank.metrics.ordering import seeded_tie_order
from swaprank.metrics.terms import PAIRWISE
from swaprank.objectives.constructions import CONSTRUCTIONS
from swaprank.objectives.forces import PAIRS, RANKNET, BoundForces, bind_forces, make_forces
from swaprank.objectives.objective import Objective
from swaprank.objectives.ranknet_objective import by_descending_label


@final
@dataclass(frozen=True)
class LambdaRankObjective(Objective):
    """Pairs pushed apart with the RankNet force times what swapping them would change [Burges2010, section 4].

    Args:
        metric: What the swap changes.
        sigma: How steep the force is in the difference of scores.
        normalize: Divide each pair's weight by the difference of its scores, and scale each query's forces to
            log2(1 + their sum), as LightGBM does; else as in the paper.
        truncation: Only pairs with one document ranked within this count; all that the metric can feel if None.
        construction: Which forces: "pairs", or another one that [Donmez2009] compares with it: "spring",
            "local_gradient", "local_cost", "discrete_bounded"; constructions.py has their equations.

    The pairwise metric counts every pair alike, which makes this RankNet divided by the number of pairs of each query.
    It then takes lists of millions of documents, in about n log n, but only if not normalised: differences of scores in
    the denominators leave nothing but all pairs, one by one.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.objectives.lambdarank_objective import LambdaRankObjective
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> bound = LambdaRankObjective(sr.metric("ndcg"), normalize=False).bind(data, random_state=0, n_threads=1)
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> bound.update(np.array([1.0, 0.0]), grad, hess)
    >>> grad.round(4).tolist()  # |dNDCG| = 1 - 1 / log2(3), rho = 1 / (1 + exp(-1))
    [0.2698, -0.2698]
    """

    metric: Metric
    sigma: float = 1.0
    normalize: bool = True
    truncation: int | None = None
    construction: str = "pairs"

    def __post_init__(self) -> None:
        if self.construction not in ("pairs", *CONSTRUCTIONS):
            names = did_you_mean(self.construction, ["pairs", *CONSTRUCTIONS])
            raise ParameterError(f"there is no construction '{self.construction}'; {names}")
        if self.construction != "pairs" and self.truncation is not None:
            raise ParameterError(f"truncation is for construction='pairs', found it with '{self.construction}'.")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundForces:
        """See `Objective`."""
        labels = np.array(data.by_query(data.labels))
        docid = None if data.docid is None else data.by_query(data.docid)
        terms = self.metric.bind(labels, data.indptr, docid=docid).terms
        rule = CONSTRUCTIONS.get(self.construction, PAIRS)
        tie_order = seeded_tie_order(data.indptr, random_state)
        if rule == PAIRS and terms.family == PAIRWISE and not self.normalize and self.truncation is None:
            # Every pair counts alike, so that no ranks are needed [Burges2010, section 2].
            rule, tie_order = RANKNET, by_descending_label(labels, data.indptr)
        forces = make_forces(
            rule, data, terms, tie_order, sigma=self.sigma, normalize=self.normalize, truncation=self.truncation
        )
        return bind_forces(str(self.metric), forces, data, n_threads)
