"""SmoothRank: ascent of the metric itself, smoothed less and less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.activations import ACTIVATIONS, Activation
from swaprank.models.kernel_map import KERNELS, Kernel, fit_kernel_map
from swaprank.models.layers import make_layers
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling, units_of
from swaprank.objectives.smooth import SMOOTHINGS, Smoothing, SmoothObjective
from swaprank.rankers.base_model import base_model
from swaprank.rankers.linear_fitting import center_weights, check_watched, regularizations, watched_judge
from swaprank.rankers.parameter_checks import BOUNDS, Bounds, check_flags, check_numbers, check_parameters, check_word
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.rankers.smoothrank_folds import FoldValues, renumbered, try_folds
from swaprank.smoothrank.annealing import OPTIMIZERS, Ascent, Optimizer
from swaprank.smoothrank.architectures import Architecture, Kernelised, Layered, Linear
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
from swaprank.smoothrank.start import STARTS, FitProblem, Start, calibrated, start_parameters
from swaprank.threads import thread_count

ANNEALING = tuple(2.0**power for power in range(6, -7, -1))
"""The smoothing factors of the paper [Chapelle2010, section 4.4.2]."""

FEATURES = ("linear", "kernel_pca")
FOLDS, START_FOLDS = 5, 10
"""Default numbers of folds; a start is cheap and can have more."""


@final
class SmoothRank(Ranker):
    """Gradient ascent on a smooth version of the metric, whose smoothing is reduced step by step [Chapelle2010].

    "Is document i at rank j?" gets a soft answer between 0 and 1, which makes every metric of gains at ranks smooth in
    the scores. For each smoothing factor, the smooth metric minus regularization |w - w0|² is maximised from where the
    larger factor ended, so that the ascent begins on an easy slope and ends on nearly the metric itself. It starts at,
    and is regularised towards, w0: a regression on the gains in which relevant documents weigh as much in total as all
    others. Weights are those of standardised features, and scores are measured in standard deviations of the gains, so
    that smoothing factors and regularization mean the same for all data.

    Args:
        metric: What to learn for: NDCG, DCG, precision, recall, RBP, MAP, MRR, ERR, success, or a CumulativeMetric or
            CascadeMetric of your own. A larger cut-off than the one you report usually generalises better.
        regularization: lambda, the strength of the pull towards w0: a number, several to choose from, or "auto" for
            10^4 to 10^-5. Chosen on the watched data set, or by cross-validation over the queries if there is none.
        start: w0. "overweighted": ridge regression on the gains, as above; "regression": without the weights;
            "pairwise": like a ranking SVM. Their strength is chosen by cross-validation. "zero": w0 = 0, and the ascent
            starts at the plain regression.
        annealing: The smoothing factors (sigma in the paper), one per step.
        smoothing: "indicators"; or "ranks", for average precision [Chapelle2010, Eq. 9].
        best_step: Keep the weights of the annealing step with the best measured metric instead of the last step.
        optimizer: "cg" (conjugate gradients) or "l-bfgs".
        max_iterations: Of the optimizer, per annealing step.
        n_folds: Choose by cross-validation in so many folds, in addition to the watched data set if there is one. If
            None: 5 folds if no set is watched, else the watched set alone.
        standardize: Measure features in standard deviations; otherwise take them as they are.
        features: "linear", or "kernel_pca" for a kernel machine.
        kernel: "rbf", exp(-gamma |x - z|²); or "polynomial", (gamma x'z + 1)^degree.
        gamma: Of the kernel; if None, one over the number of features that vary.
        degree: Of the polynomial.
        n_landmarks: How many documents the kernel machine is made of.
        hidden: Units of each hidden layer, for a net instead of weighted sums.
        activation: Of the hidden units: "tanh", "sigmoid" or "relu".
        base_ranker: A fitted linear ranker (for a net, a net of the same shape) as w0.
        random_state: Seed of folds, landmarks, tie order and nets.
        n_threads: Threads; all cores if None.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_polynomial((60, 30, 30), n_features=8, random_state=0)
    >>> ranker = sr.SmoothRank(metric="ndcg", regularization=(1.0, 0.01)).fit(train, valid=vali)
    >>> ranker.regularization_ in ranker.candidates_, len(ranker.history_["valid"]["ndcg"])
    (True, 13)
    >>> ranker.score(test) > 0.7
    True
    """

    kind: ClassVar[str] = "smoothrank"
    round_name: ClassVar[str] = "step"
    regularization_: float
    """The one that was chosen, or given."""
    smoothing_factor_: float
    """The smoothing factor of the annealing step that the weights come from; infinite for the start."""
    candidates_: dict[float, float]
    """The metric by which each regularization was judged; empty if there was nothing to choose."""

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
        self.metric = metric
        self.regularization = regularization
        self.start = start
        self.annealing = annealing
        self.smoothing = smoothing
        self.best_step = best_step
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
        """The weight of every feature; of a kernel machine, of every output of its map."""
        if isinstance(self.model_, Net):
            raise AttributeError("a net has no coef_, but model_.weights.")
        weights: Floats = self.model_.weights  # type: ignore[attr-defined]
        return weights

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Any,
        callbacks: Sequence[Callback],
    ) -> None:
        strengths = self._check()
        sets = self._sets(data, valid)
        watched = [self._metric()] if metrics is None else parse_metrics(metrics)
        smooth = SmoothObjective(self._metric(), smoothing=self.smoothing).bind(
            data, random_state=int(self.random_state), n_threads=self.n_threads
        )
        shape = self._architecture(data, base)
        problem = self._problem(data, shape, smooth.terms.gains)
        center, start = self._start(data, shape, problem, base)
        ascents = [
            Ascent(problem.scorer, smooth, center, strength, self.optimizer, int(self.max_iterations))
            for strength in strengths
        ]
        measured = Measured(sets, watched, lambda other: np.zeros(len(other)), self.n_threads)
        if not valid:
            measured.watched = measured.unusable = None
        scorers = {name: problem.scorer if other is data else shape.scorer(other) for name, other in sets.items()}
        steps, any_step, judged, interrupted = self._steps, self.best_step, {}, False
        several = len(ascents) > 1 or self.best_step
        if several and valid and self.n_folds is None:
            check_watched(measured)
        elif several:
            tried = self._try_folds(data, ascents, start, watched[0], watched_judge(measured, scorers), callbacks)
            best, any_step, interrupted = choose(tried.values, self.best_step), False, tried.interrupted
            # Whoever stopped the search early wants no ascent to follow.
            steps = steps[: best.n_steps] if tried.values.shape[1] == len(steps) else ()
            judged, ascents = judgements(ascents, best), [ascents[best.candidate]]
            callbacks = [renumbered(callback, len(self._steps)) for callback in callbacks]
        candidates = [Candidate(ascent, start) for ascent in ascents]
        if steps:
            interrupted = self._anneal(candidates, steps, measured, scorers, callbacks)
        best = choose(watched_values(candidates, measured.watched), any_step or interrupted)
        chosen = candidates[best.candidate]
        self.model_ = shape.model(chosen.after(best.n_steps))
        self.regularization_ = chosen.ascent.regularization
        self.smoothing_factor_ = float(steps[best.n_steps - 1]) if best.n_steps else float("inf")
        self.candidates_ = judged or judgements([each.ascent for each in candidates], best)
        self.history_, self.n_rounds_, self.best_round_ = chosen.history, len(chosen.measured), best.n_steps
        self.interrupted_ = interrupted

    @property
    def _steps(self) -> tuple[float, ...]:
        """The smoothing factors, which may be an array."""
        return tuple(float(factor) for factor in self.annealing)

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
        steps: Sequence[float],
        measured: Measured,
        scorers: Mapping[str, Scorer],
        callbacks: Sequence[Callback],
    ) -> bool:
        """Take all candidates through the annealing, and measure them after each step; whether Ctrl-C ended it."""
        n_threads = thread_count(self.n_threads)

        def measure(candidate: Candidate, factor: float) -> dict[str, dict[str, float]]:
            parameters = candidate.path[-1]
            now = {}
            for name, scorer in scorers.items():
                scores = scorer.scores(parameters, n_threads)
                now[name] = {
                    metric: bound.mean(scores, n_threads=n_threads) for metric, bound in measured.bound[name].items()
                }
            now["train"][f"smooth {self._metric()}"] = candidate.ascent.smooth_mean(parameters, factor)
            return now

        def one_round(number: int) -> None:
            factor = float(steps[number - 1])
            step_all(candidates, factor, n_threads)
            for candidate, values in [(candidate, measure(candidate, factor)) for candidate in candidates]:
                candidate.measured.append(values)
            leader = candidates[choose(watched_values(candidates, measured.watched), any_step=False).candidate]
            for name, other in measured.sets.items():
                scores = scorers[name].scores(leader.path[-1], n_threads)
                measured.scores[name] = other.as_given(scores)

        return run_rounds(len(steps), one_round, measured, callbacks, patience=None)

    def _try_folds(
        self,
        data: Dataset,
        ascents: list[Ascent],
        start: Floats,
        metric: Metric,
        other: Judge | None,
        callbacks: Sequence[Callback],
    ) -> FoldValues:
        """Cross-validation of the ascents."""
        folds = query_folds(data.n_queries, self.n_folds or FOLDS, int(self.random_state))
        if len(folds) < 2:
            raise DataError("one query is too few to choose a regularization by; give a number, or a valid= set.")
        judges = Judge(ascents[0].scorer, bind_metric(metric, data, refuse_constant=True)), other
        n_threads = thread_count(self.n_threads)
        return try_folds(ascents, start, folds, self._steps, metric, judges, callbacks, n_threads)

    def _architecture(self, data: Dataset, base: Any) -> Architecture:
        """What the parameters are."""
        if self._units:
            if base is not None:
                net = self._base_net(base, data)
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

    def _base_net(self, base: Any, data: Dataset) -> Net:
        """A base ranker's net, which must have the shape that is wanted."""
        net = base_model(base, Net, f"a fitted net for hidden={self._units}", data.n_features)
        if (net.hidden, net.activation) != (self._units, self.activation):
            raise ParameterError(
                f"the base ranker has hidden={net.hidden} and activation='{net.activation}', found "
                f"hidden={self._units} and activation='{self.activation}' here."
            )
        return net

    def _problem(self, data: Dataset, shape: Architecture, gains: Floats) -> FitProblem:
        """Gains in standard deviations, which are thereby the unit of scores and of the smoothing factors."""
        spread = float(gains.std())
        weights = np.ones(len(data)) if data.sample_weight is None else np.array(data.by_query(data.sample_weight))
        return FitProblem(
            shape.scorer(data),
            gains / spread if spread > 0 else gains,
            np.array(data.by_query(data.labels)),
            np.array(data.indptr),
            weights,
            self.n_threads,
        )

    def _start(self, data: Dataset, shape: Architecture, problem: FitProblem, base: Any) -> tuple[Floats, Floats]:
        """w0, and where the ascent starts."""
        if base is None:
            metric = bind_metric(self._metric(), data)
            first = shape.first_parameters(int(self.random_state))
            folds = query_folds(data.n_queries, START_FOLDS, int(self.random_state))
            begin = start_parameters(self.start, problem, first, metric, folds)
        elif isinstance(shape, Layered):
            begin = self._base_net(base, data).weights.astype(np.float64)
        elif isinstance(shape, Linear):
            begin = center_weights(base, shape, data)
        else:
            raise ParameterError("features='kernel_pca' takes no base ranker.")
        if data.base_score is None and not isinstance(shape, Layered):
            begin = calibrated(begin, problem.scorer.scores(begin, self.n_threads), problem.targets)
        return (np.zeros(len(begin)) if self.start == "zero" and base is None else begin), begin

    def _check(self) -> list[float]:
        check_parameters(self)
        check_flags(self, "best_step", "standardize")
        for name, known in (
            ("start", STARTS), ("smoothing", SMOOTHINGS), ("optimizer", OPTIMIZERS), ("features", FEATURES),
            ("kernel", KERNELS), ("activation", ACTIVATIONS),
        ):  # fmt: skip
            check_word(name, getattr(self, name), known)
        check_numbers("annealing", self.annealing, BOUNDS["sigma"])
        check_numbers("hidden", self.hidden, Bounds(True, 1, 10**6))
        if len(self.annealing) == 0:
            raise ParameterError("annealing has no steps: it is empty.")
        if self._units and self.features != "linear":
            raise ParameterError(f"hidden={self._units} and features='{self.features}' do not go together.")
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
