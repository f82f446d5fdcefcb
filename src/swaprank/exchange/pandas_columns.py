"""Which columns of a LightGBM model were pandas categories.

Its file has the categories of these columns in their order, but not which columns they were. It also has what each
feature held in training: `[min:max]` of a number, the codes of a categorical feature, or `none` if it was constant.

    categories        a b c      p q r s
    features          [-2.1:3.4]   2:0:1   [0:3]   [0:17]      the second and the third

A column of pandas categories that was not declared categorical is a number in the trees: its code.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swaprank.errors import Hint, ModelFileError, ParameterError, did_you_mean

COLUMNS = Hint("pandas_categories")


def pandas_columns(
    sizes: Sequence[int], infos: Sequence[str], names: Sequence[str], given: Sequence[str] | None
) -> list[int]:
    """The column of each list of categories.

    Args:
        sizes: The number of categories in each list.
        infos: What each feature held in training, as the file says it.
        names: The names of the features.
        given: The names of the columns, if the user gives them.

    >>> from swaprank.exchange.pandas_columns import pandas_columns
    >>> pandas_columns([3, 4], ["[-2.1:3.4]", "2:0:1", "[0:3]", "[0:17]"], ["x", "brand", "shop", "n"], None)
    [1, 2]
    """
    if given is not None:
        return _given_columns(sizes, infos, names, given)
    # A number is taken for codes first where it has all of them, as almost any count from 0 has some.
    for of_numbers in (_has_all, _may_have):
        columns = _only_way([[_codes(info, size, of_numbers) for info in infos] for size in sizes])
        if columns is None:
            raise _unknown(len(sizes))
        if columns:
            return columns
    raise _unknown(len(sizes))


def _given_columns(sizes: Sequence[int], infos: Sequence[str], names: Sequence[str], given: Sequence[str]) -> list[int]:
    if len(given) != len(sizes):
        raise ParameterError(
            COLUMNS, f" must name {len(sizes)} columns, as many as had pandas categories; found {len(given)}."
        )
    for name in given:
        if name not in names:
            raise ParameterError(COLUMNS, f": the model has no feature '{name}'; {did_you_mean(name, names)}")
    columns = sorted(list(names).index(name) for name in given)
    for column, size in zip(columns, sizes, strict=True):
        if not _codes(infos[column], size, lambda low, high, n: low >= 0 and high < n):
            raise ParameterError(
                COLUMNS,
                f": '{names[column]}' would have {size:,} categories, but held {infos[column][:60]} in training.",
            )
    return columns


def _unknown(n_lists: int) -> ModelFileError:
    return ModelFileError(
        f"{n_lists} columns of the training data had pandas categories, but the file does not say which. Name them: ",
        Hint("pandas_categories", ["brand", "shop"], "--pandas-categories brand,shop"),
        ", for example.",
    )


def _codes(info: str, size: int, of_numbers: Callable[[float, float, int], bool]) -> bool:
    """True if a feature may have held the codes of so many categories."""
    if info == "none":
        return size <= 1
    if info.startswith("["):
        low, _, high = info.strip("[]").partition(":")
        limits = float(low), float(high)
        return all(limit == np.floor(limit) for limit in limits) and of_numbers(*limits, size)
    # Rare categories are not listed.
    largest = max(int(code) for code in info.split(":"))
    return largest < size <= 2 * (largest + 1)


def _has_all(low: float, high: float, size: int) -> bool:
    return low == 0 and high == size - 1


def _may_have(low: float, high: float, size: int) -> bool:
    return low >= 0 and high < size <= 2 * (high + 1)


def _only_way(possible: Sequence[Sequence[bool]]) -> list[int] | None:
    """A column for each list, in the order of the columns; empty if there is no way, None if there are several."""
    first = _leftmost(possible)
    last = _leftmost([row[::-1] for row in possible[::-1]])
    n_columns = len(possible[0])
    return first if not first or first == [n_columns - 1 - column for column in reversed(last)] else None


def _leftmost(possible: Sequence[Sequence[Any]]) -> list[int]:
    columns: list[int] = []
    for row in possible:
        start = columns[-1] + 1 if columns else 0
        found = next((at for at in range(start, len(row)) if row[at]), None)
        if found is None:
            return []
        columns.append(found)
    return columns
