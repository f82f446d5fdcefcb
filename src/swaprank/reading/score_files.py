"""Score files: one number per line, or a TREC run."""

import os
from itertools import chain

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.judgements import Run
from swaprank.errors import DataError
from swaprank.files import existing_file, replacing
from swaprank.reading.text_files import text_lines
from swaprank.reading.trec import number_of, parse_run

_RUN_COLUMNS = 6


def read_scores(path: str | os.PathLike[str]) -> Floats | Run:
    r"""Read scores: one number per line, in the order of the data's rows, or a TREC run.

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
        raise DataError(f"{file} has no scores: expected one number per line, or a TREC run.")
    # A pipe can be read only once, so the first line is put back.
    all_lines, n_columns = chain([first], lines), len(first[1].split())
    if n_columns == _RUN_COLUMNS:
        return parse_run(file, all_lines)
    if n_columns != 1:
        raise DataError(f"{file}: expected one number per line, or a TREC run of 6 columns; found {n_columns} columns.")
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


def write_scores(scores: Floats, path: str | os.PathLike[str]) -> None:
    """Write scores, one per line, without loss of precision. On an error, nothing is written.

    >>> import pathlib, tempfile, numpy as np, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> sr.write_scores(np.array([0.5, 1 / 3]), path)
    >>> sr.read_scores(path)
    array([0.5       , 0.33333333])
    """
    with replacing(path) as stream:
        stream.write("".join(f"{score!r}\n" for score in scores.tolist()).encode())
