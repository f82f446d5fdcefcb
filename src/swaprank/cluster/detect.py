"""Whether data is on a cluster, found out without importing Dask."""

from typing import Any

from swaprank.cluster.parts import Parts


def is_distributed(X: Any) -> bool:
    """Whether X is `Parts`, a Dask collection, a delayed value, a future of Dask, or a list of such.

    >>> import numpy as np
    >>> from swaprank.cluster.detect import is_distributed
    >>> is_distributed(np.zeros((2, 3))), is_distributed([[1.0, 2.0]])
    (False, False)
    """
    if isinstance(X, list | tuple):
        return len(X) > 0 and _of_dask(X[0])
    return isinstance(X, Parts) or _of_dask(X)


def _of_dask(X: Any) -> bool:
    # Frames, arrays, bags and delayed values have a graph; a future is a class of distributed.
    kind = type(X)
    return hasattr(kind, "__dask_graph__") or (kind.__module__ == "distributed.client" and kind.__name__ == "Future")
