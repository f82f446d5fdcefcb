"""The loop over epochs: the order of the queries, the learning rate, and restarts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from swaprank.arrays import Floats, read_only
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.models.layers import random_weights
from swaprank.models.net import Net, score_matrix
from swaprank.nets.epochs import Documents, train_epoch, train_pair_epoch, training_pairs
from swaprank.nets.optimizers import Optimizer, Stepper, make_stepper
from swaprank.objectives.objective import BoundObjective
from swaprank.objectives.ranknet_objective import GivenPairsArrays, LongRankNetArrays, RankNetArrays

Training = Literal["factored", "pairs", "online"]

TRAININGS: tuple[Training, ...] = ("factored", "pairs", "online")


@dataclass(frozen=True)
class TrainingRules:
    """The parameters of training; the rankers document each of them."""

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
        bound: BoundObjective,
        net: Net,
        rules: TrainingRules,
        measure: Callable[[Floats], float] | None,
        random_state: int,
        stepper: Stepper | None = None,
    ) -> None:
        n = len(data)
        rows = np.arange(n) if data.order is None else np.array(data.order)
        base = np.zeros(n) if data.base_score is None else np.array(data.by_query(data.base_score))
        self.documents = Documents(read_only(data.features), rows, bound.indptr, base, bound.weights)
        self.objective = _objective_arrays(bound, rules.training)
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
        """The training measure of every epoch since the last restart."""
        self.best = -np.inf
        """The best training measure of all epochs."""
        self.n_epochs = 0

    def epoch(self, number: int) -> None:
        """Train one epoch, with the queries in a random order drawn for it."""
        rng = np.random.default_rng([self.random_state, number])
        queries = rng.permutation(len(self.bound.indptr) - 1)
        if self.is_on_a_plateau:
            self._restart(rng)
        self.bound.begin_epoch(self._current_scores)
        net, batch = self.net, self.rules.batch_queries
        common = (self.documents, self.objective, net.scaling, net.layers, self.stepper, self.rate, queries)
        if self.rules.training == "factored":
            outputs = (self.weights, self.scores, self.grad, self.hess)
            done = train_epoch(*common, batch, *outputs)
        else:
            batch = 0 if self.rules.training == "online" else batch
            done = train_pair_epoch(*common, batch, self.weights, self.scores)
        self.bound.check(self.scores, self.grad, self.hess)
        if done < len(queries) or not np.isfinite(self.weights).all():
            raise ParameterError(
                f"the weights diverged in epoch {number}: learning_rate={self.rules.learning_rate:g} is "
                "too large; try a tenth of it."
            )
        if self.measure is not None:
            # The scores are those of the epoch as it went, each query's in its turn: what the first paper averages over
            # an epoch, without a further pass. RankNet's rate falls as often as by the cost at the end of each epoch.
            now = self.measure(self.scores)
            if self.measured and now < self.measured[-1]:
                self.rate *= self.rules.decay
            self.measured.append(now)
            self.best = max(self.best, now)
        self.n_epochs += 1

    @property
    def is_best(self) -> bool:
        """True if the last epoch had the best training measure of all, or none is measured."""
        return not self.measured or self.measured[-1] == self.best

    @property
    def is_on_a_plateau(self) -> bool:
        """True if the training measure has not risen for `restart_rounds` epochs [Burges2006, section 6.3]."""
        patience = self.rules.restart_rounds
        if patience is None or not self.measured:
            return False
        return len(self.measured) - 1 - int(np.argmax(self.measured)) >= patience

    def _current_scores(self, n_threads: int | None) -> Floats:
        net, (features, rows, _, base, _) = self.net, self.documents
        return score_matrix(features, rows, net.scaling, net.layers, self.weights, n_threads) + base

    def _restart(self, rng: np.random.Generator) -> None:
        self.weights[:] = random_weights(self.net.layers, rng)
        self.stepper = make_stepper(self.rules.optimizer, self.weights)
        self.rate = float(self.rules.learning_rate)
        self.measured = []


def _objective_arrays(bound: BoundObjective, training: Training) -> Any:
    """The arrays of the objective that the epoch kernels take."""
    arrays = bound.kernel_arrays()
    if training != "factored":
        if not isinstance(arrays, RankNetArrays | LongRankNetArrays | GivenPairsArrays):
            raise ParameterError(f"training='{training}' goes pair by pair, which only RankNet's objective does.")
        return training_pairs(arrays, len(bound.indptr) - 1)
    if not hasattr(type(arrays), "gradients"):
        raise ParameterError(
            f"{type(bound).__name__.removeprefix('Bound')}Objective trains trees only: its gradient of one query "
            "depends on the scores of all queries. For a net, give a SmoothObjective."
        )
    return arrays
