"""Tables in blocks of rows, from any number of files: CSV, TSV, Parquet and Arrow."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from swaprank.data.block_source import Block, BlockSource
from swaprank.errors import DataError, MissingExtraError
from swaprank.files import content_suffix
from swaprank.reading.block_size import rows_at_once
from swaprank.reading.tables import Roles, is_separated, parsed_text, readable, table_dataset
from swaprank.reading.text_files import check_is_text, opened_unchanged, text_pieces

if TYPE_CHECKING:
    import polars

_TEXT_BYTES = 16 << 20


@final
class TableParts(BlockSource):
    """Files of tables."""

    def __init__(self, files: Sequence[Path], roles: Roles) -> None:
        if roles.docid is not None:
            raise DataError(
                f"binned data has no document ids: give ignore=['{roles.docid}'] instead of docid='{roles.docid}'."
            )
        self._files, self._roles = files, roles

    def blocks(self) -> Iterator[Block]:
        """See `BlockSource`."""
        for file in self._files:
            start = 0
            for table in _tables(file, self._roles):
                where = f"{file}, from row {start:,} on" if start else str(file)
                with warnings.catch_warnings():
                    if start:
                        # The first block of a file has said it already.
                        warnings.simplefilter("ignore")
                    try:
                        data = table_dataset(table, self._roles, is_text=is_separated(file), is_part=True)
                    except DataError as error:
                        raise DataError(f"{where}: {error}") from None
                yield Block(data, str(file))
                start += len(table)
            if not start:
                raise DataError(f"{file}: it has no documents: expected rows below the column names.")


def _tables(file: Path, roles: Roles) -> Iterator[polars.DataFrame]:
    if is_separated(file):
        yield from _separated_tables(file, [roles.qid, *roles.categorical])
        return
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"{file}: this needs PyArrow: pip install 'swaprank[frames]'") from None
    batches = _parquet_batches(file) if content_suffix(file) == ".parquet" else _arrow_batches(file)
    with readable(file), opened_unchanged(file):
        import polars

        for batch in batches:
            table: Any = polars.from_arrow(batch)
            for start in range(0, len(table), size := rows_at_once(table.width)):
                yield table[start : start + size]


def _parquet_batches(file: Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(file, memory_map=False) as opened:
        size = rows_at_once(len(opened.schema_arrow.names))
        yield from opened.iter_batches(batch_size=size)


def _arrow_batches(file: Path) -> Iterator[Any]:
    import pyarrow
    from pyarrow import ipc

    with pyarrow.OSFile(str(file)) as stream, ipc.open_file(stream) as opened:
        for number in range(opened.num_record_batches):
            yield opened.get_batch(number)


def _separated_tables(file: Path, ids: list[str]) -> Iterator[polars.DataFrame]:
    names = b""
    for block in _lines_in_quotes(file):
        content = block if not names else names + block
        with readable(file):
            table = parsed_text(content, file, ids)
        if not names:
            names = block[: block.find(b"\n") + 1]
        if len(table):
            for start in range(0, len(table), size := rows_at_once(table.width)):
                yield table[start : start + size]


def _lines_in_quotes(file: Path) -> Iterator[bytes]:
    """The text of a file, cut at line ends outside of quotes."""
    pending, is_first = bytearray(), True
    for piece in text_pieces(file):
        pending += piece
        if is_first:
            check_is_text(bytes(pending[:4096]), file)
            is_first = False
        if len(pending) < _TEXT_BYTES:
            continue
        cut = pending.rfind(b"\n") + 1
        while cut and pending.count(b'"', 0, cut) % 2:
            cut = pending.rfind(b"\n", 0, cut - 1) + 1
        if cut:
            yield bytes(pending[:cut])
            del pending[:cut]
    if pending:
        yield bytes(pending)
    if is_first:
        raise DataError(f"{file} is empty: expected one document per line.")
