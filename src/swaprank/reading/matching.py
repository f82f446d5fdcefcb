"""A file read with the features that another one had."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from swaprank.dataset import Dataset
from swaprank.reading.by_ending import is_table, read


def read_matching(path: str | os.PathLike[str], feature_names: Sequence[str]) -> Dataset:
    r"""Read documents with the features of a data set or model: LETOR text gets their number, a table their columns.

    A sparse validation file may lack the last features of its training file, or the first of a file that counts from 0.

    >>> import pathlib, tempfile
    >>> from swaprank.reading.matching import read_matching
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vali.txt"
    >>> _ = path.write_text("1 qid:1 2:0.5\n")
    >>> read_matching(path, ["1", "2", "3"]).features.tolist()
    [[0.0, 0.5, 0.0]]
    """
    if is_table(Path(path)):
        return read(path, features=list(feature_names))
    numbered = [str(number) for number in range(len(feature_names))] == list(feature_names)
    return read(path, n_features=len(feature_names), zero_based=numbered)
