"""Read files block by block into bins: one file, several, or a folder of parts."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from swaprank.data.block_binning import bin_source, bin_to_file
from swaprank.data.blocks import Block, BlockSource
from swaprank.data.cuts import cuts_of
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.files import content_suffix, existing_file
from swaprank.reading.group_sizes import SIDE_SUFFIXES, side_file
from swaprank.reading.letor_parts import LetorParts
from swaprank.reading.read import TABLE_SUFFIXES, TEXT_SUFFIXES, is_table, matching_options
from swaprank.reading.table_parts import TableParts
from swaprank.reading.tables import Roles
from swaprank.reading.text_files import is_stream
from swaprank.rendering.bars import UpdateBar

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_TEXT_OPTIONS = ("n_features", "absent", "zero_based", "n_threads")


def read_binned(path: Paths, like: Dataset | None, max_bins: int, **options: Any) -> Dataset:
    """Read files into bins; `options` are those of `read`."""
    threads = options.get("n_threads")
    return bin_source(file_source(path, like, options), like=like, max_bins=max_bins, n_threads=threads)


def write_binned(
    path: Paths,
    target: str | os.PathLike[str],
    like: Dataset | None,
    max_bins: int,
    *,
    progress: UpdateBar,
    **options: Any,
) -> Dataset:
    """Read files into a file of bins, and open it."""
    threads, source = options.get("n_threads"), file_source(path, like, options)
    shown = ShownBlocks(source, progress)
    return bin_to_file(shown, target, like=like, max_bins=max_bins, n_threads=threads)


@final
class ShownBlocks(BlockSource):
    """Blocks of which is shown how many rows have been read."""

    def __init__(self, source: BlockSource, update: UpdateBar) -> None:
        self._source, self._update, self.fill = source, update, source.fill
        self._n_rows = 0

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        total, title = (0, "sampling") if is_first_pass else (self._n_rows, "binning")
        self._n_rows = 0
        for block in self._source.blocks(is_first_pass=is_first_pass):
            yield block
            self._n_rows += len(block.data)
            self._update(self._n_rows, total, title, block.source)

    def settled(self) -> bool:
        """See `BlockSource`."""
        return self._source.settled()


def file_source(path: Paths, like: Dataset | None, given: Mapping[str, Any]) -> BlockSource:
    """The blocks of files."""
    files = part_files(path)
    tables = [is_table(file) for file in files]
    if any(tables) and not all(tables):
        raise DataError(f"{files[0]} and {files[tables.index(not tables[0])]} are text and a table: bin one kind.")
    options = dict(given)
    if like is not None:
        cuts_of(like)
        options = matching_options(files[0], like.feature_names, like.categories, options)
    categorical = tuple(options.pop("categorical_features", None) or ())
    if not tables[0]:
        unknown = [name for name in options if name not in (*_TEXT_OPTIONS, "unlabeled")]
        if unknown:
            raise DataError(f"{files[0]} is LETOR text, which has no columns: {', '.join(unknown)} cannot be given.")
        return LetorParts(files, categorical_features=categorical, **options)
    options.pop("n_threads", None)
    unknown = [name for name in options if name in _TEXT_OPTIONS]
    if unknown:
        raise DataError(f"{files[0]} is a table: {', '.join(unknown)} cannot be given, only for LETOR text.")
    return TableParts(files, Roles(categorical=categorical, **options))


def part_files(path: Paths) -> list[Path]:
    """The files of a data set, given by name, or as a folder of parts, in the order of their names."""
    given = [path] if isinstance(path, str | os.PathLike) else path
    files = [
        file for each in given for file in (_files_in(Path(each)) if Path(each).is_dir() else [existing_file(each)])
    ]
    if not files:
        raise DataError("there are no files to read: the list is empty.")
    for file in files:
        if is_stream(file):
            raise DataError(f"{file} can be read only once, but bins take two readings: save it to a file.")
        if content_suffix(file) not in (*TEXT_SUFFIXES, *TABLE_SUFFIXES) and side_file(file) is None:
            known = ", ".join((*TEXT_SUFFIXES, *TABLE_SUFFIXES))
            raise DataError(
                f"{file}: the ending '{''.join(file.suffixes)}' is unknown; what is binned ends in {known}."
            )
    if len(set(files)) < len(files):
        raise DataError(f"{next(file for file in files if files.count(file) > 1)} is given twice.")
    return files


def _files_in(folder: Path) -> list[Path]:
    # Spark and others write _SUCCESS, .part-0.crc and so on beside the parts.
    hidden = (".", "_")
    files = [
        file
        for file in sorted(folder.iterdir())
        if file.is_file() and not file.name.startswith(hidden) and file.suffix not in SIDE_SUFFIXES
    ]
    if not files:
        raise DataError(f"{folder} has no files to read.")
    return files
