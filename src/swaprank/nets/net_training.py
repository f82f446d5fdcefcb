"""Epoch after epoch: the order of the queries, the learning rate, and new beginnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.features import read_only
from swaprank.errors import ParameterError
from swaprank.models.layers import random_weights
from swaprank.models.net import Net
from swaprank.nets.epochs import Documents, train_epoch
from swaprank.nets.optimizers import Optimizer, Stepper, make_stepper
from swaprank.nets.pair_epochs import train_pair_epoch
from swaprank.nets.query_forces import rule_of
from swaprank.objectives.forces import BoundForces

Training = Literal["factored", "pairs", "online"]

TRAININGS: tuple[Training, ...] = ("factored", "pairs", "online")


@dataclass(frozen=True)
class TrainingRules:
    """How a net is trained; see the rankers for what each of them means."""

    optimizer: Optimizer
    learning_rate: float
    decay: float
    batch_queries: int
    restart_rounds: int | None
    training: Training = "factored"


@final
class Trainer:
    """A net in training on one data set."""

    def __init__(
        self,
        data: Dataset,
        bound: BoundForces,
        net: Net,
        rules: TrainingRules,
        measure: Callable[[Floats], float] | None,
        random_state: int,
        stepper: Stepper | None = None,
    ) -> None:
        n = len(data)
        rows = np.arange(n) if data.order is None else np.array(data.order)
        base = np.zeros(n) if data.base_score is None else np.array(data.by_query(data.base_score))
        self.documents = Documents(read_only(data.features), rows, bound.indptr, base)
        self.bound = bound
        self.net = net
        self.rules = rules
        self.measure = measure
        self.random_state = random_state
        self.weights = net.weights.copy()
        self.stepper = make_stepper(rules.optimizer, self.weights) if stepper is None else stepper
        self.rate = float(rules.learning_rate)
        self.scores, self.grad, self.hess = np.zeros(n), np.zeros(n), np.zeros(n)
        self.measured: list[float] = []
        """What `measure` said of every epoch since the last beginning."""
        self.best = -np.inf
        """The most that it ever said."""
        self.n_epochs = 0

    def epoch(self, number: int) -> None:
        """Go once through all queries, in an order drawn for this epoch."""
        rng = np.random.default_rng([self.random_state, number])
        queries = rng.permutation(len(self.bound.indptr) - 1)
        if self.is_on_a_plateau:
            self._begin_anew(rng)
        net, forces, batch = self.net, self.bound.forces, self.rules.batch_queries
        common = (forces, net.scaling, net.layers, self.stepper, self.rate, queries)
        if self.rules.training == "factored":
            outputs = (self.weights, self.scores, self.grad, self.hess)
            gone = train_epoch(self.documents, rule_of(forces, self.bound.indptr), *common, batch, *outputs)
        else:
            batch = 0 if self.rules.training == "online" else batch
            gone = train_pair_epoch(self.documents, *common, batch, self.weights, self.scores)
        self.bound.refuse_failures(self.grad)
        if gone < len(queries) or not np.isfinite(self.weights).all():
            raise ParameterError(
                f"the weights grew beyond all bounds in epoch {number}: learning_rate={self.rules.learning_rate:g} is "
                "too large; try a tenth of it."
            )
        if self.measure is not None:
            now = self.measure(self.scores)
            if self.measured and now < self.measured[-1]:
                self.rate *= self.rules.decay
            self.measured.append(now)
            self.best = max(self.best, now)
        self.n_epochs += 1

    @property
    def is_best(self) -> bool:
        """Whether the training measure of the last epoch was the best of all, or none is taken."""
        return not self.measured or self.measured[-1] == self.best

    @property
    def is_on_a_plateau(self) -> bool:
        """Whether the training measure has not risen for so long that training is to begin anew [Burges2006, 6.3]."""
        patience = self.rules.restart_rounds
        if patience is None or not self.measured:
            return False
        return len(self.measured) - 1 - int(np.argmax(self.measured)) >= patience

    def _begin_anew(self, rng: np.random.Generator) -> None:
        self.weights[:] = random_weights(self.net.layers, rng)
        self.stepper = make_stepper(self.rules.optimizer, self.weights)
        self.rate = float(self.rules.learning_rate)
        self.measured = []
