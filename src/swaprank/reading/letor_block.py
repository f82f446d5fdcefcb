"""One block of LETOR text, parsed on all cores: survey, allocate once, parse into place.

    text      |  lines  |  lines  |  lines  |        one chunk per thread, cut at line ends
    survey       3 rows    4 rows    3 rows          number of documents and of features
    features  [  0 … 2  |  3 … 6  |  7 … 9  ]        each thread fills its own rows

A thread goes through its chunk piece by piece, and reads every piece twice: to survey and to parse it. If the file has
changed in between, the rows of a piece are not filled, or do not suffice; no other rows are ever written.

The survey reads only the last index of each line. If the parser finds an index beyond the survey's width, the block is
parsed again with the right width.
"""

import os
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Floats, Ints
from swaprank.data.precision import FIRST_INEXACT, count_merged, warn_of_merged
from swaprank.errors import DataError
from swaprank.reading import letor_kernel, parsing_status
from swaprank.reading.parsing_status import CHANGED, DONE, FULL, LARGEST_INDEX, LONGEST_ID, BadLineError, LetorFormat
from swaprank.reading.text_files import Text, line_start, pieces
from swaprank.threads import run_in_threads

_LEAST_CHUNK = 1 << 18
_HARD_NUMBERS = 1024
_EXPECTED_INDICES = 4096
_BEYOND_ASCII = 128
HEAD_BYTES = 1 << 20
_HEAD_DOCUMENTS = 2000


class Ids(NamedTuple):
    """The ids of some consecutive documents."""

    n_documents: int
    qid_rows: Ints
    """Rows, from 0, that start a run of equal query ids, whose ids are in qid_texts."""
    qid_texts: AnyArray
    docids: AnyArray | None


class ParsedBlock(NamedTuple):
    """The documents of one block; `first` is the feature number of column 0."""

    features: Features
    first: int
    labels: Floats
    ids: list[Ids]


class _Surveyed(NamedTuple):
    """A piece of the text, and its documents."""

    start: int
    stop: int
    n_documents: int
    width: int


class _Rows(NamedTuple):
    """The arrays that the kernel fills, one entry per document."""

    features: Features
    labels: Floats
    qid_spans: Ints
    docid_spans: Ints


class _Outcome(NamedTuple):
    kind: int
    position: int
    lowest: int
    highest: int
    ids: list[Ids]


def parse_block(text: Text, start: int, form: LetorFormat, n_threads: int) -> ParsedBlock:
    """Parse the text from `start`; raises BadLineError for the first bad line."""
    surveys = run_in_threads(_survey, [(text, *chunk) for chunk in _chunks(text, start, n_threads)])
    n_documents = [sum(piece.n_documents for piece in survey) for survey in surveys]
    first_rows = np.cumsum([0, *n_documents])
    n_rows = int(first_rows[-1])
    first = 0 if form.zero_based else 1
    last = max(piece.width for survey in surveys for piece in survey)
    while True:
        width = form.n_features or max(last - first + 1, 0)
        rows = _empty_rows(n_rows, width)
        expected = _expected_indices(first, width)
        jobs = [
            (text, survey, int(row), first, form, expected, rows)
            for survey, row in zip(surveys, first_rows, strict=False)
        ]
        outcomes = run_in_threads(_parse_chunk, jobs)
        lowest, highest = min(o.lowest for o in outcomes), max(o.highest for o in outcomes)
        if lowest >= first and highest < first + width:
            break
        first, last = min(first, lowest), max(last, highest)
    for outcome in outcomes:
        if outcome.kind != DONE:
            raise BadLineError(outcome.kind, outcome.position)
    return ParsedBlock(rows.features, first, rows.labels, [ids for outcome in outcomes for ids in outcome.ids])


