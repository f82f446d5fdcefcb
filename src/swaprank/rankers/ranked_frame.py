"""Ranked lists as a data frame."""

from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.frames import split_columns
from swaprank.data.grouping import Grouping, group_rows
from swaprank.errors import ArgumentError
from swaprank.parameters import Bounds, check_parameter
from swaprank.rendering.result import Backend, make_frame

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker


def ranked_frame(ranker: "Ranker", X: Any, qid: Any, k: int | None, backend: Backend) -> Any:
    """See `Ranker.rank`; without query ids, the frame has no qid, and with k None it has all documents.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1.0], [3.0], [2.0]], [0, 2, 1], qid=[7, 7, 7], docid=["x", "y", "z"])
    >>> sr.LinearRegressionRanker(regularization=0.0).fit(data).rank(data, k=2)[["qid", "rank", "row", "docid"]]
       qid  rank  row docid
    0    7     1    1     y
    1    7     2    2     z
    """
    if k is not None:
        check_parameter("k", k, Bounds(True, 1, 10**9))
    if isinstance(X, Dataset) and qid is not None:
        raise ArgumentError("a Dataset has query ids of its own: rank takes qid only with a feature matrix.")
    if isinstance(qid, str):
        X, columns = split_columns(X, {"qid": qid})
        qid = columns["qid"]
    scores = np.asarray(ranker.predict(X))
    if isinstance(X, Dataset):
        grouping, docid = Grouping(X.qids, X.indptr, X.order), X.docid
    else:
        grouping, docid = group_rows(np.zeros(len(scores), np.int64) if qid is None else qid, len(scores)), None
    of_row = np.repeat(np.arange(len(grouping.qids)), np.diff(grouping.indptr))
    rows = np.arange(len(scores)) if grouping.order is None else grouping.order
    # Stable: tied documents stay in the order of their rows.
    order = np.lexsort((-scores[rows], of_row))
    ranks = np.arange(len(scores)) - grouping.indptr[of_row] + 1
    kept = np.full(len(scores), True) if k is None else ranks <= k
    rows, ranks, of_row = rows[order][kept], ranks[kept], of_row[kept]
    found: dict[str, Any] = (
        {} if qid is None and not isinstance(X, Dataset) else {"qid": grouping.qids[of_row].tolist()}
    )
    found |= {"rank": ranks.tolist(), "row": rows.tolist()}
    if docid is not None:
        found["docid"] = docid[rows].tolist()
    return make_frame(found | {"score": scores[rows].tolist()}, backend)


def rank_of(scores: Floats, place: int, score: float | None = None) -> int:
    """The rank of one document of a list, from 1, or that with another score; ties are in the order of the places.

    >>> import numpy as np
    >>> from swaprank.rankers.ranked_frame import rank_of
    >>> scores = np.array([0.5, 0.7, 0.5])
    >>> rank_of(scores, 2), rank_of(scores, 2, 0.7), rank_of(scores, 0, 0.7)
    (3, 2, 1)
    """
    own = scores[place] if score is None else score
    others = np.delete(scores, place)
    return 1 + int(np.sum(others > own)) + int(np.sum(others[:place] == own))
