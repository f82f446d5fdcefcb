"""A warning about values that are different in the given data, but the same in single precision.

Features are stored as float32, which has 24 bits: near 1.7e9, where seconds since 1970 are today, it has every 128th
number. A few merged values out of many change no model. What is reported are columns of which so little is left that
trees could have used more.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features
from swaprank.errors import THE_DATA, Part, PrecisionWarning, warn_user

FIRST_INEXACT = np.float32(2.0**24)
"""Single precision has all whole numbers up to this one."""

_SAMPLED_ROWS = 8192
_ENOUGH_VALUES = 4096
"""So many distinct values of a column are enough for any model: sixteen for each of 255 bins."""
_LEAST_LOSS = 0.01
"""A smaller share of merged values is not reported."""
_MOST_NAMED = 3


class Merged(NamedTuple):
    """A column with its numbers of distinct values, as given and in single precision."""

    column: str
    n_given: int
    n_kept: int


def sampled_rows(n_rows: int) -> slice:
    """Evenly spaced rows that are looked at first.

    >>> from swaprank.data.precision import sampled_rows
    >>> sampled_rows(100), sampled_rows(100_000)
    (slice(None, None, 1), slice(None, None, 12))
    """
    return slice(None, None, max(1, n_rows // _SAMPLED_ROWS))


def suspicious_columns(given: AnyArray, kept: Features) -> Bools:
    """True if a column, or each column, may merge values, from its sampled rows: a quick test without sorting.

    Either a large number is not exact, or a pair of rows is merged. A row is paired with one half the sample away: in
    sorted data, neighbours are close even if most values are not.

    >>> import numpy as np
    >>> from swaprank.data.precision import suspicious_columns
    >>> X = np.array([[1.7e9 + 1, 0.1, 1e-9 + 1], [0.0, 0.2, 2e-9 + 1], [0.0, 0.3, 3e-9 + 1]])
    >>> suspicious_columns(X, X.astype(np.float32)).tolist()
    [True, False, True]
    """
    inexact = (np.abs(kept) >= FIRST_INEXACT) & (kept != given)
    shift = max(1, len(given) // 2 - 1)
    a, b = given[:-shift], given[shift:]
    # NaN is neither below nor above.
    merged = ((a < b) | (a > b)) & (kept[:-shift] == kept[shift:])
    found: Bools = inexact.any(axis=0) | merged.any(axis=0)
    return found


def count_merged(column: str, given: AnyArray, kept: Features) -> Merged | None:
    """The numbers of distinct values of a column, or None if enough of them are kept.

    >>> import numpy as np
    >>> from swaprank.data.precision import count_merged
    >>> x = 1.7e9 + np.arange(60)
    >>> count_merged("published", x, x.astype(np.float32))
    Merged(column='published', n_given=60, n_kept=1)
    """
    # Infinite numbers are an error, and not reported here.
    known = np.isfinite(kept)
    n_given, n_kept = len(np.unique(given[known])), len(np.unique(kept[known]))
    lost = n_kept < _ENOUGH_VALUES and n_given - n_kept >= _LEAST_LOSS * n_given
    return Merged(column, n_given, n_kept) if lost and n_kept < n_given else None


def check_precision(sample: AnyArray, features: Features, names: Any, column: Callable[[int], AnyArray]) -> None:
    """Warn about the columns of a matrix that lose values.

    Args:
        sample: The sampled rows as they were given.
        features: All rows in single precision.
        names: The names of the columns; their numbers are used if these are not as many.
        column: All values of a column as they were given.
    """
    rows = sampled_rows(len(features))
    named = isinstance(names, Sequence) and len(names) == features.shape[1]
    found = []
    for f in np.flatnonzero(suspicious_columns(sample, features[rows])).tolist():
        name = f"'{names[f]}'" if named else str(f)
        if count_merged(name, sample[:, f], features[rows, f]) is not None:
            found.append(count_merged(name, column(f), features[:, f]))
    warn_of_merged([each for each in found if each is not None], THE_DATA, ", ")


def warn_of_merged(found: Sequence[Merged], *where: Part) -> None:
    """Give one warning about all columns found, at the user's line of code."""
    if not found:
        return
    named = [f"column {m.column}: {m.n_given:,} distinct values become {m.n_kept:,}" for m in found[:_MOST_NAMED]]
    if len(found) > _MOST_NAMED:
        named.append(f"and {len(found) - _MOST_NAMED} more columns")
    warn_user(
        PrecisionWarning(
            *where,
            f"{'; '.join(named)} in single precision (float32), in which features are stored. Subtract a constant "
            "first, or use another unit: the age in days instead of seconds since 1970, for example.",
        )
    )
