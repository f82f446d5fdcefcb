"""Columns of a pandas, Polars or Arrow table as the arrays of a data set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Features, row_blocks
from swaprank.data.categories import Categories, categorical_positions
from swaprank.data.dense_features import DenseFeatures, dense
from swaprank.data.id_numbers import BLOCK, Numbered, numbered_texts
from swaprank.data.matching import ignored_columns, matching_columns
from swaprank.data.table_features import table_features
from swaprank.errors import THE_DATA, DataError, Hint, Part, Row, did_you_mean

if TYPE_CHECKING:
    import narwhals as nw


class TableArrays(NamedTuple):
    """The columns of a table as the arguments of `Dataset`."""

    X: DenseFeatures
    label: AnyArray
    qid: AnyArray
    roles: dict[str, Any]
    side: dict[str, AnyArray]


def columns_of(
    frame: Any,
    label: str,
    qid: str,
    features: Sequence[str] | None,
    roles: Mapping[str, str | None],
    categorical: Any = None,
    *,
    huge_is_missing: bool = False,
    side: Sequence[str] = (),
    ignore: Iterable[str] = (),
) -> TableArrays:
    """Extract the arrays of a data set from a table. The default features are all columns without another role.

    `side` are the names of side columns.

    Columns of text and of categories are categorical features, and so are those that are declared as `categorical`. A
    number beyond single precision becomes infinite, which `Dataset` rejects, or with `huge_is_missing`, missing.

    >>> import pandas as pd
    >>> from swaprank.data.frames import columns_of
    >>> frame = pd.DataFrame({"qid": ["a", "a"], "label": [0, 1], "age": [3, None], "brand": ["nike", "asics"]})
    >>> X = columns_of(frame, "label", "qid", None, {"docid": None}).X
    >>> X.names, X.values.tolist(), X.categories
    (('age', 'brand'), [[3.0, 1.0], [nan, 0.0]], {'brand': ('asics', 'nike')})
    """
    by_role = {"label": label, "qid": qid, **{role: name for role, name in roles.items() if name is not None}}
    table = _table(_with_index(frame, (*by_role.values(), *side, *(features or ()))))
    by_role = {role: str(name) for role, name in by_role.items()} | {f"side column {name}": name for name in side}
    taken = list(by_role.values())
    # Narwhals makes this list again for everybody who asks.
    columns = table.columns
    ignored = ignored_columns(ignore, taken if features is None else [*taken, *map(str, features)], columns)
    others = {*taken, *ignored}
    names = [name for name in columns if name not in others] if features is None else [str(f) for f in features]
    check_roles(by_role, names, columns)
    if not names:
        raise DataError(f"the table has no feature columns besides {', '.join(taken)}.")
    declared = categorical_positions(categorical, names)
    return TableArrays(
        X=dense(
            names, *table_features(table, names, declared, every=features is None, huge_is_missing=huge_is_missing)
        ),
        label=_numbers(table[by_role["label"]], by_role["label"]),
        qid=_ids(table[by_role["qid"]], by_role["qid"]),
        roles={role: _role(table[by_role[role]], by_role[role], role) if role in by_role else None for role in roles},
        side={name: _any_values(table[name]) for name in side},
    )


def role_columns(
    frame: Any,
    ids: Mapping[str, str],
    numbers: Mapping[str, str],
    features: Sequence[str] | None = None,
    context: Sequence[str] = (),
) -> dict[str, Any]:
    """The columns of a table by role: ids, numbers, and X if there are features, by default all other columns.

    Ids that are not numbers are numbered: there may be many rows, and few different texts.

    With names of `context`, these columns are in "context" by name. Their missing values are NaN, or None among text.

    >>> import pandas as pd
    >>> from swaprank.data.frames import role_columns
    >>> role_columns(pd.DataFrame({"page": ["a"], "place": [1]}), {"session": "page"}, {"position": "place"})
    {'session': Numbered(number=array([0], dtype=int32), ids=array(['a'], dtype='<U1')), 'position': array([1])}
    """
    table = _table(frame)
    roles = {**ids, **numbers, **{f"context {name}": name for name in context}}
    columns, taken = table.columns, {*roles.values()}
    names = [name for name in columns if name not in taken] if features is None else [str(name) for name in features]
    _check_known({**ids, **numbers}, names, context, columns)
    check_roles(roles, names, columns)
    found: dict[str, Any] = {role: _numbered_ids(table[name], name) for role, name in ids.items()}
    found |= {role: _exact_numbers(table[name], name) for role, name in numbers.items()}
    if names:
        found["X"] = dense(names, *table_features(table, names, [], every=features is None))
    if context:
        found["context"] = {name: _any_values(table[name]) for name in context}
    return found


def feature_columns(
    frame: Any, names: Any, categorical: Any, whose: str | None
) -> tuple[list[str], Features, dict[int, Categories]]:
    """The columns of a table as features, with their names and categories: all of them, or those that a model has.

    Args:
        frame: The table.
        names: The features of the model; without one, what the columns are called if not by their names.
        categorical: The features that are declared categorical, or are categorical in the model, by name or position.
        whose: The model; None if all columns are taken.
    """
    table = _table(frame)
    columns = table.columns
    if not columns:
        raise DataError(THE_DATA, " has no features.")
    chosen = None if whose is None else matching_columns(names, columns, whose, THE_DATA)
    columns = columns if chosen is None else [columns[at] for at in chosen]
    is_renamed = whose is None and names is not None and len(names) == len(columns)
    declared = categorical_positions(categorical, [str(name) for name in names] if is_renamed else columns)
    return columns, *table_features(table, columns, declared, of_model=whose is not None)


def split_columns(frame: Any, by_role: Mapping[str, str]) -> tuple[Any, dict[str, AnyArray]]:
    """A table without the columns that have a role, and these columns by role: qid and docid as ids, others as numbers.

    >>> import pandas as pd
    >>> from swaprank.data.frames import split_columns
    >>> frame = pd.DataFrame({"query": ["a", "a"], "clicked": [0, 1], "bm25": [3.2, 8.1]})
    >>> X, columns = split_columns(frame, {"y": "clicked", "qid": "query"})
    >>> list(X), columns["y"], columns["qid"]
    (['bm25'], array([0., 1.]), array(['a', 'a'], dtype='<U1'))
    """
    if not is_frame(frame):
        check_not_distributed(frame)
        role, name = next(iter(by_role.items()))
        raise DataError(f"{role}='{name}' names a column of a table, but X is of type {type(frame).__name__}.")
    table = _table(_with_index(frame, by_role.values()))
    check_roles(by_role, (), table.columns)
    columns = {role: _role(table[name], name, role) for role, name in by_role.items()}
    return table.drop(*by_role.values()).to_native(), columns


def column_names(X: Any) -> list[str]:
    """The names of the columns of a table; none for anything else. It imports and computes nothing."""
    kind = type(X)
    if hasattr(kind, "column_names"):  # Arrow
        return list(X.column_names)
    if hasattr(kind, "collect_schema"):  # Polars
        return list(X.collect_schema().names())
    return [str(name) for name in X.columns] if hasattr(kind, "columns") else []


def is_frame(X: Any) -> bool:
    """True if X is a pandas, Polars or Arrow table, or another one that narwhals supports."""
    import narwhals as nw

    return nw.dependencies.is_into_dataframe(X) or nw.dependencies.is_polars_lazyframe(X) or _is_record_batch(X)


def check_not_distributed(X: Any) -> None:
    """Raise DataError for rows of Spark and of Ray, which functions of their own take."""
    for engine, of_engine in {"spark": "pyspark.sql", "ray": "ray.data"}.items():
        if type(X).__module__.startswith(of_engine):
            raise DataError(
                THE_DATA,
                f" is rows of {engine.title()}: train with swaprank.{engine}.fit, and score with "
                f"swaprank.{engine}.transform.",
            )


def _is_record_batch(X: Any) -> bool:
    """True if X is a part of an Arrow table."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(X, arrow.RecordBatch)


