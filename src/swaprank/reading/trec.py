"""Read and write TREC judgements (qrels), runs, and files of scores."""

import math
import os
import re
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.data.ids import id_text
from swaprank.data.judgements import LARGEST_LABEL, Qrels, Run
from swaprank.data.row_values import check_scores
from swaprank.errors import DataError
from swaprank.files import existing_file, replacing
from swaprank.reading.text_files import text_lines

_RUN_COLUMNS = 6


def read_qrels(path: str | os.PathLike[str], *, subtopics: bool | None = None) -> Qrels:
    r"""Read judgements, one per line: query, iteration or subtopic, document, label.

    Args:
        path: The file.
        subtopics: The second column is a subtopic, for metrics of diversity. If None, it is one if a document is
            judged more than once for a query, and ignored otherwise.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "judged.qrels"
    >>> _ = path.write_text("301 0 FR94-1 1\n301 0 FR94-2 0\n")
    >>> sr.trec.read_qrels(path).to_dict()
    {'301': {'FR94-1': 1, 'FR94-2': 0}}
    """
    file = existing_file(path)
    columns = "query iteration document label"
    seconds: list[str] | None = None if subtopics is False else []
    qids, docids, labels = _columns(file, text_lines(file), columns, 3, _whole_number, "a whole number", seconds)
    several = seconds is not None and (subtopics or len(set(zip(qids, docids, strict=True))) < len(qids))
    of_lines = np.array(seconds) if several else None
    return Qrels(np.array(qids), np.array(docids), np.array(labels, np.int64), of_lines)


def read_run(path: str | os.PathLike[str]) -> Run:
    r"""Read a run, one document per line: query, Q0 (ignored), document, rank (ignored), score, tag.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bm25.run"
    >>> _ = path.write_text("301 Q0 FR94-1 1 12.5 bm25\n301 Q0 FR94-2 2 11 bm25\n")
    >>> sr.trec.read_run(path).score
    array([12.5, 11. ])
    """
    file = existing_file(path)
    return _parse_run(file, text_lines(file))


def _parse_run(file: Path, lines: Iterable[tuple[int, str]]) -> Run:
    """Parse numbered lines of a run; `file` is for error messages."""
    columns = "query Q0 document rank score tag"
    qids, docids, scores = _columns(file, lines, columns, 4, _finite_number, "a finite number")
    return Run(np.array(qids), np.array(docids), np.array(scores, np.float64))


def write_run(data: Dataset, scores: Any, path: str | os.PathLike[str], tag: str = "swaprank") -> None:
    """Write scores as a TREC run: query, Q0, document, rank from 1, score, tag.

    Documents are sorted by descending score, ties by descending document id, as in trec_eval. If the data set has no
    document ids, the row number, from 0, is the id. Document ids must be unique within a query.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.run"
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[301, 301], docid=["FR94-1", "FR94-2"])
    >>> sr.trec.write_run(data, [0.25, 1.5], path)
    >>> print(path.read_text(), end="")
    301 Q0 FR94-2 1 1.5 swaprank
    301 Q0 FR94-1 2 0.25 swaprank
    """
    values = check_scores(scores, len(data))
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise DataError(f"scores, row {infinite[0]}: {values[infinite[0]]} cannot be written: it is not finite.")
    qids, docids = [id_text(qid) for qid in data.qids.tolist()], _written_ids(data)
    for what, texts in (("tag", [tag]), ("query id", qids), ("document id", docids)):
        for text in texts:
            if text.split() != [text]:
                raise DataError(f"the {what} '{text}' cannot be written: blanks separate the columns of a run.")
    with replacing(path) as stream:
        for query, qid in enumerate(qids):
            rows = data.rows(query).tolist()
            rows.sort(key=lambda row: (values[row], docids[row]), reverse=True)
            lines = [f"{qid} Q0 {docids[r]} {k} {float(values[r])!r} {tag}\n" for k, r in enumerate(rows, 1)]
            stream.write("".join(lines).encode())


