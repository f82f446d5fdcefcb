"""Read files block by block into bins: one file, several, or a folder of parts."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

from swaprank.data.block_binning import Binning, bin_source, binning_of, find_binning
from swaprank.data.blocks import Block, BlockSource
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.files import compression
from swaprank.reading.block_reading import LetorBlocks, TableBlocks
from swaprank.reading.formats import BINS_SUFFIX, Paths, is_table, matching_options, no_columns, part_files
from swaprank.reading.letor import checked_format
from swaprank.reading.parsing_status import LetorFormat
from swaprank.reading.tables import Roles
from swaprank.reading.text_files import NoDocumentsError
from swaprank.rendering.bars import UpdateBar

_TEXT_OPTIONS = ("n_features", "absent", "zero_based", "n_threads")


def read_binned(
    path: Paths,
    like: Dataset | None,
    max_bins: int,
    *,
    target: str | os.PathLike[str] | None = None,
    progress: UpdateBar | None = None,
    **options: Any,
) -> Dataset:
    """Read files into bins, in memory or in a target file that is then opened; `options` are those of `read`."""
    binning = None if like is None else binning_of(like)
    source = _shown(file_source(path, binning, options), progress)
    return bin_source(source, binning, max_bins, options.get("n_threads"), target)


def bin_parts(
    path: Paths,
    like: Dataset | None,
    max_bins: int,
    folder: Path,
    *,
    progress: UpdateBar | None = None,
    **options: Any,
) -> list[Path]:
    """Write a file of bins for each file with documents, all with the same cuts; `options` are those of `read`."""
    files, threads = part_files(path), options.get("n_threads")
    targets = [folder / f"{_plain_name(file)}{BINS_SUFFIX}" for file in files]
    if len(set(targets)) < len(targets):
        name = next(target.name for target in targets if targets.count(target) > 1)
        raise DataError(f"two of the files would become {name}: give them different names.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DataError(f"{folder} is there already, and is no empty folder: choose another name.")
    given = None if like is None else binning_of(like)
    binning = given or find_binning(_shown(file_source(files, None, options), progress), max_bins, threads)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # Some of the parts look like a whole data set, so that all appear when the last is complete.
    with TemporaryDirectory(prefix=".", suffix=".part", dir=folder) as place:
        for file, target in zip(files, targets, strict=True):
            source = _shown(file_source(file, binning, options), progress)
            with suppress(NoDocumentsError):
                bin_source(source, binning, max_bins, threads, Path(place, target.name))
                written.append(target)
        for target in written:
            Path(place, target.name).replace(target)
    return written


def _plain_name(file: Path) -> str:
    """part-0 for part-0.txt.gz."""
    name = file.with_suffix("").name if compression(file) else file.name
    return Path(name).stem


def _shown(source: BlockSource, progress: UpdateBar | None) -> BlockSource:
    return source if progress is None else ShownBlocks(source, progress)


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

    def no_documents(self) -> DataError:
        """See `BlockSource`."""
        return self._source.no_documents()


def file_source(path: Paths, like: Binning | None, given: Mapping[str, Any]) -> BlockSource:
    """The blocks of files."""
    files = part_files(path)
    tables = [is_table(file) for file in files]
    if any(tables) and not all(tables):
        raise DataError(f"{files[0]} and {files[tables.index(not tables[0])]} are text and a table: bin one kind.")
    options = dict(given)
    if like is not None:
        options = matching_options(files[0], like.feature_names, like.categories, options)
    categorical = tuple(options.pop("categorical_features", None) or ())
    if not tables[0]:
        unknown = [name for name in options if name not in (*_TEXT_OPTIONS, "unlabeled")]
        if unknown:
            raise no_columns(files[0], unknown)
        threads = options.pop("n_threads", None)
        return LetorBlocks(files, checked_format(LetorFormat(**options)), categorical, threads)
    options.pop("n_threads", None)
    unknown = [name for name in options if name in _TEXT_OPTIONS]
    if unknown:
        raise DataError(f"{files[0]} is a table: {', '.join(unknown)} cannot be given, only for LETOR text.")
    return TableBlocks(files, Roles(categorical_features=categorical, **options))
