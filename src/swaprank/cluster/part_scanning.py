"""The first pass of a worker over its parts: everything but the features, and a sample of rows for the cuts of bins."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

from swaprank.cluster.parts import DataPart
from swaprank.data.blocks import Block, BlockSource, Scanned, ScatteredError, scan
from swaprank.data.cut_sample import CutSample
from swaprank.data.dataset import Dataset
from swaprank.data.stored_features import StoredFeatures
from swaprank.errors import DataError
from swaprank.reading.binned_reading import file_source
from swaprank.reading.formats import is_bins
from swaprank.reading.read import read_part

_AS_A_WHOLE = ("binned", "query_weight")
"""Options of `read` that need all rows of a file at once."""


class ScannedPart(NamedTuple):
    """A part whose blocks were gone through once."""

    name: str
    source: BlockSource
    found: Scanned
    bins: StoredFeatures | None
    """The features of a part that is binned already."""


@final
class WholePart(BlockSource):
    """A part as one block, whose rows may be in any order."""

    def __init__(self, name: str, load: Callable[[], Dataset | None]) -> None:
        self._name, self._load = name, load

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        data = self._load()
        if data is not None:
            yield Block(data, self._name, is_whole=True)


def scanned_parts(parts: Sequence[DataPart], sample: CutSample | None, n_threads: int | None) -> list[ScannedPart]:
    """Go through the parts once, and add their rows to the sample if there is one; without parts that have no rows."""
    scans = [_scanned(part, sample, n_threads) for part in parts]
    return [each for each in scans if each is not None]


def _scanned(part: DataPart, sample: CutSample | None, n_threads: int | None) -> ScannedPart | None:
    source, bins = _source(part, n_threads)
    try:
        found = scan(source, sample, n_threads)
    except ScatteredError:
        # A file that is not sorted by query: all of it is in memory while it is read.
        source = _whole_file(part.name, part.options or {})
        found = scan(source, sample, n_threads)
    return None if found is None else ScannedPart(part.name, source, found, bins)


def _source(part: DataPart, n_threads: int | None) -> tuple[BlockSource, StoredFeatures | None]:
    """The blocks of a part, and its features if they are bins."""
    if part.options is not None and not is_bins(Path(part.name)) and not set(part.options) & set(_AS_A_WHOLE):
        return file_source(part.name, None, {"n_threads": n_threads, **part.options}), None
    if callable(part.value):
        # Made again in the second pass, too.
        return WholePart(part.name, part.value), None
    data = part.value if part.options is None else read_part(part.name, **part.options)
    if not isinstance(data, Dataset | None):
        raise DataError(f"{part.name} is of type {type(data).__name__}, not a Dataset.")
    if part.options is not None and not (data is not None and data.is_binned):
        # It is read again in the second pass, so that one part at a time is in memory.
        return _whole_file(part.name, part.options), None
    return WholePart(part.name, lambda: data), data.stored if data is not None and data.is_binned else None


def _whole_file(file: str, options: Mapping[str, Any]) -> BlockSource:
    return WholePart(file, lambda: read_part(file, **options))
