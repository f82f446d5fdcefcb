"""The parser of LETOR text: from bytes to one row of features per document.

    2 qid:10032 1:0.056537 2:0 3:NULL 7:-1.5e3 #docid = GX029-35-5894638
    │     │     │ └ value                                 └ docid_spans[row]
    │     │     └ index; column = index - first
    │     └ qid_spans[row], or (-1, -1) if it is the id of the row above
    └ labels[row]

Parsing a dense file is mostly parsing "index:value" pairs. The next index is predicted (` 138:` follows ` 137:`) and
compared with its prepared text in one operation. Indices of sparse and unsorted lines are read digit by digit.
"""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.reading.number_kernel import (
    COLON,
    EQUALS,
    HASH,
    HIGH_BITS,
    LOW_BITS,
    MINUS,
    NEWLINE,
    NINE,
    ZERO,
    U,
    after_token,
    decimal_at,
    first_marked,
    is_blank,
    is_exact,
    plain_value,
    quick_value,
    scaled,
    word_at,
)
from swaprank.reading.parsing_status import (
    BAD_LABEL,
    BAD_PAIR,
    CHANGED,
    DONE,
    FULL,
    LARGEST_INDEX,
    NO_QID,
    OUT_OF_RANGE,
    REPEATED,
)

# The slots of `progress`: the state of the kernel between calls.
POSITION, ROW, WITHIN_LINE, COLUMN, COVERED, QID_START, QID_STOP, N_HARD, LOWEST, HIGHEST = range(10)
N_SLOTS = 10

LABEL_COLUMN = -1
"""The column in `hard` that means the label."""

_NEWLINES = LOW_BITS * U(NEWLINE)
_HASHES = LOW_BITS * U(HASH)
_DOCID = np.frombuffer(b"docid", np.uint8).copy()
_READ_AHEAD = U(40)
"""The fast path reads at most this many bytes ahead; the last bytes of a text take the slow path."""


@kernel
def after_blanks(text: Bytes, at: Any, stop: Any) -> Any:
    """The first position from `at` that is not blank."""
    while at < stop and is_blank(text[at]):
        at += U(1)
    return at


@kernel
def line_end(text: Bytes, at: Any, stop: Any, wanted: Any) -> Any:
    """The first position from `at` of a newline or of the byte that `wanted` repeats eight times."""
    last, base = U(text.size), U(text.ctypes.data)
    while at + U(8) <= last:
        word = word_at(base + at)
        newlines, others = word ^ _NEWLINES, word ^ wanted
        marks = ((newlines - LOW_BITS) & ~newlines) | ((others - LOW_BITS) & ~others)
        if marks & HIGH_BITS:
            at += first_marked(marks & HIGH_BITS)
            return min(at, stop)
        at += U(8)
        if at >= stop:
            return stop
    other = wanted & U(255)
    while at < stop and text[at] != NEWLINE and text[at] != other:
        at += U(1)
    return at


@kernel
def last_index(text: Bytes, start: Any, stop: Any) -> Any:
    """The index of the last pair of a line; 0 if there is none."""
    while stop > start and text[stop - U(1)] != COLON:
        stop -= U(1)
    index, ten = U(0), U(1)
    while stop > start + U(1) and ten <= U(LARGEST_INDEX):
        digit = text[stop - U(2)]
        if digit < ZERO or digit > NINE:
            return index if is_blank(digit) else U(0)
        index += ten * U(digit - ZERO)
        ten *= U(10)
        stop -= U(1)
    return U(0)


@kernel
def survey(text: Bytes) -> tuple[int, Any]:
    """The number of documents, and the largest last index of a line: the width, if indices ascend."""
    at, stop = U(0), U(text.size)
    n_documents, width = 0, U(0)
    while at < stop:
        at = after_blanks(text, at, stop)
        content = line_end(text, at, stop, _HASHES)
        if content > at:
            n_documents += 1
            width = max(width, last_index(text, at, content))
        at = line_end(text, content, stop, _NEWLINES) + U(1)
    return n_documents, np.int64(width)


@kernel
def index_at(text: Bytes, pos: Any, stop: Any) -> tuple[Any, Any]:
    """The index of a pair and the position of its colon; `pos` if there is no index."""
    at, index = pos, U(0)
    while at < stop and ZERO <= text[at] <= NINE:
        index = min(index * U(10) + U(text[at] - ZERO), U(LARGEST_INDEX + 1))
        at += U(1)
    return index, at if at < stop and text[at] == COLON else pos


