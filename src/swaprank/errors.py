"""Errors about a user's input: what was found, where, and what to do.

All of them are subclasses of `SwaprankError`, and also of the built-in exception that a caller would expect
(`ValueError`, `ImportError`, `RuntimeError`). A message is made of parts: plain text, and a `Hint` or `Wording` where
Python and the command line say it differently.
"""

import os
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = [
    "ArgumentError",
    "ClusterError",
    "CompilerWarning",
    "DataError",
    "ExportError",
    "ExportWarning",
    "Interrupted",
    "LabelWarning",
    "MetricError",
    "MissingExtraError",
    "ModelFileError",
    "ParameterError",
    "PrecisionWarning",
    "SwaprankError",
    "SwaprankWarning",
]


@dataclass(frozen=True)
class Hint:
    """An argument that a message is about, with the value to give it, if it advises one, and the command-line option.

    A value `...` is one that the user chooses. The option is written like the argument unless it is given. `call` is
    the function or method whose argument it is, if that is not the one that raised the error.

    >>> from swaprank.errors import Hint
    >>> for hint in (Hint("max_position", 5), Hint("n_folds", option="--folds"), Hint("valid", ..., call="fit")):
    ...     print(hint, "or", hint.for_command_line())
    max_position=5 or --max-position 5
    n_folds or --folds
    fit(…, valid=…) or --valid
    """

    argument: str
    value: Any = None
    option: str = ""
    call: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return self.argument
        given = f"{self.argument}={self.value!r}".replace("Ellipsis", "…")
        return f"{self.call}(…, {given})" if self.call else given

    def for_command_line(self) -> str:
        """The option, with the value."""
        option = self.option or f"--{self.argument.replace('_', '-')}"
        return option if self.option or self.value in (None, ...) else f"{option} {self.value}"


@dataclass(frozen=True)
class Wording:
    """A part of a message that has other words in Python than on the command line.

    >>> from swaprank.errors import Wording
    >>> words = Wording("call fit again", "run the same command")
    >>> print(words, "or", words.for_command_line())
    call fit again or run the same command
    """

    python: str
    command_line: str

    def __str__(self) -> str:
        return self.python

    def for_command_line(self) -> str:
        """The words of the command line."""
        return self.command_line


@dataclass(frozen=True)
class Row:
    """A row of data that a message is about, counted from 0; or in a file with a row per line, its line from 1.

    >>> from swaprank.errors import Row
    >>> print(Row(0), "or", Row(0, first_line=2))
    row 0 or line 2
    """

    number: int
    first_line: int | None = None
    """The line of row 0."""

    def __str__(self) -> str:
        return f"row {self.number}" if self.first_line is None else f"line {self.first_line + self.number}"

    def for_command_line(self) -> str:
        """The same words."""
        return str(self)


Part = str | Hint | Wording | Row
"""A part of a message."""
THE_DATA = Wording("X", "the data")


class _InParts(Exception):  # noqa: N818 (also the base class of warnings)
    """An exception whose message is made of parts; another exception among them stands for its own parts.

    The parts are its `args`, so that it can be pickled.
    """

    def __init__(self, *parts: Part | BaseException) -> None:
        super().__init__(*(own for part in parts for own in _parts(part)))

    def __str__(self) -> str:
        return "".join(map(str, self.args))

    def for_command_line(self) -> str:
        """The message as it is said on the command line: with options in place of arguments."""
        return "".join(part if isinstance(part, str) else part.for_command_line() for part in self.args)


def _parts(part: Part | BaseException) -> tuple[Part, ...]:
    if isinstance(part, _InParts):
        return part.args
    return (str(part) if isinstance(part, BaseException) else part,)


class SwaprankError(_InParts):
    """The base class of all errors that swaprank raises.

    `str(error)` is the message for a caller in Python, and `error.for_command_line()` for one of the command line.

    >>> import swaprank as sr
    >>> try:
    ...     sr.metric("ndgc@10")
    ... except sr.errors.SwaprankError as error:
    ...     print(error)
    there is no metric 'ndgc'; did you mean 'ndcg'?
    """


class DataError(SwaprankError, ValueError):
    """Invalid data: a bad line, a missing query id, an infinite feature.

    >>> import swaprank as sr
    >>> sr.Dataset([[1.0], [2.0]], [0, 1, 1], qid=[7, 7])
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: y has 3 values, but X has 2 rows.
    """


def by_line(error: DataError, first_line: int) -> DataError:
    """The error with the lines of a file instead of rows, where row 0 is in the first line.

    >>> from swaprank.errors import DataError, Row, by_line
    >>> print(by_line(DataError("column 'age', ", Row(3), ": the value is missing."), first_line=2))
    column 'age', line 5: the value is missing.
    """
    return DataError(*(Row(part.number, first_line) if isinstance(part, Row) else part for part in error.args))


def by_row(error: DataError, start: int, chosen: Any = None) -> DataError:
    """The error with the rows of a file instead of those of a part of it, from `start` on, of which some were chosen.

    >>> from swaprank.errors import DataError, Row, by_row
    >>> print(by_row(DataError("column 'age', ", Row(3), ": the value is missing."), 1000))
    column 'age', row 1003: the value is missing.
    """

    def moved(row: Row) -> Row:
        return Row(start + (row.number if chosen is None else int(chosen[row.number])), row.first_line)

    return DataError(*(moved(part) if isinstance(part, Row) else part for part in error.args))


class MetricError(SwaprankError, ValueError):
    """An unknown metric, or an invalid option of a metric.

    >>> import swaprank as sr
    >>> sr.metric("map@0")
    Traceback (most recent call last):
    ...
    swaprank.errors.MetricError: map: k must be a whole number from 1, found 0.
    """


