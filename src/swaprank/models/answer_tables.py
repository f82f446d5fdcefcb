"""Score documents with trees that ask few questions, by a table with the value of the leaf for all answers.

All nodes of a level of a symmetric tree ask the same question, so a tree of 64 leaves asks six. The answers are the
bits of a number, the number is the place in the table, and no answer has to wait for another::

    x[3] > 0.5 ?   yes       1 0 1 = 5  ->  values[5]
    x[7] > 2 ?     no
    x[3] > 0.1 ?   yes
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.models.leaf_bits import LANES, answered_leaves
from swaprank.models.threshold_codes import Rulers, add_leaves, encode, make_rulers

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

_MOST_QUESTIONS = 8
"""The place in a table is a byte."""
_LARGEST = 8
"""The tables have at most so many values per leaf."""


class AnswerTables(NamedTuple):
    """tree_questions[t] -> place, limit; tree_values[t] -> values."""

    tree_questions: Ints
    place: NDArray[np.uint32]
    """The place of the first lane's code."""
    limit: NDArray[np.int8]
    """The answer is yes, which is right, for codes above it."""
    tree_values: Ints
    values: Floats


def answer_tables(forest: "Forest") -> tuple[Rulers, AnswerTables] | None:
    """The tables of a forest; None if a tree asks too many questions, or has a set of categories.

    >>> from swaprank.models.answer_tables import answer_tables
    >>> from swaprank.models.forest import single_leaf
    >>> answer_tables(single_leaf(0.5, n_features=3, n_documents=10))[1].values.tolist()
    [0.5]
    """
    if len(forest.words):
        return None
    tree = np.repeat(np.arange(forest.n_trees), np.diff(forest.tree_nodes))
    order = np.lexsort((forest.missing_left, forest.threshold, forest.feature, tree))
    keys = np.stack((tree, forest.feature, forest.threshold.view(np.int32), forest.missing_left))[:, order]
    is_new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)]
    n_questions = np.bincount(tree[order[is_new]], minlength=forest.n_trees)
    n_values = 1 << np.minimum(n_questions, _MOST_QUESTIONS)
    if n_questions.max(initial=0) > _MOST_QUESTIONS or n_values.sum() > _LARGEST * len(forest.leaf_value):
        return None
    first_question = np.append(0, np.cumsum(n_questions))
    question = np.empty_like(order)
    question[order] = np.cumsum(is_new) - 1
    bit = first_question[1:][tree] - 1 - question  # The first question has the highest bit.
    rulers, row, limit = make_rulers(forest, order[is_new])
    tables = AnswerTables(
        tree_questions=first_question,
        place=(LANES * row).astype(np.uint32),
        limit=limit,
        tree_values=np.append(0, np.cumsum(n_values)),
        values=_values(forest, bit, n_values),
    )
    return rulers, tables


def _values(forest: "Forest", bit: Ints, n_values: Ints) -> Floats:
    """The values of all tables: every number of answers walks down its tree; each node has a bit of the number."""
    number = np.arange(n_values.sum()) - np.repeat(np.cumsum(n_values) - n_values, n_values)
    first_node, first_leaf = (np.repeat(each[:-1], n_values) for each in (forest.tree_nodes, forest.tree_leaves))
    at = np.where(np.repeat(np.diff(forest.tree_nodes) > 0, n_values), 0, ~0)
    while (moving := np.flatnonzero(at >= 0)).size:
        node = first_node[moving] + at[moving]
        is_right = number[moving] >> bit[node] & 1 == 1
        at[moving] = np.where(is_right, forest.right[node], forest.left[node])
    return forest.leaf_value[first_leaf + ~at]


@kernel
def score_by_answers(
    ruler_feature: Ints, ruler_marks: Ints, ruler_rows: Ints, marks: Features, tree_questions: Ints, place: Any,
    limit: Any, tree_values: Ints, values: Floats, n_rows: int, X: Features, start: int, stop: int, tree_counts: Ints,
    scores: Floats,
) -> None:  # fmt: skip
    """Score the documents from start to stop, as `forest_scoring.score_documents` does."""
    rulers = Rulers(ruler_feature, ruler_marks, ruler_rows, marks)
    codes, leaves = np.zeros(n_rows * LANES, np.int8), np.empty(LANES, np.uint8)
    totals, x = np.empty(LANES), np.zeros(LANES, np.float32)
    for group in range(start, stop, LANES):
        n_lanes = min(LANES, stop - group)
        totals[:n_lanes] = scores[-1, group : group + n_lanes]
        encode(rulers, X, np.uint64(group), np.uint64(n_lanes), x, codes)
        first = 0
        for stage in range(len(tree_counts)):
            for tree in range(first, tree_counts[stage]):
                answered_leaves(codes, place, limit, tree_questions[tree], tree_questions[tree + 1], leaves)
                add_leaves(values, tree_values[tree], leaves, n_lanes, totals)
            scores[stage, group : group + n_lanes] = totals[:n_lanes]
            first = tree_counts[stage]
