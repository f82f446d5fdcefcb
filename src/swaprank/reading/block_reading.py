"""LETOR text and tables in blocks of rows, from any number of files.

How features of LETOR text are numbered, and how many there are, is known only when all text has been read. Until then a
block has the features that were seen so far; the next time, all blocks have all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from swaprank.arrays import Features, Ints
from swaprank.data.blocks import Block, BlockSource, SampledFeatures, rows_at_once
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint, by_line, by_row, import_extra
from swaprank.files import compression, content_suffix
from swaprank.reading.group_sizes import FileQueries
from swaprank.reading.letor import comment_ids, letor_dataset, no_lines, parsed_texts
from swaprank.reading.parsing_status import LetorFormat
from swaprank.reading.tables import (
    Roles,
    is_separated,
    no_rows,
    parsed_text,
    readable,
    stored_index,
    table_dataset,
    without_index,
)
from swaprank.reading.text_files import Text, TextInMemory, check_is_text, opened_unchanged, text_blocks, text_pieces

if TYPE_CHECKING:
    import polars

    from swaprank.reading.letor_block import ParsedBlock

_TEXT_BYTES = 16 << 20


@final
class LetorBlocks(BlockSource):
    """Files of LETOR text."""

    def __init__(
        self, files: Sequence[Path], form: LetorFormat, categorical: Sequence[str], n_threads: int | None
    ) -> None:
        self._files, self._n_threads, self._form, self.fill = files, n_threads, form, form.absent
        self._categorical = list(categorical)
        self._width, self._firsts = 0, set[int]()

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        self._firsts.clear()
        for file in self._files:
            yield from self._blocks_of(file)
            if len(self._firsts) > 1:
                return

    def no_documents(self) -> DataError:
        """See `BlockSource`."""
        return no_lines(self._files[0])

    def settled(self) -> bool:
        """See `BlockSource`: not if some blocks were numbered from 1, before there was a feature 0."""
        if len(self._firsts) > 1:
            self._form, self._width = self._form._replace(zero_based=True), 0
            return False
        self._form = self._form._replace(n_features=self._width, zero_based=self._firsts == {0})
        return True

    def _blocks_of(self, file: Path) -> Iterator[Block]:
        if _is_nothing(file):
            return
        queries = FileQueries(file)
        n_documents = 0
        form = self._form._replace(with_qid=queries.sizes is None)
        for parsed in parsed_texts(file, form, _pieces_of_text(file), self._n_threads):
            self._firsts.add(parsed.first)
            if len(self._firsts) > 1:
                return
            where = f"{file}, from document {n_documents + 1:,} on"
            qid, features = queries.of([parsed], n_documents), self._widened(parsed)
            docid, categorical = comment_ids([parsed]), self._categorical or None
            data = letor_dataset(features, parsed.labels, qid, parsed.first, form, where, docid, categorical)
            yield Block(data, str(file))
            n_documents += len(parsed.labels)
        queries.check_total(n_documents)

    def _widened(self, parsed: ParsedBlock) -> Features:
        """The features with columns for all that were seen so far, or are declared categorical."""
        found = parsed.features
        numbers = [int(each) - parsed.first for each in self._categorical if str(each).isdecimal()]
        self._width = max([self._width, found.shape[1], *(number + 1 for number in numbers)])
        if found.shape[1] == self._width:
            return found
        features = np.full((len(found), self._width), self.fill, np.float32)
        features[:, : found.shape[1]] = found
        return features


def _is_nothing(file: Path) -> bool:
    """True for a part of a data set that is an empty file, or one of which nothing was compressed."""
    return not (next(text_pieces(file), b"") if compression(file) else file.stat().st_size)


def _pieces_of_text(file: Path) -> Iterator[Text]:
    """The text of a file, in pieces whose values take about the memory of one block."""
    from swaprank.reading import letor_kernel

    for block in text_blocks(file):
        n_documents, width = letor_kernel.survey(np.frombuffer(block, np.uint8))
        n_parts = -(-int(n_documents) // rows_at_once(int(width)))
        start = 0
        for part in range(1, n_parts + 1):
            stop = len(block) if part == n_parts else block.find(b"\n", len(block) * part // n_parts) + 1
            if stop > start:
                yield TextInMemory(block[start:stop])
                start = stop


@final
class TableBlocks(BlockSource):
    """Files of tables."""

    def __init__(self, files: Sequence[Path], roles: Roles) -> None:
        if roles.query_weight is not None:
            raise DataError(
                "data in blocks has weights of rows: give ",
                Hint("sample_weight", roles.query_weight),
                " instead of ",
                Hint("query_weight", roles.query_weight),
                ".",
            )
        self._files, self._roles = files, roles

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        ids = [self._roles.qid, self._roles.docid, *self._roles.categorical_features]
        for file in self._files:
            if is_separated(file) and _is_nothing(file):
                continue
            part, start = _TableFile(file, self._roles, may_warn=is_first_pass), 0
            for table in table_blocks(file, [name for name in ids if name is not None]):
                yield part.sample_block(table, start) if is_first_pass else part.whole_block(table, start)
                start += len(table)

    def no_documents(self) -> DataError:
        """See `BlockSource`."""
        return no_rows(self._files[0])


@final
class _TableFile:
    """One file of tables, which become blocks."""

    def __init__(self, file: Path, roles: Roles, *, may_warn: bool) -> None:
        self._file, self._may_warn = file, may_warn
        self._roles = without_index(stored_index(file), roles)
        self._names: tuple[str, ...] | None = None

    def whole_block(self, table: polars.DataFrame, start: int) -> Block:
        """The rows of a file from `start` on."""
        return Block(self._with_features(table, start), str(self._file))

    def sample_block(self, table: polars.DataFrame, start: int) -> Block:
        """A block of which only the rows that are sampled get features, unless all are needed for their categories."""
        if self._names is None:
            first = self._dataset(table[:1], self._roles, start)
            self._names = () if first.categories else first.feature_names
        if not self._names:
            return self.whole_block(table, start)
        only_judged = self._roles._replace(judgements_only=True, features=None, ignore=())
        judged = self._dataset(table, only_judged, start)
        sampled = SampledFeatures(self._names, lambda rows: self._sampled(table, rows, start))
        return Block(judged, str(self._file), sampled)

    def _sampled(self, table: polars.DataFrame, rows: Ints, start: int) -> Features:
        if len(rows) == 0:
            return np.empty((0, len(self._names or ())), np.float32)
        return self._with_features(table[rows], start, rows).features

    def _with_features(self, table: polars.DataFrame, start: int, rows: Ints | None = None) -> Dataset:
        """Warns about the features of the first block only."""
        may_warn, self._may_warn = self._may_warn, False
        return self._dataset(table, self._roles, start, rows, may_warn=may_warn)

    def _dataset(
        self, table: polars.DataFrame, roles: Roles, start: int, rows: Ints | None = None, *, may_warn: bool = False
    ) -> Dataset:
        try:
            with warnings.catch_warnings():
                if not may_warn:
                    warnings.simplefilter("ignore")
                return table_dataset(table, roles, is_text=is_separated(self._file), is_part=True)
        except DataError as error:
            error = by_row(error, start, rows)
            # The names of the columns are in line 1.
            raise DataError(f"{self._file}: ", by_line(error, 2) if is_separated(self._file) else error) from None


def table_blocks(
    file: Path, ids: list[str], wanted: Sequence[str] | None = None, most_rows: int = 2**62
) -> Iterator[polars.DataFrame]:
    """Some rows of a file at a time; in CSV and TSV, the columns of ids are text. Of Parquet, only wanted columns."""
    if is_separated(file):
        for part in _separated_tables(file, ids):
            yield from part.iter_slices(min(most_rows, rows_at_once(part.width)))
        return
    pyarrow = import_extra("pyarrow", f"{file}: this needs PyArrow: pip install 'swaprank[frames]'")
    batches = _parquet_batches(file, wanted, most_rows) if content_suffix(file) == ".parquet" else _arrow_batches(file)
    with readable(file), opened_unchanged(file):
        import polars

        for batch in batches:
            table: Any = polars.from_arrow(batch)
            yield from table.iter_slices(min(most_rows, rows_at_once(table.width)))
    # It would keep some blocks of memory for later.
    pyarrow.default_memory_pool().release_unused()


def _parquet_batches(file: Path, wanted: Sequence[str] | None, most_rows: int) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(file, memory_map=False, pre_buffer=False) as opened:
        names = [name for name in opened.schema_arrow.names if wanted is None or name in wanted]
        size = min(most_rows, rows_at_once(len(names)))
        yield from opened.iter_batches(batch_size=size, columns=None if wanted is None else names)


def _arrow_batches(file: Path) -> Iterator[Any]:
    import pyarrow
    from pyarrow import ipc

    with pyarrow.OSFile(str(file)) as stream, ipc.open_file(stream) as opened:
        for number in range(opened.num_record_batches):
            yield opened.get_batch(number)


def _separated_tables(file: Path, ids: list[str]) -> Iterator[polars.DataFrame]:
    names, n_lines = b"", 0
    for block in _lines_in_quotes(file):
        content = block if not names else names + block
        with readable(file):
            table = parsed_text(content, file, ids, max(n_lines - 1, 0))
        n_lines += block.count(b"\n")
        if not names:
            names = block[: block.find(b"\n") + 1]
        yield table


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
