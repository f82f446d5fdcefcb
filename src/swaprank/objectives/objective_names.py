"""Pairwise objectives from words: what instruments and bridges are told to look at."""

from __future__ import annotations

from swaprank.errors import ParameterError
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.ranknet_objective import RankNetObjective

PairwiseObjective = RankNetObjective | LambdaRankObjective


def pairwise_objective(
    objective: str | Metric | PairwiseObjective,
    *,
    sigma: float = 1.0,
    normalize: bool = False,
    construction: str = "pairs",
) -> PairwiseObjective:
    """RankNet for "ranknet", LambdaRank for a metric or its name, as in the papers; an objective is what it is.

    >>> from swaprank.objectives.objective_names import pairwise_objective
    >>> pairwise_objective("ranknet")
    RankNetObjective(sigma=1.0, ties=False)
    >>> str(pairwise_objective("ndcg@10").metric)
    'ndcg@10'
    """
    if isinstance(objective, RankNetObjective | LambdaRankObjective):
        return objective
    if isinstance(objective, str) and objective.lower() == "ranknet":
        if construction != "pairs":
            raise ParameterError(f"construction='{construction}' needs a metric, which ranknet has none of.")
        return RankNetObjective(sigma)
    if isinstance(objective, str | Metric):
        metric = parse_metric(objective) if isinstance(objective, str) else objective
        return LambdaRankObjective(metric, sigma, normalize, construction=construction)
    raise ParameterError(f"an objective is 'ranknet', a metric or its name, or an objective; found {objective!r}.")
