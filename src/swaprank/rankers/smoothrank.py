"""SmoothRank: ascent of the metric itself, smoothed less and less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.activations import ACTIVATIONS, Activation
from swaprank.models.kernel_map import KERNELS, Kernel, fit_kernel_map
from swaprank.models.layers import make_layers
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling
from swaprank.models.units import units_of
from swaprank.objectives.smooth import SMOOTHINGS, Smoothing, SmoothObjective
from swaprank.rankers.linear_base import (
    base_net,
    check_flags,
    check_numbers,
    check_watched,
    held_weights,
    regularizations,
    watched_judge,
)
from swaprank.rankers.net_ranker import check_word
from swaprank.rankers.parameter_checks import BOUNDS, Bounds, check_parameters
from swaprank.rankers.ranker import Callback, Ranker
from swaprank.rankers.rounds import Measured, run_rounds
from swaprank.rankers.smoothrank_folds import RaceResult, later, race_folds
from swaprank.smoothrank.annealing import OPTIMIZERS, Ascent, Optimizer
from swaprank.smoothrank.architectures import (
    Architecture,
    Kernelised,
    Layered,
    Linear,
    Model,
    features_of,
    model_from_parts,
    model_parts,
    model_scores,
)
from swaprank.smoothrank.candidates import (
    REGULARIZATIONS,
    Candidate,
    Judge,
    choose,
    judgements,
    query_folds,
    step_all,
    watched_values,
)
from swaprank.smoothrank.scorers import Scorer
from swaprank.smoothrank.start import STARTS, Lesson, Start, calibrated, start_parameters
from swaprank.threads import thread_count

SIGMAS = tuple(2.0**power for power in range(6, -7, -1))
"""The annealing of the paper [Chapelle2010, section 4.4.2]."""

FEATURES = ("linear", "kernel_pca")
FOLDS, START_FOLDS = 5, 10
"""Of cross-validation, if nobody says how many; a start is cheap and can have more."""


@final
class SmoothRank(Ranker):
    """Ascent of a smooth version of the metric, whose smoothing is taken away step by step [Chapelle2010].

    "Is document i at rank j?" becomes a soft answer between 0 and 1, and with it every metric of gains at ranks becomes
    smooth in the scores. At each sigma the smooth metric, minus regularization |w - w0|², is climbed from where the
    larger sigma arrived, so that the ascent begins on an easy slope and ends on nearly the metric itself. It begins at,
    and is held to, w0: a regression on the gains, in which relevant documents weigh as much in all as others. Weights
    are those of features in units of their deviation, and scores are measured in the deviation of the gains, so that
    sigma and the regularization mean the same for all data.

    Args:
        metric: What to learn for: NDCG, DCG, precision, recall, RBP, MAP, MRR, ERR, success, or a CumulativeMetric or
            CascadeMetric of your own. A larger cut-off than the one you report usually generalises better.
        regularization: lambda, how strongly the weights are held to w0; a number, several to choose from, or "auto":
            10^4 to 10^-5. They are chosen on the watched data set, or else by cross-validation over the queries.
        start: w0: an "overweighted" ridge regression on the gains, as above; a plain "regression"; a "pairwise" fit, as
            a ranking SVM; their strength is chosen by cross-validation. Or "zero": held to 0, and begun at the plain
            regression.
        sigmas: The steps of the annealing.
        smoothing: "indicators"; or "ranks", for average precision [Chapelle2010, Eq. 9].
        best_sigma: Keep the weights of the sigma with the best measured metric, and not those of the last.
        optimizer: "cg", conjugate gradients, or "l-bfgs".
        max_iterations: Of the optimizer, at each sigma.
        n_folds: Choose by cross-validation in so many folds, on the watched data set as well if there is one; if None,
            in 5 where none is watched, else on that alone.
        standardize: Measure features in their deviations; else take them as they are.
        features: "linear", or "kernel_pca": a kernel machine.
        kernel: "rbf", exp(-gamma |x - z|²); or "polynomial", (gamma x'z + 1)^degree.
        gamma: Of the kernel; one over the number of features that vary if None.
        degree: Of the polynomial.
        n_landmarks: How many documents the kernel machine is made of.
        hidden: Units of each hidden layer, for a net instead of weighted sums.
        activation: Of the hidden units: "tanh", "sigmoid" or "relu".
        base_ranker: A fitted linear ranker (or a net of the same shape, for a net) as w0.
        random_state: Seed of folds, landmarks, ties and nets.
        n_threads: All cores if None.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_polynomial((60, 30, 30), n_features=8, random_state=0)
    >>> ranker = sr.SmoothRank(metric="ndcg", regularization=(1.0, 0.01)).fit(train, valid=vali)
    >>> ranker.regularization_ in ranker.candidates_, len(ranker.history_["valid ndcg"])
    (True, 13)
    >>> ranker.score(test) > 0.7
    True
    """

    kind: ClassVar[str] = "smoothrank"
    model_: Model
    regularization_: float
    """The one that was chosen, or given."""
    sigma_: float
    """The step of the annealing that the weights come from; infinite for the start."""
    candidates_: dict[float, float]
    """The metric by which each regularisation was judged; empty if there was nothing to choose."""

    def __init__(
        self,
        metric: str | Metric = "ndcg@50",
        *,
        regularization: float | str | Sequence[float] = "auto",
        start: Start = "overweighted",
        sigmas: Sequence[float] = SIGMAS,
        smoothing: Smoothing = "indicators",
        best_sigma: bool = False,
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
        self.metric = metric
        self.regularization = regularization
        self.start = start
        self.sigmas = sigmas
        self.smoothing = smoothing
        self.best_sigma = best_sigma
        self.optimizer = optimizer
        self.max_iterations = max_iterations
        self.n_folds = n_folds
        self.standardize = standardize
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.n_landmarks = n_landmarks
        self.hidden = hidden
        self.activation = activation
        self.base_ranker = base_ranker
        self.random_state = random_state
        self.n_threads = n_threads

    @property
    def coef_(self) -> Floats:
        """The weight of every feature; of a kernel machine, of everything that its map gives."""
        if isinstance(self.model_, Net):
            raise AttributeError("a net has no coef_, but model_.weights.")
        return self.model_.weights

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Ranker | None,
        callbacks: Sequence[Callback],
    ) -> None:
        strengths = self._check()
        sets = self._sets(data, valid)
        watched = [self._metric()] if metrics is None else parse_metrics(metrics)
        base = self.base_ranker if base is None else base
        smooth = SmoothObjective(self._metric(), smoothing=self.smoothing).bind(
            data, random_state=int(self.random_state), n_threads=self.n_threads
        )
        shape = self._architecture(data, base)
        lesson = self._lesson(data, shape, smooth.terms.gains)
        center, start = self._start(data, shape, lesson, base)
        ascents = [
            Ascent(lesson.scorer, smooth, center, strength, self.optimizer, int(self.max_iterations))
            for strength in strengths
        ]
        measured = Measured(sets, watched, lambda other: np.zeros(len(other)), self.n_threads)
        if not valid:
            measured.watched = measured.in_vain = None
        scorers = {name: lesson.scorer if other is data else shape.scorer(other) for name, other in sets.items()}
        sigmas, any_step, judged, interrupted = self._steps, self.best_sigma, {}, False
        several = len(ascents) > 1 or self.best_sigma
        if several and valid and self.n_folds is None:
            check_watched(measured)
        elif several:
            race = self._race(data, ascents, start, watched[0], watched_judge(measured, scorers), callbacks)
            best, any_step, interrupted = choose(race.values, self.best_sigma), False, race.interrupted
            # Whoever ended the search early wants no ascent to follow.
            sigmas = sigmas[: best.n_steps] if race.values.shape[1] == len(sigmas) else ()
            judged, ascents = judgements(ascents, best), [ascents[best.candidate]]
            callbacks = [later(callback, len(self._steps)) for callback in callbacks]
        candidates = [Candidate(ascent, start) for ascent in ascents]
        if sigmas:
            interrupted = self._anneal(candidates, sigmas, measured, scorers, callbacks)
        best = choose(watched_values(candidates, measured.watched), any_step or interrupted)
        chosen = candidates[best.candidate]
        self.model_ = shape.model(chosen.after(best.n_steps))
        self.regularization_ = chosen.ascent.regularization
        self.sigma_ = float(sigmas[best.n_steps - 1]) if best.n_steps else float("inf")
        self.candidates_ = judged or judgements([each.ascent for each in candidates], best)
        self.history_ = chosen.history
        self.interrupted_ = interrupted

    @property
    def _steps(self) -> tuple[float, ...]:
        """The sigmas, which may be an array."""
        return tuple(float(sigma) for sigma in self.sigmas)

    @property
    def _units(self) -> tuple[int, ...]:
        """Units of each hidden layer, which may be an array."""
        return tuple(int(n_units) for n_units in self.hidden)

    @staticmethod
    def _sets(data: Dataset, valid: Mapping[str, Dataset]) -> dict[str, Dataset]:
        """What is measured: the data itself, and the others, the last of which is watched."""
        if valid.get("train", data) is not data:
            raise DataError("'train' is the name of the data that is learned from; give the set another name.")
        return dict(valid) if "train" in valid else {"train": data, **valid}

    def _anneal(
        self,
        candidates: list[Candidate],
        sigmas: Sequence[float],
        measured: Measured,
        scorers: Mapping[str, Scorer],
        callbacks: Sequence[Callback],
    ) -> bool:
        """Take all candidates down the sigmas, and measure them at each; whether the user ended it (Ctrl-C)."""
        n_threads = thread_count(self.n_threads)
        smooth_key = f"train smooth {self._metric()}"

        def measure(candidate: Candidate, sigma: float) -> dict[str, float]:
            parameters = candidate.path[-1]
            scores = {name: scorer.scores(parameters, n_threads) for name, scorer in scorers.items()}
            now = {key: bound.mean(scores[name], n_threads=n_threads) for key, (name, bound) in measured.bound.items()}
            return {smooth_key: candidate.ascent.smooth_mean(parameters, sigma), **now}

        def one_round(number: int) -> None:
            sigma = float(sigmas[number - 1])
            step_all(candidates, sigma, n_threads)
            for candidate, values in [(candidate, measure(candidate, sigma)) for candidate in candidates]:
                candidate.measured.append(values)
            leader = candidates[choose(watched_values(candidates, measured.watched), any_step=False).candidate]
            for name, other in measured.sets.items():
                scores = scorers[name].scores(leader.path[-1], n_threads)
                measured.scores[name] = other.as_given(scores)

        return run_rounds(len(sigmas), one_round, measured, callbacks, patience=None)

    def _race(
        self,
        data: Dataset,
        ascents: list[Ascent],
        start: Floats,
        metric: Metric,
        other: Judge | None,
        callbacks: Sequence[Callback],
    ) -> RaceResult:
        """Cross-validation of the ascents."""
        folds = query_folds(data.n_queries, self.n_folds or FOLDS, int(self.random_state))
        if len(folds) < 2:
            raise DataError("one query is too few to choose a regularization by; give a number, or a valid= set.")
        judges = Judge(ascents[0].scorer, bind_metric(metric, data, refuse_constant=True)), other
        n_threads = thread_count(self.n_threads)
        return race_folds(ascents, start, folds, self._steps, metric, judges, callbacks, n_threads)

    def _architecture(self, data: Dataset, base: Any) -> Architecture:
        """What the parameters are."""
        if self._units:
            if base is not None:
                net = base_net(base, self._units, self.activation, data)
                return Layered(net.layers, net.scaling)
            layers = make_layers(data.n_features, self._units, ACTIVATIONS.index(self.activation))
            logged = np.zeros(data.n_features, np.bool_)
            return Layered(layers, fit_scaling(data.features, logged, self.standardize, self.n_threads))
        units = units_of(data.features, self.standardize)
        if self.features == "linear":
            return Linear(units)
        mapping = fit_kernel_map(
            data.features,
            units,
            kernel=self.kernel,
            gamma=self.gamma,
            degree=int(self.degree),
            n_landmarks=int(self.n_landmarks),
            random_state=int(self.random_state),
        )
        return Kernelised(mapping)

    def _lesson(self, data: Dataset, shape: Architecture, gains: Floats) -> Lesson:
        """Gains in units of their deviation, which is thereby the unit of scores and of sigma."""
        spread = float(gains.std())
        weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        return Lesson(
            shape.scorer(data),
            gains / spread if spread > 0 else gains,
            np.array(data.by_query(data.labels)),
            np.array(data.indptr),
            weights,
            self.n_threads,
        )

    def _start(self, data: Dataset, shape: Architecture, lesson: Lesson, base: Any) -> tuple[Floats, Floats]:
        """What the parameters are held to, and where they begin."""
        if base is None:
            metric = bind_metric(self._metric(), data)
            first = shape.first_parameters(int(self.random_state))
            folds = query_folds(data.n_queries, START_FOLDS, int(self.random_state))
            begin = start_parameters(self.start, lesson, first, metric, folds)
        elif isinstance(shape, Layered):
            begin = base_net(base, self._units, self.activation, data).weights.astype(np.float64)
        elif isinstance(shape, Linear):
            begin = held_weights(base, shape, data)
        else:
            raise ParameterError("features='kernel_pca' takes no base ranker.")
        if data.base_score is None and not isinstance(shape, Layered):
            begin = calibrated(begin, lesson.scorer.scores(begin, self.n_threads), lesson.targets)
        return (np.zeros(len(begin)) if self.start == "zero" and base is None else begin), begin

    def _check(self) -> list[float]:
        check_parameters(self)
        check_flags(self, "best_sigma", "standardize")
        for name, known in (
            ("start", STARTS), ("smoothing", SMOOTHINGS), ("optimizer", OPTIMIZERS), ("features", FEATURES),
            ("kernel", KERNELS), ("activation", ACTIVATIONS),
        ):  # fmt: skip
            check_word(name, getattr(self, name), known)
        check_numbers("sigmas", self.sigmas, BOUNDS["sigma"])
        check_numbers("hidden", self.hidden, Bounds(True, 1, 10**6))
        if len(self.sigmas) == 0:
            raise ParameterError("sigmas has no steps: it is empty.")
        if self._units and self.features != "linear":
            raise ParameterError(f"hidden={self._units} and features='{self.features}' do not go together.")
        return regularizations(self.regularization, REGULARIZATIONS)

    def predict(self, X: Any) -> Floats:
        """Scores of a data set's or a matrix's rows, in the order in which they were given; larger is better.

        Scores that a data set brings along (`base_score`) are added, as they were in training.
        """
        features = self._features_of(X)
        return self._plus_base_score(model_scores(self.model_, features, self.n_threads), X)

    @property
    def size_(self) -> str:
        """How large the model is, in words."""
        return f"{len(self.model_.weights):,} weights"

    def _saved(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        meta, arrays = model_parts(self.model_)
        chosen = {
            "regularization": self.regularization_,
            "sigma": self.sigma_,
            "candidates": list(self.candidates_.items()),
        }
        return {"model": meta, **chosen}, arrays

    def _restore(self, meta: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        self.model_ = model_from_parts(meta["model"], arrays)
        self.regularization_, self.sigma_ = float(meta["regularization"]), float(meta["sigma"])
        self.candidates_ = {float(key): float(value) for key, value in meta["candidates"]}
        self.n_features_in_ = features_of(self.model_)
