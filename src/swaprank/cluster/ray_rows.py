"""Rows of a Ray data set, divided among workers by query."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from swaprank.cluster.arrow_rows import RowColumns, Rows
from swaprank.errors import DataError, import_extra


def is_ray_dataset(data: Any) -> bool:
    """True for a data set of Ray Data; found out without importing Ray."""
    return any(each.__module__.startswith("ray.data") and each.__name__ == "Dataset" for each in type(data).__mro__)


def check_dataset(data: Any) -> None:
    """Raise DataError for what is no data set of Ray Data, and MissingExtraError without Ray."""
    import_extra("ray.data", "training and scoring with Ray needs Ray Data: pip install 'swaprank[ray]'")
    if not is_ray_dataset(data):
        raise DataError(f"expected a data set of Ray Data, such as ray.data.read_parquet gives; found {_kind(data)}.")


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

    checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    # Tensors are an extension of Arrow.
    return isinstance(kind, pa.ExtensionType) or any(check(kind) for check in checks)


def divided(rows: Rows, n_workers: int) -> list[list[Any]]:
    """References to the rows of each worker: a table for each block of the data, in the order of the blocks.

    All rows of a query go to the same worker.
    """
    import ray

    split = ray.remote(_split).options(num_returns=n_workers)
    of_blocks = [split.remote(block, rows.columns, n_workers) for block in rows.data.to_arrow_refs()]
    if n_workers == 1:
        return [of_blocks]
    return [[pieces[worker] for pieces in of_blocks] for worker in range(n_workers)]


def _split(block: Any, columns: RowColumns, n_workers: int) -> Any:
    """The rows of each worker in a block; None for a block without rows, which may lack columns, too."""
    from swaprank.data.document_places import query_keys
    from swaprank.data.frames import split_columns

    if not block.num_rows:
        return None if n_workers == 1 else [None] * n_workers
    table = in_single_precision(block.select(columns.needed()), columns)
    if n_workers == 1:
        return table
    if table[columns.qid].null_count:
        raise DataError(f"column '{columns.qid}' has rows without a value: leave them out.")
    ids, rows = np.unique(split_columns(table.select([columns.qid]), {"qid": columns.qid})[1]["qid"], return_inverse=True)
    worker = (query_keys(ids) % np.uint64(n_workers)).astype(np.int64)[rows]
    return [table.take(np.flatnonzero(worker == number)) for number in range(n_workers)]


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
