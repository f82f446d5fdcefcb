"""The Pareto front of two goals: a model for each weight of the second one, and those that no other model beats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from sklearn.base import clone

import swaprank as sr
from swaprank.errors import ParameterError
from swaprank.metrics.metric import bind_metric
from swaprank.objectives.goals import Goal
from swaprank.rankers.training import TrainableRanker
from swaprank.rendering.figures import axes_for, finish_chart
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, decimals

WEIGHTS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


class Tradeoff(NamedTuple):
    """One model on the way from one goal to the other."""

    weight: float
    """Of the second goal; the metric has 1."""
    metric: float
    goal: float
    on_front: bool
    """True if no other model is better in one of the two and at least as good in the other."""
    ranker: TrainableRanker


@final
@dataclass(frozen=True, eq=False, repr=False)
class ParetoFront(Result):
    """Models for several weights of a goal, and which of them no other one beats; printable.

    >>> import swaprank as sr
    >>> from swaprank.experiments.pareto import Tradeoff
    >>> model = Tradeoff(0.3, 0.81, 0.52, True, sr.LambdaMART())
    >>> print(sr.experiments.ParetoFront("ndcg@10", "ndcg@5(gain=linear) of revenue", [model]))
    weight  ndcg@10  ndcg@5(gain=linear) of revenue  front
    ------  -------  ------------------------------  -----
       0.3   0.8100                          0.5200    yes
    """

    metric: str
    goal: str
    models: Sequence[Tradeoff]
    """In the order of their weights."""

    def _blocks(self) -> Blocks:
        rows = [
            [f"{each.weight:g}", decimals(each.metric), decimals(each.goal), "yes" if each.on_front else "no"]
            for each in self.models
        ]
        return [Table(["weight", self.metric, self.goal, "front"], rows, left=0)]

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"weight": each.weight, self.metric: each.metric, self.goal: each.goal, "on_front": each.on_front}
            for each in self.models
        ]

    def _values(self) -> dict[str, Any]:
        return {"metric": self.metric, "goal": self.goal, "models": self._rows()}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns(self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the goal against the metric, with the front as a line and the weights beside it; returns the axes."""
        axes = axes_for(ax)
        front = sorted((each.goal, each.metric) for each in self.models if each.on_front)
        axes.plot([goal for goal, _ in front], [metric for _, metric in front], "o-", color="C0", label="front")
        beaten = [each for each in self.models if not each.on_front]
        if beaten:
            axes.plot([e.goal for e in beaten], [e.metric for e in beaten], "x", color="0.5", label="beaten")
        for each in self.models:
            axes.annotate(f"{each.weight:g}", (each.goal, each.metric), (5, 5), textcoords="offset points")
        return finish_chart(axes, "", self.goal, self.metric)


def pareto(
    ranker: sr.LambdaMART,
    train: sr.Dataset,
    valid: sr.Dataset,
    goal: str,
    *,
    weights: Sequence[float] = WEIGHTS,
    test: sr.Dataset | None = None,
) -> ParetoFront:
    """Train a ranker for each weight of a goal beside its metric, and find the models that no other one beats.

    Args:
        ranker: The ranker to train; its own goals are kept. It does not change.
        train: The training data.
        valid: Chooses the round of each model.
        goal: A metric of other labels, such as "ndcg@5(gain=linear) of revenue".
        weights: The weights of the goal; the metric has 1.
        test: The data to measure the models on. By default valid.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 30), n_features=4, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=20)
    >>> front = sr.experiments.pareto(ranker, train, vali, "pairwise of 1", weights=[0, 1, 10])
    >>> [each.weight for each in front.models], front.models[0].goal < front.models[2].goal
    ([0, 1, 10], True)
    """
    parsed = Goal.parse(goal)
    if parsed.at_least is not None or parsed.weight != 1.0:
        raise ParameterError(f"the weights of '{parsed}' are tried: give the goal without a weight or a floor.")
    if len(weights) == 0:
        raise ParameterError("weights must have one or more numbers; found none.")
    given = ranker.goals or ()
    own = [text for text in given.split(";") if text.strip()] if isinstance(given, str) else list(given)
    on = valid if test is None else test
    metric, second = bind_metric(ranker.training_metric(), on), parsed.bind(on)
    models, points = [], []
    for weight in weights:
        model = clone(ranker).set_params(goals=[*own, f"{weight:.17g} {parsed}"]).fit(train, valid=valid)
        scores = on.by_query(model.predict(on))
        models.append(model)
        points.append((metric.mean(scores), second.mean(scores)))
    fronts = non_dominated(points)
    found = zip(weights, points, fronts, models, strict=True)
    tradeoffs = [Tradeoff(weight, *point, on_front, model) for weight, point, on_front, model in found]
    return ParetoFront(str(ranker.training_metric()), str(parsed), tradeoffs)


def non_dominated(points: Sequence[tuple[float, float]]) -> list[bool]:
    """True for each point that no other one beats: at least as large in both numbers, and larger in one.

    >>> from swaprank.experiments.pareto import non_dominated
    >>> non_dominated([(3, 1), (2, 2), (1, 3), (1, 2), (2, 2)])
    [True, True, True, False, True]
    """
    values = np.array(points, dtype=np.float64)
    return [bool(~((values >= each).all(axis=1) & (values > each).any(axis=1)).any()) for each in values]
