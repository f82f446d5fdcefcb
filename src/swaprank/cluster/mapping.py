"""A function of every part of a data set on a cluster: for prediction and evaluation."""

from collections.abc import Callable
from typing import Any

from swaprank.cluster.parts import FilePart, Parts


def each_part(data: Parts, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Delayed values of `function(part, *arguments)`, one for each part; a part without documents is None."""
    from dask.delayed import delayed

    call = delayed(function, pure=False)
    # Sent once, and not with every part.
    shared = [delayed(argument) for argument in arguments]
    return [call(_documents(part), *shared) for part in data.parts]


def _documents(part: Any) -> Any:
    """A delayed Dataset."""
    from dask.delayed import delayed

    return delayed(FilePart.read)(part) if isinstance(part, FilePart) else delayed(part.value)


def scores_of_frame(frame: Any, predict: Callable[[Any], Any]) -> Any:
    """A Dask series of scores, with the index of the frame: `predict` is called with each partition."""
    return frame.map_partitions(_scores_of_partition, predict, meta=("score", "float64"))


def _scores_of_partition(partition: Any, predict: Callable[[Any], Any]) -> Any:
    import pandas

    return pandas.Series(predict(partition) if len(partition) else [], index=partition.index, name="score", dtype=float)
