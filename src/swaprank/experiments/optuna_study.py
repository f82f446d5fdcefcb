"""The Optuna study behind tuning: storage, sampling of parameters, pruning of trials."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import swaprank as sr
from swaprank.errors import DataError, SwaprankError, import_extra
from swaprank.experiments.grid_search import search_configuration
from swaprank.experiments.ranker_parameters import Choice, IntRange, Range
from swaprank.experiments.trials_file import TrialsFile
from swaprank.experiments.tuning_result import Trial
from swaprank.model_files.plain_json import check_configuration, from_json, plain_values, to_json

_NAME = "swaprank"
_CHOSEN = "chosen"
"""The attribute of the first trial with the parameters that the ranker chooses by the data."""
_STARTUP_TRIALS = 5
"""The first trials are never pruned."""
_WARMUP_ROUNDS = 50
"""No trial is pruned before this round, or before a tenth of its rounds if that is less."""


def check_optuna() -> None:
    """Raise MissingExtraError if Optuna is not installed."""
    import_extra("optuna", "tuning needs Optuna: pip install 'swaprank[tune]'.")


def open_study(
    storage: str | os.PathLike[str] | None,
    learner: sr.Ranker,
    tuned: Mapping[str, Range],
    train: sr.Dataset,
    valid: sr.Dataset,
    random_state: int,
) -> Any:
    """Open a new study, or resume the one in the storage. The first trial has the ranker's own parameters."""
    import optuna

    file = None if storage is None else TrialsFile(storage)
    with _quiet(), nullcontext() if file is None else file.checked():
        study = optuna.create_study(
            study_name=_NAME,
            storage=None if file is None else _storage(file),
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(_STARTUP_TRIALS, _warmup_rounds(learner)),
            load_if_exists=True,
        )
        trials = study.get_trials(deepcopy=False)
        # A resumed study with the same seed would repeat its first trials.
        study.sampler = optuna.samplers.TPESampler(seed=int(random_state) + len(trials))
        if file is not None:
            configuration = search_configuration(learner, tuned, learner.training_metric(), train, valid)
            configuration |= plain_values({"ranges": {name: tuple(span) for name, span in tuned.items()}})
            saved = study.user_attrs.get("configuration")
            if saved is None and not trials:
                study.set_user_attr("configuration", to_json(configuration).decode())
            else:
                check_configuration(file.file, from_json((saved or "{}").encode()), configuration)
            _check_trials(file, study, tuned)
        is_waiting = any(trial.state is optuna.trial.TrialState.WAITING for trial in trials)
        if not is_waiting and not any(trial.state.is_finished() and trial.value is not None for trial in trials):
            own = _own_parameters(learner, tuned)
            study.enqueue_trial(own, user_attrs={_CHOSEN: _chosen_by_data(learner, tuned)})
    return study


def optimize(study: Any, objective: Callable[[Any], float], n_trials: int, timeout: float | None) -> bool:
    """Run trials up to a total number or a time limit. Returns True if Ctrl-C stopped the search."""
    import optuna

    states = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    remaining = n_trials - len(study.get_trials(deepcopy=False, states=states))
    if remaining <= 0:
        return False
    try:
        with _quiet():
            study.optimize(objective, n_trials=remaining, timeout=timeout)
    except KeyboardInterrupt:
        return True
    except AssertionError as error:
        # If a trial cannot be saved, Optuna cannot save that it failed, either, and asserts that it did.
        for cause in _earlier(error):
            if isinstance(cause, SwaprankError):
                raise cause from None
        raise
    return False


def suggest_values(trial: Any, tuned: Mapping[str, Range]) -> dict[str, Any]:
    """Let a trial choose the values of the parameters; None for those that the ranker itself chooses by the data."""
    own = chosen_values(trial)
    return {name: None if name in own else _suggest(trial, name, span) for name, span in tuned.items()}


def keep_chosen(trial: Any, chosen: Mapping[str, Any]) -> None:
    """Note what a ranker has chosen by the data in a trial that left it to it."""
    trial.set_user_attr(_CHOSEN, {name: chosen.get(name) for name in chosen_values(trial)})


def chosen_values(trial: Any) -> dict[str, Any]:
    """What a trial leaves to the ranker, with the values that it chose."""
    return dict(trial.user_attrs.get(_CHOSEN, {}))


