"""Rows of Spark and of Ray, which workers get as Arrow tables, as data sets of whole queries."""

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Features
from swaprank.cluster.parts import DataPart, Parts
from swaprank.collective import Collective, allgather
from swaprank.data.dataset import Dataset
from swaprank.data.frames import check_roles
from swaprank.data.frames import column_names as names_in_memory
from swaprank.data.matching import checked_names
from swaprank.errors import DataError, Hint

VECTORS = "features"
"""The column of vectors that is taken if there is one and nothing else is said, as in Spark ML."""
_OF_TRAINING = ("sample_weight", "query_weight", "docid")
_PART_ROWS = 2**17
"""Rows that make a part, and more as long as its last query goes on."""


class RowColumns(NamedTuple):
    """The columns of a table by their use."""

    features: tuple[str, ...]
    """Columns of features; or one column of vectors, which has them all."""
    is_vector: bool
    label: str
    qid: str
    roles: Mapping[str, str]
    """Other columns, by the keywords of `Dataset.from_frame`."""
    side: tuple[str, ...] = ()
    """Columns that metrics and goals name."""
    categorical: tuple[str | int, ...] = ()
    names: tuple[str, ...] | None = None
    """The names of the entries of vectors; None for numbers."""

    def needed(self) -> list[str]:
        """All columns that are used."""
        return list(dict.fromkeys((self.label, self.qid, *self.roles.values(), *self.side, *self.features)))


class Rows(NamedTuple):
    """A data set in a data frame of Spark or a data set of Ray."""

    data: Any
    columns: RowColumns

    def as_parts(self) -> Parts:
        """It, as `fit` takes data on a cluster."""
        return Parts([DataPart(f"{type(self.data).__module__.partition('.')[0]} rows", self)])


def chosen_columns(
    columns: Sequence[str],
    vectors: Collection[str],
    label: str,
    qid: str,
    features: str | Sequence[str] | None = None,
    *,
    side: Sequence[str] = (),
    categorical: Iterable[str | int] | None = None,
    **roles: str | None,
) -> RowColumns:
    """The columns of a table by their use; DataError if one is missing or used twice.

    Args:
        columns: All columns of the table.
        vectors: Those that hold vectors or lists of numbers.
        label: The column of labels.
        qid: The column of query ids.
        features: Columns of features, or one column of vectors. By default the vectors called "features", or if there
            are none, all columns that have no other use.
        side: Columns that metrics and goals name.
        categorical: Features whose values are categories.
        roles: Other columns by the keywords of `Dataset.from_frame`.

    >>> from swaprank.cluster.arrow_rows import chosen_columns
    >>> chosen_columns(["query", "clicked", "bm25"], [], "clicked", "query", docid=None).features
    ('bm25',)
    >>> chosen_columns(["query", "clicked", "age", "features"], ["features"], "clicked", "query").is_vector
    True
    """
    named = {role: name for role, name in roles.items() if name is not None}
    taken = {"label": label, "qid": qid, **named, **{f"side column {name}": name for name in side}}
    chosen = feature_columns([name for name in columns if name not in taken.values()], vectors, features)
    check_roles(taken, chosen, columns)
    if not chosen:
        raise DataError(f"the table has no feature columns besides {', '.join(taken.values())}.")
    is_vector = chosen[0] in vectors
    return RowColumns(chosen, is_vector, label, qid, named, tuple(side), tuple(categorical or ()))


def validation_rows(
    name: str, given: Any, columns: RowColumns, column_names: Callable[[Any], Sequence[str] | None]
) -> Any:
    """A validation set as `fit` takes it: rows of the engine as Parts, tables in memory as a Dataset, others as is.

    Args:
        name: The name of the set.
        given: A table, a tuple of a table and its columns of labels and query ids, or anything that `fit` takes.
        columns: Those of the training data.
        column_names: The columns of a table of the engine; None for anything else.
    """
    is_named = isinstance(given, tuple) and len(given) == len(("X", "y", "qid")) and isinstance(given[-1], str)
    data, label, qid = given if is_named else (given, columns.label, columns.qid)
    of_engine = column_names(data)
    names = names_in_memory(data) if of_engine is None else of_engine
    if isinstance(data, Dataset) or not names:
        return given
    # Weights are of training: validation data may lack them.
    roles = {role: each for role, each in columns.roles.items() if role not in _OF_TRAINING or each in names}
    own = columns._replace(label=label, qid=qid, roles=roles)
    try:
        check_roles({"label": label, "qid": qid, **roles}, columns.features, names)
        return _from_table(data, own) if of_engine is None else Rows(data, own).as_parts()
    except DataError as error:
        raise DataError(f"the set '{name}': ", error) from None


