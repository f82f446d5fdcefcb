"""A click log in numbers: click rates by position, repeated queries, and documents that changed places."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.rendering.figures import axes_for, finish_chart, whole_numbers
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table

_MOST_VALUES = 10
"""Click rates of a context with more values, such as users or times, are not listed."""


@final
@dataclass(frozen=True)
class ContextRate:
    """The sessions with one value of a column of the context, and their clicks per shown document.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 2], qid=[7, 7], docid=[5, 5], position=[1, 1], click=[1, 0], context={"device": ["tv", "pc"]}
    ... )
    >>> log.summarize().context_rates[0]
    ContextRate(column='device', value='pc', n_sessions=1, click_rate=0.0)
    """

    column: str
    value: Any
    n_sessions: int
    click_rate: float


@final
@dataclass(frozen=True, repr=False)
class LogSummary(Result):
    """The contents of a click log in numbers; the click rate at each position is a column of its data frame.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2], qid=[7] * 4, docid=["a", "b", "b", "a"], position=[1, 2, 1, 2], click=[1, 0, 1, 0]
    ... )
    >>> print(log.summarize())
    sessions                              2
    queries                               1
    queries asked more than once          1 (100.0%)
    documents, each with its query        2
    documents shown at several positions  2 (100.0%)
    share of rows of these documents      100.0%
    sessions without a click              0 (0.0%)
    clicks per session                    1.00
    propensities logged                   no
    <BLANKLINE>
    position  shown  clicks  click rate
    --------  -----  ------  ----------
    1             2       2      1.0000
    2             2       0      0.0000
    """

    n_sessions: int
    n_rows: int
    n_queries: int
    """Queries that were asked in these sessions."""
    n_repeated: int
    """Queries with more than one session."""
    n_documents: int
    """(query, document) pairs that were shown in these sessions."""
    n_moved: int
    """Documents that were shown at more than one position. They tell how strong the position bias is."""
    moved_share: float
    """The share of the rows that show a document that moved."""
    n_without_click: int
    clicks_per_session: float
    has_propensity: bool
    n_features: int
    shown: tuple[int, ...]
    """The number of documents that were shown at position 1, 2, …"""
    clicks: tuple[float, ...]
    """The sum of the clicks at each position."""
    context_values: Mapping[str, int]
    """The number of different values of each column of the context."""
    context_rates: tuple[ContextRate, ...]
    """Click rates by value, of columns with at most ten values."""

    @property
    def click_rate(self) -> tuple[float, ...]:
        """Clicks per shown document at position 1, 2, …; NaN where nothing was shown."""
        return tuple(c / n if n else float("nan") for c, n in zip(self.clicks, self.shown, strict=True))

    def plot(self, ax: Any = None) -> Any:
        """Draw the click rate at each position.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        axes = axes_for(ax)
        axes.bar(np.arange(1, len(self.shown) + 1), self.click_rate, color="C0", label="clicks per shown document")
        whole_numbers(axes)
        moved = f"{self.n_moved:,} of {self.n_documents:,} documents changed places"
        return finish_chart(axes, f"{self.n_sessions:,} sessions; {moved}", "position", "click rate")

    def _blocks(self) -> Blocks:
        rows = [
            ("sessions", f"{self.n_sessions:,}"),
            ("queries", f"{self.n_queries:,}"),
            ("queries asked more than once", _share(self.n_repeated, self.n_queries)),
            ("documents, each with its query", f"{self.n_documents:,}"),
            ("documents shown at several positions", _share(self.n_moved, self.n_documents)),
            ("share of rows of these documents", f"{self.moved_share:.1%}"),
            ("sessions without a click", _share(self.n_without_click, self.n_sessions)),
            ("clicks per session", f"{self.clicks_per_session:.2f}"),
            ("propensities logged", "yes" if self.has_propensity else "no"),
        ]
        if self.n_features:
            rows.append(("features", f"{self.n_features:,}"))
        rows += [(f"different values of {name}", f"{n:,}") for name, n in self.context_values.items()]
        width = max(len(name) for name, _ in rows)
        table = [
            [str(position), f"{n:,}", f"{c:,g}" if n < 10**6 else f"{c:,.0f}", f"{rate:.4f}" if n else "-"]
            for position, (n, c, rate) in enumerate(zip(self.shown, self.clicks, self.click_rate, strict=True), start=1)
        ]
        lines = "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)
        blocks: list[Table | str] = [lines, Table(["position", "shown", "clicks", "click rate"], table)]
        if self.context_rates:
            rates = [[r.column, str(r.value), f"{r.n_sessions:,}", f"{r.click_rate:.4f}"] for r in self.context_rates]
            blocks.append(Table(["context", "value", "sessions", "click rate"], rates))
        return blocks

    def _values(self) -> Mapping[str, Any]:
        return {**asdict(self), "click_rate": self.click_rate}

    def _columns(self) -> Mapping[str, list[Any]]:
        return {
            "position": list(range(1, len(self.shown) + 1)),
            "shown": list(self.shown),
            "clicks": list(self.clicks),
            "click_rate": list(self.click_rate),
        }


def context_rates(
    context: Mapping[str, AnyArray], clicks: Floats, shown: Ints
) -> tuple[dict[str, int], tuple[ContextRate, ...]]:
    """The number of values of each column, and click rates by value, given the clicks and rows of each session."""
    n_values, rates = dict[str, int](), list[ContextRate]()
    for name, values in context.items():
        distinct, number = np.unique(values, return_inverse=True)
        n_values[name] = len(distinct)
        if len(distinct) <= _MOST_VALUES:
            rate = np.bincount(number, clicks) / np.bincount(number, shown)
            n_sessions = np.bincount(number).tolist()
            rates += map(ContextRate, [name] * len(rate), distinct.tolist(), n_sessions, rate.tolist())
    return n_values, tuple(rates)


def _share(n: int, of: int) -> str:
    return f"{n:,} ({n / of:.1%})"