def _suggest(trial: Any, name: str, span: Range) -> Any:
    if isinstance(span, Choice):
        by_label = {str(value): value for value in span.values}
        return by_label[trial.suggest_categorical(name, list(by_label))]
    suggest = trial.suggest_int if isinstance(span, IntRange) else trial.suggest_float
    return suggest(name, span.low, span.high, log=span.log)


def finished_trials(study: Any, tuned: Mapping[str, Range]) -> list[Trial]:
    """All completed and pruned trials, numbered from 1."""
    import optuna

    finished = []
    for trial in study.get_trials(deepcopy=False):
        if trial.state not in (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED):
            continue
        complete, own = trial.state is optuna.trial.TrialState.COMPLETE, chosen_values(trial)
        finished.append(
            Trial(
                number=trial.number + 1,
                value=float(trial.value) if complete else None,
                given_up_after=None if complete else max(trial.intermediate_values, default=0),
                seconds=trial.duration.total_seconds(),
                size=str(trial.user_attrs.get("size", "")),
                parameters={
                    name: own[name] if name in own else _parameter_value(trial.params[name], span)
                    for name, span in tuned.items()
                },
            )
        )
    return finished


def _parameter_value(value: Any, span: Range) -> Any:
    return {str(each): each for each in span.values}[value] if isinstance(span, Choice) else value


def _own_parameters(learner: sr.Ranker, tuned: Mapping[str, Range]) -> dict[str, Any]:
    """The learner's own values of the tuned parameters, where they are within the ranges."""
    own: dict[str, Any] = {}
    for name, span in tuned.items():
        value = getattr(learner, name)
        if isinstance(span, Choice):
            if value in span.values:
                own[name] = str(value)
        elif isinstance(value, int | float) and span.low <= value <= span.high:
            own[name] = value
    return own


def _chosen_by_data(learner: sr.Ranker, tuned: Mapping[str, Range]) -> dict[str, None]:
    """The tuned parameters that the learner chooses by the data, without values yet."""
    own = _own_parameters(learner, tuned)
    return dict.fromkeys(name for name in tuned if getattr(learner, name) is None and name not in own)


def _warmup_rounds(learner: sr.Ranker) -> int:
    n_rounds = getattr(learner, learner.can.rounds_parameter or "", None)
    return _WARMUP_ROUNDS if n_rounds is None else min(_WARMUP_ROUNDS, int(n_rounds) // 10)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without messages of Optuna."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def _earlier(error: BaseException) -> Iterator[BaseException]:
    """The errors during which an error was raised, latest first."""
    while error.__context__ is not None:
        error = error.__context__
        yield error


def _storage(file: TrialsFile) -> Any:
    import optuna

    backend: Any = file  # it has the methods of Optuna's base class, which is not imported where it is not needed
    storage = optuna.storages.JournalStorage(backend)
    names = [study.study_name for study in storage.get_all_studies()]
    if names not in ([], [_NAME]):
        raise DataError(f"{file.file} has the trials of another study of Optuna: choose another file.")
    return storage


def _check_trials(file: TrialsFile, study: Any, tuned: Mapping[str, Range]) -> None:
    """Raise an error if the trials of a file are not as a search with these parameters wrote them."""
    if study.direction.name != "MAXIMIZE":
        file.refuse("the search does not maximize")
    expected = {name: _distribution(span) for name, span in tuned.items()}
    for trial in study.get_trials(deepcopy=False):
        asked = trial.system_attrs.get("fixed_params", {})
        if any(trial.distributions[name] != expected[name] for name in trial.params) or not all(
            _is_within(value, tuned[name]) for given in (trial.params, asked) for name, value in given.items()
        ):
            file.refuse(f"trial {trial.number + 1} has parameters outside of their ranges")
        chosen = [value for value in chosen_values(trial).values() if value is not None]
        for value in (*trial.intermediate_values.values(), *(trial.values or ()), *chosen):
            float(value)
    finished_trials(study, tuned)


def _distribution(span: Range) -> Any:
    from optuna import distributions

    if isinstance(span, Choice):
        return distributions.CategoricalDistribution([str(value) for value in span.values])
    if isinstance(span, IntRange):
        return distributions.IntDistribution(span.low, span.high, log=span.log)
    return distributions.FloatDistribution(span.low, span.high, log=span.log)


def _is_within(value: Any, span: Range) -> bool:
    if isinstance(span, Choice):
        return value in [str(each) for each in span.values]
    return bool(span.low <= value <= span.high)
