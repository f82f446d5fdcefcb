"""Categorical features: values as text, texts as numbers from 0, and the numbers of one list as those of another.

values        "nike"  7  7.0  None  "nike"
texts         "nike" "7" "7"   -    "nike"
categories    ("7", "nike")
codes           1     0   0   NaN     1

The values that occur are the categories, sorted: so the same data has the same categories, however it is stored.
"""

from collections.abc import Iterable, Sequence
from numbers import Integral, Number
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features
from swaprank.data.ids import id_text
from swaprank.data.matching import feature_positions
from swaprank.errors import DataError, Hint, Part, Wording

CATEGORICAL = Hint("categorical_features", option="--categorical")

Categories = tuple[str, ...]
"""The values of a categorical feature as text; the position of a value is its code."""

OTHERS = "any other"
"""A category of models that were trained elsewhere, and do not treat unknown categories as missing values."""

_MOST_CATEGORIES = 2**24
"""Single precision has all whole numbers up to this one."""


def categorical_positions(declared: Any, names: Sequence[str]) -> list[int]:
    """The positions of features that are declared categorical by name, or by position from 0.

    >>> from swaprank.data.categories import categorical_positions
    >>> categorical_positions(["shop", 0], ["brand", "price", "shop"])
    [0, 2]
    """
    return sorted({*feature_positions(listed(declared), names, CATEGORICAL)})


def listed(declared: Any) -> list[Any]:
    """The features that are declared categorical as a list, empty for None; DataError if they are none."""
    if isinstance(declared, str) or not isinstance(declared, Iterable | None):
        raise DataError(CATEGORICAL, f" must be a list of names or positions; found {declared!r}.")
    return [] if declared is None else list(declared)


def not_numbers_advice(name: str, *, from_all: bool) -> tuple[Part, ...]:
    """The end of a message about a column that holds no numbers; `from_all` if the features are all columns."""
    declare = Hint("categorical_features", [name], f"--categorical {name}")
    leave_out = Wording("give features=[…] without it" if from_all else "leave it out", "leave it out with --ignore")
    return leave_out, ", or declare ", declare, " if it holds categories."


def encoded(values: AnyArray, where: str, missing: Bools | None = None) -> tuple[Features, Categories]:
    """The code of each value, NaN if it is missing, and the categories.

    Args:
        values: One column: numbers, text or Python objects. None and NaN are missing.
        where: The name of the column, for error messages.
        missing: Which values are missing besides.

    >>> import numpy as np
    >>> from swaprank.data.categories import encoded
    >>> codes, categories = encoded(np.array(["nike", 7, 7.0, None, "nike"], dtype=object), "column 'brand'")
    >>> codes.tolist(), categories
    ([1.0, 0.0, 0.0, nan, 1.0], ('7', 'nike'))
    """
    if np.ma.isMaskedArray(values):
        masked = np.ma.getmaskarray(values)
        values, missing = np.ma.getdata(values), masked if missing is None else masked | missing
    if values.dtype.kind in "mM":
        missing = np.isnat(values) if missing is None else missing | np.isnat(values)
        values = values.astype(str)
    if values.dtype.kind == "f":
        missing = np.isnan(values) if missing is None else missing | np.isnan(values)
        _check_whole(values, missing, where)
    distinct, place = _distinct(values, where)
    codes, categories = _numbered([category_text(value, where) for value in distinct])
    found: Features = codes[place]
    if missing is not None and missing.any():
        found[missing] = np.nan
        # Only a missing value may have had some of the texts, such as 0 in place of a null.
        used = np.zeros(len(categories), np.bool_)
        used[found[~np.isnan(found)].astype(np.int64)] = True
        if not used.all():
            kept = tuple(text for text, is_used in zip(categories, used, strict=True) if is_used)
            found, categories = recoded(found, categories, kept), kept
    check_number(categories, where)
    return found, categories


def recoded(codes: Features, found: Categories, wanted: Categories) -> Features:
    """Codes of one list of categories as codes of another; NaN for a category that the other does not have.

    >>> import numpy as np
    >>> from swaprank.data.categories import recoded
    >>> recoded(np.array([0, 1, np.nan], np.float32), ("adidas", "nike"), ("nike", "puma")).tolist()
    [nan, 0.0, nan]
    """
    if found == wanted:
        return codes
    return looked_up(codes, codes_of(found, wanted))


