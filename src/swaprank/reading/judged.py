"""Files of scores and of judgements, told apart by their first line: what the command line is given."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from swaprank.arrays import Floats
from swaprank.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading.by_ending import TABLES, read
from swaprank.reading.compression import existing_file, text_lines
from swaprank.reading.trec import Qrels, Run, read_qrels, read_run

_QRELS_COLUMNS = 4
_RUN_COLUMNS = 6


def read_scores(path: str | os.PathLike[str]) -> Floats | Run:
    r"""Read scores: one number a line, in the order of the data's rows; or a TREC run.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> _ = path.write_text("0.5\n-1\n")
    >>> sr.read_scores(path)
    array([ 0.5, -1. ])
    """
    file = existing_file(path)
    n_columns = len(_first_line(file))
    if n_columns == _RUN_COLUMNS:
        return read_run(file)
    if n_columns != 1:
        raise DataError(f"{file}: expected one number a line, or a TREC run of 6 columns; found {n_columns} columns.")
    scores: list[float] = []
    for number, line in text_lines(file):
        text = line.strip()
        if not text:
            continue
        try:
            scores.append(float(text))
        except ValueError:
            raise DataError(f"{file}, line {number}: expected a number, found '{text}'.") from None
    return np.array(scores)


def read_judged(path: str | os.PathLike[str]) -> Dataset | Qrels:
    """A data set, or TREC judgements: lines of four words that are no LETOR document."""
    file = existing_file(path)
    if file.suffix.lower() not in TABLES:
        words = _first_line(file)
        if len(words) == _QRELS_COLUMNS and ":" not in words[3] and not words[1].startswith("qid:"):
            return read_qrels(file)
    return read(file)


def _first_line(file: Path) -> list[str]:
    """The words of the first line that has any."""
    return next((line.split() for _, line in text_lines(file) if line.strip()), [])
