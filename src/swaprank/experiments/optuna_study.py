"""Optuna's side of tuning: where trials are kept, what is tried next, and when a trial is given up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, MissingExtraError
from swaprank.experiments.fingerprints import data_digest
from swaprank.experiments.grid_search import words
from swaprank.experiments.ranker_parameters import plain_parameters
from swaprank.experiments.tuning_ranges import Choice, Range, Whole
from swaprank.experiments.tuning_result import Trial
from swaprank.files import writable_target
from swaprank.model_files.plain_json import from_json, to_json
from swaprank.rankers.ranker import Ranker

_NAME = "swaprank"
_FREE_TRIALS = 5
_FREE_ROUNDS = 50
"""So many trials, and so many rounds of each (or a tenth of all), are not given up: a slow start is no bad end."""


def check_optuna() -> None:
    """Refuse to begin without Optuna."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise MissingExtraError("tuning needs Optuna: pip install 'swaprank[tune]'.") from None


def open_study(
    storage: str | os.PathLike[str] | None,
    learner: Ranker,
    tuned: Mapping[str, Range],
    train: Dataset,
    valid: Dataset,
    random_state: int,
) -> Any:
    """A study, which goes on where the storage stopped; its first trial is the ranker as it is."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(
            study_name=_NAME,
            storage=None if storage is None else _journal(storage),
            direction="maximize",
            pruner=optuna.pruners.MedianPruner(_FREE_TRIALS, _free_rounds(learner)),
            load_if_exists=True,
        )
        trials = study.get_trials(deepcopy=False)
        # Begun again with the same seed, it would draw the same trials again.
        study.sampler = optuna.samplers.TPESampler(seed=int(random_state) + len(trials))
        _check_plan(study, _plan(learner, tuned, train, valid), storage)
        if not any(trial.state.is_finished() and trial.value is not None for trial in trials):
            study.enqueue_trial(_within(learner, tuned), skip_if_exists=True)
    finally:
        optuna.logging.set_verbosity(before)
    return study


def optimize(study: Any, objective: Callable[[Any], float], n_trials: int, timeout: float | None) -> bool:
    """Try until there are enough trials, or no time is left; whether the user ended it (Ctrl-C)."""
    import optuna

    states = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    left = n_trials - len(study.get_trials(deepcopy=False, states=states))
    if left <= 0:
        return False
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study.optimize(objective, n_trials=left, timeout=timeout)
    except KeyboardInterrupt:
        return True
    finally:
        optuna.logging.set_verbosity(before)
    return False


def suggested(trial: Any, name: str, span: Range) -> Any:
    """The value of a parameter in a trial."""
    if isinstance(span, Choice):
        by_label = {str(value): value for value in span.values}
        return by_label[trial.suggest_categorical(name, list(by_label))]
    draw = trial.suggest_int if isinstance(span, Whole) else trial.suggest_float
    return draw(name, span.low, span.high, log=span.log)


def finished_trials(study: Any, tuned: Mapping[str, Range]) -> list[Trial]:
    """All trials that came to an end, numbered from 1; those given up have no value."""
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
                parameters={name: _drawn(trial.params[name], span) for name, span in tuned.items()},
            )
        )
    return finished


def _drawn(value: Any, span: Range) -> Any:
    return {str(each): each for each in span.values}[value] if isinstance(span, Choice) else value


def _within(learner: Ranker, tuned: Mapping[str, Range]) -> dict[str, Any]:
    """The learner's own parameters, as far as they lie in the ranges."""
    own: dict[str, Any] = {}
    for name, span in tuned.items():
        value = getattr(learner, name)
        if isinstance(span, Choice):
            if value in span.values:
                own[name] = str(value)
        elif isinstance(value, int | float) and span.low <= value <= span.high:
            own[name] = value
    return own


def _free_rounds(learner: Ranker) -> int:
    n_rounds = getattr(learner, "n_trees", getattr(learner, "n_epochs", None))
    return _FREE_ROUNDS if n_rounds is None else min(_FREE_ROUNDS, n_rounds // 10)


def _journal(storage: str | os.PathLike[str]) -> Any:
    import optuna
    from optuna.storages import journal

    file = writable_target(storage)
    if file.exists():
        # Optuna would write into whatever it is.
        with file.open("rb") as stream:
            if (first := stream.readline()) and not first.startswith(b'{"op_code"'):
                raise DataError(f"{file} is no file of trials: name another one.")
    # Windows lets few users make the links that are Optuna's locks elsewhere.
    lock = journal.JournalFileOpenLock(str(file)) if sys.platform == "win32" else None
    return optuna.storages.JournalStorage(journal.JournalFileBackend(str(file), lock_obj=lock))


def _plan(learner: Ranker, tuned: Mapping[str, Range], train: Dataset, valid: Dataset) -> dict[str, Any]:
    fixed = {name: value for name, value in plain_parameters(learner).items() if name not in tuned}
    return {
        "ranker": learner.kind,
        "metric": str(learner.metric),
        **fixed,
        "ranges": {name: list(span) for name, span in tuned.items()},
        "train": data_digest(train),
        "valid": data_digest(valid),
    }


def _check_plan(study: Any, plan: Mapping[str, Any], storage: str | os.PathLike[str] | None) -> None:
    """Refuse to go on with what was begun otherwise."""
    before = study.user_attrs.get("plan")
    now = to_json(dict(plan)).decode()
    if before is None:
        study.set_user_attr("plan", now)
    elif before != now:
        was = from_json(before.encode())
        changed = [name for name in {**was, **plan} if to_json(was.get(name)) != to_json(plan.get(name))]
        then = words({name: was.get(name) for name in changed})
        raise DataError(
            f"{storage} has trials of another configuration: it has {then}; now it would be "
            f"{words({name: plan.get(name) for name in changed})}. Name another file, or remove that one to begin anew."
        )
