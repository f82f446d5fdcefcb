"""Hyperparameter tuning with Optuna, from data sets or from files: resumes a search, and prunes bad trials early."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from sklearn.base import clone

import swaprank as sr
from swaprank.cluster.gathering import gathered
from swaprank.data.fingerprints import data_fingerprint
from swaprank.errors import DataError, Interrupted, ParameterError
from swaprank.experiments.grid_search import parse_range
from swaprank.experiments.optuna_study import (
    check_optuna,
    chosen_values,
    finished_trials,
    keep_chosen,
    open_study,
    optimize,
    suggest_values,
)
from swaprank.experiments.ranker_parameters import (
    Choice,
    Range,
    as_range,
    default_ranges,
    fixed_while_tuning,
    parse_settings,
)
from swaprank.experiments.training_run import TrainingRun, check_outputs, read_train, write_record
from swaprank.experiments.tuning_result import Tuning
from swaprank.files import file_in, uninterrupted
from swaprank.model_files.plain_json import format_parameters
from swaprank.parameters import Bounds, check_parameter, own_name
from swaprank.rankers.rounds import Callback, shown_trainings
from swaprank.reading.read import read_matching
from swaprank.registry import ranker_class, ranker_maker
from swaprank.seeds import RandomState, seed_of
from swaprank.trackers.optuna_pruning import OptunaPruning


def tune(
    train: sr.Dataset | sr.Parts,
    valid: sr.Dataset | sr.Parts,
    ranker: str | sr.Ranker = "lambdamart",
    *,
    metric: str | sr.metrics.Metric | None = None,
    ranges: Mapping[str, Any] | None = None,
    n_trials: int = 50,
    timeout: float | None = None,
    storage: str | os.PathLike[str] | None = None,
    random_state: RandomState = 0,
    callbacks: Callable[[str], Sequence[Callback]] = lambda title: (),
    log: Callable[[str], object] = lambda message: None,
    verbose: bool | int = False,
) -> Tuning:
    """Search for the parameters of a ranker that are best on a validation set.

    The first trial uses the ranker's own parameters; Optuna's TPE sampler chooses the next ones. A trial is given up
    (pruned) when it is worse than the median of the earlier trials at the same round. Ctrl-C stops the search and
    raises Interrupted, whose result has the best ranker so far; KeyboardInterrupt, if that is of an earlier call.
    Requires Optuna: pip install 'swaprank[tune]'.

    Args:
        train: Training data. `Parts` are brought to this process.
        valid: Validation data. The search maximizes the metric on it.
        ranker: A kind of ranker, such as "lambdamart", which is trained with early stopping; or a ranker, whose
            parameters are used except for the tuned ones.
        metric: The metric that is trained for and maximized. If None, that of the ranker.
        ranges: Parameters to tune: {"n_leaves": (7, 63), "normalize": [True, False]}, with bounds in a tuple and
            choices in a list. If None, the default ranges for this kind of ranker.
        n_trials: Total number of trials, including those already in the storage.
        timeout: Start no new trial after this many seconds.
        storage: File for the trials. A later call with the same arguments resumes from there.
        random_state: Seed of the sampler. The ranker has its own.
        callbacks: Called with a title, such as "trial 3", before each training; returns the callbacks for `fit`.
        log: Called with one line of text after every trial.
        verbose: Show the progress of every trial, as `fit` does.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((40, 30), n_features=5, n_documents=10, random_state=0)
    >>> try:
    ...     tuning = sr.tune(train, vali, sr.MART(n_trees=10), ranges={"n_leaves": (4, 16)}, n_trials=3)
    ...     assert 4 <= tuning.best.parameters["n_leaves"] <= 31 and tuning.ranker.n_trees_ == 10
    ... except sr.errors.MissingExtraError:
    ...     pass
    """
    check_optuna()
    check_parameter("n_trials", n_trials, Bounds(True, 1, 2**62))
    data, vali = gathered(train, "the training data"), gathered(valid, "the set 'valid'")
    for each in (data, vali):
        if not isinstance(each, sr.Dataset):
            raise DataError(f"tune takes train, valid and a ranker; found {type(each).__name__} instead of a Dataset.")
    learner = _learner(ranker, metric)
    tuned = _ranges(learner, ranges)
    study = open_study(storage, learner, tuned, data, vali, seed_of(random_state))
    with shown_trainings(verbose) as shown:

        def all_callbacks(title: str) -> list[Callback]:
            return [*shown(title), *callbacks(title)]

        runner = _TrialRunner(learner, learner.training_metric(), tuned, data, vali, all_callbacks, log)
        interrupted = optimize(study, runner, n_trials, timeout)
    trials = finished_trials(study, tuned)
    completed = [trial for trial in trials if trial.value is not None]
    if not completed:
        raise (KeyboardInterrupt if interrupted else DataError("no trial was completed: allow more time or trials."))
    best = max(completed, key=lambda trial: (trial.value, -trial.number))
    fitted = runner.best_ranker
    if fitted is None or best.number != runner.best_number:
        if interrupted:
            raise KeyboardInterrupt
        log(f"trial {best.number} of an earlier run is still the best: training it again gives the same model")
        own = dict.fromkeys(chosen_values(study.trials[best.number - 1]))
        fitted = clone(learner).set_params(**{**best.parameters, **own})
        fitted.fit(data, valid=vali, callbacks=callbacks(f"trial {best.number}"))
    tuning = Tuning(fitted, str(runner.metric), best, trials, interrupted, study)
    if interrupted:
        raise Interrupted(tuning)
    return tuning


def _learner(ranker: str | sr.Ranker, metric: str | sr.metrics.Metric | None) -> sr.Ranker:
    chosen = {} if metric is None else {"metric": metric}
    if isinstance(ranker, str):
        return ranker_maker(ranker)(**fixed_while_tuning(ranker_class(ranker)), **chosen)
    if not isinstance(ranker, sr.Ranker):
        raise ParameterError(f"tune takes train, valid and a ranker; found {type(ranker).__name__} as the ranker.")
    learner: sr.Ranker = clone(ranker).set_params(**chosen)
    return learner


def _ranges(learner: sr.Ranker, ranges: Mapping[str, Any] | None) -> dict[str, Range]:
    if ranges is None:
        return default_ranges(learner)
    if not isinstance(ranges, Mapping):
        raise ParameterError(
            f"ranges must be given by name, such as {{'n_leaves': (7, 63)}}; found {type(ranges).__name__}."
        )
    found = {own_name(type(learner), name, learner.kind): as_range(name, given) for name, given in ranges.items()}
    # Otherwise a search would fail in the middle, and could not go on with other ranges.
    for name, span in found.items():
        for value in span.values if isinstance(span, Choice) else (span.low, span.high):
            learner.declared[name].check(name, value)
    return found


def run_tuning(
    run: TrainingRun,
    settings: Sequence[str],
    ranges: Sequence[str],
    *,
    n_trials: int,
    timeout: float | None,
    callbacks: Callable[[str], Sequence[Callback]],
    log: Callable[[str], object],
) -> Tuning:
    """Tune a ranker, and save the best model with its training record.

    Args:
        run: Data, ranker, metric and seed. The trials are stored next to its output, in a file that ends in .trials.
        settings: Fixed parameters, such as "n_trees=500".
        ranges: Parameters to tune, such as "n_leaves=7..63". If empty, the default ranges without the settings.
        n_trials: Total number of trials, including those of earlier runs.
        timeout: Start no new trial after this many seconds.
        callbacks: Called with the title of a trial; returns the callbacks for `fit`.
        log: Called with one line of text after every trial.
    """
    check_optuna()
    assert run.valid is not None  # noqa: S101
    check_outputs(run)
    if run.record is None:
        raise DataError(
            f"{run.output} is not a file, so the trials cannot be stored next to it: choose another output."
        )
    learner, tuned = _learner_and_ranges(run, settings, ranges)
    train = read_train(run)
    valid = read_matching(run.valid, train.feature_names, train.categories, **run.columns)
    try:
        tuning = tune(
            train,
            valid,
            learner,
            ranges=tuned,
            n_trials=n_trials,
            timeout=timeout,
            storage=file_in(run.record.parent, f"{run.record.stem}.trials"),
            random_state=run.seed or 0,
            callbacks=callbacks,
            log=log,
        )
    except Interrupted as stopped:
        tuning = stopped.result
    data = {"train": data_fingerprint(train), "valid": data_fingerprint(valid)}
    with uninterrupted():
        tuning.ranker.save(run.output)
        write_record(run, run.record, tuning.ranker, data)
    return tuning


def _learner_and_ranges(
    run: TrainingRun, settings: Sequence[str], ranges: Sequence[str]
) -> tuple[sr.Ranker, dict[str, Any]]:
    fixed = parse_settings(run.ranker, settings)
    learner = replace(run, parameters={**fixed_while_tuning(ranker_class(run.ranker)), **fixed}).make_ranker()
    if not ranges:
        return learner, {name: span for name, span in default_ranges(learner).items() if name not in fixed}
    tuned = _ranges(learner, dict(parse_range(run.ranker, text) for text in ranges))
    for name in tuned:
        if name in fixed:
            raise ParameterError(f"{name} is both set and tuned: choose one.")
    return learner, tuned


@final
@dataclass
class _TrialRunner:
    """Trains and measures one trial when called; keeps the best ranker of this run."""

    learner: sr.Ranker
    metric: sr.metrics.Metric
    tuned: Mapping[str, Range]
    train: sr.Dataset
    valid: sr.Dataset
    callbacks: Callable[[str], Sequence[Callback]]
    log: Callable[[str], object]
    best_value: float = -float("inf")
    best_number: int | None = None
    best_ranker: sr.Ranker | None = None

    def __call__(self, trial: Any) -> float:
        import optuna

        parameters = suggest_values(trial, self.tuned)
        title, pruning = f"trial {trial.number + 1}", OptunaPruning(trial)
        ranker: sr.Ranker = clone(self.learner).set_params(**parameters)
        try:
            ranker.fit(self.train, valid=self.valid, callbacks=[*self.callbacks(title), pruning])
        except optuna.TrialPruned:
            self.log(
                f"{title}: given up after {pruning.round} rounds at {self.metric} {pruning.best:.4f}; "
                f"{format_parameters(parameters)}"
            )
            raise
        scores = ranker.predict(self.valid)
        value = sr.evaluate(self.valid, scores, [self.metric], n_threads=ranker.n_threads).results[0].mean
        if value != value:
            raise DataError(f"{self.metric} has no value on the validation set: it is undefined for all its queries.")
        trial.set_user_attr("size", ranker.size_)
        keep_chosen(trial, getattr(ranker, "chosen_", {}))
        found = parameters | chosen_values(trial)
        self.log(f"{title}: {self.metric} {value:.4f}, {ranker.size_}; {format_parameters(found)}")
        if value > self.best_value:
            self.best_value, self.best_number, self.best_ranker = value, trial.number + 1, ranker
        return value
