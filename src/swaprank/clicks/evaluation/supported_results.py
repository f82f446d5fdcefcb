"""What estimates and comparisons from logs share: where a log does not support an answer, there is none."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

from swaprank.errors import MetricError, did_you_mean
from swaprank.evaluation.differences import BaselineDifference
from swaprank.evaluation.significance import LEVEL, p_in_words
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import probability

_ROUNDING = 1e-9


class Estimate(Protocol):
    """One metric, as estimated from a log."""

    @property
    def metric(self) -> str:
        """Its name."""

    def sentence(self) -> str:
        """The result in words."""


Row = TypeVar("Row", bound=Estimate)


@dataclass(frozen=True, eq=False, repr=False)
class EstimateTable(Result, Generic[Row]):
    """Estimates of several metrics; by name, in order, and as a table."""

    results: tuple[Row, ...]

    @abstractmethod
    def _name_of(self, metric: Any) -> str:
        """The name that a metric has in this table."""

    def __getitem__(self, metric: Any) -> Row:
        by_name = {row.metric: row for row in self.results}
        wanted = self._name_of(metric)
        if wanted not in by_name:
            raise MetricError(f"'{metric}' was not evaluated; {did_you_mean(wanted, by_name)}")
        return by_name[wanted]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.results)

    def _values(self) -> dict[str, Any]:
        return {"results": [{**asdict(row), "sentence": row.sentence()} for row in self.results]}  # type: ignore[call-overload]

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns([asdict(row) for row in self.results])  # type: ignore[call-overload]


@dataclass(frozen=True)
class SupportedDifference(BaselineDifference):
    """A difference of two estimates, which the log supports only if it supports both."""

    p: float
    """The p-value of the difference, two-sided; NaN if the log does not support an answer."""
    doubts: tuple[str, ...]
    """Sentences that speak against one of the two estimates."""

    @property
    def is_supported(self) -> bool:
        """True if the log can answer: nothing speaks against the two estimates."""
        return not self.doubts

    @property
    def is_significant(self) -> bool:
        """True if the log can answer and the p-value is below 5%."""
        return self.p < LEVEL

    def sentence(self) -> str:
        """The result in words."""
        if not self.is_supported:
            return " ".join([f"{self.metric}: {self.system} against {self.baseline}:", *self.doubts])
        if max(abs(self.difference), self.high - self.low) < _ROUNDING:
            return f"{self.metric}: the clicks show no difference of {self.system} and {self.baseline}."
        return self._size_in_words(p_in_words(self.p))

    def _more_cells(self) -> dict[str, str]:
        return {"p": probability(self.p) if self.is_supported else "-"}
