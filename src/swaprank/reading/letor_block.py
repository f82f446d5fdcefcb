"""One block of LETOR text, parsed on all cores: survey, allocate once, parse into place.

    text      |  lines  |  lines  |  lines  |        one chunk per thread, cut at line ends
    survey       3 rows    4 rows    3 rows          number of documents and of features
    features  [  0 … 2  |  3 … 6  |  7 … 9  ]        each thread fills its own rows

The survey reads only the last index of each line. If the parser finds an index beyond the survey's width, the block is
parsed again with the right width.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Floats, Ints
from swaprank.errors import DataError
from swaprank.reading import letor_kernel, parsing_status
from swaprank.reading.bad_lines import BadLineError
from swaprank.reading.parsing_status import DONE, FULL, LARGEST_INDEX, LONGEST_ID, Format
from swaprank.reading.text_files import Block
from swaprank.threads import run_in_threads

_LEAST_CHUNK = 1 << 18
_HARD_NUMBERS = 1024
_EXPECTED_INDICES = 4096
_BEYOND_ASCII = 128


class ParsedBlock(NamedTuple):
    """The documents of one block; `first` is the feature number of column 0."""

    features: Features
    first: int
    labels: Floats
    qid_rows: Ints
    """Rows that start a run of equal query ids, whose ids are in qid_texts."""
    qid_texts: AnyArray
    docids: AnyArray | None


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


def parse_block(block: Block, start: int, form: Format, n_threads: int) -> ParsedBlock:
    """Parse the text from `start`; raises BadLineError for the first bad line."""
    text = np.frombuffer(block, np.uint8)
    chunks = _chunks(block, start, n_threads)
    surveys = run_in_threads(letor_kernel.survey, [(text, a, b) for a, b in chunks])
    first_rows = np.cumsum([0, *(n_documents for n_documents, _ in surveys)])
    n_rows = int(first_rows[-1])
    first = 0 if form.zero_based else 1
    last = max(width for _, width in surveys)
    while True:
        width = form.n_features or max(last - first + 1, 0)
        rows = _empty_rows(n_rows, width)
        expected = _expected_indices(first, width)
        jobs = [
            (text, *chunk, int(row), first, form, expected, rows)
            for chunk, row in zip(chunks, first_rows, strict=False)
        ]
        outcomes = run_in_threads(_parse_chunk, jobs)
        lowest, highest = min(o.lowest for o in outcomes), max(o.highest for o in outcomes)
        if lowest >= first and highest < first + width:
            break
        first, last = min(first, lowest), max(last, highest)
    for outcome in outcomes:
        if outcome.kind != DONE:
            raise BadLineError(outcome.kind, outcome.position)
    return _with_ids(text, rows, first, form.with_qid)


def _chunks(block: Block, start: int, n_threads: int) -> list[tuple[int, int]]:
    """Cut a text at line ends into about equal parts, one per thread."""
    size = len(block)
    n_chunks = max(1, min(n_threads, (size - start) // _LEAST_CHUNK))
    bounds = [start]
    for k in range(1, n_chunks):
        newline = block.find(b"\n", start + (size - start) * k // n_chunks)
        if newline >= bounds[-1]:
            bounds.append(newline + 1)
    return list(zip(bounds, [*bounds[1:], size], strict=True))


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
    text: Bytes, start: int, stop: int, row: int, first: int, form: Format, expected: AnyArray, rows: _Rows
) -> _Outcome:
    width = rows.features.shape[1]
    least = 1 if form.zero_based is False else 0
    largest = LARGEST_INDEX if form.n_features is None else first + width - 1
    seen = np.full(width, -1, np.int64)
    hard = np.empty((_HARD_NUMBERS, 4), np.int64)
    progress = np.zeros(parsing_status.N_SLOTS, np.int64)
    progress[parsing_status.POSITION], progress[parsing_status.ROW] = start, row
    progress[parsing_status.LOWEST], progress[parsing_status.HIGHEST] = first, first + width - 1
    kind = FULL
    while kind == FULL:
        progress[parsing_status.N_HARD] = 0
        kind = letor_kernel.parse_lines(
            text, stop, first, least, largest, form.with_qid, form.absent, expected, seen, hard, progress, *rows
        )
        bad_label = _read_hard_numbers(text, hard[: progress[parsing_status.N_HARD]], rows)
        if bad_label is not None:
            kind, progress[parsing_status.POSITION] = parsing_status.BAD_LABEL, bad_label
    return _Outcome(
        kind,
        int(progress[parsing_status.POSITION]),
        int(progress[parsing_status.LOWEST]),
        int(progress[parsing_status.HIGHEST]),
    )


def _read_hard_numbers(text: Bytes, hard: Ints, rows: _Rows) -> int | None:
    """Read with Python the numbers that the kernel cannot round; return the position of the first infinite label."""
    for row, column, start, end in hard.tolist():
        value = float(text[start:end].tobytes())
        if column != parsing_status.LABEL_COLUMN:
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


def _with_ids(text: Bytes, rows: _Rows, first: int, with_qid: bool) -> ParsedBlock:
    qid_rows = np.flatnonzero(rows.qid_spans[:, 0] >= 0) if with_qid else np.empty(0, np.int64)
    all_rows = np.arange(len(rows.labels))
    has_docids = bool(rows.docid_spans[:, 1].any())
    return ParsedBlock(
        features=rows.features,
        first=first,
        labels=rows.labels,
        qid_rows=qid_rows,
        qid_texts=_texts(text, rows.qid_spans, qid_rows),
        docids=_texts(text, rows.docid_spans, all_rows) if has_docids else None,
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