def _check_known(
    roles: Mapping[str, str], features: Sequence[str], context: Sequence[str], columns: Sequence[str]
) -> None:
    """Raise DataError if a table lacks a column of a log, whose role is chosen by an argument of that name."""
    chosen: list[tuple[str, Sequence[Part]]] = [
        (name, (": choose one by ", Hint(role, ..., f"--{role} COLUMN"))) for role, name in roles.items()
    ]
    chosen += [(name, (" that describes the session",)) for name in context]
    chosen += [(name, (" for a feature",)) for name in features]
    known = {*columns}
    for name, advice in chosen:
        if name not in known:
            raise DataError(f"there is no column '{name}'", *advice, f"; {did_you_mean(name, columns)}")


def check_roles(by_role: Mapping[str, str], features: Sequence[str], columns: Sequence[str]) -> None:
    """Raise DataError if a column is missing or has two roles: a label among the features would leak into the model.

    >>> from swaprank.data.frames import check_roles
    >>> check_roles({"label": "clicked", "qid": "query"}, ["bm25"], ["query", "clicked", "bm25"])
    """
    known = {*columns}
    for name in (*by_role.values(), *features):
        if name not in known:
            raise DataError(f"there is no column '{name}'; {did_you_mean(name, columns)}")
    seen: dict[str, str] = {}
    for role, name in (*by_role.items(), *(("feature", name) for name in features)):
        if name in seen:
            both = f"twice as {role}" if seen[name] == role else f"as {seen[name]} and as {role}"
            raise DataError(f"column '{name}' is given {both}: a column has one role.")
        seen[name] = role


