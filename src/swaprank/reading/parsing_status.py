"""What the parser of LETOR text is told and what it reports: shared by the kernel and the code around it.

The numbers are compiled into the `@kernel` functions of `letor_kernel`: touch that file after an edit here.
"""

from __future__ import annotations

from typing import NamedTuple


class Format(NamedTuple):
    """What lines are to look like."""

    with_qid: bool
    absent: float
    n_features: int | None
    zero_based: bool | None


# What a kernel returns: all is well, `hard` is full (empty it and call again), or what is wrong with the line.
DONE, FULL, BAD_LABEL, NO_QID, BAD_PAIR, BAD_VALUE, INFINITE, OUT_OF_RANGE, REPEATED = range(9)

# The slots of `progress`: where the kernel stands, and what it has seen.
POSITION, ROW, WITHIN_LINE, COLUMN, COVERED, QID_START, QID_STOP, N_HARD, LOWEST, HIGHEST = range(10)
N_SLOTS = 10

LABEL_COLUMN = -1
"""Stands for the label where `hard` names a column."""

LARGEST_INDEX = 10_000_000
"""A larger feature number is taken for a mistake, not for a matrix of so many columns."""

LONG_ID, NOT_UTF8 = 9, 10
LONGEST_ID = 4096
"""Ids are kept in arrays as wide as the longest; one absurd id must not cost so much for every row."""
