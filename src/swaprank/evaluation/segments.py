"""Segments: queries in groups, by a side column or a feature, by given values, or by the size of the query."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.cluster.parts import Parts, as_parts
from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels
from swaprank.data.side_columns import MISSING, checked_values, joined_values
from swaprank.errors import DataError, did_you_mean
from swaprank.reading.formats import is_table

SLICES = ("n_documents", "n_relevant")
"""Segments that need no column: the number of documents of a query, and of those with a label above 0."""
WHOLE = "all queries"
MOST_RANGES = 4
_MOST_NUMBERS = 8
"""Numbers or dates with more different values become ranges."""
_MOST_SEGMENTS = 100


@final
@dataclass(frozen=True, eq=False)
class Segments:
    """The segment of every query.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.segments import segments_of
    >>> data = sr.Dataset([[1], [2], [3]], [0, 1, 1], qid=[7, 7, 8])
    >>> segments = segments_of(data, ["phone", "web"])
    >>> segments.names, segments.of_query.tolist()
    (('phone', 'web'), [0, 1])
    """

    by: str
    """What the queries differ by: the name of a column or slice, or "segment" for given values."""
    names: tuple[str, ...]
    of_query: Ints
    """The position in `names` of every query."""

    def __iter__(self) -> Iterator[tuple[str, Ints]]:
        """The name of each segment with the positions of its queries."""
        return ((name, np.flatnonzero(self.of_query == at)) for at, name in enumerate(self.names))


By: TypeAlias = str | Sequence[Any] | AnyArray | Segments
"""A side column or a feature, a slice, one value per query, or segments that were made of these."""


class QueryValues(NamedTuple):
    """One value per query of a data set, from which segments are made."""

    by: str
    values: AnyArray
    most: int
    """Numbers with more different values become ranges."""


def segments_of(data: Any, by: By) -> Segments:
    """The segments of the queries of a data set or of TREC judgements.

    Args:
        data: The judged documents.
        by: The name of a side column or a feature with one value per query; "n_documents" or "n_relevant"; or one value
            per query.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.segments import segments_of
    >>> data = sr.Dataset([[1], [2], [3]], [0, 1, 1], qid=[7, 7, 8])
    >>> segments_of(data, "n_documents").names
    ('1', '2')
    """
    return by if isinstance(by, Segments) else joined_segments([query_values(data, by)])


def keep_column(columns: Mapping[str, Any], by: object, file: str | os.PathLike[str]) -> dict[str, Any]:
    """The options of `read` for a file, with the column that `by` names as a side column, if it is a table.

    >>> from swaprank.evaluation.segments import keep_column
    >>> keep_column({"qid": "query"}, "device", "test.csv"), keep_column({}, "n_documents", "test.csv")
    ({'qid': 'query', 'columns': ['device']}, {})
    """
    if not isinstance(by, str) or by in SLICES or not is_table(Path(file)):
        return dict(columns)
    return {**columns, "columns": list(dict.fromkeys((*columns.get("columns", ()), by)))}


def query_values(data: Any, by: str | Sequence[Any] | AnyArray) -> QueryValues:
    """The values of the queries that `by` names or gives; see `segments_of`."""
    data = as_parts(data)
    if isinstance(data, Parts):
        raise DataError("data on a cluster has no segments: evaluate it in one process.")
    if not isinstance(data, Dataset | Qrels):
        raise DataError(f"expected a Dataset or Qrels, found {type(data).__name__}.")
    if isinstance(by, str):
        return _named(data, by)
    n_queries = data.n_queries if isinstance(data, Dataset) else len(data.to_dict())
    if np.shape(by) != (n_queries,):
        raise DataError(f"by must have one value for each of the {n_queries:,} queries, found {np.shape(by)}.")
    return QueryValues("segment", checked_values("by", by, n_queries), _MOST_NUMBERS)


def _named(data: Dataset | Qrels, name: str) -> QueryValues:
    columns = (*data.columns, *data.feature_names) if isinstance(data, Dataset) else ()
    if isinstance(data, Dataset) and name in columns:
        return QueryValues(name, data.of_queries(name), _MOST_NUMBERS)
    if name not in SLICES:
        if isinstance(data, Qrels):
            raise DataError(
                f"TREC judgements have no column '{name}': segments of them are n_documents, n_relevant, or one value "
                "per query."
            )
        raise DataError(f"there is no side column or feature '{name}'; {did_you_mean(name, (*columns, *SLICES))}")
    if isinstance(data, Qrels):
        labels = [np.array(list(of_query.values())) for of_query in data.to_dict().values()]
    else:
        labels = np.split(data.by_query(data.labels), data.indptr[1:-1])
    counts = [len(each) if name == "n_documents" else int((each > 0).sum()) for each in labels]
    return QueryValues(name, np.array(counts, dtype=np.int64), MOST_RANGES)


def joined_segments(parts: Sequence[QueryValues]) -> Segments:
    """The segments of the queries of several data sets, one after the other."""
    by, _, most = parts[0]
    values = joined_values([each.values for each in parts])
    known = values == values
    found, positions = np.unique(values[known], return_inverse=True)
    if len(found) > most and values.dtype.kind in "iufM":
        names, positions = _ranges(values[known])
    else:
        names = [f"{each:.17g}" if values.dtype.kind == "f" else str(each) for each in found]
    if len(names) > _MOST_SEGMENTS:
        raise DataError(
            f"'{by}' has {len(names):,} values, which are too many segments: group them into at most {_MOST_SEGMENTS}."
        )
    of_query = np.full(len(values), len(names), dtype=np.int64)
    of_query[known] = positions
    return Segments(by, (*names, MISSING) if not known.all() else tuple(names), of_query)


def _ranges(values: AnyArray) -> tuple[list[str], Ints]:
    """At most four ranges of about the same number of queries, named by their least and greatest values."""
    ordered = np.sort(values)
    shares = np.arange(1, MOST_RANGES + 1) * len(ordered)
    ends = np.unique(ordered[-(-shares // MOST_RANGES) - 1])
    if len(ends) == 1:  # the greatest value is that of most queries
        ends = np.array([ordered[ordered < ends[0]][-1], ends[0]])
    positions = np.searchsorted(ends, values).astype(np.int64)
    bounds = [(values[positions == at].min(), end) for at, end in enumerate(ends)]
    texts = _texts(np.array(bounds))
    return [low if low == high else f"{low} to {high}" for low, high in texts], positions


def _texts(bounds: AnyArray) -> list[tuple[str, str]]:
    """The bounds of ranges with as many digits, or as exact a time, as tell them apart."""
    n_different = len(np.unique(bounds))
    if bounds.dtype.kind == "M":
        forms = [[str(each) for each in bounds.ravel().astype(f"M8[{unit}]")] for unit in ("D", "m", "s", "ns")]
    elif bounds.dtype.kind == "f":
        forms = [[f"{each:.{digits}g}" for each in bounds.ravel().tolist()] for digits in (3, 4, 5, 6, 8, 17)]
    else:
        forms = [[str(each) for each in bounds.ravel().tolist()]]
    shown = next((texts for texts in forms if len(set(texts)) == n_different), forms[-1])
    return list(zip(shown[::2], shown[1::2], strict=True))