def _from_table(table: Any, columns: RowColumns, features: Sequence[str] | None = None) -> Dataset:
    return Dataset.from_frame(
        table,
        columns.label,
        columns.qid,
        columns.features if features is None else features,
        **columns.roles,
        columns=columns.side,
        categorical_features=columns.categorical,
    )


def feature_columns(
    columns: Sequence[str], vectors: Collection[str], features: str | Sequence[str] | None
) -> tuple[str, ...]:
    """The columns of features, or the one column of vectors."""
    if features is None:
        chosen: tuple[str, ...] = (VECTORS,) if VECTORS in vectors and VECTORS in columns else tuple(columns)
    else:
        chosen = (features,) if isinstance(features, str) else tuple(features)
    found = [name for name in chosen if name in vectors]
    if found and len(chosen) > 1:
        raise DataError(
            f"column '{found[0]}' holds vectors: let it have all features, ",
            Hint("features", found[0]),
            ", or take its numbers apart into columns; or choose columns with ",
            Hint("features", [name for name in chosen if name not in vectors][:2]),
            ".",
        )
    return chosen


def vector_to_score(
    columns: Sequence[str], vectors: Collection[str], known: Sequence[str], features: str | None
) -> str | None:
    """The column of vectors to score, or None if columns have the features of the ranker.

    Args:
        columns: All columns.
        vectors: Those that hold vectors.
        known: The features of the ranker.
        features: The column that was asked for.
    """
    if features is None:
        return VECTORS if VECTORS in vectors and not {*known} <= {*columns} else None
    if features not in vectors:
        raise DataError(f"features must be the name of a column of vectors; found {features!r}.")
    return features


def dataset_of(table: Any, columns: RowColumns, where: str) -> Dataset:
    """An Arrow table as a data set; errors begin with `where`.

    >>> import pyarrow as pa
    >>> from swaprank.cluster.arrow_rows import RowColumns, dataset_of
    >>> table = pa.table({"q": [7, 7], "y": [0, 1], "x": [[0.5, 2.0], [1.5, None]]})
    >>> dataset_of(table, RowColumns(("x",), True, "y", "q", {}), "part 0").features.tolist()
    [[0.5, 2.0], [1.5, nan]]
    """
    check_values(table, columns, where)
    try:
        return _from_table(*_with_entries(table, columns)) if columns.is_vector else _from_table(table, columns)
    except DataError as error:
        raise DataError(f"{where}: ", error) from None


def check_values(table: Any, columns: RowColumns, where: str) -> None:
    """Raise DataError if a row lacks a value that it needs; its number would say nothing where rows are distributed."""
    for name in (columns.label, columns.qid, *columns.roles.values()):
        if table[name].null_count:
            raise DataError(f"{where}: column '{name}' has rows without a value: leave them out, or fill it.")


def _with_entries(table: Any, columns: RowColumns) -> tuple[Any, RowColumns, Sequence[str]]:
    """The table with a column for each entry of its vectors, and their names."""
    import pyarrow as pa

    (column,) = columns.features
    matrix = matrix_of(table[column], column)
    names = checked_names(columns.names, matrix.shape[1])
    table = table.drop_columns([column])
    for name, values in zip(names, matrix.T, strict=True):
        table = table.append_column(name, pa.array(values))
    return table, columns, names


