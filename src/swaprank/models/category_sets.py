"""The sets of categories at the nodes of a forest: their words, and the way that a document takes at a node.

A category that is beyond a node's set was not known when the tree was grown: it goes where missing values go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import AnyArray, Bools, Features, Ints
from swaprank.kernels import inlined_kernel

if TYPE_CHECKING:
    from swaprank.models.forest import Forest

WORD_CATEGORIES = 32
MAX_WORDS = 2**24 // WORD_CATEGORIES
"""The numbers of categories are float32 values, which are exact up to 2^24."""


def set_members(words: AnyArray) -> Bools:
    """True for each category that is in a set.

    >>> import numpy as np
    >>> from swaprank.models.category_sets import set_members
    >>> np.flatnonzero(set_members(np.array([0b101, 1], np.uint32))).tolist()
    [0, 2, 32]
    """
    return np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little").astype(np.bool_)


def set_words(members: Bools, others: bool = False) -> AnyArray:
    """The words of a set; the inverse of `set_members`. Categories beyond, which fill the last word, are `others`.

    >>> import numpy as np
    >>> from swaprank.models.category_sets import set_words
    >>> set_words(np.array([True, False, True])).tolist()
    [5]
    """
    padded = np.pad(members, (0, -len(members) % WORD_CATEGORIES), constant_values=others)
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)


def words_of_numbers(numbers: Ints) -> AnyArray:
    """The words of a set that is given by the numbers of its categories; at least one word.

    >>> import numpy as np
    >>> from swaprank.models.category_sets import words_of_numbers
    >>> words_of_numbers(np.array([0, 2, 32])).tolist()
    [5, 1]
    """
    members = np.zeros(int(numbers.max(initial=0)) + 1, np.bool_)
    members[numbers] = True
    return set_words(members)


def node_sets(forest: Forest) -> Iterator[tuple[int, AnyArray]]:
    """Each node that has a set, and the words of the set."""
    stops = np.cumsum(forest.n_words, dtype=np.int64)
    for node in np.flatnonzero(forest.n_words).tolist():
        yield node, forest.words[stops[node] - forest.n_words[node] : stops[node]]


class CategorySets(NamedTuple):
    """The sets of some nodes, for kernels."""

    n_categories: Features
    """The number of categories in the words of the node's set, 32 for each word; 0 if the node has a threshold."""
    first_word: NDArray[np.uint64]
    words: NDArray[np.uint32]

    def of_nodes(self, nodes: slice, n_padded: int) -> CategorySets:
        """The sets of some nodes, and `n_padded` entries without a set after them."""
        n_categories, first_word = self.n_categories[nodes], self.first_word[nodes]
        return CategorySets(np.pad(n_categories, (0, n_padded)), np.pad(first_word, (0, n_padded)), self.words)


def category_sets(forest: Forest) -> CategorySets | None:
    """The sets of all nodes; None if no node has one.

    >>> from swaprank.models.category_sets import category_sets
    >>> from swaprank.models.forest import single_leaf
    >>> category_sets(single_leaf(0.5, n_features=3, n_documents=10)) is None
    True
    """
    if len(forest.words) == 0:
        return None
    n_categories = (WORD_CATEGORIES * forest.n_words).astype(np.float32)
    first_word = np.cumsum(forest.n_words, dtype=np.int64) - forest.n_words
    return CategorySets(n_categories, first_word.astype(np.uint64), forest.words)


@inlined_kernel
def goes_left(x: Any, node: Any, threshold: Features, missing_left: Bools, sets: CategorySets | None) -> Any:
    """True if a document with this value goes left at the node; without sets, their test is not compiled."""
    if sets is not None:
        n_categories = sets.n_categories[node]
        if n_categories > 0:
            if (x >= 0) & (x < n_categories):
                category = np.uint64(x)
                word = np.uint64(sets.words[sets.first_word[node] + (category >> np.uint64(5))])
                return (word >> (category & np.uint64(31))) & np.uint64(1) != 0
            return missing_left[node]
    return (x <= threshold[node]) | ((x != x) & missing_left[node])
