"""Objectives from words: what rankers, instruments and the PyTorch bridge take as `objective`."""

from collections.abc import Sequence
from typing import Any

from swaprank.errors import ParameterError, Wording, did_you_mean
from swaprank.metrics.metric import OWN_SUFFIX, Metric, is_own
from swaprank.metrics.parse import metric as parse_metric
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.ranknet_objective import RankNetObjective

PairwiseObjective = RankNetObjective | LambdaRankObjective


def pairwise_objective(
    objective: str | Metric | PairwiseObjective,
    *,
    sigma: float = 1.0,
    normalize: bool = False,
    construction: str = "pairs",
) -> PairwiseObjective:
    """RankNet for "ranknet", LambdaRank as in the papers for a metric or its name; an objective is returned as it is.

    >>> from swaprank.objectives.objective_names import pairwise_objective
    >>> pairwise_objective("ranknet")
    RankNetObjective(sigma=1.0, ties=False, hessian_floor=0.01)
    >>> str(pairwise_objective("ndcg@10").metric)
    'ndcg@10'
    """
    if isinstance(objective, RankNetObjective | LambdaRankObjective):
        return objective
    if isinstance(objective, str) and objective.lower() == "ranknet":
        if construction != "pairs":
            raise ParameterError(f"construction='{construction}' needs a metric, and ranknet has none.")
        return RankNetObjective(sigma)
    if isinstance(objective, str | Metric):
        return LambdaRankObjective(parse_metric(objective), sigma, normalize, construction=construction)
    raise ParameterError(f"objective must be 'ranknet', a metric or its name, or an objective; found {objective!r}.")


def given_objective(ranker: Any, names: Sequence[str]) -> Objective | None:
    """The instance that a ranker was given as its objective, or None for one of the names.

    Args:
        ranker: Has the parameter `objective`. With an instance, those of the
            default objective must be left alone.
        names: The words that the objective may be.

    >>> import swaprank as sr
    >>> from swaprank.objectives.objective_names import given_objective
    >>> given_objective(sr.LambdaMART(objective=sr.objectives.RankNetObjective(2.0)), ("lambda",))
    RankNetObjective(sigma=2.0, ties=False, hessian_floor=0.01)
    """
    objective = ranker.objective
    if isinstance(objective, Objective):
        for name, declared in ranker.declared.items():
            value = getattr(ranker, name)
            if declared.of_objective and value != declared.default:
                raise ParameterError(
                    f"{name}={value!r} has no effect on an objective given as an instance: leave {name} at its "
                    f"default, and set it on the {type(objective).__name__} if that has it."
                )
        return objective
    if is_own(objective):
        raise ParameterError(
            f"this model was trained with the objective {objective.removesuffix(OWN_SUFFIX)}, which a model file does "
            "not hold: ",
            Wording("give it again with set_params(objective=…)", "only Python can give it again"),
            ", or name another one.",
        )
    if objective not in names:
        raise ParameterError(
            f"there is no objective '{objective}'; {did_you_mean(str(objective), names)}",
            Wording(" An instance can be given, too: for a function of your own, CustomObjective(gradients=…).", ""),
        )
    return None
