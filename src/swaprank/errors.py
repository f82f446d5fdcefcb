"""What went wrong with a user's input: what was found, where, and what to do about it.

All of them are `SwaprankError`, so one `except` catches what this library raises on purpose. Each is also
the built-in exception that a caller would expect (`ValueError`, `ImportError`).
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SwaprankError(Exception):
    """The root of every error that swaprank raises on purpose.

    >>> import swaprank as sr
    >>> try:
    ...     sr.metric("ndgc@10")
    ... except sr.SwaprankError as error:
    ...     print(error)
    there is no metric 'ndgc'; did you mean 'ndcg'?
    """


class DataError(SwaprankError, ValueError):
    """Data that cannot be ranked: a bad line, a missing query id, an infinite feature.

    >>> import swaprank as sr
    >>> sr.Dataset([[1.0], [2.0]], [0, 1, 1], qid=[7, 7])
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: y has 3 values, but X has 2 rows.
    """


class MetricError(SwaprankError, ValueError):
    """A metric that does not exist, or options that it does not have.

    >>> import swaprank as sr
    >>> sr.metric("map@0")
    Traceback (most recent call last):
    ...
    swaprank.errors.MetricError: map: k must be a whole number from 1, found 0.
    """


class ParameterError(SwaprankError, ValueError):
    """A parameter of a ranker that is out of bounds.

    >>> import swaprank as sr
    >>> train, _ = sr.datasets.random_net((5, 5), random_state=0)
    >>> sr.LambdaMART(n_leaves=1).fit(train)
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: n_leaves must be a whole number from 2 to 65536; found 1.
    """


class ModelFileError(SwaprankError, ValueError):
    """A model file that cannot be read: not ours, newer than us, cut short, damaged, or with nonsense in it.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.swaprank"
    >>> _ = path.write_text("something else")
    >>> try:
    ...     sr.load(path)
    ... except sr.ModelFileError as error:
    ...     print(str(error).rpartition("/")[2])
    model.swaprank: this is not a swaprank model.
    """


class MissingExtraError(SwaprankError, ImportError):
    """An optional package that is needed now and not installed.

    >>> import swaprank as sr
    >>> issubclass(sr.MissingExtraError, ImportError)
    True
    """


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown word: the nearest known one, or all of them."""
    names = sorted(known)
    nearest = get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean '{nearest[0]}'?"
    return "known are " + ", ".join(names) + "."
