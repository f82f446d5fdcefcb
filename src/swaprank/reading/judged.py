"""Files of scores and of judgements, told apart by their first line: what the command line is given."""

from __future__ import annotations

import os
from itertools import chain

import numpy as np

from swaprank.arrays import Floats
from swaprank.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading.by_ending import is_table, read
from swaprank.reading.compression import existing_file, is_stream, text_lines
from swaprank.reading.trec import Qrels, Run, number_of, parse_run, read_qrels

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
    lines = text_lines(file)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        raise DataError(f"{file} has no scores: expected one number a line, or a TREC run.")
    # A pipe can be read once only, so the line that was looked at is put back.
    all_lines, n_columns = chain([first], lines), len(first[1].split())
    if n_columns == _RUN_COLUMNS:
        return parse_run(file, all_lines)
    if n_columns != 1:
        raise DataError(f"{file}: expected one number a line, or a TREC run of 6 columns; found {n_columns} columns.")
    scores: list[float] = []
    for number, line in all_lines:
        text = line.strip()
        if not text:
            continue
        try:
            scores.append(number_of(text))
        except ValueError:
            raise DataError(f"{file}, line {number}: expected a number, found '{text}'.") from None
    return np.array(scores)


def read_judged(path: str | os.PathLike[str]) -> Dataset | Qrels:
    """A data set, or TREC judgements: lines of four words that are no LETOR document. A pipe is a data set."""
    file = existing_file(path)
    if not is_table(file) and not is_stream(file):
        lines = (line.split() for _, line in text_lines(file, "backslashreplace"))
        words = next((words for words in lines if words and not words[0].startswith("#")), [])
        if len(words) == _QRELS_COLUMNS and ":" not in words[3] and not words[1].startswith("qid:"):
            return read_qrels(file)
    return read(file)
