"""Tables of clicks in files: columns by role, whole or in blocks."""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.frames import role_columns
from swaprank.data.id_numbers import BLOCK, Numbered
from swaprank.data.ids import integers_or_text
from swaprank.errors import DataError, Hint, Row, by_line, import_extra
from swaprank.files import content_suffix, replacing
from swaprank.reading.block_reading import table_blocks
from swaprank.reading.formats import TABLE_SUFFIXES, is_table
from swaprank.reading.tables import is_separated, polars_table, with_numbers

_NO_FEATURE = (
    ": name the columns that are features with ",
    Hint("features", [...], "--features"),
    ", and those that describe the session with ",
    Hint("context", [...], "--context"),
    ".",
)


class TableRoles(NamedTuple):
    """The names of the columns of a table, by role."""

    ids: Mapping[str, str]
    numbers: Mapping[str, str]
    features: Sequence[str] | None = ()
    """None for all columns without another role."""
    context: Sequence[str] = ()

    @property
    def wanted(self) -> list[str] | None:
        """The columns to read; None for all."""
        if self.features is None:
            return None
        return [*self.ids.values(), *self.numbers.values(), *self.features, *self.context]


def check_is_table(file: Path) -> None:
    """Raise DataError unless the file is a table."""
    if not is_table(file):
        raise DataError(f"{file}: a click log is a table, whose name ends in {', '.join(TABLE_SUFFIXES)}.")


def file_columns(file: Path, roles: TableRoles) -> dict[str, Any]:
    """The columns of a file by role. Without features, a Parquet file is never in memory as a whole."""
    if content_suffix(file) == ".parquet" and roles.wanted is not None and not roles.features:
        blocks = [columns for _, columns in block_columns(file, roles)]
        if blocks:
            return {role: _joined([block.pop(role) for block in blocks]) for role in list(blocks[0])}
    return columns_by_role(polars_table(file, list(roles.ids.values()), roles.wanted), roles, is_separated(file))


def block_columns(file: Path, roles: TableRoles) -> Iterator[tuple[int, dict[str, Any]]]:
    """The columns of a file by role, some rows at a time, after the number of rows before."""
    start = 0
    for table in table_blocks(file, list(roles.ids.values()), roles.wanted, BLOCK):
        with counting_from(start):
            columns = columns_by_role(table, roles, is_separated(file))
        yield start, columns
        start += len(table)


@contextmanager
def counting_from(start: int) -> Iterator[None]:
    """Errors about a block of rows have the numbers of the rows of the file."""
    try:
        yield
    except DataError as error:
        later = (Row(part.number + start) if isinstance(part, Row) else part for part in error.args)
        raise DataError(*later) from None


@contextmanager
def naming(file: Path) -> Iterator[None]:
    """Errors name the file, and in text the line, as an editor counts: the names of the columns are line 1."""
    try:
        yield
    except DataError as error:
        found = by_line(error, 2) if is_separated(file) else error
        raise DataError(*([] if str(found).startswith(str(file)) else [f"{file}: "]), found) from None


def _joined(parts: list[Any]) -> Any:
    """The columns of blocks of a file with the same type in all of them."""
    if isinstance(parts[0], dict):
        return {name: _joined([part[name] for part in parts]) for name in parts[0]}
    if not isinstance(parts[0], Numbered):
        return np.concatenate(parts)
    # Ids that are integers in one block may be text in another.
    kind = np.int64 if all(part.ids.dtype.kind == "i" for part in parts) else np.str_
    known, numbers = dict[Any, int](), list[AnyArray]()
    for part in parts:
        # Evaluated before the id is added: its number is the number of ids before it.
        own = [known.setdefault(each, len(known)) for each in part.ids.astype(kind).tolist()]
        numbers.append(np.array(own, np.int32)[part.number])
    return Numbered(np.concatenate(numbers), np.array(list(known), kind))


def write_columns(columns: Mapping[str, AnyArray], path: str | os.PathLike[str]) -> None:
    """Write a table to a CSV, TSV or Parquet file."""
    file = Path(path)
    check_is_table(file)
    polars = import_extra("polars", "writing tables needs Polars: pip install 'swaprank[frames]'")
    table, packed = polars.DataFrame(dict(columns)), io.BytesIO()
    if content_suffix(file) == ".parquet":
        table.write_parquet(packed)
    else:
        table.write_csv(packed, separator="\t" if content_suffix(file) == ".tsv" else ",")
    with replacing(file) as stream:
        stream.write(packed.getbuffer())


def columns_by_role(table: Any, roles: TableRoles, is_text: bool) -> dict[str, Any]:
    """The columns of a table from a file, in which ids that are all integers are so, and text is numbers elsewhere."""
    if is_text:
        table = with_numbers(table, [name for name in roles.numbers.values() if name in table.columns], (".",))
        others = {*roles.ids.values(), *roles.context, *roles.numbers.values()}
        features = [name for name in table.columns if roles.wanted is None or name in roles.wanted]
        table = with_numbers(table, [name for name in features if name not in others], _NO_FEATURE)
    columns = role_columns(table, roles.ids, roles.numbers, roles.features, roles.context)
    for role in roles.ids:
        if isinstance(columns[role], Numbered):
            columns[role] = columns[role]._replace(ids=integers_or_text(columns[role].ids))
    return columns
