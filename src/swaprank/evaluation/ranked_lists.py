"""Labels and scores grouped by query, from a data set or from TREC files."""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels, Run
from swaprank.data.scores import check_scores
from swaprank.errors import DataError
from swaprank.metrics.terms import Lists


class RankedLists(NamedTuple):
    """Labels, scores and ids, grouped by query."""

    qids: AnyArray
    labels: Floats
    scores: Floats
    indptr: Ints
    docid: AnyArray | None
    pool: Lists | None
    """All judged documents of each query, if some of them were not ranked."""


def ranked_lists(judged: Dataset | Qrels, scores: Any) -> RankedLists:
    """Match scores (an array in row order, or a TREC run) with the judged documents."""
    if isinstance(judged, Qrels):
        if not isinstance(scores, Run):
            raise DataError("TREC judgements need the scores as a TREC run: see read_run.")
        return _from_trec(judged, scores)
    if not isinstance(judged, Dataset):
        raise DataError(f"expected a Dataset or Qrels, found {type(judged).__name__}.")
    given = scores.scores_for(judged) if isinstance(scores, Run) else check_scores(scores, len(judged))
    return RankedLists(
        qids=judged.qids,
        labels=contiguous_floats(judged.by_query(judged.labels)),
        scores=judged.by_query(given),
        indptr=judged.indptr,
        docid=None if judged.docid is None else judged.by_query(judged.docid),
        pool=None,
    )


def _from_trec(qrels: Qrels, run: Run) -> RankedLists:
    """The run's lists for every judged query; documents without a judgement have label -1.

    Their gain is 0, they are not relevant unless `rel` is negative, and bpref ignores them. For `pairwise`, they are
    worse than any judged document, and a user's own functions are called with -1.

    A judged query without results in the run has an empty list and counts in the mean, as with trec_eval -c.
    """
    judged, answers = qrels.to_dict(), run.to_dict()
    if not judged.keys() & answers.keys():
        raise DataError("the run and the judgements have no query in common.")
    retrieved = [
        (docid, score, labels.get(docid, -1))
        for qid, labels in judged.items()
        for docid, score in answers.get(qid, {}).items()
    ]
    docids, scores, found = zip(*retrieved, strict=True)
    return RankedLists(
        qids=np.array(list(judged)),
        labels=np.array(found, dtype=np.float64),
        scores=np.array(scores),
        indptr=_bounds([len(answers.get(qid, {})) for qid in judged]),
        docid=np.array(docids),
        pool=Lists(
            np.array([label for labels in judged.values() for label in labels.values()], dtype=np.float64),
            _bounds([len(labels) for labels in judged.values()]),
        ),
    )


def _bounds(sizes: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
