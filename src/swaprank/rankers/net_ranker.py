"""Rankers that train a net: everything except the objective."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.collective import ALONE
from swaprank.data.dataset import Dataset
from swaprank.data.matching import feature_positions
from swaprank.errors import DataError, ParameterError
from swaprank.metrics.metric import bind_metric
from swaprank.models.layers import (
    ACTIVATIONS,
    INITIAL_WEIGHTS,
    Activation,
    InitialWeights,
    make_layers,
    random_weights,
    weight_generator,
)
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling
from swaprank.nets.net_training import RESTART_WATCHES, RestartWatch, Trainer, Training, TrainingRules
from swaprank.nets.optimizers import OPTIMIZERS, Optimizer, Stepper
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.parameters import parameter
from swaprank.rankers.given_data import as_dataset
from swaprank.rankers.learned import Capabilities, learned_value
from swaprank.rankers.rounds import VALID, Callback, Measured, run_rounds
from swaprank.rankers.shared_parameters import EarlyStopping, Epochs, HiddenLayers, RandomChoices
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained, base_model


class NetRanker(HiddenLayers, Epochs, EarlyStopping, RandomChoices, TrainableRanker):
    """A feed-forward net, trained by gradient steps over the queries.

    With a validation set, the net of its best epoch is kept; without one, the net of the last epoch, or of the best
    epoch on the training data if `restart_rounds` is given. Training itself uses one thread.
    """

    can: ClassVar[Capabilities] = Capabilities(
        models=(Net,), round_name="epoch", rounds_parameter="n_epochs", needs="order"
    )
    hidden: Sequence[int] = parameter(default=(10,), tune=[(), (5,), (10,), (20,), (50,), (20, 10)])
    activation: Activation = parameter(
        default="tanh",
        words=ACTIVATIONS,
        tune=["tanh", "relu"],
        text='Activation of the hidden units: "tanh", "sigmoid" or "relu".',
    )
    learning_rate: float = parameter(
        default=0.001, above=0, tune=(1e-5, 1e-2), also="eta lr", text="Step size of the optimizer."
    )
    decay: float = parameter(
        default=0.8,
        above=0,
        high=1,
        text="Factor on the learning rate after an epoch in which the metric on the training data fell.",
    )
    decay_probability: float = parameter(
        default=1.0,
        above=0,
        high=1,
        text="The probability that the learning rate falls after such an epoch: 1 in the first papers, 0.3 in "
        "[Donmez2009]. No effect with decay=1.",
    )
    optimizer: Optimizer = parameter(default="adam", words=OPTIMIZERS, text='"sgd", "momentum" or "adam".')
    batch_queries: int = parameter(
        default=1,
        low=1,
        tune=(1, 32),
        text="Number of queries per step of the optimizer, which takes their mean gradient.",
    )
    log_features: bool | Sequence[str | int] = parameter(
        default=False,
        instances=(Sequence,),
        text="Replace features by sign(x) log(1 + |x|), for example counts: True for all features, or a tuple of "
        "feature names or numbers from 0.",
    )
    standardize: bool = parameter(
        default=True,
        text="Scale every feature to mean 0 and standard deviation 1 on the training data. The scaling is part of the "
        "model. Missing values are replaced by the mean.",
    )
    restart_rounds: int | None = parameter(
        default=None,
        low=1,
        whole=True,
        text="Restart from new random weights after this many epochs without progress; restart_watch says in what. The "
        "best epoch of all is kept.",
    )
    restart_watch: RestartWatch = parameter(
        default="train",
        words=RESTART_WATCHES,
        text='What restart_rounds looks at: "train", what the learning rate decays by [Burges2006], or "valid", the '
        "metric that is watched on a validation set [Donmez2009].",
    )
    initial_weights: InitialWeights = parameter(
        default="scaled",
        words=INITIAL_WEIGHTS,
        text='Random weights to begin with: "scaled", uniform in ±1 / sqrt(inputs of the unit); or "zero_first", 0 in '
        "the first layer and uniform in ±0.1 in the others [Burges2005]. A linear net then starts at 0, and so "
        "does every restart.",
    )
    early_stopping_rounds: int | None = parameter(default=None, tuned_at=20)
    base_ranker: Any = parameter(
        default=None, text="A fitted net with the same layers, whose weights training starts from."
    )

    model_ = learned_value[Net]("model")

    @abstractmethod
    def _objective(self) -> Objective:
        """The objective that the net minimizes."""

    def _objective_for(self, data: Dataset) -> Objective:
        """The same, with what is chosen by the data."""
        return self._objective()

    def _training_metric(self, data: Dataset, bound: BoundObjective) -> Callable[[Floats], float]:
        """A function of the scores, grouped by query. The learning rate decays after an epoch in which it falls."""
        metric = bind_metric(self.training_metric(), data)
        return lambda scores: metric.mean(scores, n_threads=self.n_threads)

    def _training(self) -> Training:
        """The way in which the gradients of pairs reach the weights."""
        return "factored"

    def _fit(self, request: FitRequest) -> Trained:
        data, valid, metrics, base, callbacks, seed, *_ = request
        net = self._new_net(data, seed) if base is None else self._start_net(base, data)
        measured = Measured(valid, metrics, partial(self._scores, net), self.n_threads)
        if base is not None or data.base_score is not None:
            measured.measure_start()
        trainer = self._trainer(data, net, seed)
        (best_round, weights), interrupted = self._train(trainer, measured, callbacks)
        measured.drop_partial_round()
        self._stepper: Stepper | None = None
        model = Net(net.layers, net.scaling, weights)
        return Trained(model, measured.history, trainer.n_epochs, best_round, interrupted)

    def _train(
        self, trainer: Trainer, measured: Measured, callbacks: Sequence[Callback]
    ) -> tuple[tuple[int, Any], bool]:
        """Train all epochs. Returns number and weights of the epoch to keep, and whether Ctrl-C ended training."""
        net, kept = trainer.net, (0, trainer.weights.copy())

        if self.restart_rounds is not None and self.restart_watch == "valid" and not measured.watched:
            raise DataError('restart_watch="valid" needs a data set to watch: ', VALID, ".")

        def one_epoch(number: int) -> None:
            if measured.watched and number > 1:
                trainer.validated.append(measured.history[measured.watched.set][measured.watched.metric][-1])
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
        begun = self.learned_ if self.__sklearn_is_fitted__() else None
        names = None if begun is None else begun.feature_names
        data = as_dataset(X, y, names, type(self).__name__, qid=qid, group=group, sample_weight=sample_weight)
        self.check_parameters()
        if begun is not None:
            net, seed, number = self.model_, self.random_state_, begun.n_rounds + 1
            check_net_shape(net, self, "the net so far")
        else:
            data = self._with_known_features(data, self.base_ranker)
            self._check_categories(data)
            seed, number = self._seed(), 1
            net = self._new_net(data, seed) if self.base_ranker is None else self._start_net(self.base_ranker, data)
        stepper: Stepper | None = getattr(self, "_stepper", None)
        if stepper is not None:
            # A copy: this epoch may fail, and copies of this ranker may share the optimizer's state.
            stepper = deepcopy(stepper) if OPTIMIZERS[stepper.optimizer] == self.optimizer else None
        trainer = self._trainer(data, net, seed, decays=False, stepper=stepper)
        trainer.epoch(number)
        model = Net(net.layers, net.scaling, trainer.weights)
        if begun is None:
            self.learned_ = replace(self._learned_from(data, Trained(model, {}, number, number), seed), seen=None)
        else:
            self.learned_ = replace(begun, model=model, n_rounds=number, best_round=number, calibration=None)
        self._stepper = trainer.stepper
        return self

    def predict_proba_pair(self, X: Any, i: Any, j: Any) -> Any:
        """The probability that row i ranks above row j: 1 / (1 + exp(-sigma (s_i - s_j))) [Burges2005, Eq. 2].

        i and j may be arrays; the result is then an array.
        """
        scores = self.predict(X)
        return self._pair_probabilities(scores[rows_of(i, len(scores))] - scores[rows_of(j, len(scores))])

    def _pair_probabilities(self, differences: Any) -> Any:
        """The probabilities that the first of two documents ranks above the second, from differences of scores."""
        from scipy.special import expit

        return expit(self.sigma_ * differences)

    def _trainer(
        self, data: Dataset, net: Net, seed: int, *, decays: bool = True, stepper: Stepper | None = None
    ) -> Trainer:
        rules = TrainingRules(
            optimizer=self.optimizer,
            learning_rate=float(self.learning_rate),
            decay=float(self.decay),
            batch_queries=int(self.batch_queries),
            restart_rounds=self.restart_rounds,
            training=self._training(),
            decay_probability=float(self.decay_probability),
            restart_watch=self.restart_watch,
            initial_weights=self.initial_weights,
        )
        objective = self._objective_for(data)
        bound = objective.bind_share(data, random_state=seed, n_threads=self.n_threads, collective=ALONE)
        needed = decays and (self.decay < 1 or self.restart_rounds is not None)
        return Trainer(data, bound, net, rules, self._training_metric(data, bound) if needed else None, seed, stepper)

    def _new_net(self, data: Dataset, seed: int) -> Net:
        layers = make_layers(data.n_features, self.hidden, ACTIVATIONS.index(self.activation))
        scaling = fit_scaling(data.features, self._logged(data), self.standardize, n_threads=self.n_threads)
        return Net(layers, scaling, random_weights(layers, weight_generator(seed), self.initial_weights))

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
        logged[feature_positions(self.log_features, data.feature_names, "log_features")] = True
        return logged

    def _check_together(self) -> None:
        if isinstance(self.log_features, str) or not isinstance(self.log_features, bool | Sequence):
            raise ParameterError(
                f"log_features must be True, False, or a tuple of features; found {self.log_features!r}."
            )
        if self.restart_watch != "train" and self.restart_rounds is None:
            raise ParameterError(
                f"restart_watch='{self.restart_watch}' has no effect without restart_rounds: give both, or none."
            )
        if self.initial_weights == "zero_first" and self.activation == "relu":
            raise ParameterError(
                "initial_weights='zero_first' does not learn with activation='relu', whose slope is 0 at 0."
            )


def rows_of(rows: Any, n_rows: int) -> Any:
    """Numbers of rows, checked."""
    at = np.asarray(rows)
    if at.dtype.kind not in "iu" or (at.size and not (at.min() >= 0 and at.max() < n_rows)):
        raise DataError(f"rows must be whole numbers from 0 to {n_rows - 1}; found {rows!r}.")
    return at


def check_net_shape(net: Net, ranker: Any, whose: str) -> None:
    """Raise an error if a net has other hidden layers or another activation than a ranker's parameters."""
    hidden = tuple(int(n_units) for n_units in ranker.hidden)
    if (net.hidden, net.activation) != (hidden, ranker.activation):
        raise ParameterError(
            f"{whose} has hidden={net.hidden} and activation='{net.activation}', but the parameters are "
            f"hidden={hidden} and activation='{ranker.activation}'."
        )
