"""The Optuna study behind tuning: storage, sampling of parameters, pruning of trials."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import swaprank as sr
from swaprank.errors import DataError, import_extra
from swaprank.experiments.grid_search import search_configuration
from swaprank.experiments.ranker_parameters import Choice, IntRange, Range
from swaprank.experiments.tuning_result import Trial
from swaprank.files import uninterrupted, writable_target, written_directly
from swaprank.model_files.plain_json import check_configuration, from_json, plain_values, to_json

_NAME = "swaprank"
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

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(
            study_name=_NAME,
            storage=None if storage is None else _journal(storage),
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(_STARTUP_TRIALS, _warmup_rounds(learner)),
            load_if_exists=True,
        )
        trials = study.get_trials(deepcopy=False)
        # A resumed study with the same seed would repeat its first trials.
        study.sampler = optuna.samplers.TPESampler(seed=int(random_state) + len(trials))
        if storage is not None:
            configuration = search_configuration(learner, tuned, learner.training_metric(), train, valid)
            configuration |= plain_values({"ranges": {name: tuple(span) for name, span in tuned.items()}})
            saved = study.user_attrs.get("configuration")
            if saved is None and not trials:
                study.set_user_attr("configuration", to_json(configuration).decode())
            else:
                check_configuration(storage, from_json((saved or "{}").encode()), configuration)
        if not any(trial.state.is_finished() and trial.value is not None for trial in trials):
            study.enqueue_trial(_own_parameters(learner, tuned), skip_if_exists=True)
    finally:
        optuna.logging.set_verbosity(before)
    return study


def optimize(study: Any, objective: Callable[[Any], float], n_trials: int, timeout: float | None) -> bool:
    """Run trials up to a total number or a time limit. Returns True if Ctrl-C stopped the search."""
    import optuna

    states = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    remaining = n_trials - len(study.get_trials(deepcopy=False, states=states))
    if remaining <= 0:
        return False
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study.optimize(objective, n_trials=remaining, timeout=timeout)
    except KeyboardInterrupt:
        return True
    finally:
        optuna.logging.set_verbosity(before)
    return False


def suggest_value(trial: Any, name: str, span: Range) -> Any:
    """Let a trial choose the value of a parameter."""
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
        complete = trial.state is optuna.trial.TrialState.COMPLETE
        finished.append(
            Trial(
                number=trial.number + 1,
                value=float(trial.value) if complete else None,
                given_up_after=None if complete else max(trial.intermediate_values, default=0),
                seconds=trial.duration.total_seconds(),
                size=str(trial.user_attrs.get("size", "")),
                parameters={name: _parameter_value(trial.params[name], span) for name, span in tuned.items()},
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


def _warmup_rounds(learner: sr.Ranker) -> int:
    n_rounds = getattr(learner, learner.can.rounds_parameter or "", None)
    return _WARMUP_ROUNDS if n_rounds is None else min(_WARMUP_ROUNDS, int(n_rounds) // 10)


def _journal(storage: str | os.PathLike[str]) -> Any:
    import optuna
    from optuna.storages import journal

    file = writable_target(storage)
    if written_directly(file):
        raise DataError(f"{file} is not a file, so the trials cannot be stored in it: choose another.")
    if file.exists():
        # Optuna would append to any file.
        with file.open("rb") as stream:
            if (first := stream.readline()) and not first.startswith(b'{"op_code"'):
                raise DataError(f"{file} is not a file of Optuna trials: choose another file.")
    # Optuna's default lock is a symbolic link, which most Windows users may not create.
    lock = journal.JournalFileOpenLock(str(file)) if sys.platform == "win32" else None

    class Journal(journal.JournalFileBackend):
        def append_logs(self, logs: list[dict[str, Any]]) -> None:
            # Ctrl-C would leave the lock behind, for which the next run would wait.
            with uninterrupted():
                super().append_logs(logs)

    return optuna.storages.JournalStorage(Journal(str(file), lock_obj=lock))
