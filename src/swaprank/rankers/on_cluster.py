"""Train and predict with data on a cluster: the same calls, the same results."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.cluster.dask_launcher import Dask
from swaprank.cluster.event_handler import Callbacks
from swaprank.cluster.launcher import Launcher
from swaprank.cluster.parts import Parts
from swaprank.cluster.training import train_on_cluster
from swaprank.cluster.worker_task import WorkerResult
from swaprank.data.dataset import Dataset
from swaprank.metrics.metric import Metric
from swaprank.rankers.rounds import Callback, Checkpoint, Progress
from swaprank.rendering.bars import LOGGER

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker
    from swaprank.rankers.training import TrainableRanker


def learn_on_cluster(
    ranker: "TrainableRanker",
    data: Parts,
    valid: Mapping[str, Dataset | Parts],
    *,
    metrics: str | Metric | Sequence[str | Metric] | None = None,
    base_ranker: Any = None,
    display: Sequence[Callback] = (),
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
    cluster: Launcher | None = None,
    notice: Callable[[str], object] = LOGGER.info,
) -> WorkerResult:
    """Train on the workers of a cluster; the ranker takes what was learned from the result.

    Args:
        ranker: Not fitted, with checked parameters.
        data: The training data.
        valid: The validation sets by name.
        metrics: As for `fit`.
        base_ranker: As for `fit`.
        display: Callbacks that training does not wait for.
        callbacks: Callbacks whose answers may stop training.
        checkpoint: A file of this machine.
        cluster: By default that of the current Dask client.
        notice: Called with a sentence when a worker was lost.
    """
    ranker.check_can_train(on_cluster=True)
    return train_on_cluster(
        Dask() if cluster is None else cluster,
        ranker,
        data,
        {name: Parts([each]) if isinstance(each, Dataset) else each for name, each in valid.items()},
        Callbacks([_of_round(each) for each in display], [_of_round(each) for each in callbacks], notice),
        None if checkpoint is None else (str(checkpoint.path), checkpoint.every),
        metrics=metrics,
        base_ranker=base_ranker,
    )


def _of_round(callback: Callback) -> Any:
    return lambda finished: callback(Progress(*finished))


def predict_on_cluster(ranker: "Ranker", data: Any) -> Any:
    """A Dask series for a Dask data frame, an array for an array; for parts, a list of delayed arrays, one per part."""
    ranker.check_fitted()
    if not isinstance(data, Parts):
        rows = data.rechunk({1: -1})
        return rows.map_blocks(_scores_of_block, ranker, drop_axis=1, dtype=float, meta=np.empty(0))
    if data.frame is not None:
        return data.frame.map_partitions(_scores_of_rows, ranker, meta=("score", "float64"))
    return data.map(_scores_of_part, ranker)


def _scores_of_rows(rows: Any, ranker: "Ranker") -> Any:
    """A series with the index of the partition; columns that are no features, such as labels, are left out."""
    import pandas

    return pandas.Series(ranker.predict(rows) if len(rows) else [], index=rows.index, name="score", dtype=float)


def _scores_of_block(rows: Any, ranker: "Ranker") -> Floats:
    return ranker.predict(rows) if len(rows) else np.empty(0)


def _scores_of_part(data: Dataset | None, ranker: "Ranker") -> Floats | None:
    return None if data is None else ranker.predict(data)
