"""SmoothRank: gradient ascent on a smooth version of the metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.models.activations import ACTIVATIONS, Activation
from swaprank.models.kernel_map import KERNELS, Kernel, fit_kernel_map
from swaprank.models.layers import make_layers
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling, units_of
from swaprank.objectives.smooth import SMOOTHINGS, Smoothing, SmoothObjective
from swaprank.rankers.base_model import base_model
from swaprank.rankers.linear_fitting import center_weights, fit_problem, needs_folds, regularizations, watched_evaluator
from swaprank.rankers.parameter_checks import check_net_shape, check_word
from swaprank.rankers.ranker import FitRequest, Ranker
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.rankers.smoothrank_folds import cross_validate_annealing, renumbered
from swaprank.smoothrank.annealing import OPTIMIZERS, Ascent, Optimizer
from swaprank.smoothrank.architectures import Architecture, KernelArchitecture, LinearArchitecture, NetArchitecture
from swaprank.smoothrank.candidates import (
    REGULARIZATIONS,
    Candidate,
    Evaluator,
    annealing_step,
    choose,
    query_folds,
    value_by_regularization,
    watched_values,
)
from swaprank.smoothrank.scorers import Scorer
from swaprank.smoothrank.start import STARTS, FitProblem, Start, calibrated, start_parameters
from swaprank.threads import thread_count

ANNEALING = tuple(2.0**power for power in range(6, -7, -1))
"""The smoothing factors of the paper [Chapelle2010, section 4.4.2]."""

FEATURES = ("linear", "kernel_pca")
FOLDS, START_FOLDS = 5, 10
"""Numbers of folds by default, and of the start."""


@final
class SmoothRank(Ranker):
    """Gradient ascent on a smooth version of the metric, whose smoothing is reduced step by step [Chapelle2010].

    The indicator "document i is at rank j" is replaced by a number between 0 and 1. This makes every metric of gains at
    ranks a smooth function of the scores. Annealing maximizes the smooth metric minus regularization |w - w0|², once
    per smoothing factor, and each step starts at the result of the step before: large factors give an easy problem,
    small ones nearly the metric itself. The first step starts at w0: a regression on the gains, with the same total
    weight for relevant documents as for all others. Features are standardized, and scores are measured in standard
    deviations of the gains, so that smoothing factors and regularization mean the same for all data.

    Args:
        metric: The metric to optimize: NDCG, DCG, precision, recall, RBP, MAP, MRR, ERR, success, or a CumulativeMetric
            or CascadeMetric of your own. A larger cut-off than the one you report usually generalizes better.
        regularization: lambda, the strength of the regularization towards w0: a number, a tuple of numbers to choose
            from, or "auto" for 10^4 to 10^-5. The best one is chosen on the watched data set, or by cross-validation
            over the queries if there is none.
        start: How w0 is fitted. "overweighted": ridge regression on the gains, with the weights described above;
            "regression": without these weights; "pairwise": ranking SVM. Their strength is chosen by cross-validation.
            "zero": w0 = 0, and the first step starts at the regression without weights.
        annealing: The smoothing factors (sigma in the paper), one per step.
        smoothing: "indicators"; or "ranks", for average precision only [Chapelle2010, Eq. 9].
        best_step: Keep the annealing step with the best metric, on the watched set or by cross-validation. False: keep
            the last step.
        optimizer: "cg" (conjugate gradients) or "l-bfgs".
        max_iterations: Maximum number of iterations of the optimizer per annealing step.
        n_folds: Number of folds of cross-validation, which is then used in addition to a watched data set. If None: 5
            folds if no set is watched, else only the watched set.
        standardize: Divide each feature by its standard deviation. False: take the features as they are.
        features: "linear", or "kernel_pca" for a kernel machine.
        kernel: "rbf", exp(-gamma |x - z|²); or "polynomial", (gamma x'z + 1)^degree. For "kernel_pca" only.
        gamma: Coefficient of the kernel. If None, 1 / number of features that are not constant.
        degree: Degree of the polynomial kernel.
        n_landmarks: Maximum number of training documents that the kernel machine compares a document with.
        hidden: Number of units of each hidden layer, such as (10,) for a net. The default is a linear model.
        activation: Activation of the hidden units: "tanh", "sigmoid" or "relu".
        base_ranker: A fitted linear ranker whose weights are w0; for a net, a fitted net with the same layers.
        random_state: Seed of folds, landmarks, tie order and initial weights of nets.
        n_threads: Number of threads. If None, all cores.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_polynomial((60, 30, 30), n_features=8, random_state=0)
    >>> ranker = sr.SmoothRank(metric="ndcg", regularization=(1.0, 0.01)).fit(train, valid=vali)
    >>> ranker.regularization_ in ranker.candidates_, len(ranker.history_["valid"]["ndcg"])
    (True, 13)
    >>> ranker.score(test) > 0.7
    True
    """

    kind: ClassVar[str] = "smoothrank"
    tuning_ranges: ClassVar[Mapping[str, Any]] = {
        "start": [*STARTS],
        "best_step": [False, True],
        "max_iterations": (5, 60),
    }
    round_name: ClassVar[str] = "step"
    regularization_: float
    """The chosen regularization, or the given one."""
    smoothing_factor_: float
    """The smoothing factor of the annealing step whose weights were kept; infinite for the start."""
    candidates_: dict[float, float]
    """The metric of each regularization that could be chosen; empty if there was only one."""

    def __init__(
        self,
        metric: str | Metric = "ndcg@50",
        *,
        regularization: float | str | Sequence[float] = "auto",
        start: Start = "overweighted",
        annealing: Sequence[float] = ANNEALING,
        smoothing: Smoothing = "indicators",
        best_step: bool = False,
        optimizer: Optimizer = "cg",
        max_iterations: int = 20,
        n_folds: int | None = None,
        standardize: bool = True,
        features: str = "linear",
        kernel: Kernel = "rbf",
        gamma: float | None = None,
        degree: int = 2,
        n_landmarks: int = 500,
        hidden: Sequence[int] = (),
        activation: Activation = "tanh",
        base_ranker: Any = None,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    @property
    def coef_(self) -> Floats:
        """The weight of every feature, or of every output of the kernel map."""
        if isinstance(self.model_, Net):
            raise AttributeError("a net has no coef_; its weights are in model_.weights.")
        weights: Floats = self.model_.weights  # type: ignore[attr-defined]
        return weights

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, base, callbacks = request
        strengths = self._check()
        sets = self._sets(data, valid)
        smooth = SmoothObjective(self.training_metric(), smoothing=self.smoothing).bind(
            data, random_state=int(self.random_state), n_threads=self.n_threads
        )
        architecture = self._architecture(data, base)
        # Gains in standard deviations. This is then also the unit of scores and smoothing factors.
        problem = fit_problem(
            data, architecture.scorer(data), smooth.terms.gains / (smooth.terms.gains.std() or 1.0), self.n_threads
        )
        center, start = self._start(data, architecture, problem, base)
        ascents = [
            Ascent(problem.scorer, smooth, center, strength, self.optimizer, int(self.max_iterations))
            for strength in strengths
        ]
        measured = Measured(sets, metrics, lambda other: np.zeros(len(other)), self.n_threads)
        if not valid:
            measured.watched = measured.unusable = None
        scorers = {
            name: problem.scorer if other is data else architecture.scorer(other) for name, other in sets.items()
        }
        steps, any_step, values, interrupted = self._steps, self.best_step, {}, False
        if (len(ascents) > 1 or self.best_step) and needs_folds(data, measured, self.n_folds):
            folds = query_folds(data.n_queries, self.n_folds or FOLDS, int(self.random_state))
            training = Evaluator(problem.scorer, bind_metric(metrics[0], data, refuse_constant=True))
            evaluators, n_threads = (training, watched_evaluator(measured, scorers)), thread_count(self.n_threads)
            of_folds = cross_validate_annealing(
                ascents, start, folds, steps, metrics[0], evaluators, callbacks, n_threads
            )
            best, any_step, interrupted = choose(of_folds.values, self.best_step), False, of_folds.interrupted
            # If cross-validation was stopped early, the chosen ascent is not annealed either.
            steps = steps[: best.n_steps] if of_folds.values.shape[1] == len(steps) else ()
            values, ascents = value_by_regularization(ascents, best), [ascents[best.candidate]]
            callbacks = [renumbered(callback, len(self._steps)) for callback in callbacks]
        candidates = [Candidate(ascent, start) for ascent in ascents]
        if steps:
            interrupted = self._anneal(candidates, steps, measured, scorers, callbacks)
        best = choose(watched_values(candidates, measured.watched), any_step or interrupted)
        chosen = candidates[best.candidate]
        self.model_ = architecture.model(chosen.after(best.n_steps))
        self.regularization_ = chosen.ascent.regularization
        self.smoothing_factor_ = float(steps[best.n_steps - 1]) if best.n_steps else float("inf")
        self.candidates_ = values or value_by_regularization(ascents, best)
        self.history_, self.n_rounds_, self.best_round_ = chosen.history, len(chosen.measured), best.n_steps
        self.interrupted_ = interrupted

    @property
    def _steps(self) -> tuple[float, ...]:
        """The smoothing factors; `annealing` may be an array."""
        return tuple(float(factor) for factor in self.annealing)

    @property
    def _units(self) -> tuple[int, ...]:
        """Units of each hidden layer; `hidden` may be an array."""
        return tuple(int(n_units) for n_units in self.hidden)

    @staticmethod
    def _sets(data: Dataset, valid: Mapping[str, Dataset]) -> dict[str, Dataset]:
        """The sets that are measured: the training data and the validation sets, the last of which is watched."""
        if valid.get("train", data) is not data:
            raise DataError("'train' is the name of the training data; give the validation set another name.")
        return dict(valid) if "train" in valid else {"train": data, **valid}

    def _anneal(
        self,
        candidates: list[Candidate],
        steps: Sequence[float],
        measured: Measured,
        scorers: Mapping[str, Scorer],
        callbacks: Sequence[Callback],
    ) -> bool:
        """Anneal all candidates, and measure them after each step; returns whether Ctrl-C ended it."""
        n_threads = thread_count(self.n_threads)

        def measure(candidate: Candidate, factor: float) -> dict[str, dict[str, float]]:
            parameters = candidate.path[-1]
            now = {}
            for name, scorer in scorers.items():
                scores = scorer.scores(parameters, n_threads)
                now[name] = {
                    metric: bound.mean(scores, n_threads=n_threads) for metric, bound in measured.bound[name].items()
                }
            now["train"][f"smooth {self.training_metric()}"] = candidate.ascent.smooth_mean(parameters, factor)
            return now

        def one_round(number: int) -> None:
            factor = float(steps[number - 1])
            annealing_step(candidates, factor, n_threads)
            for candidate, values in [(candidate, measure(candidate, factor)) for candidate in candidates]:
                candidate.measured.append(values)
            leader = candidates[choose(watched_values(candidates, measured.watched), any_step=False).candidate]
            for name, scorer in scorers.items():
                measured.scores[name] = measured.sets[name].as_given(scorer.scores(leader.path[-1], n_threads))

        return run_rounds(len(steps), one_round, measured, callbacks, patience=None)

    def _architecture(self, data: Dataset, base: Any) -> Architecture:
        """The kind of model."""
        if self._units:
            if base is not None:
                net = self._base_net(base, data)
                return NetArchitecture(net.layers, net.scaling)
            layers = make_layers(data.n_features, self._units, ACTIVATIONS.index(self.activation))
            logged = np.zeros(data.n_features, np.bool_)
            return NetArchitecture(layers, fit_scaling(data.features, logged, self.standardize, self.n_threads))
        units = units_of(data.features, self.standardize)
        if self.features == "linear":
            return LinearArchitecture(units)
        mapping = fit_kernel_map(
            data.features,
            units,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=int(self.degree),
            n_landmarks=int(self.n_landmarks),
            random_state=int(self.random_state),
        )
        return KernelArchitecture(mapping)

    def _base_net(self, base: Any, data: Dataset) -> Net:
        """A base ranker's net, which must have the layers that the parameters say."""
        net = base_model(base, Net, f"a fitted net for hidden={self._units}", data.n_features)
        check_net_shape(net, self, "the base ranker")
        return net

    def _start(
        self, data: Dataset, architecture: Architecture, problem: FitProblem, base: Any
    ) -> tuple[Floats, Floats]:
        """w0, and the parameters at which the first step starts."""
        if base is None:
            metric = bind_metric(self.training_metric(), data)
            initial = architecture.initial_parameters(int(self.random_state))
            folds = query_folds(data.n_queries, START_FOLDS, int(self.random_state))
            start = start_parameters(self.start, problem, initial, metric, folds)
        elif isinstance(architecture, NetArchitecture):
            start = self._base_net(base, data).weights.astype(np.float64)
        elif isinstance(architecture, LinearArchitecture):
            start = center_weights(base, architecture, data)
        else:
            raise ParameterError("features='kernel_pca' takes no base ranker.")
        if data.base_score is None and not isinstance(architecture, NetArchitecture):
            start = calibrated(start, problem.scorer.scores(start, self.n_threads), problem.targets)
        return (np.zeros(len(start)) if self.start == "zero" and base is None else start), start

    def _check(self) -> list[float]:
        for name, known in (
            ("start", STARTS), ("smoothing", SMOOTHINGS), ("optimizer", OPTIMIZERS), ("features", FEATURES),
            ("kernel", KERNELS), ("activation", ACTIVATIONS),
        ):  # fmt: skip
            check_word(name, getattr(self, name), known)
        if len(self.annealing) == 0:
            raise ParameterError("annealing has no steps: it is empty.")
        if self._units and self.features != "linear":
            raise ParameterError(f"hidden={self._units} and features='{self.features}' cannot be combined.")
        return regularizations(self.regularization, REGULARIZATIONS)

    def _fitted_values(self) -> dict[str, Any]:
        return {
            "regularization": self.regularization_,
            "smoothing_factor": self.smoothing_factor_,
            "candidates": list(self.candidates_.items()),
        }

    def _restore_values(self, values: Mapping[str, Any]) -> None:
        self.regularization_ = float(values["regularization"])
        self.smoothing_factor_ = float(values["smoothing_factor"])
        self.candidates_ = {float(key): float(value) for key, value in values["candidates"]}
