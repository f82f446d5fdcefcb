"""Differences of rankings to a baseline: the rows of a comparison, its table, and its results in words."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from swaprank.errors import DataError, did_you_mean
from swaprank.evaluation.significance import holm
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, decimals


@dataclass(frozen=True)
class BaselineDifference(ABC):
    """One ranking against the baseline on one metric. Those who estimate it add how, and their tests."""

    metric: str
    system: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    low: float
    high: float
    """95% confidence interval of the difference."""

    @property
    @abstractmethod
    def is_significant(self) -> bool:
        """True if the difference is hardly luck."""

    @abstractmethod
    def sentence(self) -> str:
        """The result in words."""

    @abstractmethod
    def _more_cells(self) -> dict[str, str]:
        """The cells of a table that follow those of the interval, by their headers."""

    def _size_in_words(self, test: str) -> str:
        direction = "better" if self.difference > 0 else "worse"
        least, most = (self.low, self.high) if self.difference > 0 else (-self.high, -self.low)
        size = f"by {abs(self.difference):.4f}"
        if not np.isnan(least):
            size += f" (95% interval {least:.4f} to {most:.4f})"
        seems, luck = ("is", "") if self.is_significant else ("looks", ", but that may be luck")
        return f"{self.metric}: {self.system} {seems} {direction} than {self.baseline} {size}{luck}; {test}."


Row = TypeVar("Row", bound=BaselineDifference)


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceTable(Result, Generic[Row]):
    """Rankings against a baseline; prints as a table with the results in words."""

    differences: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.differences)

    @abstractmethod
    def _notes(self) -> list[str]:
        """Sentences after those of the rows."""

    def _blocks(self) -> Blocks:
        header = ["metric", "ranking", "mean", "against", "mean", "difference", "95% interval"]
        rows = [
            [
                row.metric,
                row.system,
                decimals(row.mean),
                row.baseline,
                decimals(row.baseline_mean),
                decimals(row.difference, signed=True),
                f"{decimals(row.low)} to {decimals(row.high)}",
                *row._more_cells().values(),
            ]
            for row in self.differences
        ]
        words = [row.sentence() for row in self.differences] + self._notes()
        return [Table([*header, *self.differences[0]._more_cells()], rows, left=2), "\n".join(words)]

    def _values(self) -> dict[str, Any]:
        return {"differences": [{**asdict(row), "sentence": row.sentence()} for row in self.differences]}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns([asdict(row) for row in self.differences])


def corrected(rows: list[Row], *p_values: str) -> list[Row]:
    """The differences of all rankings on one metric, with their p-values of these names corrected (Holm)."""
    adjusted = {name: holm(np.array([getattr(row, name) for row in rows])).tolist() for name in p_values}
    return [replace(row, **{name: values[at] for name, values in adjusted.items()}) for at, row in enumerate(rows)]


def check_systems(systems: Mapping[str, Any], baseline: str | None) -> str:
    """Check the systems and return the name of the baseline."""
    if not isinstance(systems, Mapping):
        raise DataError(
            f"systems must be a dict of scores by name, such as {{'old': scores, 'new': scores}}; "
            f"found {type(systems).__name__}."
        )
    for name in systems:
        if not isinstance(name, str):
            raise DataError(f"the name of a ranking must be text, found {name!r} ({type(name).__name__}).")
    if len(systems) < 2:
        raise DataError(f"a comparison needs at least two rankings, found {len(systems)}.")
    against = next(iter(systems)) if baseline is None else baseline
    if against not in systems:
        raise DataError(f"there is no ranking '{against}' to compare with; {did_you_mean(str(against), systems)}")
    return against
