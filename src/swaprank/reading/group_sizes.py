"""Group sizes in a file next to the data file: `.query` of LightGBM, `.group` of XGBoost."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.errors import DataError
from swaprank.files import compression
from swaprank.reading.text_files import text_lines

_SUFFIXES = (".query", ".group")


def side_file(file: Path) -> Path | None:
    """The file of group sizes of a data file: `rank.train.query` for `rank.train` or `rank.train.xz`."""
    bases = [file, file.with_suffix("")] if compression(file) else [file]
    candidates = [base.with_name(base.name + suffix) for base in bases for suffix in _SUFFIXES]
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def query_numbers(sizes_file: Path, data_file: Path, n_documents: int) -> Ints:
    """The query number of every document, from 1, given a file with one group size per line."""
    sizes: list[int] = []
    for number, line in text_lines(sizes_file):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()):
            raise DataError(f"{sizes_file}, line {number}: expected the size of a group, found '{text[:40]}'.")
        sizes.append(int(text))
    total = sum(sizes)
    if total != n_documents:
        raise DataError(
            f"the group sizes in {sizes_file} sum to {total:,}, but {data_file} has {n_documents:,} documents."
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def check_group_sizes(sizes_file: Path, data_file: Path, qid: AnyArray) -> None:
    """Raise DataError if the query ids of a file disagree with the group sizes next to it."""
    numbers = query_numbers(sizes_file, data_file, len(qid))
    differ = np.flatnonzero((qid[1:] != qid[:-1]) != (numbers[1:] != numbers[:-1]))
    if len(differ):
        row = int(differ[0])
        raise DataError(
            f"the query ids in {data_file} disagree with the group sizes in {sizes_file}: documents {row + 1:,} and "
            f"{row + 2:,} belong to {'one query' if qid[row] == qid[row + 1] else 'two queries'} by their ids, but not "
            "by the group sizes. If the ids are right, remove the file of group sizes."
        )