def _table(frame: Any) -> nw.DataFrame[Any]:
    import narwhals as nw

    if _is_record_batch(frame):
        frame = sys.modules["pyarrow"].Table.from_batches([frame])
    if nw.dependencies.is_pandas_like_dataframe(frame):
        frame = _with_text_names(frame)
    elif nw.dependencies.is_pyarrow_table(frame):
        _check_distinct(frame.column_names)
    try:
        table = nw.from_native(frame)
    except TypeError:
        raise DataError(f"expected a pandas, Polars or Arrow table, found {type(frame).__name__}.") from None
    return table.collect() if isinstance(table, nw.LazyFrame) else table


def _with_index(frame: Any, names: Iterable[Any]) -> Any:
    """The pandas table with those of the columns that are in its index, as `set_index` leaves them."""
    import narwhals as nw

    if not nw.dependencies.is_pandas_like_dataframe(frame):
        return frame
    levels = list(frame.index.names)
    found = [name for name in dict.fromkeys(names) if name in levels and name not in frame.columns]
    if not found:
        return frame
    widened = frame.copy(deep=False)
    for name in found:
        widened[name] = frame.index.get_level_values(name)
    return widened


def _with_text_names(frame: Any) -> Any:
    """The pandas table with column names as text, because narwhals takes integers for positions."""
    names = [str(name) for name in frame.columns]
    _check_distinct(names)
    if names == list(frame.columns):
        return frame
    renamed = frame.copy(deep=False)
    renamed.columns = names
    return renamed


def _check_distinct(names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the table has more than one column '{twice}': rename one of them.")


def _numbers(column: nw.Series[Any], name: str) -> AnyArray:
    import narwhals as nw

    _check_numbers(column, name)
    return column.cast(nw.Float64).to_numpy()


def _exact_numbers(column: nw.Series[Any], name: str) -> AnyArray:
    """Numbers of up to 64 bits as they are, which takes less memory."""
    _check_numbers(column, name)
    found = column.to_numpy()
    return found if found.dtype.kind in "iufb" else _numbers(column, name)


def _check_numbers(column: nw.Series[Any], name: str) -> None:
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise DataError(f"column '{name}' holds {column.dtype}, not numbers.")
    _check_no_nulls(column, name)


def _ids(column: nw.Series[Any], name: str) -> AnyArray:
    """Numbers unchanged, all other values as text."""
    _check_no_nulls(column, name)
    if "128" in str(column.dtype):
        # NumPy has no 128-bit integers.
        return np.array(column.to_list(), dtype=object)
    if column.dtype.is_integer() or column.dtype.is_float():
        return column.to_numpy()
    return np.array([str(value) for value in column.to_list()])


def _numbered_ids(column: nw.Series[Any], name: str) -> AnyArray | Numbered:
    """Numbers unchanged, all other values as numbered texts."""
    if column.dtype.is_numeric():
        return _ids(column, name)
    import narwhals as nw

    _check_no_nulls(column, name)
    if column.dtype == nw.String and len(column):
        texts = column.unique(maintain_order=True).to_list()
        number = column.replace_strict(texts, list(range(len(texts))), return_dtype=nw.Int32).to_numpy()
        return Numbered(np.require(number, np.int32), np.array(texts, dtype=str))
    return numbered_texts((column[rows].to_list() for rows in row_blocks(len(column), BLOCK)), len(column))


def _any_values(column: nw.Series[Any]) -> AnyArray:
    """Numbers and dates unchanged, all other values as text or None."""
    import narwhals as nw

    if column.dtype.is_numeric() or column.dtype in (nw.Boolean, nw.Date, nw.Datetime):
        return column.to_numpy()
    # pandas has NaN for text that is missing.
    found = [None if value is None or value != value else str(value) for value in column.to_list()]
    return np.array(found, dtype=object)


def _role(column: nw.Series[Any], name: str, role: str) -> AnyArray:
    return _ids(column, name) if role in ("qid", "docid") else _numbers(column, name)


def _check_no_nulls(column: nw.Series[Any], name: str) -> None:
    empty = np.flatnonzero(column.is_null().to_numpy())
    if len(empty):
        raise DataError(f"column '{name}', ", Row(int(empty[0])), ": the value is missing.")
