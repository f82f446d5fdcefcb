"""Documents in blocks of rows, as data larger than memory comes, and the first of two passes over them.

The first pass finds everything but the features, and a sample of the rows to compute cuts from.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.data.categories import CATEGORICAL, Categories, check_number, in_order
from swaprank.data.cut_sample import CutSample
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import Grouping, first_appearance_codes
from swaprank.data.ids import id_text
from swaprank.data.side_columns import joined_columns, joined_values
from swaprank.data.stored_features import StoredFeatures
from swaprank.errors import DataError, Wording
from swaprank.threads import thread_count

BLOCK_BYTES = 16 << 20
"""The values of a block in single precision take about this much memory."""
_HOW_TO_SORT = (
    "the rows of a query must be adjacent, and in one file, to be read in blocks: sort the data by query id, or ",
    Wording("read it without binned", "take the file itself instead of its bins"),
    " if it fits into memory.",
)


def rows_at_once(n_features: int) -> int:
    """The number of rows of a block.

    >>> from swaprank.data.blocks import rows_at_once
    >>> rows_at_once(136)
    30840
    """
    return max(1, BLOCK_BYTES // (4 * max(1, n_features)))


class ScatteredError(DataError):
    """The rows of a query are not adjacent."""


class SampledFeatures(NamedTuple):
    """Numeric features that are computed for some rows only."""

    names: tuple[str, ...]
    of_rows: Callable[[Ints], Features]


class Block(NamedTuple):
    """Consecutive rows of a file; the first query may continue that of the block before, if it is of the same file."""

    data: Dataset
    source: str
    """The name of the file, for error messages."""
    sampled: SampledFeatures | None = None
    """The features, if the data set has none: in the first pass, few rows are needed."""
    is_whole: bool = False
    """True for the only block of its source: its rows may be in any order."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.data.feature_names if self.sampled is None else self.sampled.names

    @property
    def categories(self) -> Mapping[str, Categories]:
        """The categories of categorical features."""
        return self.data.categories if self.sampled is None else {}

    def features_of(self, rows: Ints) -> Features:
        """The features of some rows."""
        return self.data.features[rows] if self.sampled is None else self.sampled.of_rows(rows)


class BlockSource(ABC):
    """Blocks that can be gone through more than once: for a sample of their rows, then to bin them."""

    fill: float = 0.0
    """The value of features that earlier blocks of LETOR text do not know of."""

    @abstractmethod
    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """All blocks, from the first."""

    def settled(self) -> bool:
        """True if the blocks that were gone through are right; if not, they will be the next time."""
        return True

    def no_documents(self) -> DataError:
        """The error if there are no documents in any block."""
        return DataError("there are no blocks, so there are no documents.")


@final
class GivenBlocks(BlockSource):
    """Data sets that somebody gives."""

    def __init__(self, given: Iterable[Any]) -> None:
        if isinstance(given, Iterator) or not isinstance(given, Iterable):
            raise DataError(
                "blocks are gone through twice: give a list, or an object whose __iter__ starts from the first block "
                f"each time; found {type(given).__name__}."
            )
        self._given = given

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        for number, data in enumerate(self._given):
            if not isinstance(data, Dataset):
                raise DataError(f"block {number} must be a Dataset, found {type(data).__name__}.")
            yield Block(data, "the blocks")


class Scanned(NamedTuple):
    """The result of the first pass."""

    labels: Floats
    grouping: Grouping
    sample_weight: Floats | None
    base_score: Floats | None
    docid: AnyArray | None
    pairs: AnyArray | None
    """Rows of (above, below, probability, weight)."""
    columns: dict[str, AnyArray]
    feature_names: tuple[str, ...]
    categories: dict[str, Categories]

    @property
    def categorical(self) -> Ints:
        """The positions of the categorical features."""
        return np.flatnonzero([name in self.categories for name in self.feature_names])

    def data(self, stored: StoredFeatures) -> Dataset:
        """The data set with these features; its weights may all be 0."""
        found = Dataset(
            stored,
            self.labels,
            qid=self.grouping,
            base_score=self.base_score,
            docid=self.docid,
            pairs=self.pairs,
            columns=self.columns,
        )
        return found.replace(sample_weight=self.sample_weight)


