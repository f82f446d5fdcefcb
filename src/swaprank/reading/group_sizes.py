"""Group sizes in a file next to the data file: `.query` of LightGBM, `.group` of XGBoost."""

from pathlib import Path

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.errors import DataError
from swaprank.files import compression
from swaprank.reading.text_files import text_lines

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


def query_numbers(sizes_file: Path, data_file: Path, n_documents: int) -> Ints:
    """The query number of every document, from 1, given a file with one group size per line."""
    sizes = group_sizes(sizes_file)
    check_total(sizes, sizes_file, data_file, n_documents)
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def check_total(sizes: Ints, sizes_file: Path, data_file: Path, n_documents: int) -> None:
    """Raise DataError unless the sizes are those of so many documents."""
    total = int(sizes.sum())
    if total != n_documents:
        raise DataError(
            f"the group sizes in {sizes_file} sum to {total:,}, but {data_file} has {n_documents:,} documents."
        )


def check_group_sizes(sizes_file: Path, data_file: Path, qid: AnyArray) -> None:
    """Raise DataError if the query ids of a file disagree with the group sizes next to it."""
    check_agreement(sizes_file, data_file, qid, query_numbers(sizes_file, data_file, len(qid)), 0)


def check_agreement(sizes_file: Path, data_file: Path, qid: AnyArray, numbers: Ints, first: int) -> None:
    """Raise DataError if the ids of consecutive documents, from `first` on, disagree with their query numbers."""
    differ = np.flatnonzero((qid[1:] != qid[:-1]) != (numbers[1:] != numbers[:-1]))
    if len(differ):
        row = int(differ[0])
        found = "one query" if qid[row] == qid[row + 1] else "two queries"
        row += first
        raise DataError(
            f"the query ids in {data_file} disagree with the group sizes in {sizes_file}: documents {row + 1:,} and "
            f"{row + 2:,} belong to {found} by their ids, but not by the group sizes. If the ids are right, remove the "
            "file of group sizes."
        )
