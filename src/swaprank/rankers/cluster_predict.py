"""`predict` with data on a cluster: scores stay there until they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swaprank.arrays import Floats
from swaprank.cluster.parts import as_parts, is_dask_frame
from swaprank.data.dataset import Dataset

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker


def predict_on_cluster(ranker: Ranker, X: Any) -> Any:
    """A Dask series for a Dask data frame; for parts, a list of delayed arrays, one per part."""
    ranker.check_fitted()
    if is_dask_frame(X):
        return X.map_partitions(_scores_of_rows, ranker, meta=("score", "float64"))
    return as_parts(X).map(_scores_of_part, ranker)


def _scores_of_rows(rows: Any, ranker: Ranker) -> Any:
    """A series with the index of the partition; columns that are no features, such as labels, are left out."""
    import pandas

    return pandas.Series(ranker.predict(rows) if len(rows) else [], index=rows.index, name="score", dtype=float)


def _scores_of_part(data: Dataset | None, ranker: Ranker) -> Floats | None:
    return None if data is None else ranker.predict(data)
