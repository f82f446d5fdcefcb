"""`fit` with data on a cluster: the same arguments, the same result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swaprank.cluster.dask_training import fit_on_dask
from swaprank.cluster.detect import is_distributed
from swaprank.cluster.event_handler import Callbacks
from swaprank.cluster.parts import Parts, as_parts
from swaprank.data.dataset import Dataset
from swaprank.errors import ArgumentError, DataError, Interrupted, ParameterError
from swaprank.metrics.metric import Metric
from swaprank.rankers.rounds import Callback, Progress, as_checkpoint, checked_callbacks, shown_trainings

if TYPE_CHECKING:
    from swaprank.rankers.training import TrainableRanker

_COLUMNS = {"y": "label", "qid": "qid", "sample_weight": "sample_weight", "base_score": "base_score"}
"""Arguments of `fit` that name columns of a Dask data frame, and what `Parts.from_frame` calls them."""


def fit_on_cluster(
    ranker: TrainableRanker,
    X: Any,
    *,
    valid: Any = None,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    base_ranker: Any = None,
    callbacks: Any = (),
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    verbose: bool | int = False,
    **columns: Any,
) -> TrainableRanker:
    """Fit the ranker on the workers of the current Dask client; `columns` are the other arguments of `fit`."""
    ranker.check_parameters()
    if not ranker.can.workers:
        raise ParameterError(
            f"{type(ranker).__name__} has no training on a cluster: LambdaMART, MART and RandomForest have."
        )
    names = _column_names(columns)
    data = as_parts(X, **names)
    sets = {name: _validation_parts(name, each, names) for name, each in _by_name(valid).items()}
    kept = as_checkpoint(checkpoint, checkpoint_every)
    own = checked_callbacks(callbacks)
    with shown_trainings(verbose, ranker.can.round_name) as shown:
        trained = fit_on_dask(
            ranker,
            data,
            sets,
            Callbacks(
                display=[_of_progress(each) for each in shown("")], deciding=[_of_progress(each) for each in own]
            ),
            None if kept is None else (str(kept.path), kept.every),
            metrics=metrics,
            base_ranker=base_ranker,
        )
    ranker.learned_ = trained.ranker.learned_
    if ranker.interrupted_:
        raise Interrupted(ranker)
    return ranker


def _of_progress(callback: Callback) -> Any:
    return lambda finished: callback(Progress(*finished))


def _column_names(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Parts.from_frame`."""
    names = {}
    for argument, value in given.items():
        if value is None:
            continue
        if argument == "categorical_features":
            names[argument] = value
        elif argument not in _COLUMNS:
            raise ArgumentError(f"{argument} cannot be given for data on a cluster; use columns, or Datasets as parts.")
        elif not isinstance(value, str):
            raise DataError(
                f"{argument} must be the name of a column of the Dask data frame; found {type(value).__name__}."
            )
        else:
            names[_COLUMNS[argument]] = value
    return names


def _by_name(valid: Any) -> dict[str, Any]:
    if valid is None:
        return {}
    return {str(name): each for name, each in valid.items()} if isinstance(valid, Mapping) else {"valid": valid}


def _validation_parts(name: str, given: Any, names: Mapping[str, Any]) -> Parts:
    if isinstance(given, Dataset):
        return Parts([given])
    if not is_distributed(given):
        raise DataError(
            f"the set '{name}' must be a Dataset, or in parts as the training data is; found {type(given).__name__}."
        )
    is_frame = hasattr(given, "to_delayed") and hasattr(given, "columns")
    return as_parts(given, **(names if is_frame else {}))
