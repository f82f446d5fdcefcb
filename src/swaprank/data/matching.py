"""Match features by name: which columns of other data are the features of a model."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Ints
from swaprank.errors import THE_DATA, DataError, Hint, ParameterError, Part, Wording, did_you_mean

_NAMES = Hint("feature_names", option="--features")


def numbered_names(n_features: int) -> tuple[str, ...]:
    """The names of features that have none: their numbers from 1, as in LETOR files."""
    return tuple(str(number) for number in range(1, n_features + 1))


def checked_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    """One name per feature: those given, or numbers."""
    if names is None:
        return numbered_names(n_features)
    result = tuple(str(name) for name in names)
    if len(result) != n_features:
        raise DataError(_NAMES, f" has {len(result)} names, but ", THE_DATA, f" has {n_features} features.")
    if len(set(result)) < n_features:
        twice = next(name for name in result if result.count(name) > 1)
        raise DataError(_NAMES, f" has '{twice}' more than once.")
    return result


def matching_columns(wanted: Sequence[str], found: Sequence[str], whose: str, where: Part) -> Ints | None:
    """The position in `found` of each wanted feature, or None if the columns are the wanted ones as they are.

    Names are matched in any order, and other columns are ignored. Where one side has only numbers, as an array has, the
    columns must be as many, and are taken in their order.

    Args:
        wanted: Names of the features that a model or the training data has.
        found: Names of the columns that were given.
        whose: Whose features are wanted, for error messages: "LambdaMART".
        where: Where the columns were found, for error messages: "X".

    >>> from swaprank.data.matching import matching_columns
    >>> matching_columns(["bm25", "age"], ["label", "age", "bm25"], "MART", "X").tolist()
    [2, 1]
    >>> matching_columns(["bm25", "age"], ["1", "2"], "MART", "X") is None
    True
    >>> matching_columns(["bm25", "age"], ["bm25", "ages"], "MART", "X")
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: X has no feature 'age', which MART has; did you mean 'ages'?
    """
    wanted, found = tuple(wanted), tuple(found)
    if found == wanted:
        return None
    if wanted == numbered_names(len(wanted)) and set(found) == {str(number) for number in range(len(found))}:
        # Columns of a pandas table without names are numbered from 0.
        check_count(len(wanted), len(found), whose, where)
        return np.argsort(np.array(found, dtype=np.int64))
    numbers = wanted == numbered_names(len(wanted)), found == numbered_names(len(found))
    position = {name: at for at, name in enumerate(found)}
    missing = [name for name in wanted if name not in position]
    if not missing and not all(numbers):
        return np.array([position[name] for name in wanted], dtype=np.int64)
    if not any(numbers):
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DataError(
            where, f" has no feature '{missing[0]}'{more}, which {whose} has; {did_you_mean(missing[0], found)}"
        )
    check_count(len(wanted), len(found), whose, where)
    return None


def feature_positions(features: Iterable[Any], names: Sequence[str], what: Part) -> list[int]:
    """The positions of features that are given by name, or by position from 0; `what` is for error messages.

    >>> from swaprank.data.matching import feature_positions
    >>> feature_positions(["bm25", 0], ["age", "bm25"], "log_features")
    [1, 0]
    """
    by_name = {name: at for at, name in enumerate(names)}
    return [_feature_position(feature, by_name, what) for feature in features]


def _feature_position(feature: Any, by_name: Mapping[str, int], what: Part) -> int:
    if isinstance(feature, str):
        if feature not in by_name:
            raise DataError(what, f": no feature '{feature}'; {did_you_mean(feature, by_name)}")
        return by_name[feature]
    if isinstance(feature, bool | np.bool_) or not isinstance(feature, int | np.integer):
        raise ParameterError(
            what,
            f": a feature is a name, or a number from 0; found {feature!r}.",
            Wording(" Instead of a mask, give np.flatnonzero(mask).", ""),
        )
    if not 0 <= feature < len(by_name):
        raise DataError(what, f": there is no feature {feature}: there are {len(by_name)}, numbered from 0.")
    return int(feature)


def check_count(n_wanted: int, n_found: int, whose: str, where: Part) -> None:
    """Raise DataError, in the words of scikit-learn, unless there are as many columns as features."""
    if n_found != n_wanted:
        raise DataError(where, f" has {n_found} features, but {whose} is expecting {n_wanted} features as input.")


def position_among(what: str, number: Any, n: int) -> int:
    """A position from 0; DataError if it is none among n."""
    try:
        position = operator.index(number)
    except TypeError:
        raise DataError(f"a {what} is selected by an integer, found {number!r}.") from None
    if not 0 <= position < n:
        raise DataError(f"there is no {what} {position}: there are {n:,}, numbered from 0.")
    return position


def position_of(feature: int | str, names: Sequence[str]) -> int:
    """The position of a feature that is given by name or position; DataError if there is none."""
    if not isinstance(feature, str):
        return position_among("feature", feature, len(names))
    if feature not in names:
        raise DataError(f"there is no feature '{feature}'; {did_you_mean(feature, names)}")
    return tuple(names).index(feature)


def ignored_columns(ignore: Iterable[str], taken: Sequence[str], columns: Sequence[str]) -> set[str]:
    """The names of columns that are no features; checked, so that a misspelled one is not a feature in silence.

    >>> from swaprank.data.matching import ignored_columns
    >>> ignored_columns(["url"], ["qid", "label"], ["qid", "label", "url", "bm25"])
    {'url'}
    """
    if isinstance(ignore, str):
        raise DataError(Hint("ignore"), f" must be a list of column names, such as ['{ignore}']; found one text.")
    names, known, used = {str(name) for name in ignore}, {*columns}, {*taken}
    for name in sorted(names):
        if name not in known:
            raise DataError(f"there is no column '{name}' to ignore; {did_you_mean(name, columns)}")
        if name in used:
            raise DataError(f"column '{name}' cannot be ignored: it is used as a feature, or has another role.")
    return names
