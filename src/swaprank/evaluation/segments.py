"""Segments: queries in groups, by a side column, by given values, or by the size of the query."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.cluster.parts import Parts, as_parts
from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels
from swaprank.data.side_columns import MISSING, checked_values
from swaprank.errors import DataError, did_you_mean

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
"""A side column, a slice, one value per query, or segments that were made of these."""


def segments_of(data: Any, by: By) -> Segments:
    """The segments of the queries of a data set or of TREC judgements.

    Args:
        data: The judged documents.
        by: The name of a side column with one value per query; "n_documents" or "n_relevant"; or one value per query.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.segments import segments_of
    >>> data = sr.Dataset([[1], [2], [3]], [0, 1, 1], qid=[7, 7, 8])
    >>> segments_of(data, "n_documents").names
    ('1', '2')
    """
    if isinstance(by, Segments):
        return by
    data = as_parts(data)
    if isinstance(data, Parts):
        raise DataError("data on a cluster has no segments: evaluate a Dataset by segments.")
    if not isinstance(data, Dataset | Qrels):
        raise DataError(f"expected a Dataset or Qrels, found {type(data).__name__}.")
    if isinstance(by, str):
        values, is_slice = _named(data, by)
        return _grouped(by, values, in_ranges=is_slice)
    n_queries = data.n_queries if isinstance(data, Dataset) else len(data.to_dict())
    if np.shape(by) != (n_queries,):
        raise DataError(f"by must have one value for each of the {n_queries:,} queries, found {np.shape(by)}.")
    return _grouped("segment", checked_values("by", by, n_queries))


def _named(data: Dataset | Qrels, name: str) -> tuple[AnyArray, bool]:
    """The values of the queries, and whether they are those of a slice."""
    columns = data.columns if isinstance(data, Dataset) else {}
    if isinstance(data, Dataset) and name in columns:
        return data.of_queries(name), False
    if name not in SLICES:
        if isinstance(data, Qrels):
            raise DataError(
                f"TREC judgements have no column '{name}': segments of them are n_documents, n_relevant, or one value "
                "per query."
            )
        raise DataError(f"there is no side column '{name}'; {did_you_mean(name, (*columns, *SLICES))}")
    if isinstance(data, Qrels):
        labels = [np.array(list(of_query.values())) for of_query in data.to_dict().values()]
    else:
        labels = np.split(data.by_query(data.labels), data.indptr[1:-1])
    counts = [len(each) if name == "n_documents" else int((each > 0).sum()) for each in labels]
    return np.array(counts, dtype=np.int64), True


def _grouped(by: str, values: AnyArray, *, in_ranges: bool = False) -> Segments:
    known = values == values
    found, positions = np.unique(values[known], return_inverse=True)
    most = MOST_RANGES if in_ranges else _MOST_NUMBERS
    if len(found) > most and values.dtype.kind in "iufM":
        names, positions = _ranges(values[known])
    else:
        names = [str(value) for value in found.tolist()] if values.dtype.kind != "M" else [str(each) for each in found]
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
