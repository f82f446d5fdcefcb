"""The base class of results: they print, show themselves in notebooks, and become a dict, JSON or a data frame.

JSON has no NaN: it becomes null, and None in a dict.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from swaprank.errors import MissingExtraError, SwaprankError, did_you_mean
from swaprank.rendering.tables import Blocks, blocks_html, blocks_text

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


class Result(ABC):
    """A result gives its tables and sentences, its values and its columns once; all forms are made of these.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=["a", "a"])
    >>> result = sr.evaluate(data, [0.1, 0.9], "map")
    >>> result.to_dict()["results"][0]["mean"], result.to_frame()["mean"].tolist()
    (1.0, [1.0])
    """

    @abstractmethod
    def _blocks(self) -> Blocks:
        """The tables and sentences that are printed."""

    @abstractmethod
    def _values(self) -> Mapping[str, Any]:
        """The content as Python values of any type."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Iterable[Any]]:
        """The columns of the data frame."""

    def __str__(self) -> str:
        return blocks_text(self._blocks())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return blocks_html(self._blocks())

    def to_dict(self) -> dict[str, Any]:
        """The result as plain Python values; undefined numbers are None."""
        values: dict[str, Any] = plain(self._values())
        return values

    def to_json(self) -> str:
        """The content of `to_dict` as JSON."""
        return json_text(self._values())

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """A data frame."""
        return make_frame(self._columns(), backend)


def plain(value: Any) -> Any:
    """The value as JSON knows it: dicts with text keys, lists, numbers, None for NaN and infinity, text for the rest.

    >>> from swaprank.rendering.result import plain
    >>> plain({"hidden": (10, 5), 7: float("nan")})
    {'hidden': [10, 5], '7': None}
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def json_text(values: Any, *, large: bool = False) -> str:
    """Indented JSON of plain values; or, if it is large, on one line, because indenting is ten times slower."""
    return json.dumps(plain(values), indent=None if large else 2, allow_nan=False)


def make_frame(columns: Mapping[str, Iterable[Any]], backend: Backend) -> Any:
    """A pandas or Polars data frame, or an Arrow table.

    >>> from swaprank.rendering.result import make_frame
    >>> make_frame({"n_leaves": [7, 31], "hidden": [(10,), (5, 5)]}, "pandas")
       n_leaves  hidden
    0         7   (10,)
    1        31  (5, 5)
    """
    if backend not in BACKENDS:
        raise SwaprankError(f"there is no frame backend '{backend}'; {did_you_mean(backend, BACKENDS)}")
    import narwhals

    given = {name: _of_one_type(list(values)) for name, values in columns.items()}
    try:
        return narwhals.from_dict(given, backend=backend).to_native()
    except ImportError:
        raise MissingExtraError(f"{backend} is not installed: pip install 'swaprank[frames]'.") from None


def _of_one_type(values: Sequence[Any]) -> Sequence[Any]:
    """A column as Polars and Arrow accept it: numbers, or texts for values of several types and for tuples."""
    types = {type(value) for value in values if value is not None}
    if types <= {int, float} or (len(types) == 1 and types <= {bool, str}):
        return [float(value) if float in types and value is not None else value for value in values]
    return [None if value is None else str(value) for value in values]


def rows_as_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows with the same names as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]}