def codes_of(found: Categories, wanted: Categories) -> Features:
    """The code of each category in another list; if the other does not have it, that of `OTHERS`, or NaN.

    >>> from swaprank.data.categories import codes_of
    >>> codes_of(("adidas", "nike"), ("nike", "puma")).tolist()
    [nan, 0.0]
    """
    number = {text: code for code, text in enumerate(wanted)}
    unknown = number.get(OTHERS, np.nan)
    return np.array([number.get(text, unknown) for text in found], np.float32)


def looked_up(codes: Features, numbers: Sequence[float] | Features) -> Features:
    """The number of each code; missing values stay missing, and so are codes beyond the numbers.

    >>> import numpy as np
    >>> from swaprank.data.categories import looked_up
    >>> looked_up(np.array([1, np.nan, 0], np.float32), [7, 12]).tolist()
    [12.0, nan, 7.0]
    """
    table = np.array([*numbers, np.nan], np.float32)
    found: Features = table[np.fmin(codes, len(numbers)).astype(np.int64)]
    return found


def extended(known: Categories, found: Categories) -> Categories:
    """The known categories, whose codes stay as they are, and then the new ones.

    >>> from swaprank.data.categories import extended
    >>> extended(("nike", "adidas"), ("adidas", "puma"))
    ('nike', 'adidas', 'puma')
    """
    return tuple(dict.fromkeys((*known, *found)))


def _check_whole(values: AnyArray, missing: Bools, where: str) -> None:
    bad = np.flatnonzero(~missing & ((values != np.round(values)) | np.isinf(values)))
    if len(bad):
        raise DataError(
            f"{where}, row {bad[0]}: {values[bad[0]]} is not a category: give whole numbers or text, with NaN or None "
            "where a value is missing."
        )
    bits = np.finfo(values.dtype).nmant + 1
    large = np.flatnonzero(~missing & (np.abs(values) > 2.0**bits))
    if len(large):
        raise DataError(
            f"{where}, row {large[0]}: the category {values[large[0]]:.0f} is too large to be exact as {values.dtype} "
            f"(more than 2**{bits}): give integers or text."
        )


def _distinct(values: AnyArray, where: str) -> tuple[list[Any], AnyArray]:
    """The distinct values, and the place of each value among them."""
    if values.dtype.kind in "iubf":
        numbers, place = np.unique(values, return_inverse=True)
        return numbers.tolist(), place
    # Hashing text is several times faster than sorting it.
    keys = values.tolist()
    try:
        places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        return list(places), np.fromiter(map(places.__getitem__, keys), np.int64, len(keys))
    except TypeError as error:
        raise DataError(f"{where} has values that cannot be categories: {error}.") from None


def category_text(value: Any, where: str) -> str | None:
    """A value of a categorical feature as text; None if it is missing.

    >>> from swaprank.data.categories import category_text
    >>> category_text(7.0, "column 'brand'"), category_text("nike", "column 'brand'")
    ('7', 'nike')
    """
    if isinstance(value, str):
        return value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Number) and not isinstance(value, bool | np.bool_ | complex):
        number: Any = value
        if number != number:
            return None
        if isinstance(number, Integral):
            return str(int(number))
        if abs(number) == np.inf or number != int(number):
            raise DataError(
                f"{where}: {value} is not a category: give whole numbers or text, with NaN or None where a value is "
                "missing."
            )
        return str(int(number))
    return id_text(value)


def in_order(texts: Iterable[str]) -> Categories:
    """Different texts as categories: whole numbers by size, other texts by the alphabet.

    >>> from swaprank.data.categories import in_order
    >>> in_order({"12", "7"}), in_order({"nike", "12", "7"})
    (('7', '12'), ('12', '7', 'nike'))
    """
    try:
        return tuple(sorted(texts, key=lambda text: (int(text), text)))
    except ValueError:
        return tuple(sorted(texts))


def check_number(categories: Categories, where: str) -> None:
    """Raise DataError if the codes of so many categories are not exact in single precision."""
    if len(categories) > _MOST_CATEGORIES:
        raise DataError(f"{where} has {len(categories):,} categories; the largest number is {_MOST_CATEGORIES:,}.")


def _numbered(texts: Sequence[str | None]) -> tuple[Features, Categories]:
    """The code of each text, NaN for None; and the categories."""
    ordered = in_order({text for text in texts if text is not None})
    number = {text: code for code, text in enumerate(ordered)}
    codes = [np.nan if text is None else number[text] for text in texts]
    return np.array(codes, np.float32), ordered
