"""The first of two passes over blocks: everything but the features, and a sample of the rows to compute cuts from."""

from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.data import cuts
from swaprank.data.block_source import Block, BlockSource
from swaprank.data.categories import Categories, check_number, in_order
from swaprank.data.cuts import sample_hashes
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import Places, query_keys
from swaprank.data.grouping import first_appearance_codes
from swaprank.data.ids import id_text
from swaprank.errors import DataError
from swaprank.threads import thread_count

_HOW_TO_SORT = (
    "the rows of a query must be adjacent, and in one file, to be read in blocks: sort the data by query id, or read "
    "it without binned if it fits into memory"
)


class Scanned(NamedTuple):
    """What the first pass found."""

    labels: Floats
    qids: AnyArray
    indptr: Ints
    sample_weight: Floats | None
    base_score: Floats | None
    feature_names: tuple[str, ...]
    categories: dict[str, Categories]
    sample: Features


def scan(source: BlockSource, *, with_sample: bool, n_threads: int | None) -> Scanned:
    """Go through all blocks."""
    while True:
        rows, queries, sample = _Rows(), _Queries(), _Sample(thread_count(n_threads))
        for block in source.blocks(is_first_pass=True):
            offset = queries.add(block)
            rows.add(block)
            if with_sample:
                sample.add(block, offset)
        if source.settled():
            break
    if not queries.n_rows:
        raise DataError("there are no blocks, so there are no documents.")
    weights, scores = rows.joined("sample_weight"), rows.joined("base_score")
    if weights is not None and not weights.any():
        raise DataError("all weights are zero: there is nothing to learn from.")
    labels = rows.joined("labels")
    assert labels is not None  # noqa: S101
    values = sample.joined(len(rows.names), source.fill)
    return Scanned(labels, *queries.joined(), weights, scores, rows.names, rows.all_categories(), values)


@final
class _Rows:
    """What all blocks have in common, and what each has for its rows."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self.texts: dict[str, set[str]] = {}
        self.columns: dict[str, list[AnyArray | None]] = {"labels": [], "sample_weight": [], "base_score": []}

    def add(self, block: Block) -> None:
        data = block.data
        if data.pairs is not None:
            raise DataError(f"{block.source}: data in blocks cannot have pairs.")
        # The features of sparse LETOR text become more while it is read.
        if self.names != data.feature_names[: len(self.names)]:
            raise DataError(
                f"{block.source} has other features than the blocks before it: found {_some(data.feature_names)}, "
                f"expected {_some(self.names)}."
            )
        for name in {*data.categories} ^ {*self.texts}:
            if self.names and name in self.names:
                raise DataError(
                    f"{block.source}: feature '{name}' holds categories in one block and numbers in another: declare "
                    "it in categorical_features."
                )
        self.names = data.feature_names
        for name, categories in data.categories.items():
            self.texts.setdefault(name, set()).update(categories)
        for name, found in self.columns.items():
            found.append(getattr(data, name))

    def joined(self, name: str) -> Any:
        """A column of all blocks; None if there is none."""
        parts = self.columns[name]
        if any(part is None for part in parts):
            if not all(part is None for part in parts):
                raise DataError(f"some blocks have {name}, and some have none: give all blocks some, or none.")
            return None
        return np.concatenate(parts)  # type: ignore[arg-type]

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

    def add(self, block: Block) -> int:
        """Returns how many documents of the first query were in the blocks before."""
        data = block.data
        is_new = not self.sources or self.sources[-1] != block.source
        if is_new:
            self.sources.append(block.source)
            self.source_starts.append(self.n_rows)
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

    def joined(self) -> tuple[AnyArray, Ints]:
        """The ids, and the bounds of the queries."""
        indptr = np.append(np.concatenate(self.starts), self.n_rows).astype(np.int64)
        ids = _joined_ids([found for found in self.ids if len(found)])
        codes = first_appearance_codes(ids)
        repeated = np.flatnonzero(codes[1:] <= np.maximum.accumulate(codes)[:-1])
        if len(repeated):
            second = int(repeated[0]) + 1
            first = int(np.flatnonzero(codes == codes[second])[0])
            raise self._scattered(ids[first], int(indptr[first]), int(indptr[second]))
        return ids, indptr

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
        return DataError(f"query '{id_text(qid)}' is {places}: {_HOW_TO_SORT}.")

    def _place(self, row: int) -> tuple[str, int]:
        at = int(np.searchsorted(self.source_starts, row, side="right")) - 1
        return self.sources[at], row - self.source_starts[at] + 1


def _joined_ids(parts: list[AnyArray]) -> AnyArray:
    """Integers if all are of one type; otherwise text, as all ids of a file are if one is."""
    kinds = {part.dtype.str if part.dtype.kind in "iub" else part.dtype.kind for part in parts}
    if len(kinds) == 1 and "O" not in kinds:
        return np.concatenate(parts)
    return np.array([id_text(each) for part in parts for each in part.tolist()], np.str_)


@final
class _Sample:
    """The rows whose places have the smallest hashes."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self.hashes: list[AnyArray] = []
        self.values: list[Features] = []
        self.n_rows = 0
        self.last = np.uint64(2**64 - 1)

    def add(self, block: Block, offset: int) -> None:
        data = block.data
        keys = query_keys(data.qids)
        keys[0] += np.uint64(offset)
        hashes = sample_hashes(Places(np.array(data.indptr), keys), self.n_threads)
        chosen = np.flatnonzero(hashes <= self.last)
        self.hashes.append(hashes[chosen])
        self.values.append(block.features_of(chosen))
        self.n_rows += len(chosen)
        if self.n_rows > 2 * cuts.CUT_SAMPLE:
            self._drop()

    def joined(self, width: int, fill: float) -> Features:
        self._drop()
        sample = np.full((self.n_rows, width), fill, np.float32)
        start = 0
        while self.values:
            part = self.values.pop()
            sample[start : start + len(part), : part.shape[1]] = part
            start += len(part)
        return sample

    def _drop(self) -> None:
        if self.n_rows <= cuts.CUT_SAMPLE:
            return
        self.last = np.partition(np.concatenate(self.hashes), cuts.CUT_SAMPLE - 1)[cuts.CUT_SAMPLE - 1]
        for k, hashes in enumerate(self.hashes):
            kept = hashes <= self.last
            self.hashes[k], self.values[k] = hashes[kept], self.values[k][kept]
        self.n_rows = sum(map(len, self.hashes))


def _some(names: tuple[str, ...]) -> str:
    return f"{len(names):,} features, {', '.join(names[:3])}" + (", …" if len(names) > 3 else "")
