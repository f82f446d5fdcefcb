"""The documents that an explanation is about: some documents of one query, or plain rows of features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Features, Floats, Ints, read_only
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.data.matching import position_among
from swaprank.errors import DataError, Hint
from swaprank.instruments.explain import query_number
from swaprank.rankers.ranker import Ranker

QUERY = Hint("query", ..., "--query ID")


@final
@dataclass(frozen=True, eq=False)
class ListedDocuments:
    """The documents of one list, with the features and codes of the ranker, and the places of those that were chosen.

    >>> import swaprank as sr
    >>> from swaprank.instruments.listed_documents import listed_documents
    >>> data = sr.Dataset([[3.0], [2.0], [9.0]], [0, 1, 2], qid=[7, 7, 8], docid=["a", "b", "c"])
    >>> found = listed_documents(sr.LinearRegressionRanker().fit(data), data, None, ["b", 0])
    >>> found.qid, found.names, found.chosen
    (7, ('b', 'a'), (1, 0))
    """

    qid: Any
    """None for plain rows of features."""
    names: tuple[str, ...]
    """What the chosen documents are called: their ids, or "row 3"."""
    rows: Ints
    """The rows of the data; all arrays below have this order."""
    features: Features
    """Of bins, a value of each bin that the trees treat like all values of the bin."""
    base: Floats
    chosen: tuple[int, ...]
    """The places of the chosen documents among the rows."""
    is_list: bool
    """True if the rows are a list that is ranked; False for two documents that were given as rows of features."""

    def scores(self, ranker: Ranker) -> Floats:
        """The score of each document of the list."""
        return ranker.model_.score(self.features, ranker.n_threads) + self.base


def listed_documents(ranker: Ranker, data: Any, query: Any, documents: list[Any]) -> ListedDocuments:
    """Find documents of one query by row number or by document id; with data None, they are rows of features."""
    ranker.check_fitted()
    if data is None:
        return _plain_rows(ranker, documents)
    if not isinstance(data, Dataset):
        features = ranker._features_of(data)
        chosen = tuple(position_among("row", document, len(features)) for document in documents)
        rows, names = np.arange(len(features)), tuple(f"row {place}" for place in chosen)
        return ListedDocuments(None, names, rows, features, np.zeros(len(features)), chosen, True)
    number = None if query is None else query_number(data, query)
    found = _in_one_query(data, number, documents)
    at = int(query_of_row(data.indptr, data.order)[found[0]])
    rows, part = np.asarray(data.rows(at)), data.subset([at])
    base = np.zeros(len(rows)) if part.base_score is None else part.base_score
    return ListedDocuments(
        qid=data.qids.tolist()[at],
        names=tuple(document_name(data, row) for row in found),
        rows=rows,
        features=read_only(ranker._of_rows(part, lambda rows: np.asarray(rows))),
        base=base,
        chosen=tuple(int(np.searchsorted(rows, row)) for row in found),
        is_list=True,
    )


def document_name(data: Dataset, row: int) -> str:
    """The id of a document, or "row 3" if it has none."""
    return str(data.docid[row]) if data.docid is not None and str(data.docid[row]) else f"row {row}"


def _plain_rows(ranker: Ranker, documents: list[Any]) -> ListedDocuments:
    names = [str(name) for name in ranker.feature_names_in_]
    listed = [_values_in_order(document, names) for document in documents]
    if any(isinstance(document, str) or np.ndim(document) == 0 for document in listed):
        raise DataError("without ", Hint("data"), ", documents are rows of features, such as [0.3, 1.0].")
    wrapped = [document if np.ndim(document) == 2 else [list(document)] for document in listed]
    features = np.concatenate([np.asarray(ranker._features_of(one)) for one in wrapped])
    if len(features) != len(documents):
        raise DataError(
            f"a document is one row of features; found {len(features)} rows for {len(documents)} documents."
        )
    places = tuple(range(len(documents)))
    called = tuple("ABCDEFGH"[place] for place in places)
    return ListedDocuments(
        None, called, np.arange(len(places)), read_only(features), np.zeros(len(places)), places, False
    )


def _values_in_order(document: Any, names: list[str]) -> Any:
    """The values of a dictionary or of a row of a data frame, found by name; other documents as they are."""
    if hasattr(document, "to_dict") and np.ndim(document) == 1:
        document = document.to_dict()
        if not set(names) & set(document):  # an index of numbers
            return list(document.values())
    if not isinstance(document, Mapping):
        return document
    for name in names:
        if name not in document:
            raise DataError(f"a document has no feature {name!r}, which the ranker needs; None is a missing value.")
    return [document[name] for name in names]


def _in_one_query(data: Dataset, query: int | None, documents: list[Any]) -> list[int]:
    """The rows of the documents, which must be in one query: in the given one, or in the only one that has them all."""
    queries = query_of_row(data.indptr, data.order)
    candidates = [_rows_of(data, document) for document in documents]
    common = set(queries[candidates[0]].tolist())
    for rows in candidates[1:]:
        common &= set(queries[rows].tolist())
    if query is not None:
        common &= {query}
    listed = " and ".join(repr(document) for document in documents)
    if not common:
        where = "one query" if query is None else f"query {data.qids.tolist()[query]!r}"
        raise DataError(f"the documents {listed} are not in {where}: only scores of the same query can be compared.")
    if len(common) > 1:
        raise DataError(f"{len(common):,} queries have the documents {listed}: choose one by ", QUERY, ".")
    only = common.pop()
    within = [[int(row) for row in rows if queries[row] == only] for rows in candidates]
    for document, rows in zip(documents, within, strict=True):
        if len(rows) > 1:
            raise DataError(f"{len(rows)} documents of the query have the id {document!r}: give the number of a row.")
    return [rows[0] for rows in within]


def _rows_of(data: Dataset, document: Any) -> Ints:
    """The rows of a document: text is an id, a number is a row; without document ids, text may be a row, too."""
    if not isinstance(document, str):
        return np.array([position_among("row", document, len(data))])
    found = np.empty(0, np.int64) if data.docid is None else np.flatnonzero(data.docid.astype(str) == document)
    if len(found) == 0 and data.docid is None and document.isdecimal():
        return np.array([position_among("row", int(document), len(data))])
    if len(found) == 0:
        advice = (
            "the data has no document ids; give the number of a row." if data.docid is None else "look for it in docid."
        )
        raise DataError(f"there is no document {document!r}: {advice}")
    return found
