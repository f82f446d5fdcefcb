"""The categories in a model of XGBoost: their names from a data frame, and the sets of the nodes of a tree."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError
from swaprank.exchange.other_columns import set_words
from swaprank.exchange.peer_categories import named_categories, numbered_categories
from swaprank.models.category_sets import MAX_WORDS, WORD_CATEGORIES

_FEWEST_NUMBERS = 1024
"""Where missing values go right, a number that is in no set must be known, because it goes left."""


def whole_numbers(values: Any, n_values: int | None, what: str) -> Ints:
    """A list or array as whole numbers; ModelFileError if it is something else.

    >>> from swaprank.exchange.xgboost_categories import whole_numbers
    >>> whole_numbers([1, -1], 2, "left_children").tolist()
    [1, -1]
    """
    found = np.asarray(values)
    if found.ndim != 1 or found.dtype.kind not in "biuf" or n_values not in (None, len(found)):
        raise ModelFileError(f"{what} is not a list of numbers, or not one for each node.")
    if not (np.abs(found) < 2**53).all() or (found != np.round(found)).any():
        raise ModelFileError(f"{what} has a number that is not whole.")
    return found.astype(np.int64)


def node_sets(tree: Mapping[str, Any], n_nodes: int) -> dict[int, Ints]:
    """The categories that go right, by node."""
    if "split_type" not in tree:
        return {}
    is_set = whole_numbers(tree["split_type"], n_nodes, "split_type") == 1
    nodes = whole_numbers(tree["categories_nodes"], None, "categories_nodes")
    starts, sizes = (whole_numbers(tree[f"categories_{each}"], len(nodes), each) for each in ("segments", "sizes"))
    numbers = whole_numbers(tree["categories"], None, "categories")
    # Sets that share their categories could be many more than the file has.
    if (sizes < 0).any() or sizes.sum() > len(numbers) or (starts < 0).any() or (starts + sizes > len(numbers)).any():
        raise ModelFileError("the sets of categories are not within its categories.")
    if len(numbers) and not (numbers.min() >= 0 and numbers.max() < MAX_WORDS * WORD_CATEGORIES):
        raise ModelFileError("the numbers of categories must be from 0 to 16,777,215.")
    given = zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    found = {node: numbers[start : start + size] for node, start, size in given}
    return {node: found.get(node, numbers[:0]) for node in np.flatnonzero(is_set).tolist()}


def left_words(right: Ints, missing_left: bool, n_categories: int) -> AnyArray:
    """The words of the categories that go left, which are those that do not go right.

    Unknown categories go left. Where missing values go there as well, the words need not be longer than the set.
    """
    members = np.ones(max(int(right.max(initial=0)) + 1, 0 if missing_left else n_categories), np.bool_)
    members[right] = False
    return set_words(np.pad(members, (0, -len(members) % WORD_CATEGORIES), constant_values=True))


def known_categories(
    saved: Any, n_features: int, version: Any, declared: Iterable[int], sets: Iterable[tuple[int, Ints]]
) -> dict[int, Categories]:
    """The categories of each categorical feature: their names, or the numbers as far as the sets go.

    Args:
        saved: The "cats" of the model, if it has them.
        n_features: The number of features.
        version: The version of XGBoost that wrote the model.
        declared: Features whose type is categorical.
        sets: The feature and the categories of each node that has a set.
    """
    largest = dict.fromkeys(declared, 0)
    for feature, numbers in sets:
        largest[feature] = max(largest.get(feature, 0), int(numbers.max(initial=0)))
    found = {feature: numbered_categories(max(last + 1, _FEWEST_NUMBERS)) for feature, last in largest.items()}
    columns = (saved or {}).get("enc") or []
    if len(columns) not in (0, n_features):
        raise ModelFileError(f"it has the categories of {len(columns):,} features, not of {n_features:,}.")
    named = {feature: _names(column, version) for feature, column in enumerate(columns)}
    return found | {feature: names for feature, names in named.items() if names}


def _names(column: Mapping[str, Any], version: Any) -> Categories:
    values = whole_numbers(column["values"], None, "the categories of a feature")
    if "offsets" not in column:
        return named_categories(values.tolist())
    offsets = whole_numbers(column["offsets"], None, "offsets")
    text = values.astype(np.uint8).tobytes()
    if len(offsets) and (offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any()):
        raise ModelFileError("the names of categories are not within their text.")
    if not text.isascii() and list(version) < [3, 4]:
        raise ModelFileError(
            "XGBoost before 3.4 cuts names of categories that are not ASCII, and this model has such names. Train with "
            "XGBoost 3.4, or with other names."
        )
    return named_categories([text[start:stop].decode() for start, stop in zip(offsets, offsets[1:], strict=False)])