class ParameterError(SwaprankError, ValueError):
    """An invalid parameter of a ranker.

    >>> import swaprank as sr
    >>> train, _ = sr.datasets.random_net((5, 5), random_state=0)
    >>> sr.LambdaMART(n_leaves=1).fit(train)
    Traceback (most recent call last):
    ...
    swaprank.errors.ParameterError: n_leaves must be a whole number from 2 to 65536; found 1.
    """


class ArgumentError(SwaprankError, TypeError):
    """An argument that does not exist.

    >>> import swaprank as sr
    >>> sr.LambdaMART(lambdarank_truncation_level=30)
    Traceback (most recent call last):
    ...
    swaprank.errors.ArgumentError: LambdaMART has no argument 'lambdarank_truncation_level'; in swaprank: horizon.
    """


class ModelFileError(SwaprankError, ValueError):
    """A model file that cannot be read: another format, a newer version, truncated, damaged, or inconsistent.

    >>> import pathlib, tempfile, swaprank as sr
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.swaprank"
    >>> _ = path.write_text("something else")
    >>> try:
    ...     sr.load(path)
    ... except sr.errors.ModelFileError as error:
    ...     print(str(error).rpartition("/")[2])
    model.swaprank: this is not a swaprank model.
    """


class ExportError(SwaprankError, ValueError):
    """A model that another system cannot hold, or would score differently.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> sr.LambdaRank(hidden=(4,), n_epochs=1).fit(train).export("model.txt", to="lightgbm")
    Traceback (most recent call last):
    ...
    swaprank.errors.ExportError: lightgbm holds only trees; found a net of 1 hidden layer. Use onnx or c.
    """


class SwaprankWarning(_InParts, UserWarning):
    """The base class of the warnings of swaprank, whose messages are made like those of errors.

    >>> import swaprank as sr
    >>> issubclass(sr.errors.PrecisionWarning, sr.errors.SwaprankWarning)
    True
    """


class ExportWarning(SwaprankWarning):
    """An exported model whose scores may differ in some cases, and what to do about them.

    >>> import swaprank as sr
    >>> issubclass(sr.errors.ExportWarning, UserWarning)
    True
    """


class ClusterError(SwaprankError, RuntimeError):
    """Workers that train together lost one of them, or could not start; the message says which, and how to go on.

    >>> import swaprank as sr
    >>> issubclass(sr.errors.ClusterError, RuntimeError)
    True
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended `fit` or `tune`; `result` is what was finished by then: the fitted ranker, or the `Tuning`.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> def press_ctrl_c(progress):
    ...     if progress.round == 5:
    ...         raise KeyboardInterrupt
    >>> try:
    ...     ranker = sr.LambdaMART(n_trees=1000).fit(train, callbacks=[press_ctrl_c])
    ... except sr.errors.Interrupted as stopped:
    ...     print(stopped.result.size_)
    5 trees
    """

    def __init__(self, result: Any) -> None:
        super().__init__("the best result so far was kept")
        self.result = result


class PrecisionWarning(SwaprankWarning):
    """A column of features that loses most of its values in single precision, in which features are stored.

    >>> import warnings, swaprank as sr
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     data = sr.Dataset([[1.7e9], [1.7e9 + 1], [1.7e9 + 2]], [0, 1, 2], qid=[1, 1, 1])
    >>> print(str(caught[0].message).partition(",")[2].partition(".")[0].strip())
    column 0: 3 distinct values become 1 in single precision (float32), in which features are stored
    """


class LabelWarning(SwaprankWarning):
    """Labels from which little is learned, or that are no grades although the metric takes them for grades.

    >>> import warnings, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 40], qid=[1, 1])
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     _ = sr.evaluate(data, [0.1, 0.2], "ndcg")
    >>> print(str(caught[0].message).partition(":")[0])
    ndcg
    """


class CompilerWarning(SwaprankWarning):
    """A version of Numba that swaprank's compiler does not fit: Numba compiles the kernels itself.

    >>> import swaprank as sr
    >>> issubclass(sr.errors.CompilerWarning, sr.errors.SwaprankWarning)
    True
    """


class MissingExtraError(SwaprankError, ImportError):
    """An optional package that is needed but not installed.

    >>> import swaprank as sr
    >>> issubclass(sr.errors.MissingExtraError, ImportError)
    True
    """


def import_extra(module: str, advice: str) -> Any:
    """Import a module of an optional package; MissingExtraError with this advice if it is not installed.

    >>> from swaprank.errors import import_extra
    >>> import_extra("no_such_package", "this needs another package.")
    Traceback (most recent call last):
    ...
    swaprank.errors.MissingExtraError: this needs another package.
    """
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError(advice) from None


def warn_user(warning: SwaprankWarning) -> None:
    """Give a warning at the user's line of code, the last one outside of this package.

    >>> import warnings
    >>> from swaprank.errors import SwaprankWarning, warn_user
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     warn_user(SwaprankWarning("the data is odd."))
    >>> print(caught[0].message)
    the data is odd.
    """
    package, level, frame = f"{Path(__file__).parent}{os.sep}", 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)


_LISTED = 40
"""Names that an error message lists at most."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown word: the most similar known word, or all known words.

    >>> from swaprank.errors import did_you_mean
    >>> did_you_mean("ndgc", ["ndcg", "map"]), did_you_mean("auc", ["ndcg", "map"])
    ("did you mean 'ndcg'?", 'known are map, ndcg.')
    """
    names = sorted(known)
    in_lower_case = {name.lower(): name for name in names}
    nearest = get_close_matches(word.lower(), in_lower_case, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean '{in_lower_case[nearest[0]]}'?"
    listed = names if len(names) <= _LISTED else [*names[:_LISTED], f"… ({len(names):,} in all)"]
    return "known are " + ", ".join(listed) + "."
