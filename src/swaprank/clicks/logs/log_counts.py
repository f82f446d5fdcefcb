"""Counts of a click log, which add up: how often each document was shown and clicked at each position."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Floats, Ints, ReadOnly
from swaprank.clicks.logs.log_columns import checked_positions
from swaprank.clicks.logs.log_context import checked_context
from swaprank.clicks.logs.table_files import TableRoles, check_is_table, file_columns, naming, write_columns
from swaprank.data.frames import role_columns
from swaprank.data.id_numbers import Numbered, numbered_ids, numbered_keys, row_count
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, Row
from swaprank.files import existing_file
from swaprank.rendering.result import Backend, make_frame
from swaprank.rendering.tables import counted

_CELL = ("qid", "docid", "position", "shown", "clicks")
"""The columns of counts in a table."""


@final
@dataclass(frozen=True, eq=False, init=False, repr=False)
class LogCounts(ReadOnly):
    """How often each document of each query was shown and clicked at each position.

    Counts are all that `position_bias` by "harvest" and "trust" and `unbiased` need of a log, and they are small: a row
    of counts stands for any number of sessions. The counts of two logs add up: `yesterday + today`. `count_clicks`
    makes them from logs and files; a table of counts may also come from a data base. Equal rows are added up.

    Args:
        qid: Query ids, one per row of counts.
        docid: Document ids.
        position: Positions, from 1.
        shown: How often the document was shown there.
        clicks: How often it was clicked, at most as often as it was shown; grades are added up.
        context: Columns such as the device, by name. Rows with different values are counted apart.

    >>> import swaprank as sr
    >>> monday = sr.clicks.LogCounts(qid=[7, 7], docid=["a", "b"], position=[1, 2], shown=[10, 10], clicks=[4, 1])
    >>> tuesday = sr.clicks.LogCounts(qid=[7, 7], docid=["a", "b"], position=[1, 1], shown=[10, 30], clicks=[5, 6])
    >>> monday + tuesday
    LogCounts(3 rows, 1 query, 2 documents, positions 1 to 2, shown 60 times, 26.7% clicked)
    """

    qids: AnyArray
    """The queries, sorted."""
    pair_query: Ints
    """The number of the query of each (query, document) pair. Pairs are sorted by query, then by document id."""
    pair_docid: AnyArray
    pair_indptr: Ints
    """Query q has the pairs `pair_indptr[q]` to `pair_indptr[q + 1]`."""
    document: Ints
    """The number of each row's pair. Rows are sorted by pair, then by position, then by context."""
    position: NDArray[np.int32]
    shown: Ints
    clicks: Floats
    context: Mapping[str, AnyArray]
    """The values of each row, by name."""

    def __init__(
        self, *, qid: Any, docid: Any, position: Any, shown: Any, clicks: Any, context: Mapping[str, Any] | None = None
    ) -> None:
        n_rows = row_count(position)
        if n_rows == 0:
            raise DataError("counts need at least one row, found none.")
        queries, documents = (
            _sorted_ids(numbered_ids(name, ids, n_rows)) for name, ids in (("qid", qid), ("docid", docid))
        )
        places = checked_positions(position, n_rows)
        n_shown, n_clicks = number_column("shown", shown, n_rows), number_column("clicks", clicks, n_rows)
        bad = (n_shown != np.round(n_shown)) | (n_shown < 0) | (n_clicks < 0) | (n_clicks > n_shown + 1e-9)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                Row(row),
                f" was shown {n_shown[row]:g} times and clicked {n_clicks[row]:g} times: give whole numbers, and not "
                "more clicks than it was shown.",
            )
        groups = {name: checked_context(name, values, n_rows) for name, values in (context or {}).items()}
        self._fill(**_added_up(queries, documents, places, n_shown.astype(np.int64), n_clicks, groups))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        qid: str = "qid",
        docid: str = "docid",
        position: str = "position",
        shown: str = "shown",
        clicks: str = "clicks",
        *,
        context: Sequence[str] = (),
    ) -> LogCounts:
        """Counts from a pandas, Polars or Arrow table, given the names of its columns.

        >>> import pandas as pd, swaprank as sr
        >>> frame = pd.DataFrame({"qid": [7], "docid": ["a"], "position": [1], "shown": [3], "clicks": [1]})
        >>> sr.clicks.LogCounts.from_frame(frame).clicks.tolist()
        [1.0]
        """
        numbers = {"position": position, "shown": shown, "clicks": clicks}
        return cls(**role_columns(frame, {"qid": qid, "docid": docid}, numbers, [], context))

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.qids)

    @property
    def n_pairs(self) -> int:
        """The number of (query, document) pairs."""
        return len(self.pair_query)

    @property
    def max_position(self) -> int:
        """The last position at which a document was shown."""
        return int(self.position.max())

    @property
    def sessions(self) -> Ints:
        """The number of sessions of each query: the most documents that it showed at one position.

        A page has one document a place, so this is exact if all pages of a query have one place in common, such as the
        first. It does not depend on how a log was divided.
        """
        key = self.pair_query[self.document] * (self.max_position + 1) + self.position
        at_place = np.bincount(key, self.shown, self.n_queries * (self.max_position + 1))
        most: Floats = at_place.reshape(self.n_queries, -1).max(axis=1)
        return most.astype(np.int64)

    @property
    def n_sessions(self) -> int:
        """The number of sessions: see `sessions`."""
        return int(self.sessions.sum())

    @property
    def features(self) -> None:
        """None: counts have no features. `unbiased` takes them from a data set."""
        return

    def __repr__(self) -> str:
        parts = [
            counted(len(self.document), "row", "rows"),
            counted(self.n_queries, "query", "queries"),
            counted(self.n_pairs, "document", "documents"),
            f"positions {self.position.min()} to {self.max_position}",
            f"shown {counted(int(self.shown.sum()), 'time', 'times')}",
            f"{self.clicks.sum() / max(self.shown.sum(), 1):.1%} clicked",
            *([f"context {', '.join(self.context)}"] if self.context else []),
        ]
        return f"LogCounts({', '.join(parts)})"

    def __add__(self, other: LogCounts) -> LogCounts:
        if not isinstance(other, LogCounts):
            return NotImplemented
        return sum_of_counts([self, other])

    def in_context(self, **chosen: Any) -> LogCounts:
        """The counts of sessions in one context, such as `device="phone"`; without any, those of all together.

        >>> import swaprank as sr
        >>> counts = sr.clicks.LogCounts(
        ...     qid=[7, 7], docid=["a", "a"], position=[1, 1], shown=[10, 30], clicks=[4, 6],
        ...     context={"device": ["phone", "desktop"]},
        ... )
        >>> counts.in_context().shown.tolist(), counts.in_context(device="phone").shown.tolist()
        ([40], [10])
        """
        kept = np.ones(len(self.document), np.bool_)
        for name, value in chosen.items():
            if name not in self.context:
                raise DataError(f"there is no context '{name}'; it has {', '.join(self.context) or 'none'}.")
            values = self.context[name]
            kept &= (values == value) | ((values != values) & (value != value))  # a missing number is not itself
        if not kept.any():
            raise DataError(
                f"no row has the context {', '.join(f'{name}={value!r}' for name, value in chosen.items())}."
            )
        columns = self.columns()
        return LogCounts(**{name: columns[name][kept] for name in _CELL}, context=None)

    def columns(self) -> dict[str, AnyArray]:
        """One array per column of a table of counts."""
        return {
            "qid": self.qids[self.pair_query[self.document]],
            "docid": self.pair_docid[self.document],
            "position": self.position,
            **self.context,
            "shown": self.shown,
            "clicks": self.clicks,
        }

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """The counts as a data frame."""
        return make_frame({name: values.tolist() for name, values in self.columns().items()}, backend)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a CSV, TSV or Parquet file: a table that other programs can read, too."""
        write_columns(self.columns(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, context: Sequence[str] = ()) -> LogCounts:
        """Read counts that were saved, or a table with the same columns.

        >>> import pathlib, tempfile, swaprank as sr
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "counts.csv"
        >>> sr.clicks.LogCounts(qid=[7], docid=["a"], position=[1], shown=[3], clicks=[1]).save(path)
        >>> sr.clicks.LogCounts.load(path).shown.tolist()
        [3]
        """
        file = existing_file(path)
        check_is_table(file)
        ids, numbers = {name: name for name in _CELL[:2]}, {name: name for name in _CELL[2:]}
        with naming(file):
            return cls(**file_columns(file, TableRoles(ids, numbers, (), context)))


def sum_of_counts(parts: Sequence[LogCounts]) -> LogCounts:
    """The counts of several logs together. Ids of different kinds are matched as text: 7 and "7" are the same."""
    names = [tuple(part.context) for part in parts]
    if len({frozenset(each) for each in names}) > 1:
        raise DataError(f"counts with different contexts do not add up: {', '.join(map(str, dict.fromkeys(names)))}.")
    columns = [part.columns() for part in parts]
    joined = {name: _joined([each[name] for each in columns]) for name in columns[0]}
    context = {name: joined.pop(name) for name in names[0]}
    return LogCounts(**joined, context=context)


def _joined(arrays: list[AnyArray]) -> AnyArray:
    is_text = {array.dtype.kind == "U" for array in arrays}
    return np.concatenate([array.astype(str) for array in arrays] if len(is_text) > 1 else arrays)


def _sorted_ids(column: Numbered) -> Numbered:
    """The same column with sorted ids."""
    ids, rank = np.unique(column.ids, return_inverse=True)
    return Numbered(rank.astype(np.int32)[column.number], ids)


def _added_up(
    queries: Numbered,
    documents: Numbered,
    position: NDArray[np.int32],
    shown: Ints,
    clicks: Floats,
    context: Mapping[str, AnyArray],
) -> dict[str, Any]:
    """The fields of counts from rows in any order, where rows of the same place are added up."""
    n_rows, n_documents = len(position), len(documents.ids)
    pairs = numbered_keys(
        lambda rows: queries.number[rows].astype(np.int64) * n_documents + documents.number[rows], n_rows
    )
    keys = np.sort(pairs.ids)
    pair = np.searchsorted(keys, pairs.ids)[pairs.number]
    by_name = sorted(context)
    group = np.zeros(n_rows, np.int64)
    for name in by_name:
        values, code = np.unique(context[name], return_inverse=True)
        group = group * len(values) + code
        # Numbered again, so that products of many columns stay small.
        group = np.unique(group, return_inverse=True)[1]
    order = np.lexsort((group, position, pair))
    of_row = [each[order] for each in (pair, position, group)]
    is_first = np.concatenate(([True], np.any([each[1:] != each[:-1] for each in of_row], axis=0)))
    first = np.flatnonzero(is_first)
    pair_query, pair_document = np.divmod(keys, n_documents)
    sizes = np.bincount(pair_query, minlength=len(queries.ids))
    return {
        "qids": queries.ids,
        "pair_query": pair_query,
        "pair_docid": documents.ids[pair_document],
        "pair_indptr": np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        "document": of_row[0][first].astype(np.int64),
        "position": of_row[1][first],
        "shown": np.add.reduceat(shown[order], first),
        "clicks": np.add.reduceat(clicks[order], first),
        "context": {name: context[name][order][first] for name in by_name},
    }
