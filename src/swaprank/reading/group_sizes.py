"""Group sizes in a file next to the data file: `.query` of LightGBM, `.group` of XGBoost."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from swaprank.arrays import Ints
from swaprank.data.grouping import IdRuns, id_runs
from swaprank.data.ids import id_text, integers_or_text
from swaprank.errors import DataError
from swaprank.files import compression
from swaprank.reading.text_files import text_lines

if TYPE_CHECKING:
    from swaprank.reading.letor_block import ParsedBlock

SIDE_SUFFIXES = (".query", ".group")


def side_file(file: Path) -> Path | None:
    """The file of group sizes of a data file: `rank.train.query` for `rank.train` or `rank.train.xz`."""
    bases = [file, file.with_suffix("")] if compression(file) else [file]
    candidates = [base.with_name(base.name + suffix) for base in bases for suffix in SIDE_SUFFIXES]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def group_sizes(sizes_file: Path) -> Ints:
    """The sizes in a file with one per line."""
    sizes: list[int] = []
    for number, line in text_lines(sizes_file):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise DataError(f"{sizes_file}, line {number}: expected the size of a group, found '{text[:40]}'.")
        sizes.append(int(text))
    if sum(sizes) >= 2**62:
        raise DataError(f"the group sizes in {sizes_file} sum to {sum(sizes):,}.")
    return np.array(sizes, np.int64)


@final
class FileQueries:
    """The queries of a LETOR file, by the ids in it or by a file of group sizes next to it; both must agree."""

    def __init__(self, file: Path) -> None:
        self.file, self.sizes_file = file, side_file(file)
        self.sizes: Ints | None = None if self.sizes_file is None else group_sizes(self.sizes_file)
        self._last: tuple[str | None, int | None] = None, None

    def check_total(self, n_documents: int) -> None:
        """Raise DataError unless the group sizes are those of so many documents."""
        total = n_documents if self.sizes is None else int(self.sizes.sum())
        if total != n_documents:
            raise DataError(
                f"the group sizes in {self.sizes_file} sum to {total:,}, but {self.file} has {n_documents:,} documents."
            )

    def of(self, blocks: "Sequence[ParsedBlock]", first: int = 0) -> IdRuns:
        """The queries of the documents of consecutive blocks; `first` is the number of the first one, from 0."""
        parts = [ids for block in blocks for ids in block.ids]
        bounds = np.cumsum([0, *(ids.n_documents for ids in parts)])
        has_ids = any(len(ids.qid_rows) for ids in parts)
        if self.sizes is not None:
            by_size = _numbered(self.sizes, first, first + int(bounds[-1]))
            if not has_ids:
                return by_size
        starts = np.concatenate([ids.qid_rows + bound for ids, bound in zip(parts, bounds, strict=False)])
        by_id = id_runs(integers_or_text(np.concatenate([ids.qid_texts for ids in parts])), starts)
        if self.sizes is not None:
            self._check_agreement(by_id, by_size, first)
        return by_id

    def _check_agreement(self, by_id: IdRuns, by_size: IdRuns, first: int) -> None:
        """Raise DataError if a query starts by its id and not by the group sizes, or the other way round."""
        here = id_text(by_id.ids[0]), int(by_size.ids[0])
        begun = [
            (runs.starts[1:] if now == before else runs.starts) + first
            for runs, now, before in zip((by_id, by_size), here, self._last, strict=True)
        ]
        self._last = id_text(by_id.ids[-1]), int(by_size.ids[-1])
        differ = np.setxor1d(begun[0], begun[1])
        if len(differ):
            row = int(differ[0])
            found = "two queries" if row in begun[0] else "one query"
            raise DataError(
                f"the query ids in {self.file} disagree with the group sizes in {self.sizes_file}: documents {row:,} "
                f"and {row + 1:,} belong to {found} by their ids, but not by the group sizes. If the ids are right, "
                "remove the file of group sizes."
            )


def _numbered(sizes: Ints, first: int, stop: int) -> IdRuns:
    """The groups, numbered from 1, of the documents from `first` to `stop`; those beyond all groups are one more."""
    starts = np.concatenate(([0], np.cumsum(sizes)))
    first_group, last_group = np.searchsorted(starts, (first, stop - 1), side="right") - 1
    numbers = np.arange(first_group, last_group + 1)
    filled = np.append(np.diff(starts[numbers]) > 0, True)
    return IdRuns(numbers[filled] + 1, np.maximum(starts[numbers[filled]], first) - first)
