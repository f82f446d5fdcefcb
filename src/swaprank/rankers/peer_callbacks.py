"""Callbacks of LightGBM and XGBoost: those that mean the same are translated, others are refused before training."""

from collections.abc import Callable
from typing import Any

from swaprank.errors import DataError, Hint, ParameterError
from swaprank.rankers.rounds import Callback, Progress, checked_callbacks, show_rounds
from swaprank.rendering.bars import line_bar, print_progress

_LIBRARIES = ("lightgbm", "xgboost", "catboost")
_LONGEST = 100
"""Patience that is never longer than that of the rankers' own "auto"."""
_ADVICE = {
    "_ResetParameterCallback": "give LambdaMART(learning_rate=[…]), one number per round",
    "LearningRateScheduler": "give LambdaMART(learning_rate=[…]), one number per round",
    "TrainingCheckPoint": "give fit(…, checkpoint='training.checkpoint')",
}


def translated_callbacks(callbacks: Any, watches: bool, unit: str) -> list[Callback]:
    """The callbacks that `fit` was given, with those of other libraries as functions of a Progress.

    Args:
        callbacks: One or several callbacks.
        watches: True if there is a validation set.
        unit: The name of a round.

    >>> from swaprank.rankers.peer_callbacks import translated_callbacks
    >>> translated_callbacks([], False, "tree")
    []
    """
    given = list(callbacks) if isinstance(callbacks, list | tuple) else [] if callbacks is None else [callbacks]
    if not any(map(_is_foreign, given)):
        return checked_callbacks(callbacks)
    return [_translated(each, watches, unit) if _is_foreign(each) else checked_callbacks([each])[0] for each in given]


def _is_foreign(callback: Any) -> bool:
    """True for a callback of another library, or an object that is told of rounds by its methods as theirs are."""
    of = {each.__module__.partition(".")[0] for each in type(callback).__mro__}
    return bool(of & {*_LIBRARIES}) or (hasattr(callback, "after_iteration") and not callable(callback))


def _translated(callback: Any, watches: bool, unit: str) -> Callback:
    name = type(callback).__name__
    if name in ("_EarlyStoppingCallback", "EarlyStopping"):
        return _early_stopping(callback, watches)
    if name in ("_LogEvaluationCallback", "EvaluationMonitor"):
        period = int(callback.period)
        return show_rounds(line_bar(unit, print_progress, every=period), "") if period > 0 else _nothing
    if name == "_RecordEvaluationCallback":
        return _record(callback.eval_result)
    known = _ADVICE.get(name, "give a function of a Progress, which is called after every round")
    raise ParameterError(f"callbacks: {name} of another library is not available; {known}.")


def _nothing(progress: Progress) -> None:
    """A callback that does nothing."""


def _early_stopping(callback: Any, watches: bool) -> Callable[[Progress], bool]:
    """Stop after so many rounds without a better one, as the parameter of rankers does."""
    n_rounds = int(getattr(callback, "stopping_rounds", 0) or getattr(callback, "rounds", 0))
    others = [getattr(callback, name, None) for name in ("min_delta", "_min_delta", "metric_name", "data")]
    if n_rounds > _LONGEST or any(others):
        raise ParameterError(
            f"callbacks: early stopping after {n_rounds} rounds, or with a least improvement or a set of its own, is a "
            "parameter of the ranker: ", Hint("early_stopping_rounds", n_rounds), ". The last set and the first metric "
            "are watched.",
        )  # fmt: skip
    if not watches:
        raise DataError("callbacks: early stopping needs a data set to watch: ", Hint("valid", ..., call="fit"), ".")
    return lambda progress: progress.round - progress.best_round >= n_rounds


def _record(history: dict[str, Any]) -> Callback:
    """Put what is measured into the dictionary that was given."""

    def record(progress: Progress) -> None:
        if progress.round == 1:
            history.clear()
        for name, of_set in progress.measured.items():
            for metric, value in of_set.items():
                history.setdefault(name, {}).setdefault(metric, []).append(value)

    return record
