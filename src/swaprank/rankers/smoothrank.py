"""SmoothRank: gradient ascent on a smooth version of the metric."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint, ParameterError
from swaprank.linear.annealing import MINIMIZERS, REGULARIZATIONS, Ascent, Candidate, Minimizer
from swaprank.linear.architectures import Architecture, LinearArchitecture, NetArchitecture
from swaprank.linear.cross_validation import Evaluator, FitProblem, query_folds
from swaprank.linear.start import STARTS, Start, calibrated, start_fit
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.layers import ACTIVATIONS, Activation, make_layers
from swaprank.models.linear import LinearModel
from swaprank.models.net import Net
from swaprank.models.scaling import fit_scaling, units_of
from swaprank.objectives.smooth import SMOOTHINGS, BoundSmooth, Smoothing, SmoothObjective
from swaprank.parameters import parameter
from swaprank.rankers.annealing_run import AnnealingRun
from swaprank.rankers.learned import Capabilities, found
from swaprank.rankers.linear_rounds import (
    N_FOLDS,
    center_weights,
    check_same_metric,
    fit_problem,
    found_by_strength,
    needs_folds,
    regularizations,
    watched_evaluator,
)
from swaprank.rankers.net_ranker import check_net_shape
from swaprank.rankers.rounds import Measured
from swaprank.rankers.shared_parameters import HiddenLayers, KernelFeatures, RandomChoices
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained, base_model
from swaprank.seeds import RandomState
from swaprank.threads import thread_count

ANNEALING = tuple(2.0**power for power in range(6, -7, -1))
"""The smoothing factors of the paper [Chapelle2010, section 4.4.2]."""

FEATURES = ("linear", "kernel_pca")
FOLDS, START_FOLDS = 10, 50
"""Numbers of folds by default, and of the start."""


@final
class SmoothRank(KernelFeatures, HiddenLayers, RandomChoices, TrainableRanker):
    """Gradient ascent on a smooth version of the metric, whose smoothing is reduced step by step [Chapelle2010].

    The indicator "document i is at rank j" is replaced by a number between 0 and 1. This makes every metric of gains at
    ranks a smooth function of the scores. Annealing maximizes the smooth metric minus regularization |w - w0|², once
    per smoothing factor, and each step starts at the result of the step before: large factors give an easy problem,
    small ones nearly the metric itself. The first step starts at w0: a regression on the gains, with the same total
    weight for relevant documents as for all others. Features are standardized, and scores are measured in standard
    deviations of the gains, so that smoothing factors and regularization mean the same for all data.

    With several regularizations, the model is a mean: each is fitted once per fold without the queries of the fold, and
    its share in the mean is the probability to be the best on a random sample of the held-out queries. So neither the
    seed nor the last bits decide between regularizations that nearly tie.

    The procedure of the paper is another one: start="least_squares", standardize=False, average=False, enough
    max_iterations to find the minimum, and a regularization of 10^3 to 10^-6, chosen on a validation set.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_polynomial((60, 30, 30), n_features=8, random_state=0)
    >>> ranker = sr.SmoothRank(metric="ndcg", regularization=(1.0, 0.01)).fit(train, valid=vali)
    >>> ranker.regularization_ in ranker.candidates_, len(ranker.history_["valid"]["ndcg"])
    (True, 13)
    >>> ranker.score(test) > 0.7
    True
    """

    kind: ClassVar[str] = "smoothrank"
    can: ClassVar[Capabilities] = Capabilities(
        models=(LinearModel, KernelMachine, Net), round_name="step", needs="metric"
    )
    metric: str | Metric = parameter(
        default="ndcg@50",
        kw_only=False,
        text="The metric to optimize: NDCG, DCG, precision, recall, RBP, MAP, MRR, ERR, success, or a CumulativeMetric "
        "or CascadeMetric of your own. A larger cut-off than the one you report usually generalizes better.",
    )
    regularization: float | str | Sequence[float] = parameter(
        default="auto",
        text="lambda, the strength of the regularization towards w0: a number for a single fit to all queries, a tuple "
        'of numbers for the mean described above, or "auto" for 10^4 to 10^-4 in steps of 100.',
    )
    start: Start = parameter(
        default="overweighted",
        words=STARTS,
        tune=[*STARTS],
        text='The fit of w0. "overweighted": ridge regression on the gains, with the weights described above; '
        '"regression": without these weights; "pairwise": ranking SVM. They are means over their strengths, too. '
        '"least_squares": without weights, regularization and intercept, as in the paper. "zero": w0 = 0, and the '
        "first step starts at the regression without weights.",
    )
    annealing: Sequence[float] = parameter(
        default=ANNEALING,
        above=0,
        whole=False,
        each=True,
        text="The smoothing factors (sigma in the paper), one per step.",
    )
    smoothing: Smoothing = parameter(
        default="indicators",
        words=SMOOTHINGS,
        text='"indicators"; "ranks", for average precision, DCG and NDCG without a cut-off [Chapelle2010, Eq. 5]; or '
        '"ranks_half", for average precision with the constant of Eq. 9.',
    )
    average: bool = parameter(
        default=True,
        text="With several regularizations, take the mean described above. False: fit all queries with the one that is "
        "best on the watched set, or by cross-validation if no set is watched, as in the paper. Nets have no mean.",
    )
    best_step: bool = parameter(
        default=False,
        tune=[False, True],
        text="Keep the annealing step with the best metric on the held-out queries. False: keep the last step.",
    )
    optimizer: Minimizer = parameter(default="cg", words=MINIMIZERS, text='"cg" (conjugate gradients) or "l-bfgs".')
    max_iterations: int = parameter(
        default=20,
        low=1,
        high=10**7,
        tune=(5, 60),
        text="Maximum number of iterations of the optimizer per annealing step.",
    )
    n_folds: int | None = parameter(
        default=None,
        low=2,
        high=10**7,
        whole=True,
        text="Number of folds. The queries of a watched data set are held out in addition. If None: 10, but none with "
        "a watched set for a net or if `average` is False.",
    )
    standardize: bool = parameter(
        default=True,
        text="Divide each feature by its standard deviation, and the gains by theirs. False: take both as they are, so "
        "that smoothing factors are in squared gains, as in the paper.",
    )
    features: str = parameter(
        default="linear",
        words=FEATURES,
        text='"linear", or "kernel_pca" for a kernel machine, with the parameters of the kernel.',
    )
    hidden: Sequence[int] = parameter(
        default=(),
        text="Number of units of each hidden layer, such as (10,) for a net. The default is a linear model. A net is "
        "no mean: it is fitted to all queries with the best regularization.",
    )
    activation: Activation = parameter(
        default="tanh", words=ACTIVATIONS, text='Activation of the hidden units: "tanh", "sigmoid" or "relu".'
    )
    base_ranker: Any = parameter(
        default=None,
        text="A fitted linear ranker whose weights are w0; for a net, a fitted net with the same layers.",
    )
    random_state: RandomState = parameter(
        default=0, text="Seed of folds, landmarks, tie order and initial weights of nets."
    )

    regularization_ = found(float)
    """The best regularization on the held-out queries, or the given one."""
    smoothing_factor_ = found(float)
    """The smoothing factor of the annealing step whose weights were kept; infinite for the start."""
    candidates_ = found_by_strength()
    """The metric of each regularization on the held-out queries; empty if there was only one."""
    shares_ = found_by_strength()
    """The share of each regularization in the weights."""

    @property
    def coef_(self) -> Floats:
        """The weight of every feature, or of every output of the kernel map."""
        if isinstance(self.model_, Net):
            raise AttributeError("a net has no coef_; its weights are in model_.weights.")
        weights: Floats = self.model_.weights  # type: ignore[attr-defined]
        return weights

    def _fit(self, request: FitRequest) -> Trained:
        data, valid, metrics, base, callbacks, seed, *_ = request
        strengths, sets = regularizations(self.regularization, REGULARIZATIONS), self._sets(data, valid)
        measured = Measured(sets, metrics, lambda other: np.zeros(len(other)), self.n_threads)
        if not valid:
            measured.watched = measured.unusable = None
        smooth = SmoothObjective(self.training_metric(), smoothing=self.smoothing).bind(
            data, random_state=seed, n_threads=self.n_threads
        )
        architecture = self._architecture(data, base, seed)
        # The unit of the gains is then also that of scores and smoothing factors.
        unit = (smooth.terms.gains.std() or 1.0) if self.standardize else 1.0
        problem = fit_problem(data, architecture.score_function(data), smooth.terms.gains / unit, self.n_threads)
        average = self.average and not isinstance(architecture, NetArchitecture)
        score_functions = {
            name: problem.score_function if other is data else architecture.score_function(other)
            for name, other in sets.items()
        }
        has_choice = len(strengths) > 1 or self.best_step
        folds = self._folds(data, measured, average, seed) if has_choice else [~problem.all_queries]
        if np.any(folds):
            check_same_metric(measured, metrics[0], Hint("average", False, "--set average=false"), " and no ", N_FOLDS)
        is_only_judge = has_choice and measured.watched is None
        run = AnnealingRun(
            self._candidates(problem, smooth, strengths, folds, self._start(data, architecture, problem, base, seed)),
            folds,
            smooth,
            Evaluator(problem.score_function, bind_metric(metrics[0], data, refuse_constant=is_only_judge)),
            watched_evaluator(measured, score_functions),
            average,
            seed,
            thread_count(self.n_threads),
        )
        interrupted = run.anneal(self._steps, measured, score_functions, callbacks)
        kept = run.kept(measured, f"smooth {self.training_metric()}", self.best_step or interrupted)
        chosen = {
            "regularization": strengths[int(np.argmax(kept.step.values))],
            "smoothing_factor": self._steps[kept.n_steps - 1],
            "candidates": dict(zip(strengths, kept.step.values, strict=True)) if len(strengths) > 1 else {},
            "shares": dict(zip(strengths, kept.step.shares.tolist(), strict=True)),
        }
        n_rounds = len(kept.history["train"][str(metrics[0])])
        model = architecture.model(kept.step.parameters)
        return Trained(model, kept.history, n_rounds, kept.n_steps, interrupted, chosen)

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

    def _folds(self, data: Dataset, measured: Measured, average: bool, seed: int) -> list[Bools]:
        """The queries that each of the fits holds out, which choose together with the watched set.

        What is no mean, as nets, whose weights have no useful one, has a last fit that holds out none and is the model.
        """
        none = np.zeros(data.n_queries, np.bool_)
        if not needs_folds(data, measured, self.n_folds) and (not average or data.n_queries < 2):
            return [none]
        folds = query_folds(data.n_queries, self.n_folds or FOLDS, seed)
        return folds if average else [*folds, none]

    def _candidates(
        self,
        problem: FitProblem,
        smooth: BoundSmooth,
        strengths: Sequence[float],
        folds: Sequence[Bools],
        start: Callable[[Bools], tuple[Floats, Floats]],
    ) -> list[list[Candidate]]:
        """Regularizations x folds. Also the start is fitted without the held-out queries."""
        starts = [start(~held_out) for held_out in folds]
        return [
            [
                Candidate(
                    Ascent(
                        problem.score_function, smooth, center, strength, self.optimizer, int(self.max_iterations)
                    ).without(held_out),
                    first,
                )
                for held_out, (center, first) in zip(folds, starts, strict=True)
            ]
            for strength in strengths
        ]

    def _architecture(self, data: Dataset, base: Any, seed: int) -> Architecture:
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
        return self._kernel_architecture(data, units, seed)

    def _base_net(self, base: Any, data: Dataset) -> Net:
        """A base ranker's net, which must have the layers that the parameters say."""
        net = base_model(base, Net, f"a fitted net for hidden={self._units}", data.n_features)
        check_net_shape(net, self, "the base ranker")
        return net

    def _start(
        self, data: Dataset, architecture: Architecture, problem: FitProblem, base: Any, seed: int
    ) -> Callable[[Bools], tuple[Floats, Floats]]:
        """A function of the training queries: w0, and the parameters at which the first step starts."""
        given: Floats | None = None
        if isinstance(architecture, NetArchitecture) and base is not None:
            given = self._base_net(base, data).weights.astype(np.float64)
        elif isinstance(architecture, LinearArchitecture) and base is not None:
            given = center_weights(base, architecture, data)
        elif base is not None:
            raise ParameterError("features='kernel_pca' takes no base ranker.")
        fit = start_fit(
            self.start,
            problem,
            architecture.initial_parameters(seed),
            bind_metric(self.training_metric(), data),
            query_folds(data.n_queries, START_FOLDS, seed) if given is None else [],
            seed,
        )

        def start(queries: Bools) -> tuple[Floats, Floats]:
            first = fit(queries) if given is None else given
            exact = self.start == "least_squares" and given is None
            if data.base_score is None and not (exact or isinstance(architecture, NetArchitecture)):
                first = calibrated(first, problem.score_function(first, self.n_threads), problem.targets)
            return (np.zeros(len(first)) if self.start == "zero" and given is None else first), first

        return start

    def _check_together(self) -> None:
        if len(self.annealing) == 0:
            raise ParameterError("annealing has no steps: it is empty.")
        if self._units and self.start == "least_squares":
            raise ParameterError("start='least_squares' is for linear models and kernel machines, not for nets.")
        if self._units and self.features != "linear":
            raise ParameterError(f"hidden={self._units} and features='{self.features}' cannot be combined.")
        regularizations(self.regularization, REGULARIZATIONS)
