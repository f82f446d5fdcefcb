"""Coordinate ascent: one weight of a linear ranker at a time, straight for the metric [Metzler2007]."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.ensembles.step_function import measured_optimum, sweep
from swaprank.errors import DataError
from swaprank.metrics.metric import BoundMetric, Metric, bind_metric
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.linear_rounds import LinearProblem, LinearRanker, LinearRound
from swaprank.rankers.shared_parameters import RandomChoices

_LEAST_RISE = 1e-11
"""A smaller rise of the metric is rounding."""


@final
class CoordinateAscent(RandomChoices, LinearRanker):
    """A linear ranker that maximizes any metric itself, one weight at a time [Metzler2007], as in RankLib.

    If one weight changes and the others stay, the scores are straight lines, the order of two documents changes at most
    once, and the metric is a step function of the weight. `Combination` finds the best step of such a function exactly,
    and so does this: RankLib tries about fifty values of a weight. The weight moves to the middle of the widest of the
    best steps, if the metric rises. A round is one pass over all features in random order. When the metric on the
    training data rises by less than `tolerance` in a pass, all begins anew from other weights.

    With a validation set, the weights of its best round are kept; without one, the best on the training data. A pass
    visits all pairs of documents of a query, for each feature. All queries count the same.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_polynomial((60, 30), n_features=5, n_documents=10, random_state=0)
    >>> ranker = sr.baselines.CoordinateAscent("ndcg@5").fit(train, valid=vali)
    >>> ranker.score(vali) > 0.7
    True
    """

    kind: ClassVar[str] = "coordinate_ascent"
    can: ClassVar[Capabilities] = replace(LinearRanker.can, round_name="pass", needs="metric")
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="The metric to maximize: the name of a metric, or a metric of your own."
    )
    n_restarts: int = parameter(
        default=5,
        low=1,
        high=10**6,
        tune=(1, 10),
        text="The number of starts. The first one has all weights 0, or those of the base ranker; the others have "
        "random ones.",
    )
    n_passes: int = parameter(default=25, low=1, high=10**6, text="The maximum number of rounds of each start.")
    tolerance: float = parameter(
        default=0.001,
        above=0,
        tune=(1e-4, 0.01),
        text="The least rise of the metric in a round that is worth another one.",
    )
    standardize: bool = parameter(
        default=True,
        tune=None,
        text="Scale every feature to standard deviation 1, which matters for the random weights only. False: use the "
        "features as they are.",
    )
    base_ranker: Any = parameter(default=None, text="A fitted linear ranker, whose weights are the first start.")

    def _n_rounds(self) -> int:
        return int(self.n_restarts * self.n_passes + 1)

    def _rounds(self, problem: LinearProblem) -> Iterator[LinearRound]:
        if problem.data.sample_weight is not None:
            raise DataError("coordinate ascent maximizes a metric, and metrics have no weights: fit without weights.")
        rng = np.random.default_rng(problem.random_state)
        bound = bind_metric(self.training_metric(), problem.data, refuse_constant=True)
        best, highest, is_best = problem.start, -np.inf, False
        for restart in range(self.n_restarts):
            weights = problem.start if restart == 0 else rng.uniform(-1.0, 1.0, len(problem.start))
            value = bound.mean(problem.score_function(weights), n_threads=self.n_threads)
            for _ in range(self.n_passes):
                before = value
                for feature in rng.permutation(np.flatnonzero(problem.score_function.factor)):
                    weights, value = best_weight(problem, bound, weights, value, int(feature))
                is_best = value > highest
                if is_best:
                    best, highest = weights, value
                yield LinearRound(weights)
                if value - before < self.tolerance:
                    break
        if not (is_best or problem.is_watched):
            yield LinearRound(best)


def best_weight(
    problem: LinearProblem, bound: BoundMetric, weights: Floats, value: float, feature: int
) -> tuple[Floats, float]:
    """Return the weights with the best weight of one feature, and their metric; those given if no other is better."""
    score_function, n_threads = problem.score_function, problem.n_threads
    scores = score_function(weights, n_threads)
    line = scores + score_function.features[:, feature] * score_function.factor[feature]

    def moved(step: float) -> Floats:
        new = weights.copy()
        new[feature] += step
        return new

    found = measured_optimum(
        sweep(bound, line, scores, n_threads).best(-np.inf, np.inf),
        lambda step: bound.mean(score_function(moved(step), n_threads), n_threads=n_threads),
    )
    return (moved(found.alpha), found.value) if found.value > value + _LEAST_RISE else (weights, value)
