"""The categories in models of other libraries: names from a data frame, or numbers."""

from typing import Any

from swaprank.data.categories import Categories, category_text
from swaprank.errors import DataError, ModelFileError

_MOST_NUMBERS = 2**20
"""A few bytes in a file can have a large number, and each category has a name."""


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
        raise ModelFileError(str(error)) from None
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
