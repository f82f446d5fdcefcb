"""LETOR text in blocks of rows, from any number of files.

How features are numbered, and how many there are, is known only when all text has been read. Until then a block has the
features that were seen so far; the next time, all blocks have all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Ints
from swaprank.data.blocks import Block, BlockSource, rows_at_once
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading.group_sizes import check_agreement, check_total, group_sizes, side_file
from swaprank.reading.letor import checked_format, parsed_texts, query_ids_of
from swaprank.reading.pieces import Text, TextInMemory
from swaprank.reading.text_files import text_blocks

if TYPE_CHECKING:
    from swaprank.reading.letor_block import ParsedBlock


@final
class LetorParts(BlockSource):
    """Files of LETOR text."""

    def __init__(
        self,
        files: Sequence[Path],
        *,
        n_features: int | None = None,
        absent: float = 0.0,
        zero_based: bool | None = None,
        unlabeled: bool = False,
        categorical_features: Sequence[str] = (),
        n_threads: int | None = None,
    ) -> None:
        self._files, self._n_threads, self.fill = files, n_threads, float(absent)
        self._form = checked_format(True, absent, n_features, zero_based, unlabeled)
        self._categorical = list(categorical_features)
        self._width, self._firsts = 0, set[int]()

    def blocks(self, *, is_first_pass: bool) -> Iterator[Block]:
        """See `BlockSource`."""
        self._firsts.clear()
        for file in self._files:
            yield from self._blocks_of(file)
            if len(self._firsts) > 1:
                return

    def settled(self) -> bool:
        """See `BlockSource`: not if some blocks were numbered from 1, before there was a feature 0."""
        if len(self._firsts) > 1:
            self._form, self._width = self._form._replace(zero_based=True), 0
            return False
        self._form = self._form._replace(n_features=self._width, zero_based=self._firsts == {0})
        return True

    def _blocks_of(self, file: Path) -> Iterator[Block]:
        groups = _Groups(file)
        n_documents = 0
        form = self._form._replace(with_qid=groups.sizes is None)
        for parsed in parsed_texts(file, form, _texts(file), self._n_threads):
            self._firsts.add(parsed.first)
            if len(self._firsts) > 1:
                return
            where = f"{file}, from document {n_documents + 1:,} on"
            yield Block(self._dataset(parsed, groups.ids(parsed, n_documents), where), str(file))
            n_documents += len(parsed.labels)
        if not n_documents:
            raise DataError(f"{file} has no documents: expected lines such as '2 qid:1 1:0.5 2:0'.")
        groups.check_end(n_documents)

    def _dataset(self, parsed: ParsedBlock, qid: AnyArray, where: str) -> Dataset:
        features = self._widened(parsed)
        if features.shape[1] == 0:
            raise DataError(f"{where}: there are no features: expected '<feature number>:<value>' after the query id.")
        labels = np.zeros(len(parsed.labels)) if self._form.unlabeled else parsed.labels
        names = None if parsed.first == 1 else [str(number) for number in range(features.shape[1])]
        try:
            return Dataset(
                features, labels, qid=qid, feature_names=names, categorical_features=self._categorical or None
            )
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

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


@final
class _Groups:
    """The query ids of a file, which may be in a file of group sizes next to it."""

    def __init__(self, file: Path) -> None:
        self.file, self.sizes_file = file, side_file(file)
        self.sizes: Ints | None = None if self.sizes_file is None else group_sizes(self.sizes_file)
        self._before: tuple[AnyArray, Ints] | None = None

    def ids(self, parsed: ParsedBlock, first: int) -> AnyArray:
        """One id per document of a block; those in both files must agree."""
        if self.sizes is None or self.sizes_file is None:
            return query_ids_of([parsed])
        rows = np.arange(first, first + len(parsed.labels))
        numbers = np.searchsorted(np.cumsum(self.sizes), rows, side="right") + 1
        if not any(len(ids.qid_rows) for ids in parsed.ids):
            return numbers
        qid = query_ids_of([parsed])
        last_id, last_number = self._before or (qid[:0], numbers[:0])
        start = first - len(last_id)
        texts = np.concatenate((last_id.astype(np.str_), qid.astype(np.str_)))
        check_agreement(self.sizes_file, self.file, texts, np.concatenate((last_number, numbers)), start)
        self._before = qid[-1:], numbers[-1:]
        return qid

    def check_end(self, n_documents: int) -> None:
        if self.sizes is not None and self.sizes_file is not None:
            check_total(self.sizes, self.sizes_file, self.file, n_documents)


def _texts(file: Path) -> Iterator[Text]:
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
