"""The codes of documents: how many of a feature's thresholds a value is above, in one byte.

A node then compares bytes, of as many documents as fit into a register. A ruler has up to 255 thresholds of a feature,
in ascending order; a feature with more has several rulers. The marks of a ruler are its thresholds if there are few,
which are compared one by one with the values of many documents. Many thresholds are cut into parts of eight::

    pivots   the last threshold of each part but the last       how many are below a value is the number of its part
    parts    the thresholds, then infinity                      how many of the part are below it

A missing value is above no threshold where it goes left, and above all where it goes right, so a ruler has up to two
rows of codes. Codes are from -128, because processors compare bytes with signs.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.kernels import inlined_kernel
from swaprank.models.leaf_bits import LANES, PART, copy_with_missing, count_below, count_in_lanes

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_LONGEST = 255
_FEW = 36
"""Up to so many thresholds, comparing all is faster than looking for a part."""
_LOWEST = -128
SIDES = 2


class Rulers(NamedTuple):
    """The thresholds of all features, and the rows of their codes.

    ruler_marks[2r], ruler_marks[2r + 1] -> marks: the pivots, then the parts, if there are any
    """

    ruler_feature: Ints
    ruler_marks: Ints
    ruler_rows: Ints
    """Two per ruler: the row of codes for nodes that send missing values left, and right; -1 if there are none."""
    marks: Features

    @property
    def n_rows(self) -> int:
        """The number of rows of codes."""
        return int(self.ruler_rows.max(initial=-1)) + 1


def make_rulers(forest: "Forest", nodes: Ints) -> tuple[Rulers, Ints, NDArray[np.int8]]:
    """The rulers of some nodes with a threshold, and for each of these nodes its row of codes and the threshold's code.

    A document goes right at a node if its code in this row is above that of the threshold.
    """
    feature, threshold = forest.feature[nodes].astype(np.int64), forest.threshold[nodes]
    missing_right = ~forest.missing_left[nodes]
    order = np.lexsort((threshold, feature))
    features, thresholds = feature[order], threshold[order]
    starts_feature = np.append(True, features[1:] != features[:-1])[: len(order)]
    is_new = starts_feature | np.append(True, thresholds[1:] != thresholds[:-1])[: len(order)]
    number = np.cumsum(is_new) - 1
    # The rank of a threshold among those of its feature.
    rank = number - np.maximum.accumulate(np.where(starts_feature, number, 0))
    ruler = np.cumsum(starts_feature | (is_new & (rank % _LONGEST == 0))) - 1
    ruler_of, code_of = np.empty_like(order), np.empty_like(order)
    ruler_of[order], code_of[order] = ruler, rank % _LONGEST

    used = np.unique(SIDES * ruler_of + missing_right)
    n_rulers = int(ruler[-1]) + 1 if len(ruler) else 0
    ruler_rows = np.full(SIDES * n_rulers, -1)
    ruler_rows[used] = np.arange(len(used))
    starts = np.flatnonzero(np.append(True, ruler[1:] != ruler[:-1])[: len(ruler)])
    marks, sizes = [np.empty(0, np.float32)], [0]
    for own in np.split(thresholds[is_new], number[starts[1:]]) if n_rulers else []:
        pivots, parts = _marks(own)
        marks += [pivots, parts]
        sizes += [len(pivots), len(parts)]
    rulers = Rulers(features[starts], np.cumsum(sizes), ruler_rows, np.concatenate(marks))
    return rulers, ruler_rows[SIDES * ruler_of + missing_right], (code_of + _LOWEST).astype(np.int8)


def _marks(thresholds: Features) -> tuple[Features, Features]:
    """The pivots and parts of one ruler.

    >>> import numpy as np
    >>> from swaprank.models.threshold_codes import _marks
    >>> [[len(each) for each in _marks(np.arange(n, dtype=np.float32))] for n in (20, 70)]
    [[20, 0], [8, 72]]
    """
    if len(thresholds) <= _FEW:
        return thresholds, thresholds[:0]
    parts = np.full(-(-len(thresholds) // PART) * PART, np.inf, np.float32)
    parts[: len(thresholds)] = thresholds
    return parts[PART - 1 :: PART][:-1], parts


@inlined_kernel
def encode(rulers: Rulers, X: Features, start: Any, n_lanes: Any, values: Features, codes: AnyArray) -> None:
    """Write the codes of up to `LANES` documents: one row for each ruler and side of missing values."""
    lanes, part_size = np.uint64(LANES), np.uint64(PART)
    for r in range(len(rulers.ruler_feature)):
        feature = np.uint64(rulers.ruler_feature[r])
        for lane in range(n_lanes):
            values[lane] = X[start + lane, feature]
        pivots, parts, stop = rulers.ruler_marks[2 * r], rulers.ruler_marks[2 * r + 1], rulers.ruler_marks[2 * r + 2]
        left, right = rulers.ruler_rows[2 * r], rulers.ruler_rows[2 * r + 1]
        row = np.uint64(max(left, right)) * lanes
        count_in_lanes(values, rulers.marks, pivots, parts, codes, row)
        if stop > parts:
            for lane in range(n_lanes):
                before = part_size * np.uint64(np.uint8(codes[row + lane] ^ np.int8(_LOWEST)))
                count = before + count_below(rulers.marks, np.uint64(parts) + before, values[lane])
                codes[row + lane] = np.int8(count) ^ np.int8(_LOWEST)
        if right >= 0:
            copy_with_missing(values, codes, row, codes, np.uint64(max(left, 0)) * lanes, left >= 0)


@inlined_kernel
def add_leaves(values: Floats, first: Any, leaves: Any, n_lanes: Any, totals: Floats) -> None:
    """Add the leaf values of one tree to the totals."""
    first = np.uint64(first)
    for lane in range(np.uint64(n_lanes)):
        totals[lane] += values[first + np.uint64(leaves[lane])]
