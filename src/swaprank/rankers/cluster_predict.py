"""`predict` with data on a cluster: scores stay there until they are computed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from swaprank.arrays import Floats
from swaprank.cluster.mapping import each_part, scores_of_frame
from swaprank.cluster.parts import as_parts
from swaprank.data.dataset import Dataset

if TYPE_CHECKING:
    from swaprank.rankers.fitted_ranker import FittedRanker


def predict_on_cluster(ranker: FittedRanker, X: Any) -> Any:
    """A Dask series for a Dask data frame; for parts, a list of delayed arrays, one per part."""
    ranker.check_fitted()
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        return scores_of_frame(X, partial(_scores_of_rows, ranker))
    return each_part(as_parts(X), _scores_of_part, ranker)


def _scores_of_rows(ranker: FittedRanker, rows: Any) -> Floats:
    # Other columns, such as labels and query ids, are not features of the ranker.
    return ranker.predict(rows)


def _scores_of_part(data: Dataset | None, ranker: FittedRanker) -> Floats | None:
    return None if data is None else ranker.predict(data)