def _chunks(text: Text, start: int, n_threads: int) -> list[tuple[int, int]]:
    """Cut a text at line ends into about equal parts, one per thread."""
    size, read = text.size, text.reader()
    n_chunks = max(1, min(n_threads, (size - start) // _LEAST_CHUNK))
    cuts = [line_start(read, start + (size - start) * k // n_chunks, size) for k in range(1, n_chunks)]
    bounds = sorted({start, *cuts, size})
    return list(pairwise(bounds))


def _survey(text: Text, start: int, stop: int) -> list[_Surveyed]:
    return [
        _Surveyed(piece.start, piece.stop, *letor_kernel.survey(piece.text))
        for piece in pieces(text.reader(), start, stop)
    ]


def _empty_rows(n_rows: int, width: int) -> _Rows:
    needed = n_rows * width * np.dtype(np.float32).itemsize
    try:
        if hasattr(os, "sysconf") and needed > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
            raise MemoryError
        features = np.empty((n_rows, width), np.float32)
    except MemoryError:
        raise DataError(
            f"{n_rows:,} documents x {width:,} features take {needed / 1e9:,.0f} GB, more memory than there is; "
            f"{width:,} is the largest feature number in the file."
        ) from None
    return _Rows(features, np.empty(n_rows), np.empty((n_rows, 2), np.int64), np.empty((n_rows, 2), np.int64))


def _expected_indices(first: int, width: int) -> AnyArray:
    """The text ` <index>:` of each column as (word, mask, length); it fits in eight bytes."""
    texts = [f" {first + column}:".encode() for column in range(min(width, _EXPECTED_INDICES))]
    entries = [(int.from_bytes(text, "little"), 256 ** len(text) - 1, len(text)) for text in texts]
    return np.array(entries, np.uint64).reshape(-1, 3)


def _parse_chunk(
    text: Text, survey: list[_Surveyed], row: int, first: int, form: LetorFormat, expected: AnyArray, rows: _Rows
) -> _Outcome:
    width, read = rows.features.shape[1], text.reader()
    seen = np.full(width, -1, np.int64)
    lowest, highest, ids = first, first + width - 1, []
    for start, stop, n_documents, _ in survey:
        progress = np.zeros(letor_kernel.N_SLOTS, np.int64)
        progress[letor_kernel.ROW] = row
        progress[letor_kernel.LOWEST], progress[letor_kernel.HIGHEST] = lowest, highest
        piece, last_row = read(start, stop), row + n_documents
        kind = _parse_piece(piece, last_row, first, form, expected, seen, progress, rows)
        lowest, highest = int(progress[letor_kernel.LOWEST]), int(progress[letor_kernel.HIGHEST])
        at = int(progress[letor_kernel.POSITION])
        if kind == DONE and progress[letor_kernel.ROW] != last_row:
            kind = CHANGED
        if kind == DONE:
            try:
                ids.append(_ids(piece, rows.qid_spans[row:last_row], rows.docid_spans[row:last_row], form.with_qid))
            except BadLineError as bad:
                kind, at = bad.kind, bad.position
        if kind != DONE:
            return _Outcome(kind, start + at, lowest, highest, ids)
        row = last_row
    return _Outcome(DONE, 0, lowest, highest, ids)


def _parse_piece(
    text: Bytes,
    last_row: int,
    first: int,
    form: LetorFormat,
    expected: AnyArray,
    seen: Ints,
    progress: Ints,
    rows: _Rows,
) -> int:
    """Parse the lines of a piece into the rows from progress[ROW] to `last_row`."""
    least = 1 if form.zero_based is False else 0
    largest = LARGEST_INDEX if form.n_features is None else first + rows.features.shape[1] - 1
    hard = np.empty((_HARD_NUMBERS, 4), np.int64)
    kind = FULL
    while kind == FULL:
        progress[letor_kernel.N_HARD] = 0
        kind = letor_kernel.parse_lines(
            text, last_row, first, least, largest, form.with_qid, form.unlabeled, form.absent, expected, seen, hard,
            progress, *rows,
        )  # fmt: skip
        bad_label = _read_hard_numbers(text, hard[: progress[letor_kernel.N_HARD]], rows)
        if bad_label is not None:
            kind, progress[letor_kernel.POSITION] = parsing_status.BAD_LABEL, bad_label
    return kind


def _read_hard_numbers(text: Bytes, hard: Ints, rows: _Rows) -> int | None:
    """Read with Python the numbers that the kernel cannot round; return the position of the first infinite label."""
    for row, column, start, end in hard.tolist():
        value = float(text[start:end].tobytes())
        if column != letor_kernel.LABEL_COLUMN:
            # A column outside the matrix is stored when the block is parsed again.
            if 0 <= column < rows.features.shape[1]:
                rows.features[row, column] = single(value)
        elif np.isfinite(value):
            rows.labels[row] = value
        else:
            return int(start)
    return None


def single(value: float) -> np.float32:
    """A float32; NaN if the number is beyond its range."""
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    return np.float32(np.nan) if np.isinf(rounded) else rounded


def _ids(text: Bytes, qid_spans: Ints, docid_spans: Ints, with_qid: bool) -> Ids:
    qid_rows = np.flatnonzero(qid_spans[:, 0] >= 0) if with_qid else np.empty(0, np.int64)
    all_rows = np.arange(len(docid_spans))
    return Ids(
        n_documents=len(docid_spans),
        qid_rows=qid_rows,
        qid_texts=_texts(text, qid_spans, qid_rows),
        docids=_texts(text, docid_spans, all_rows) if docid_spans[:, 1].any() else None,
    )


def _texts(text: Bytes, spans: Ints, rows: Ints) -> AnyArray:
    """The spans of the chosen rows, as an array of byte strings."""
    lengths = (spans[:, 1] - spans[:, 0])[rows]
    longest = int(lengths.max(initial=1))
    if longest > LONGEST_ID:
        raise BadLineError(parsing_status.LONG_ID, int(spans[rows[np.argmax(lengths > LONGEST_ID)], 0]))
    out = np.zeros((len(rows), longest), np.uint8)
    letor_kernel.gather_texts(text, spans, rows, out)
    for k in np.flatnonzero((out >= _BEYOND_ASCII).any(axis=1)).tolist():
        try:
            out[k].tobytes().decode()
        except UnicodeDecodeError:
            raise BadLineError(parsing_status.NOT_UTF8, int(spans[rows[k], 0])) from None
    return out.view(f"S{longest}").reshape(-1)


def check_text_precision(parsed: ParsedBlock, file: Path, head: bytes) -> None:
    """Warn about features of large numbers that lose values in the first documents of a file (data/precision.py).

    The parser rounds numbers as it reads them. If it found large ones, Python reads these documents again, from `head`:
    the first HEAD_BYTES of the text, or all if it has fewer.
    """
    large = np.flatnonzero((np.abs(parsed.features[:_HEAD_DOCUMENTS]) >= FIRST_INEXACT).any(axis=0)).tolist()
    if not large:
        return
    lines = head[: head.rfind(b"\n") + 1 if len(head) == HEAD_BYTES else None].splitlines()
    documents = [line for line in (line.partition(b"#")[0].split() for line in lines) if line][:_HEAD_DOCUMENTS]
    pairs = [dict(word.split(b":", 1) for word in words if b":" in word) for words in documents]
    found = []
    for column in large:
        name = str(parsed.first + column)
        given = np.array([_number(values.get(name.encode(), b"nan")) for values in pairs])
        with np.errstate(over="ignore"):
            kept = given.astype(np.float32)
        found.append(count_merged(f"'{name}'", given, kept))
    warn_of_merged([each for each in found if each is not None], f"{file}, first {len(pairs):,} documents, ")


def _number(text: bytes) -> float:
    """A number, NaN for NULL and what else is not one."""
    try:
        return float(text)
    except ValueError:
        return np.nan
