"""TREC judgements and runs: labels and scores by query id and document id."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.ids import document_ids, id_text
from swaprank.errors import DataError

LARGEST_LABEL = 10**18


@final
@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Qrels:
    """Relevance judgements: one label per judged (query, document).

    >>> import numpy as np, swaprank as sr
    >>> qrels = sr.trec.Qrels(np.array(["q1", "q1"]), np.array(["a", "b"]), np.array([2, 0]))
    >>> qrels, qrels.to_dict()
    (Qrels(2 judgements, 1 query, labels 0 to 2), {'q1': {'a': 2, 'b': 0}})
    """

    qid: AnyArray
    docid: AnyArray
    label: Ints
    subtopic: AnyArray | None = None
    """The subtopic of each judgement; a document may then have one for each subtopic of a query."""

    def __post_init__(self) -> None:
        labels = _as_arrays(self, "label")
        bad = np.flatnonzero((labels != np.round(labels)) | (np.abs(labels) >= LARGEST_LABEL))
        if len(bad):
            raise DataError(f"label, row {bad[0]}: {labels[bad[0]]} is not a whole number below 10^18.")
        object.__setattr__(self, "label", np.asarray(self.label).astype(np.int64, copy=False))
        if self.subtopic is not None:
            ids = document_ids(self.subtopic, len(labels), "subtopic").astype(str, copy=False)
            object.__setattr__(self, "subtopic", ids)

    def __repr__(self) -> str:
        labels = f", labels {self.label.min()} to {self.label.max()}" if len(self.label) else ""
        subtopics = "" if self.subtopic is None else ", with subtopics"
        return f"Qrels({_counted(self.qid, 'judgement')}{labels}{subtopics})"

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Labels by query and document, in the form of pytrec_eval and ir_measures.

        With subtopics, the label of a document is the largest that it has for any of them.
        """
        if self.subtopic is None:
            return _nested(self.qid, self.docid, self.label)
        return {
            qid: {docid: max(labels.values()) for docid, labels in documents.items()}
            for qid, documents in self.subtopic_labels().items()
        }

    def subtopic_labels(self) -> dict[str, dict[str, dict[str, int]]]:
        """Labels by query, document and subtopic; empty without subtopics.

        >>> import numpy as np, swaprank as sr
        >>> ids, labels = np.array(["a", "a"]), np.array([1, 0])
        >>> sr.trec.Qrels(np.array(["q1", "q1"]), ids, labels, subtopic=["east", "west"]).subtopic_labels()
        {'q1': {'a': {'east': 1, 'west': 0}}}
        """
        nested: dict[str, dict[str, dict[str, int]]] = {}
        if self.subtopic is not None:
            columns = (self.qid, self.docid, self.subtopic, self.label)
            for qid, docid, subtopic, label in zip(*(column.tolist() for column in columns), strict=True):
                nested.setdefault(qid, {}).setdefault(docid, {})[subtopic] = label
        return nested


@final
@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Run:
    """The results of a system: one score per retrieved (query, document).

    >>> import numpy as np, swaprank as sr
    >>> run = sr.trec.Run(np.array(["7", "7"]), np.array(["b", "a"]), np.array([0.5, 1.5]))
    >>> run.scores_for(sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7], docid=["a", "b"]))
    array([1.5, 0.5])
    """

    qid: AnyArray
    docid: AnyArray
    score: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _as_arrays(self, "score"))

    def __repr__(self) -> str:
        return f"Run({_counted(self.qid, 'result')})"

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Scores by query and document, in the form of pytrec_eval and ir_measures."""
        return _nested(self.qid, self.docid, self.score)

    def scores_for(self, data: Dataset) -> Floats:
        """The scores of a data set's documents in row order, matched by query id and document id."""
        if data.docid is None:
            raise DataError("a run is matched by document ids, but this data set has none.")
        scores = self.to_dict()
        found = np.full(len(data), np.nan)
        missing: list[tuple[int, str]] = []
        docids = data.docid.astype(str)
        for query, qid in enumerate(map(id_text, data.qids.tolist())):
            of_query = scores.get(qid, {})
            for row in data.rows(query).tolist():
                score = of_query.get(docids[row])
                if score is None:
                    missing.append((row, qid))
                else:
                    found[row] = score
        if missing:
            row, qid = min(missing)
            raise DataError(
                f"the run has no score for {len(missing):,} of {len(data):,} documents; "
                f"the first is '{docids[row]}' of query '{qid}' (row {row})."
            )
        return found


def _counted(qids: AnyArray, what: str) -> str:
    n, n_queries = len(qids), len(np.unique(qids))
    return f"{n:,} {what}{'' if n == 1 else 's'}, {n_queries:,} {'query' if n_queries == 1 else 'queries'}"


def _as_arrays(judged: Qrels | Run, name: str) -> Floats:
    """Convert the ids to text, check that there is one per value, and return the values as floats."""
    try:
        values = np.asarray(getattr(judged, name), np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers: {error}.") from None
    if values.ndim != 1 or not np.isfinite(values).all():
        raise DataError(f"{name} must be one finite number per document.")
    for ids in ("qid", "docid"):
        object.__setattr__(judged, ids, document_ids(getattr(judged, ids), len(values), ids).astype(str, copy=False))
    return values


def _nested(qids: AnyArray, docids: AnyArray, values: AnyArray) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for qid, docid, value in zip(qids.tolist(), docids.tolist(), values.tolist(), strict=True):
        nested.setdefault(qid, {})[docid] = value
    return nested
