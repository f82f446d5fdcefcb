"""Judgements and runs in the text formats of TREC."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading.compression import existing_file, replacing, text_lines


@final
@dataclass(frozen=True, eq=False, slots=True)
class Qrels:
    """Relevance judgements: one label for each judged (query, document).

    >>> import numpy as np, swaprank as sr
    >>> sr.Qrels(np.array(["q1", "q1"]), np.array(["a", "b"]), np.array([2, 0])).to_dict()
    {'q1': {'a': 2, 'b': 0}}
    """

    qid: AnyArray
    docid: AnyArray
    label: Ints

    def to_dict(self) -> dict[str, dict[str, int]]:
        """Labels by query and document, as pytrec_eval and ir_measures take them."""
        return _nested(self.qid, self.docid, self.label)


@final
@dataclass(frozen=True, eq=False, slots=True)
class Run:
    """A system's answer: one score for each retrieved (query, document).

    >>> import numpy as np, swaprank as sr
    >>> run = sr.Run(np.array(["7", "7"]), np.array(["b", "a"]), np.array([0.5, 1.5]))
    >>> run.scores_for(sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7], docid=["a", "b"]))
    array([1.5, 0.5])
    """

    qid: AnyArray
    docid: AnyArray
    score: Floats

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Scores by query and document, as pytrec_eval and ir_measures take them."""
        return _nested(self.qid, self.docid, self.score)

    def scores_for(self, data: Dataset) -> Floats:
        """The scores of a data set's documents, in the order of its rows, matched by query id and document id."""
        if data.docid is None:
            raise DataError("a run is matched by document ids, and this data set has none.")
        scores = self.to_dict()
        found = np.full(len(data), np.nan)
        missing: list[tuple[int, str]] = []
        docids = data.docid.astype(str)
        for query, qid in enumerate(data.qids.astype(str).tolist()):
            of_query = scores.get(qid, {})
            for row in data.rows(query).tolist():
                score = of_query.get(docids[row])
                if score is None:
                    missing.append((row, qid))
                else:
                    found[row] = score
        if missing:
            row, qid = min(missing)
            raise DataError(
                f"the run has no score for {len(missing):,} of {len(data):,} documents; "
                f"the first is '{docids[row]}' of query '{qid}' (row {row})."
            )
        return found


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    r"""Read judgements, one a line: query, iteration (unused), document, label.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "judged.qrels"
    >>> _ = path.write_text("301 0 FR94-1 1\n301 0 FR94-2 0\n")
    >>> sr.read_qrels(path).to_dict()
    {'301': {'FR94-1': 1, 'FR94-2': 0}}
    """
    qids, docids, labels = _columns(existing_file(path), "query iteration document label", 2, 3, int, "a whole number")
    return Qrels(np.array(qids), np.array(docids), np.array(labels, np.int64))


def read_run(path: str | os.PathLike[str]) -> Run:
    r"""Read a run, one document a line: query, Q0 (unused), document, rank (unused), score, tag.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "bm25.run"
    >>> _ = path.write_text("301 Q0 FR94-1 1 12.5 bm25\n301 Q0 FR94-2 2 11 bm25\n")
    >>> sr.read_run(path).score
    array([12.5, 11. ])
    """
    columns = "query Q0 document rank score tag"
    qids, docids, scores = _columns(existing_file(path), columns, 2, 4, _finite, "a finite number")
    return Run(np.array(qids), np.array(docids), np.array(scores, np.float64))


def write_run(data: Dataset, scores: Any, path: str | os.PathLike[str], tag: str = "swaprank") -> None:
    """Write scores as a TREC run: query, Q0, document, rank from 1, score, tag.

    Documents go by score, and by document id, descending, where scores are equal, which is how trec_eval orders
    them. Where the data set has no document ids, the row's number, from 0, is the id.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.run"
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[301, 301], docid=["FR94-1", "FR94-2"])
    >>> sr.write_run(data, [0.25, 1.5], path)
    >>> print(path.read_text(), end="")
    301 Q0 FR94-2 1 1.5 swaprank
    301 Q0 FR94-1 2 0.25 swaprank
    """
    values = np.asarray(scores, np.float64)
    if values.shape != (len(data),):
        raise DataError(f"scores must be one for each of the {len(data):,} documents, found shape {values.shape}.")
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(f"scores, row {row}: {values[row]} is not a finite number.")
    docids = [str(row) for row in range(len(data))] if data.docid is None else data.docid.astype(str).tolist()
    qids = data.qids.astype(str).tolist()
    for what, texts in (("tag", [tag]), ("query id", qids), ("document id", docids)):
        for text in texts:
            if text.split() != [text]:
                raise DataError(f"the {what} '{text}' cannot be written: a run's columns are parted by blanks.")
    with replacing(path) as stream:
        for query, qid in enumerate(qids):
            rows = data.rows(query).tolist()
            rows.sort(key=lambda row: (values[row], docids[row]), reverse=True)
            lines = [f"{qid} Q0 {docids[r]} {k} {float(values[r])!r} {tag}\n" for k, r in enumerate(rows, 1)]
            stream.write("".join(lines).encode())


def _columns(
    file: Path, layout: str, docid_column: int, value_column: int, parse: Callable[[str], Any], expected: str
) -> tuple[list[str], list[str], list[Any]]:
    qids: list[str] = []
    docids: list[str] = []
    values: list[Any] = []
    first_seen: dict[tuple[str, str], int] = {}
    for number, line in text_lines(file):
        words = line.split()
        if not words:
            continue
        if len(words) != len(layout.split()):
            raise DataError(
                f"{file}, line {number}: expected {len(layout.split())} columns ({layout}), found {len(words)}."
            )
        key = words[0], words[docid_column]
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
    if not qids:
        raise DataError(f"{file} has no lines: expected {layout}.")
    return qids, docids, values


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _nested(qids: AnyArray, docids: AnyArray, values: AnyArray) -> dict[str, dict[str, Any]]:
    nested: dict[str, dict[str, Any]] = {}
    for qid, docid, value in zip(qids.tolist(), docids.tolist(), values.tolist(), strict=True):
        nested.setdefault(qid, {})[docid] = value
    return nested
