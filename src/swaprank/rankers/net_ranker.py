"""What the rankers that train a net share: everything except the objective."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.data.dataset import Dataset
from swaprank.data.matching import feature_position
from swaprank.errors import DataError, ParameterError
from swaprank.metrics.binding import bind_metric
from swaprank.models.activations import ACTIVATIONS, Activation
from swaprank.models.layers import make_layers, random_weights, weight_generator
from swaprank.models.model import Model
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling
from swaprank.nets.net_training import Trainer, Training, TrainingRules
from swaprank.nets.optimizers import OPTIMIZERS, Optimizer, Stepper
from swaprank.objectives.objective import Objective
from swaprank.rankers.base_model import base_model
from swaprank.rankers.given_data import as_dataset
from swaprank.rankers.parameter_checks import check_net_shape, check_parameters, check_word
from swaprank.rankers.ranker import FitRequest, Ranker
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.seeds import seed_of

NET_RANGES = {
    "hidden": [(), (5,), (10,), (20,), (50,), (20, 10)],
    "learning_rate": (1e-5, 1e-2),
    "batch_queries": (1, 32),
    "activation": ["tanh", "relu"],
}
"""What `tune` searches for all rankers made of a net."""


class NetRanker(Ranker):
    """A feed-forward net, trained by gradient steps over the queries."""

    model_classes: ClassVar[tuple[type[Model], ...]] = (Net,)
    round_name: ClassVar[str] = "epoch"
    rounds_parameter: ClassVar[str | None] = "n_epochs"
    tuning_fixed: ClassVar[Mapping[str, Any]] = {"early_stopping_rounds": 20}
    model_: Net
    objective: Any
    hidden: Sequence[int]
    activation: Activation
    n_epochs: int
    learning_rate: float
    decay: float
    optimizer: Optimizer
    batch_queries: int
    log_features: bool | Sequence[str | int]
    standardize: bool
    restart_rounds: int | None
    early_stopping_rounds: int | None
    sigma: float

    @abstractmethod
    def _objective(self) -> Objective:
        """What the net minimizes."""

    def _training_metric(self, data: Dataset) -> Callable[[Floats], float]:
        """A function of the scores, grouped by query. The learning rate decays after an epoch in which it falls."""
        bound = bind_metric(self.training_metric(), data)
        return lambda scores: bound.mean(scores, n_threads=self.n_threads)

    def _training(self) -> Training:
        """How the gradients of pairs reach the weights."""
        return "factored"

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, base, callbacks, *_ = request
        self._check_words()
        net = self._new_net(data) if base is None else self._start_net(base, data)
        measured = Measured(valid, metrics, partial(self._scores, net), self.n_threads)
        if base is not None or data.base_score is not None:
            measured.measure_start()
        trainer = self._trainer(data, net, self._training_metric(data))
        kept, self.interrupted_ = self._train(trainer, measured, callbacks)
        measured.drop_partial_round()
        self.n_rounds_ = trainer.n_epochs
        self.best_round_, weights = kept
        self.model_ = Net(net.layers, net.scaling, weights)
        self.history_ = measured.history
        self._stepper: Stepper | None = None

    def _train(
        self, trainer: Trainer, measured: Measured, callbacks: Sequence[Callback]
    ) -> tuple[tuple[int, Any], bool]:
        """Train all epochs. Returns number and weights of the epoch to keep, and whether Ctrl-C ended training."""
        net, kept = trainer.net, (0, trainer.weights.copy())

        def one_epoch(number: int) -> None:
            trainer.epoch(number)
            now = Net(net.layers, net.scaling, trainer.weights)
            for name, other in measured.sets.items():
                measured.scores[name] = self._scores(now, other)

        def keep() -> None:
            nonlocal kept
            # If nothing is watched, an epoch after a restart may be worse than one before it.
            if measured.watched or self.restart_rounds is None or trainer.is_best:
                kept = (trainer.n_epochs, trainer.weights.copy())

        interrupted = run_rounds(self.n_epochs, one_epoch, measured, callbacks, self.early_stopping_rounds, keep)
        return kept, interrupted

    def _scores(self, net: Net, data: Dataset) -> Floats:
        return self._plus_base_score(net.score(data.features, self.n_threads), data)

    def partial_fit(
        self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None, sample_weight: Any = None
    ) -> Self:
        """Train one more epoch on this data. The first call makes a new net and fits its feature scaling.

        X, y, qid, group and sample_weight are those of `fit`. The learning rate is `learning_rate`, without decay.
        """
        begun = hasattr(self, "n_features_in_")
        names = self._feature_names() if begun else None
        data = as_dataset(X, y, names, type(self).__name__, qid=qid, group=group, sample_weight=sample_weight)
        check_parameters(self)
        self._check_words()
        if begun:
            net = self.model_
            check_net_shape(net, self, "the net so far")
        else:
            self.random_state_ = seed_of(self.random_state)
            data = self._with_known_features(data, self.base_ranker)
            self._check_categories(data)
            net = self._new_net(data) if self.base_ranker is None else self._start_net(self.base_ranker, data)
        stepper: Stepper | None = getattr(self, "_stepper", None)
        if stepper is not None:
            # A copy: this epoch may fail, and copies of this ranker may share the optimizer's state.
            stepper = deepcopy(stepper) if OPTIMIZERS[stepper.optimizer] == self.optimizer else None
        trainer = self._trainer(data, net, None, stepper)
        number = self.n_rounds_ + 1 if begun else 1
        trainer.epoch(number)
        if not begun:
            self.history_, self.interrupted_ = {}, False
            self._set_fitted(data)
        self.model_ = Net(net.layers, net.scaling, trainer.weights)
        self.n_rounds_ = self.best_round_ = number
        self._stepper = trainer.stepper
        return self

    def predict_proba_pair(self, X: Any, i: Any, j: Any) -> Any:
        """The probability that row i ranks above row j: 1 / (1 + exp(-sigma (s_i - s_j))) [Burges2005, Eq. 2].

        i and j may be arrays; the result is then an array.
        """
        scores = self.predict(X)
        return self._pair_probabilities(scores[_rows(i, len(scores))] - scores[_rows(j, len(scores))])

    def _pair_probabilities(self, differences: Any) -> Any:
        """The probabilities that the first of two documents ranks above the second, from differences of scores."""
        from scipy.special import expit

        return expit(self.sigma_ * differences)

    def _trainer(
        self,
        data: Dataset,
        net: Net,
        measure: Callable[[Floats], float] | None,
        stepper: Stepper | None = None,
    ) -> Trainer:
        rules = TrainingRules(
            optimizer=self.optimizer,
            learning_rate=float(self.learning_rate),
            decay=float(self.decay),
            batch_queries=int(self.batch_queries),
            restart_rounds=self.restart_rounds,
            training=self._training(),
        )
        needed = self.decay < 1 or self.restart_rounds is not None
        bound = self._objective().bind(data, random_state=self.random_state_, n_threads=self.n_threads)
        return Trainer(data, bound, net, rules, measure if needed else None, self.random_state_, stepper)

    def _new_net(self, data: Dataset) -> Net:
        layers = make_layers(data.n_features, self.hidden, ACTIVATIONS.index(self.activation))
        scaling = fit_scaling(data.features, self._logged(data), self.standardize, n_threads=self.n_threads)
        return Net(layers, scaling, random_weights(layers, weight_generator(self.random_state_)))

    def _start_net(self, base: Any, data: Dataset) -> Net:
        expected = "a fitted net (for other scores to start from: Dataset(…, base_score=scores))"
        net = base_model(base, Net, expected, data.n_features)
        check_net_shape(net, self, "the base ranker")
        if (net.scaling.logged != self._logged(data)).any():
            raise ParameterError(
                f"log_features must be the same as those of the base ranker, which takes logarithms of "
                f"{int(net.scaling.logged.sum())} features; found {self.log_features!r}."
            )
        return net

    def _logged(self, data: Dataset) -> Bools:
        if isinstance(self.log_features, bool):
            return np.full(data.n_features, self.log_features)
        logged = np.zeros(data.n_features, np.bool_)
        for feature in self.log_features:
            logged[feature_position(feature, data.feature_names, "log_features")] = True
        return logged

    def _check_words(self) -> None:
        """Check what `check_parameters` does not: names, and the features to take logarithms of."""
        for name, known in (("activation", ACTIVATIONS), ("optimizer", OPTIMIZERS)):
            check_word(name, getattr(self, name), known)
        if isinstance(self.log_features, str) or not isinstance(self.log_features, bool | Sequence):
            raise ParameterError(
                f"log_features must be True, False, or a tuple of features; found {self.log_features!r}."
            )


def _rows(rows: Any, n_rows: int) -> Any:
    at = np.asarray(rows)
    if at.dtype.kind not in "iu" or (at.size and not (at.min() >= 0 and at.max() < n_rows)):
        raise DataError(f"rows must be whole numbers from 0 to {n_rows - 1}; found {rows!r}.")
    return at
