"""What every result can do: print, show itself in notebooks, and become a dict, JSON or a data frame."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from swaprank.rendering.html_tables import blocks_html
from swaprank.rendering.json_values import json_text, plain
from swaprank.rendering.result_frames import Backend, make_frame
from swaprank.rendering.text_tables import Blocks, blocks_text


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