def scan(source: BlockSource, sample: CutSample | None, n_threads: int | None) -> Scanned | None:
    """Go through all blocks, and add rows with values to the sample if there is one; None if there are no documents."""
    while True:
        rows, queries = _Rows(), _Queries()
        own = None if sample is None else CutSample(thread_count(n_threads), sample.last)
        for block in source.blocks(is_first_pass=True):
            offset = queries.add(block)
            rows.add(block)
            if own is not None and not block.data.is_binned:
                own.add(block, offset)
        if source.settled():
            break
    if not queries.n_rows:
        return None
    grouping = queries.joined()
    if sample is not None and own is not None:
        own.widen(len(rows.names), source.fill)
        sample.merge(own)
    return Scanned(
        grouping=grouping,
        **{name: rows.joined(name) for name in rows.columns},
        columns=joined_columns(rows.side),
        feature_names=rows.names,
        categories=rows.all_categories(),
    )


def joined_scans(
    scans: Sequence[Scanned], feature_names: tuple[str, ...], categories: Mapping[str, Categories]
) -> Scanned:
    """The results for parts that have different queries, and all or none of the optional columns, as one."""
    ids = joined_ids([each.grouping.qids for each in scans])
    starts = np.cumsum([0, *(len(each.labels) for each in scans)]).tolist()
    pieces = list(zip(scans, starts, strict=False))
    bounds = [each.grouping.indptr[1:] + start for each, start in pieces]
    order = None
    if any(each.grouping.order is not None for each in scans):
        order = np.concatenate(
            [
                start + (np.arange(len(each.labels)) if each.grouping.order is None else each.grouping.order)
                for each, start in pieces
            ]
        )
    return Scanned(
        labels=np.concatenate([each.labels for each in scans]),
        grouping=Grouping(ids, np.concatenate([np.zeros(1, np.int64), *bounds]), order),
        sample_weight=_all_or_none([each.sample_weight for each in scans]),
        base_score=_all_or_none([each.base_score for each in scans]),
        docid=_document_ids([each.docid for each in scans], [len(each.labels) for each in scans]),
        pairs=_all_or_none([_shifted(each.pairs, start) for each, start in pieces]),
        columns=joined_columns([each.columns for each in scans]),
        feature_names=feature_names,
        categories=dict(categories),
    )


def _all_or_none(parts: Sequence[AnyArray | None]) -> AnyArray | None:
    """The values of all parts; None if one has none."""
    known = [part for part in parts if part is not None]
    return joined_values(known) if len(known) == len(parts) else None


def _document_ids(parts: Sequence[AnyArray | None], sizes: Iterable[int]) -> AnyArray | None:
    """The document ids of all parts, empty in parts that have none; None if no part has any."""
    if all(ids is None for ids in parts):
        return None
    return joined_values([np.zeros(size, "U1") if ids is None else ids for ids, size in zip(parts, sizes, strict=True)])


def _shifted(pairs: AnyArray | None, start: int) -> AnyArray | None:
    return None if pairs is None else pairs + np.array([start, start, 0, 0])


