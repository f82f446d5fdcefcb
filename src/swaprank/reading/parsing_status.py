"""Settings and status codes of the LETOR parser, shared by the kernel and the code around it.

Numba compiles these numbers into `letor_kernel` and watches only that file: touch it after an edit here.
"""

from typing import NamedTuple


class Format(NamedTuple):
    """The expected format of lines."""

    with_qid: bool
    absent: float
    n_features: int | None
    zero_based: bool | None
    unlabeled: bool = False


# Return values of the kernel: done, `hard` is full (empty it and call again), or the error in the line.
DONE, FULL, BAD_LABEL, NO_QID, BAD_PAIR, BAD_VALUE, INFINITE, OUT_OF_RANGE, REPEATED = range(9)

# The slots of `progress`: the state of the kernel between calls.
POSITION, ROW, WITHIN_LINE, COLUMN, COVERED, QID_START, QID_STOP, N_HARD, LOWEST, HIGHEST = range(10)
N_SLOTS = 10

LABEL_COLUMN = -1
"""The column in `hard` that means the label."""

LARGEST_INDEX = 10_000_000
"""Larger feature numbers are an error, rather than a matrix with that many columns."""

LONG_ID, NOT_UTF8 = 9, 10

CHANGED = 11
"""The text has another number of documents than when it was surveyed."""

LONGEST_ID = 4096
"""Ids are stored in an array as wide as the longest one, so a very long id would take that space for every row."""
