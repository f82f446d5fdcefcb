"""Cross-validation folds: read from LETOR folders, or made from one data set."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Hint
from swaprank.files import content_suffix
from swaprank.reading.formats import BINS_SUFFIX, TABLE_SUFFIXES, TEXT_SUFFIXES
from swaprank.reading.read import read, read_matching
from swaprank.seeds import random_generator

PART_NAMES = {
    "train": ("train", "training", "trainingset"),
    "vali": ("vali", "valid", "validation", "validationset"),
    "test": ("test", "testset"),
}
"""Accepted file names of each part, LETOR 4.0's names first."""


class FoldData(NamedTuple):
    """The data of one fold."""

    train: Dataset
    vali: Dataset
    test: Dataset


class Fold(NamedTuple):
    """One fold; `load` reads its data when needed.

    >>> import swaprank as sr
    >>> from swaprank.experiments.folds import make_folds
    >>> (data,) = sr.datasets.random_net((10,), n_features=2, random_state=0)
    >>> make_folds(data, 5, random_state=0)[0].name
    'Fold1'
    """

    name: str
    load: Callable[[], FoldData]


def find_folds(folder: str | os.PathLike[str], columns: Mapping[str, Any] | None = None) -> list[Fold]:
    """Find folds in a folder: subfolders Fold1, Fold2, … with train, vali and test files, or these files themselves.

    `columns` are the names of columns of tables, as keywords of `read`.

    >>> import pathlib, tempfile, swaprank as sr
    >>> from swaprank.experiments.folds import find_folds
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> parts = sr.datasets.random_net((3, 2, 2), n_features=2, random_state=0)
    >>> for name, part in zip(("train", "vali", "test"), parts):
    ...     sr.write_letor(part, folder / f"{name}.txt.gz")
    >>> (fold,) = find_folds(folder)
    >>> fold.load().test.n_queries
    2
    """
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"there is no folder {root}: check the path (the current folder is {Path.cwd()}).")
    numbered = [
        (int(found[1]), path)
        for path in root.iterdir()
        if path.is_dir() and (found := re.fullmatch(r"fold[ _-]?(\d+)", path.name, re.IGNORECASE))
    ]
    if not numbered:
        try:
            return [_folder_fold(root, columns or {})]
        except DataError as error:
            raise DataError(f"{root} has no folders Fold1, Fold2, …, and is not a fold itself: ", error) from None
    return [_folder_fold(path, columns or {}) for _, path in sorted(numbered)]


def _folder_fold(folder: Path, columns: Mapping[str, Any]) -> Fold:
    files = {part: _part_file(folder, part) for part in PART_NAMES}

    def load() -> FoldData:
        train = read(files["train"], **columns)
        vali, test = (
            read_matching(files[part], train.feature_names, train.categories, **columns) for part in ("vali", "test")
        )
        return FoldData(train, vali, test)

    return Fold(folder.name, load)


def _part_file(folder: Path, part: str) -> Path:
    named = [path for path in sorted(folder.iterdir()) if path.name.partition(".")[0].lower() in PART_NAMES[part]]
    found = [
        path
        for path in named
        if path.is_file() and content_suffix(path) in (*TEXT_SUFFIXES, *TABLE_SUFFIXES, BINS_SUFFIX)
    ]
    if not found:
        raise DataError(f"{folder} has no {part}.txt (or another supported file format).")
    if len(found) > 1:
        raise DataError(f"{folder} has both {found[0].name} and {found[1].name}: keep only one of them.")
    return found[0]


def make_folds(data: Dataset, n_folds: int, random_state: int = 0) -> list[Fold]:
    """Split the queries of a data set into folds: each part is the test set once, and the next part validates.

    >>> import swaprank as sr
    >>> from swaprank.experiments.folds import make_folds
    >>> (data,) = sr.datasets.random_net((10,), n_features=2, random_state=0)
    >>> [part.n_queries for part in make_folds(data, 5, random_state=0)[0].load()]
    [6, 2, 2]
    """
    if data.n_queries < 3:
        raise DataError(f"folds need at least 3 queries, to train, validate and test; found {data.n_queries}.")
    if isinstance(n_folds, bool) or not isinstance(n_folds, int) or not 3 <= n_folds <= data.n_queries:
        raise DataError(
            Hint("n_folds", option="--folds"),
            f" must be from 3 (to train, validate and test) to {data.n_queries:,}, the number of queries; "
            f"found {n_folds!r}.",
        )
    parts = np.array_split(random_generator(random_state).permutation(data.n_queries), n_folds)
    return [Fold(f"Fold{at + 1}", _fold_loader(data, parts, at)) for at in range(n_folds)]


def _fold_loader(data: Dataset, parts: Sequence[Ints], at: int) -> Callable[[], FoldData]:
    test, vali = at, (at + 1) % len(parts)

    def load() -> FoldData:
        train = np.concatenate([part for other, part in enumerate(parts) if other not in (test, vali)])
        return FoldData(*(data.subset(np.sort(queries)) for queries in (train, parts[vali], parts[test])))

    return load
