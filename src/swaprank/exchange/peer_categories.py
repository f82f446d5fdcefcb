"""The categories of other systems: names as a data frame has them, or numbers.

Of an exported model, the target takes these numbers for the categories of a feature:

categories     numbers     a document has
"3" "7" "90"   3  7  90    the number itself
"nike" "puma"  0  1        the place among the categories, which the target finds in a data frame by their names
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Ints
from swaprank.data.categories import OTHERS, Categories, category_text
from swaprank.errors import DataError, ExportError, ModelFileError
from swaprank.exchange.exported import Export, warn_of_export
from swaprank.models.category_sets import WORD_CATEGORIES, node_sets, set_members
from swaprank.models.forest import Forest
from swaprank.models.served import ServedModel, Trees

_MOST_NUMBERS = 2**20
"""Sets are written with a bit for each number up to the largest, and each number that is read gets a name."""


class CategoryNumbers(NamedTuple):
    """The categorical features of a model, by their positions."""

    numbers: Mapping[int, Ints]
    """The number that the target takes for each category."""
    texts: Mapping[int, Categories]
    """The names of the categories, for features whose categories are not numbers."""


def category_numbers(export: Export) -> CategoryNumbers:
    """The numbers of the categories of each feature in the target; ExportError for those that it cannot take.

    >>> import numpy as np
    >>> from swaprank.exchange.peer_categories import category_numbers
    >>> from swaprank.exchange.exported import Export
    >>> from swaprank.models.served import Trees
    >>> from swaprank.models.forest import single_leaf
    >>> categories = {"shop": ("3", "7"), "brand": ("nike", "puma")}
    >>> model = Trees(single_leaf(0.5, n_features=2, n_documents=10))
    >>> found = category_numbers(Export("lightgbm", model, ("shop", "brand"), categories, "m", "refuse", False, None))
    >>> {feature: numbers.tolist() for feature, numbers in found.numbers.items()}, found.texts
    ({0: [3, 7], 1: [0, 1]}, {1: ('nike', 'puma')})
    """
    numbers, texts = {}, {}
    for feature, name in enumerate(export.feature_names):
        if name not in export.categories:
            continue
        categories = export.categories[name]
        known = [text for text in categories if text != OTHERS]
        if all(_is_whole(text) for text in known):
            whole = [min(int(text), _MOST_NUMBERS) for text in known]
            # A number that is not known stands for all others.
            whole += [max(whole, default=-1) + 1] * (len(categories) - len(known))
            numbers[feature] = np.array(whole, np.int64)
            if ((numbers[feature] < 0) | (numbers[feature] == _MOST_NUMBERS)).any():
                raise ExportError(
                    f"{export.to} takes categories that are numbers from 0 to {_MOST_NUMBERS - 1:,}, but '{name}' has "
                    f"{min(known, key=int)} to {max(known, key=int)}. Train with text, such as 'shop 7'."
                )
        else:
            numbers[feature], texts[feature] = np.arange(len(categories)), categories
    return CategoryNumbers(numbers, texts)


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 20 and text == str(int(text))


def warn_of_others(export: Export) -> None:
    """Warn about features whose unknown categories are not treated as missing values, as all formats have it."""
    for feature, name in enumerate(export.feature_names):
        categories = export.categories.get(name, ())
        if OTHERS in categories and _others_apart(export.model, feature, categories.index(OTHERS)):
            warn_of_export(
                f"{export.to}: categories of '{name}' that the model does not know go where missing values go, but in "
                f"the model they are a category, '{OTHERS}'. Its number stands for all of them: "
                f"{categories.index(OTHERS)}."
            )


def _others_apart(model: ServedModel, feature: int, code: int) -> bool:
    if not isinstance(model, Trees):
        return True
    forest = model.forest
    return any(
        code < WORD_CATEGORIES * len(words) and set_members(words)[code] != forest.missing_left[node]
        for node, words in node_sets(forest)
        if forest.feature[node] == feature
    )


def sets_apart(forest: Forest, numbers: Mapping[int, Ints]) -> Iterator[tuple[int, Ints]]:
    """Each node with a set, and the numbers of the categories that do not go where missing values go.

    Categories that were not known in training go where missing values go, and so are not among them.
    """
    for node, words in node_sets(forest):
        apart = np.flatnonzero(set_members(words) != forest.missing_left[node])
        own = numbers.get(int(forest.feature[node]))
        yield node, apart if own is None else own[apart[apart < len(own)]]


def named_categories(values: Any) -> Categories:
    """Categories as a data frame had them, as texts; ModelFileError if one is missing or there twice.

    >>> from swaprank.exchange.peer_categories import named_categories
    >>> named_categories([3, 7.0, "nike"])
    ('3', '7', 'nike')
    """
    if not isinstance(values, list):
        raise ModelFileError(f"the categories of a feature must be a list; found {type(values).__name__}.")
    try:
        texts = [category_text(value, "the categories") for value in values]
    except DataError as error:
        raise ModelFileError(error) from None
    known = tuple(text for text in texts if text is not None)
    if len(set(known)) < len(texts):
        raise ModelFileError("a feature has the same category twice, or a category without a name.")
    return known


def numbered_categories(n_categories: int) -> Categories:
    """The numbers from 0 as texts, for a model that does not say what its categories are called.

    >>> from swaprank.exchange.peer_categories import numbered_categories
    >>> numbered_categories(3)
    ('0', '1', '2')
    """
    if n_categories > _MOST_NUMBERS:
        raise ModelFileError(
            f"it has a category with the number {n_categories - 1:,}; the largest is {_MOST_NUMBERS - 1:,}. Number the "
            "categories from 0 in training."
        )
    return tuple(map(str, range(n_categories)))