@kernel
def quick_pairs(
    base: Any, pos: Any, quick_stop: Any, column: Any, expected: AnyArray, values: Features
) -> tuple[Any, Any]:
    """Parse pairs with consecutive columns and plain values; return the next position and column.

    A separate function with few variables, so that all of them stay in registers.
    """
    n_expected = U(min(len(expected), values.size))
    while pos < quick_stop and column < n_expected:
        if word_at(base + pos) & expected[column, U(1)] != expected[column, U(0)]:
            break
        start = pos + expected[column, U(2)]
        end, value = quick_value(base, start)
        if end == start:
            break
        values[column] = np.float32(value)
        pos = end
        column += U(1)
    return pos, column


@kernel
def record_hard(hard: Ints, progress: Ints, row: int, column: Any, start: Any, end: Any) -> None:
    """Record a number that Python must read."""
    k = progress[N_HARD]
    hard[k, 0], hard[k, 1], hard[k, 2], hard[k, 3] = row, column, start, end
    progress[N_HARD] = k + 1


@kernel
def parse_pairs(
    text: Bytes, stop: Any, row: int, first: int, least: int, largest: int, expected: AnyArray,
    seen: Ints, hard: Ints, progress: Ints, values: Features,
) -> int:  # fmt: skip
    """Parse the pairs of one line, from progress[POSITION], into its row of values."""
    pos, column, covered = U(progress[POSITION]), U(progress[COLUMN]), U(progress[COVERED])
    width, base = U(values.size), U(text.ctypes.data)
    quick_stop = U(text.size) - _READ_AHEAD if U(text.size) > _READ_AHEAD else U(0)
    status, pair = DONE, pos
    while True:
        if column >= covered and pos >= U(16):
            run = column
            pos, column = quick_pairs(base, pos, quick_stop, column, expected, values)
            seen[run:column] = row
            covered = max(covered, column)
        pos = after_blanks(text, pos, stop)
        if pos >= stop or text[pos] == NEWLINE or text[pos] == HASH:
            break
        pair = pos
        index, pos = index_at(text, pair, stop)
        if pos == pair or index > U(LARGEST_INDEX) or index < U(least) or index > U(largest):
            status = BAD_PAIR if pos == pair else OUT_OF_RANGE
            break
        progress[LOWEST] = min(progress[LOWEST], np.int64(index))
        progress[HIGHEST] = max(progress[HIGHEST], np.int64(index))
        column = index - U(first)
        pos += U(1)
        if column < covered and column < width and seen[column] == row:
            status = REPEATED
            break
        end, value = quick_value(base, pos) if U(16) <= pos < quick_stop else (pos, 0.0)
        if end == pos:
            status, end, value = plain_value(text, pos, stop)
            if status == FULL:
                if progress[N_HARD] == len(hard):
                    break
                record_hard(hard, progress, row, np.int64(column), pos, end)
                status = DONE
            if status != DONE:
                break
        # A column outside the matrix is only recorded; the text is then parsed again with the right width.
        if column < width:
            values[column] = np.float32(value)
            seen[column] = row
            covered = max(covered, column + U(1))
        pos = end
        column += U(1)
    progress[POSITION] = pos if status == DONE else pair
    progress[COLUMN], progress[COVERED] = column, covered
    return status


@kernel
def has_colon(text: Bytes, start: Any, stop: Any) -> Any:
    """True if the word that starts here has a colon."""
    at, end = start, after_token(text, start, stop)
    while at < end and text[at] != COLON:
        at += U(1)
    return at < end