@final
class _Rows:
    """The features that all blocks have in common, and the columns of their rows."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.texts: dict[str, set[str]] = {}
        self.side: list[Mapping[str, AnyArray]] = []
        names = ("labels", "sample_weight", "base_score", "docid", "pairs")
        self.columns: dict[str, list[AnyArray | None]] = {name: [] for name in names}
        self.n_rows = 0

    def add(self, block: Block) -> None:
        data = block.data
        # The features of sparse LETOR text become more while it is read.
        if self.names != block.feature_names[: len(self.names)]:
            raise DataError(
                f"{block.source} has other features than the blocks before it: found {_some(block.feature_names)}, "
                f"expected {_some(self.names)}."
            )
        for name in {*block.categories} ^ {*self.texts}:
            if self.names and name in self.names:
                raise DataError(
                    f"{block.source}: feature '{name}' holds categories in one block and numbers in another: declare "
                    "it with ",
                    CATEGORICAL,
                    ".",
                )
        self.names = block.feature_names
        for name, categories in block.categories.items():
            self.texts.setdefault(name, set()).update(categories)
        self.side.append(data.columns)
        pairs = None if data.pairs is None else np.column_stack(data.pairs)
        self.columns["pairs"].append(_shifted(pairs, self.n_rows))
        for name, found in self.columns.items():
            if name != "pairs":
                found.append(getattr(data, name))
        self.n_rows += len(data)

    def joined(self, name: str) -> Any:
        """A column of all blocks; None if there is none."""
        parts = self.columns[name]
        if name == "docid":
            return _document_ids(parts, [len(labels) for labels in self.columns["labels"] if labels is not None])
        if any(part is None for part in parts):
            if not all(part is None for part in parts):
                raise DataError(f"some blocks have {name}, and some have none: give all blocks some, or none.")
            return None
        return joined_values(parts)  # type: ignore[arg-type]

    def all_categories(self) -> dict[str, Categories]:
        found = {name: in_order(self.texts[name]) for name in self.names if name in self.texts}
        for name, categories in found.items():
            check_number(categories, f"feature '{name}'")
        return found


@final
class _Queries:
    """The queries of all blocks, each with the file that it is in and its first row."""

    def __init__(self) -> None:
        self.n_rows = 0
        self.ids: list[AnyArray] = []
        self.starts: list[Ints] = []
        self.sources: list[str] = []
        self.source_starts: list[int] = []
        self.last = ""
        self.order: Ints | None = None

    def add(self, block: Block) -> int:
        """Returns how many documents of the first query were in the blocks before."""
        data = block.data
        is_new = not self.sources or self.sources[-1] != block.source
        if is_new:
            self.sources.append(block.source)
            self.source_starts.append(self.n_rows)
        if block.is_whole:
            self.order = data.order
        else:
            self._check_adjacent(data)
        starts, ids = data.indptr[:-1] + self.n_rows, data.qids
        offset = 0
        if not is_new and id_text(ids[0]) == self.last:
            offset = self.n_rows - next(int(found[-1]) for found in reversed(self.starts) if len(found))
            starts, ids = starts[1:], ids[1:]
        self.starts.append(starts)
        self.ids.append(ids)
        self.last = id_text(data.qids[-1])
        self.n_rows += len(data)
        return offset

    def joined(self) -> Grouping:
        """The queries of all blocks; DataError if one is in two places."""
        indptr = np.append(np.concatenate(self.starts), self.n_rows).astype(np.int64)
        ids = joined_ids([found for found in self.ids if len(found)])
        codes = first_appearance_codes(ids)
        repeated = np.flatnonzero(codes[1:] <= np.maximum.accumulate(codes)[:-1])
        if len(repeated):
            second = int(repeated[0]) + 1
            first = int(np.flatnonzero(codes == codes[second])[0])
            raise self._scattered(ids[first], int(indptr[first]), int(indptr[second]))
        return Grouping(ids, indptr, self.order)

    def _check_adjacent(self, data: Dataset) -> None:
        if data.order is None:
            return
        at = int(np.argmax(data.order != np.arange(len(data))))
        query = int(np.searchsorted(data.indptr, at, side="right")) - 1
        first, second = int(data.order[data.indptr[query]]), int(data.order[at])
        raise self._scattered(data.qids[query], self.n_rows + first, self.n_rows + second)

    def _scattered(self, qid: Any, first: int, second: int) -> DataError:
        """The error that a query comes back; its rows are counted over all files."""
        (where, first), (again, second) = self._place(first), self._place(second)
        if where == again:
            places = f"in {where} at document {first:,}, and again, after other queries, at document {second:,}"
        else:
            places = f"in {where} at document {first:,}, and in {again} at document {second:,}"
        return ScatteredError(f"query '{id_text(qid)}' is {places}: ", *_HOW_TO_SORT)

    def _place(self, row: int) -> tuple[str, int]:
        at = int(np.searchsorted(self.source_starts, row, side="right")) - 1
        return self.sources[at], row - self.source_starts[at] + 1


def joined_ids(parts: Sequence[AnyArray]) -> AnyArray:
    """Integers if all are of one type; otherwise text, as all ids of a file are if one is."""
    kinds = {part.dtype.str if part.dtype.kind in "iub" else part.dtype.kind for part in parts}
    if len(kinds) == 1 and "O" not in kinds:
        return np.concatenate(parts)
    return np.array([id_text(each) for part in parts for each in part.tolist()], np.str_)


def _some(names: tuple[str, ...]) -> str:
    return f"{len(names):,} features, {', '.join(names[:3])}" + (", …" if len(names) > 3 else "")
