"""Rows of a Ray data set, divided among workers by query."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swaprank.cluster.arrow_rows import RowColumns, Rows, check_values
from swaprank.errors import DataError, import_extra


def is_ray_dataset(data: Any) -> bool:
    """True for a data set of Ray Data; found out without importing Ray."""
    return any(each.__module__.startswith("ray.data") and each.__name__ == "Dataset" for each in type(data).__mro__)


def check_dataset(data: Any) -> None:
    """Raise DataError for what is no data set of Ray Data, and MissingExtraError without Ray."""
    import_extra("ray.data", "training and scoring with Ray needs Ray Data: pip install 'swaprank[ray]'")
    if not is_ray_dataset(data):
        raise DataError(f"expected a data set of Ray Data, such as from ray.data; found {_kind(data)}.")


def _kind(data: Any) -> str:
    return f"{type(data).__module__.partition('.')[0]}'s {type(data).__name__}"


def column_names(data: Any) -> list[str] | None:
    """The columns of a data set of Ray Data; None for anything else."""
    return list(data.schema().names) if is_ray_dataset(data) else None


def vector_columns(dataset: Any) -> list[str]:
    """The columns with lists or tensors of numbers."""
    schema = dataset.schema()
    return [name for name, kind in zip(schema.names, schema.types, strict=True) if _is_vector(kind)]


def _is_vector(kind: Any) -> bool:
    import pyarrow as pa

    # Tensors are an extension of Arrow; another one holds objects of Python.
    stored = kind.storage_type if isinstance(kind, pa.ExtensionType) else kind
    return any(check(stored) for check in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def divided(rows: Rows, n_workers: int) -> tuple[list[list[Any]], list[int]]:
    """References to the rows of each worker, a table for each block in the order of the blocks; and how many there are.

    All rows of a query go to the same worker.
    """
    import ray

    split = ray.remote(_split).options(num_returns=n_workers + 1)
    of_blocks = [split.remote(block, rows.columns, n_workers) for block in rows.data.to_arrow_refs()]
    counts = ray.get([counts for *_, counts in of_blocks])
    for each in counts:
        if isinstance(each, DataError):
            raise each
    tables = [[pieces[worker] for pieces in of_blocks] for worker in range(n_workers)]
    return tables, [sum(of_worker) for of_worker in zip([0] * n_workers, *counts, strict=True)]


def _split(block: Any, columns: RowColumns, n_workers: int) -> list[Any]:
    """The rows of each worker in a block, and their numbers or an error.

    Ray would report an error that is raised once more for each worker, whose rows nobody asks for.
    """
    try:
        return _rows_of_workers(block, columns, n_workers)
    except DataError as error:
        return [None] * n_workers + [error]


def _rows_of_workers(block: Any, columns: RowColumns, n_workers: int) -> list[Any]:
    """The rows of each worker, and their numbers; a block without rows may lack columns, too."""
    from swaprank.data.document_places import query_keys
    from swaprank.data.frames import split_columns

    if not block.num_rows:
        return [None] * n_workers + [[0] * n_workers]
    check_values(block, columns, "the data set")
    table = in_single_precision(block.select(columns.needed()), columns)
    qids = split_columns(table.select([columns.qid]), {"qid": columns.qid})[1]["qid"]
    ids, query = np.unique(qids, return_inverse=True)
    worker = (query_keys(ids) % np.uint64(n_workers)).astype(np.int64)[query]
    return [
        *(table.take(np.flatnonzero(worker == number)) for number in range(n_workers)),
        np.bincount(worker, minlength=n_workers).tolist(),
    ]


def in_single_precision(table: Any, columns: RowColumns) -> Any:
    """The table with features as they are stored: half as much is sent."""
    import pyarrow as pa

    for position, name in enumerate(columns.features):
        at = table.column_names.index(name)
        if table.schema.field(at).type == pa.float64() and not {name, position} & {*columns.categorical}:
            table = table.set_column(at, name, table[name].cast(pa.float32(), safe=False))
    return table


def joined(pieces: Sequence[Any]) -> Any:
    """The rows of a worker as one table, or None if there are none."""
    import pyarrow as pa

    tables = [piece for piece in pieces if piece is not None and piece.num_rows]
    return pa.concat_tables(tables, promote_options="permissive") if tables else None