def matrix_of(column: Any, name: str) -> Features:
    """An Arrow column of vectors or lists of equal length as a matrix; numbers that are missing are NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # of no chunks, or of several if they are large
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.null_count:
        raise DataError(f"column '{name}' has rows without a vector: leave them out.")
    values = array.flatten()
    width = len(values) // max(1, len(array))
    lengths = np.unique(pc.list_value_length(array).to_numpy(zero_copy_only=False))
    if len(lengths) > 1:
        raise DataError(f"column '{name}' has vectors of {lengths[0]} and of {lengths[-1]} numbers: all need the same.")
    with np.errstate(over="ignore"):
        matrix: Features = values.to_numpy(zero_copy_only=False).astype(np.float32).reshape(len(array), width)
    return matrix


class KeptPart(NamedTuple):
    """A part of whole queries in a file of this worker; called, it is the data set."""

    file: Path
    n_queries: int

    def __call__(self) -> Dataset:
        """Read the queries."""
        data: Dataset = pickle.loads(self.file.read_bytes())  # noqa: S301 - written by this process
        return data


def whole_queries(
    batches: Iterable[Any], number: str, columns: Sequence[RowColumns], where: str, folder: Path
) -> list[list[KeptPart]]:
    """Parts of each data set from Arrow batches that are sorted by data set and query.

    Rows arrive once, and training reads them twice, for cuts and for bins: so parts are kept in files, and only one of
    them is in memory.

    Args:
        batches: Rows of several data sets.
        number: The column that has the number of the row's data set.
        columns: Those of each data set.
        where: What parts are called in messages.
        folder: For the files.
    """
    parts: list[list[KeptPart]] = [[] for _ in columns]
    for table in _cut_between_queries(batches, number, columns[0].qid):
        found = table[number].to_numpy()
        for position, of_set in enumerate(columns):
            rows = np.flatnonzero(found == position)
            if len(rows):
                data = dataset_of(table.slice(rows[0], len(rows)), of_set, where)
                file = folder / f"{position}-{len(parts[position])}"
                file.write_bytes(pickle.dumps(data, pickle.HIGHEST_PROTOCOL))
                parts[position].append(KeptPart(file, data.n_queries))
    return parts


def _cut_between_queries(batches: Iterable[Any], number: str, qid: str) -> Iterator[Any]:
    """Tables of whole queries."""
    import pyarrow as pa

    waiting, n_rows = list[Any](), 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            n_rows += batch.num_rows
        if n_rows >= _PART_ROWS:
            table = pa.Table.from_batches(waiting)
            cut = _start_of_last_query(table, number, qid)
            if cut:
                yield table.slice(0, cut)
            waiting, n_rows = table.slice(cut).to_batches(), table.num_rows - cut
    if n_rows:
        yield pa.Table.from_batches(waiting)


def _start_of_last_query(table: Any, number: str, qid: str) -> int:
    import pyarrow.compute as pc

    same = [pc.equal(table[name], table[name][-1]) for name in (number, qid)]
    # Rows without a query id are an error later.
    is_last = pc.fill_null(pc.and_(*same), fill_value=False).to_numpy()
    return int(np.argmax(is_last)) if is_last.any() else table.num_rows


def evened(collective: Collective, sets: Mapping[str, Sequence[KeptPart]], name: str) -> dict[str, list[DataPart]]:
    """The parts of each data set; of one so small that a worker has no query of it, the workers share the queries.

    Args:
        collective: All workers call this.
        sets: The parts of this worker by data set, as errors call it; the same data sets on all workers.
        name: The name of this worker's parts.
    """
    own = np.array([sum(part.n_queries for part in parts) for parts in sets.values()], np.int64)
    result = {where: [DataPart(name, part) for part in parts] for where, parts in sets.items()}
    for (where, parts), of_workers in zip(sets.items(), collective.gather(own).T, strict=True):
        if of_workers.min() == 0:
            check_queries(where, int(of_workers.sum()), collective.size)
            result[where] = [DataPart(name, each) for each in _in_turns(collective, [part() for part in parts])]
    return result


def check_queries(where: str, n_queries: int, n_workers: int) -> None:
    """Raise DataError if there are fewer queries than workers."""
    if n_queries == 0:
        raise DataError(f"{where} has no documents.")
    if n_queries < n_workers:
        raise DataError(
            f"{where} has {n_queries:,} {'query' if n_queries == 1 else 'queries'} for {n_workers:,} workers, each of "
            "which needs one: take more queries, or ",
            Hint("n_workers", n_queries),
            ".",
        )


def _in_turns(collective: Collective, parts: Sequence[Dataset]) -> list[Dataset]:
    """Every so many queries of the parts of all workers."""
    content = BytesIO(allgather(collective, np.frombuffer(pickle.dumps(list(parts)), np.uint8)).tobytes())
    found, n_before = list[Dataset](), 0
    for _ in range(collective.size):
        for data in pickle.load(content):  # noqa: S301 - of a worker of this training
            first = (collective.rank - n_before) % collective.size
            if first < data.n_queries:
                found.append(data.subset(slice(first, None, collective.size)))
            n_before += data.n_queries
    return found