def read_scores(path: str | os.PathLike[str]) -> Floats | Run:
    r"""Read scores: one number per line, in the order of the data's rows, or a TREC run.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> _ = path.write_text("0.5\n-1\n")
    >>> sr.trec.read_scores(path)
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
        return _parse_run(file, all_lines)
    if n_columns != 1:
        raise DataError(f"{file}: expected one number per line, or a TREC run of 6 columns; found {n_columns} columns.")
    scores: list[float] = []
    for number, line in all_lines:
        text = line.strip()
        if not text:
            continue
        try:
            scores.append(_number(text))
        except ValueError:
            raise DataError(f"{file}, line {number}: expected a number, found '{text}'.") from None
    return np.array(scores)


def write_scores(scores: Floats, path: str | os.PathLike[str]) -> None:
    """Write scores, one per line, without loss of precision. On an error, nothing is written.

    >>> import pathlib, tempfile, numpy as np, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.txt"
    >>> sr.trec.write_scores(np.array([0.5, 1 / 3]), path)
    >>> sr.trec.read_scores(path)
    array([0.5       , 0.33333333])
    """
    with replacing(path) as stream:
        stream.write("".join(f"{score!r}\n" for score in scores.tolist()).encode())


def _columns(
    file: Path,
    lines: Iterable[tuple[int, str]],
    layout: str,
    value_column: int,
    parse: Callable[[str], Any],
    expected: str,
    seconds: list[str] | None = None,
) -> tuple[list[str], list[str], list[Any]]:
    """Ids and values of the lines; a list for the words of the second column makes them a part of a line's key."""
    qids: list[str] = []
    docids: list[str] = []
    values: list[Any] = []
    first_seen: dict[tuple[str, ...], int] = {}
    for number, line in lines:
        words = line.split()
        if not words:
            continue
        if len(words) != len(layout.split()):
            raise DataError(
                f"{file}, line {number}: expected {len(layout.split())} columns ({layout}), found {len(words)}."
            )
        key = (words[0], words[2]) if seconds is None else (words[0], words[2], words[1])
        if first_seen.setdefault(key, number) != number:
            raise DataError(
                f"{file}, line {number}: document '{key[1]}' of query '{key[0]}' is already in line {first_seen[key]}."
            )
        try:
            values.append(parse(words[value_column]))
        except ValueError:
            found = words[value_column]
            name = layout.split()[value_column]
            raise DataError(f"{file}, line {number}: expected {expected} as the {name}, found '{found}'.") from None
        qids.append(key[0])
        docids.append(key[1])
        if seconds is not None:
            seconds.append(words[1])
    if not qids:
        raise DataError(f"{file} has no lines: expected {layout}.")
    return qids, docids, values


def _number(text: str) -> float:
    """Parse a number as other tools do: only Python accepts 1_0 for 10, and digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _finite_number(text: str) -> float:
    value = _number(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _whole_number(text: str) -> int:
    if not re.fullmatch("[+-]?[0-9]+", text) or abs(int(text)) >= LARGEST_LABEL:
        raise ValueError(text)
    return int(text)


def _written_ids(data: Dataset) -> list[str]:
    """Document ids for a run; raises DataError if a query has one twice."""
    if data.docid is None:
        return [str(row) for row in range(len(data))]
    ids: list[str] = data.docid.astype(str).tolist()
    queries = query_of_row(data.indptr, data.order).tolist()
    first_row: dict[tuple[int, str], int] = {}
    for row, key in enumerate(zip(queries, ids, strict=True)):
        if first_row.setdefault(key, row) != row:
            raise DataError(
                f"rows {first_row[key]} and {row} of query '{id_text(data.qids[key[0]])}' have the same document id, "
                f"'{key[1]}', but a run contains each document of a query once."
            )
    return ids
