"""Goals while a ranker trains: which round is the best one, and how much the goals with a floor weigh in the next one.

A goal with a floor has a Lagrange multiplier. The multiplier is its weight in the sum of objectives, and grows after
every round in which the goal is below its floor on the watched set, and shrinks after every other round:

    log2 weight += 0.1 max(-1, min(1, shortfall / 0.01))         shortfall = (floor - value) / floor

This is dual ascent by a bounded factor [Momma2019 has the idea for boosting, with another step]: at the start all goals
are far below their floors, and a sum of shortfalls would take long to come down again. A multiplier depends on nothing
but what was measured, so that training which goes on from a checkpoint has the same ones.

The best round is the one with the largest weighted sum of metrics, among those in which all goals are at their floors.
If there is none, it is the one with the smallest sum of shortfalls.
"""

from collections.abc import Mapping, Sequence
from typing import final

import numpy as np

from swaprank.arrays import Floats
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp2
from swaprank.errors import DataError, SwaprankWarning, warn_user
from swaprank.metrics.metric import BoundMetric, mean_of_each
from swaprank.objectives.goals import Goal, column_values

_STEP = 0.1
_FULL_STEP_AT = 0.01
"""The relative shortfall from which on the step is not longer."""
_LARGEST = 10.0
"""A weight is from 2^-10 to 2^10."""


@final
class WatchedGoals:
    """Goals on the watched set."""

    def __init__(
        self, goals: Sequence[Goal], metric: BoundMetric, data: Dataset, n_threads: int | None, collective: Collective
    ) -> None:
        self.goals = goals
        self.bound = {str(goal): goal.bind(data) for goal in goals}

        def mean(bound: BoundMetric, scores: Floats) -> float:
            return mean_of_each([bound], scores, n_threads, collective)[0]

        highest = mean(metric, metric.labels)
        self.scales: dict[str, float] = {}
        """What the weight of each goal is multiplied with: the best possible metric over the best possible goal."""
        self.floors: dict[str, float] = {}
        for goal in goals:
            name, bound = str(goal), self.bound[str(goal)]
            possible = mean(bound, bound.labels)
            if goal.at_least is None:
                self.scales[name] = goal.weight * highest / possible if possible > 0 else 0.0
                continue
            floor = goal.at_least
            if goal.reference is not None:
                floor *= mean(bound, np.array(data.by_query(column_values(data, goal.reference, name))))
            if not 0 < floor <= possible:
                raise DataError(
                    f"the goal '{name}' cannot be at least {floor:.4g}: on the watched set it is above 0 and at most "
                    f"{possible:.4g}."
                )
            self.floors[name] = floor
        self.log_weights = dict.fromkeys(self.floors, 0.0)
        self.n_seen = 0

    def weights(self, history: Mapping[str, Sequence[float]]) -> list[float]:
        """The weights of the goals in the next round."""
        for name, floor in self.floors.items():
            for value in history[name][self.n_seen :]:
                step = _STEP * max(-1.0, min(1.0, (floor - value) / floor / _FULL_STEP_AT))
                self.log_weights[name] = max(-_LARGEST, min(_LARGEST, self.log_weights[name] + step))
        self.n_seen = min((len(history[name]) for name in self.floors), default=0)
        names = [(str(goal), goal) for goal in self.goals]
        return [exp2(self.log_weights[name]) if name in self.floors else goal.weight for name, goal in names]

    def best(self, metric: Floats, history: Mapping[str, Floats]) -> int:
        """The position of the best round; `metric` is -inf where it is not known."""
        values = metric.copy()
        shortfall = np.where(np.isfinite(metric), 0.0, np.inf)
        for name, scale in self.scales.items():
            values += scale * history[name] if scale > 0 else 0.0
        for name, floor in self.floors.items():
            shortfall += np.maximum(0.0, floor - history[name]) / floor
        kept = shortfall == 0
        return int(np.where(kept, values, -np.inf).argmax()) if kept.any() else int(shortfall.argmin())

    def warn_of_shortfall(self, history: Mapping[str, Sequence[float]], best_round: int) -> None:
        """Warn if the round that is kept does not keep a goal at its floor."""
        for name, floor in self.floors.items():
            if best_round > 0 and history[name][best_round - 1] < floor:
                warn_user(
                    SwaprankWarning(
                        f"no round keeps all goals at their floors: {name} is {history[name][best_round - 1]:.4g} in "
                        f"round {best_round}, which is kept, and should be at least {floor:.4g}. Lower the floor, or "
                        "train longer."
                    )
                )