@kernel
def parse_label_and_qid(
    text: Bytes, stop: Any, row: int, with_qid: bool, unlabeled: bool,
    hard: Ints, progress: Ints, labels: Floats, qid_spans: Ints,
) -> int:  # fmt: skip
    """Parse label and query id of a line, from progress[POSITION]; `hard` must have room for the label.

    If unlabeled, the label may be missing: a first word with a colon is the query id, or a feature.
    """
    pos = U(progress[POSITION])
    end, mantissa, exponent, dropped = decimal_at(text, pos, stop)
    if unlabeled and has_colon(text, pos, stop):
        end = pos
    elif end == pos:
        return BAD_LABEL
    else:
        value = scaled(mantissa, exponent)
        labels[row] = -value if text[pos] == MINUS else value
        if not is_exact(mantissa, exponent, dropped):
            record_hard(hard, progress, row, LABEL_COLUMN, pos, end)
    progress[POSITION] = end
    if not with_qid:
        return DONE
    pos = after_blanks(text, end, stop)
    progress[POSITION] = pos
    if pos + U(4) > stop or text[pos] != 113 or text[pos + U(1)] != 105 or text[pos + U(2)] != 100:  # q, i, d
        return NO_QID
    start = pos + U(4)
    end = after_token(text, start, stop)
    if text[pos + U(3)] != COLON or end == start:
        return NO_QID
    before, length = U(progress[QID_START]), end - start
    same = U(progress[QID_STOP]) - before == length
    k = U(0)
    while same and k < length:
        same = text[before + k] == text[start + k]
        k += U(1)
    qid_spans[row, 0], qid_spans[row, 1] = -1 if same else np.int64(start), -1 if same else np.int64(end)
    progress[QID_START], progress[QID_STOP] = start, end
    progress[POSITION] = end
    return DONE


@kernel
def document_id_span(text: Bytes, comment: Any, stop: Any, span: Ints) -> None:
    """The span of the id in a comment `#docid = X`; (0, 0) if there is none."""
    span[0], span[1] = 0, 0
    at = after_blanks(text, comment + U(1), stop)
    for letter in _DOCID:
        if at >= stop or text[at] != letter:
            return
        at += U(1)
    at = after_blanks(text, at, stop)
    if at >= stop or text[at] != EQUALS:
        return
    start = after_blanks(text, at + U(1), stop)
    end = start
    while end < stop and text[end] != NEWLINE and not is_blank(text[end]):
        end += U(1)
    span[0], span[1] = start, end


@kernel
def parse_lines(
    text: Bytes, last_row: int, first: int, least: int, largest: int, with_qid: bool, unlabeled: bool, absent: float,
    expected: AnyArray, seen: Ints, hard: Ints, progress: Ints,
    features: Features, labels: Floats, qid_spans: Ints, docid_spans: Ints,
) -> int:  # fmt: skip
    """Parse the lines from progress[POSITION], one row each, from progress[ROW].

    No row from `last_row` on is written: more lines mean that the text has changed since its documents were counted.
    Indices below `first` or beyond the matrix are recorded in progress; below `least` or above `largest` is an error.
    """
    stop = U(text.size)
    while True:
        row = progress[ROW]
        if not progress[WITHIN_LINE]:
            pos = after_blanks(text, U(progress[POSITION]), stop)
            if pos < stop and (text[pos] == NEWLINE or text[pos] == HASH):
                progress[POSITION] = line_end(text, pos, stop, _NEWLINES) + U(1)
                continue
            progress[POSITION] = pos
            if pos >= stop:
                return DONE
            if row >= last_row:
                return CHANGED
            if progress[N_HARD] == len(hard):
                return FULL
            status = parse_label_and_qid(text, stop, row, with_qid, unlabeled, hard, progress, labels, qid_spans)
            if status != DONE:
                return status
            features[row, :] = absent
            progress[WITHIN_LINE], progress[COLUMN], progress[COVERED] = 1, 0, 0
        status = parse_pairs(text, stop, row, first, least, largest, expected, seen, hard, progress, features[row])
        if status != DONE:
            return status
        pos = U(progress[POSITION])
        if pos < stop and text[pos] == HASH:
            document_id_span(text, pos, stop, docid_spans[row])
            pos = line_end(text, pos, stop, _NEWLINES)
        else:
            docid_spans[row, 0], docid_spans[row, 1] = 0, 0
        progress[POSITION], progress[ROW], progress[WITHIN_LINE] = pos + U(1), row + 1, 0


@kernel
def gather_texts(text: Bytes, spans: Ints, rows: Ints, out: Bytes) -> None:
    """Copy the span of each chosen row to the start of a row of `out`."""
    for k in range(len(rows)):
        start = spans[rows[k], 0]
        for i in range(spans[rows[k], 1] - start):
            out[k, i] = text[start + i]
