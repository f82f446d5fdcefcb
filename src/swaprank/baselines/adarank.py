"""AdaRank: boosting of single features, for any metric."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Features, Floats
from swaprank.baselines.weak_rankers import half_log_odds
from swaprank.data.grouping import sum_by_query
from swaprank.elementary import LOG2_E, exps2
from swaprank.errors import ParameterError
from swaprank.metrics.metric import BoundMetric, Metric, bind_metric
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.linear_rounds import LinearProblem, LinearRanker, LinearRound
from swaprank.rankers.shared_parameters import EarlyStopping

_LEAST_RISE = 1e-9
"""A smaller rise of the metric is rounding."""


@final
class AdaRank(EarlyStopping, LinearRanker):
    """Boosting of single features for a metric E, such as NDCG or average precision [Xu2007].

    A weak ranker is one feature, up or down. Queries have weights P, equal at first, then in proportion to exp(-E) of
    the scores so far. Each round adds alpha times the weak ranker with the largest mean of its own E, weighted with P:
    alpha = 1/2 ln(sum of P (1 + E) / sum of P (1 - E)).

    As published, the same weak ranker may be chosen for ever: if it does not change the ranking, P does not change.
    Here a weak ranker is passed over if it does not raise the metric of the training data, and the next best is taken.
    Training ends when no weak ranker raises it.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 30, 30), n_features=10, random_state=0)
    >>> ranker = sr.baselines.AdaRank("map").fit(train, valid=vali)
    >>> ranker.score(test) > 0.5
    True
    """

    kind: ClassVar[str] = "adarank"
    can: ClassVar[Capabilities] = replace(LinearRanker.can, rounds_parameter="n_rounds", needs="metric")
    metric: str | Metric = parameter(
        default="ndcg@10",
        kw_only=False,
        text="The metric to optimize, with values from 0 to 1. It also chooses the best round on the watched set.",
    )
    n_rounds: int = parameter(default=300, low=0, high=10**7, text="Maximum number of rounds: of weak rankers.")
    standardize: bool = parameter(
        default=True, text="Weak rankers are standardized features. False: the features as they are."
    )
    base_ranker: Any = parameter(
        default=None, text="A fitted linear ranker, to whose weights those of the weak rankers are added."
    )

    def _rounds(self, problem: LinearProblem) -> Iterator[LinearRound]:
        bound, weights = bind_metric(self.training_metric(), problem.data), problem.start
        counted = ~bound.terms.is_empty
        if not counted.any():
            return
        shares = sum_by_query(problem.document_weights, problem.indptr)[counted] / np.diff(problem.indptr)[counted]
        shares /= max(float(np.sum(shares)), np.finfo(float).tiny)

        def measure(weights: Floats) -> Floats:
            return bound.per_query(problem.score_function(weights, self.n_threads), n_threads=self.n_threads)[counted]

        alone = measure_features(bound, problem.score_function.features, counted, self.n_threads)
        values, best = np.zeros(len(shares)), -np.inf
        if weights.any() or problem.data.base_score is not None:
            values = measure(weights)
            best = float(np.sum(shares * values))
        while True:
            on_queries = shares * exps2(-LOG2_E * values)
            means = np.sum(alone * (on_queries / np.sum(on_queries)), axis=1)
            for weak in np.argsort(-means, kind="stable").tolist():
                feature, sign = weak // 2, 1.0 - 2.0 * (weak % 2)
                moved = weights.copy()
                moved[feature] += sign * half_log_odds(1.0 + means[weak], 1.0 - means[weak])
                found = measure(moved)
                mean = float(np.sum(shares * found))
                if mean > best + _LEAST_RISE:
                    weights, values, best = moved, found, mean
                    yield LinearRound(weights)
                    break
            else:
                return


def measure_features(bound: BoundMetric, features: Features, counted: Bools, n_threads: int | None) -> Floats:
    """Return the metric of each counted query for each feature: up in the rows 0, 2, …, and down in the others."""
    values = np.empty((2 * features.shape[1], np.count_nonzero(counted)))
    for weak in range(len(values)):
        column = features[:, weak // 2].astype(np.float64)
        values[weak] = bound.per_query(column if weak % 2 == 0 else -column, n_threads=n_threads)[counted]
    if values.max() > 1.0 + 1e-9 or values.min() < 0.0:
        found = values.max() if values.max() > 1.0 else values.min()
        raise ParameterError(
            f"AdaRank needs a metric from 0 to 1, such as ndcg or map; found {found:g} for {bound.metric}."
        )
    return np.minimum(values, 1.0)
