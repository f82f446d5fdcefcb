"""The metrics of a ranking in every segment of the queries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, final

from swaprank.errors import DataError, did_you_mean
from swaprank.evaluation.results import Evaluation
from swaprank.evaluation.segments import WHOLE, Segments
from swaprank.rendering.figures import axes_for, chart_height, draw_interval, name_rows, shortened, write_right
from swaprank.rendering.result import Result, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, decimals


@final
@dataclass(frozen=True, eq=False, repr=False)
class SegmentEvaluation(Result):
    """The metrics of one ranking, of all queries and of each segment; prints as a table.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2], [3], [4]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> result = sr.evaluate(data, [0.1, 0.9, 0.9, 0.1], "map", by=["phone", "web"])
    >>> isinstance(result, sr.evaluation.SegmentEvaluation), result["web"]["map"].mean
    (True, 0.5)
    """

    by: str
    whole: Evaluation
    segments: Mapping[str, Evaluation]

    @classmethod
    def of(cls, whole: Evaluation, segments: Segments) -> Self:
        """The evaluation of all queries and of those of each segment."""
        return cls(segments.by, whole, {name: whole.of_queries(queries) for name, queries in segments})

    def __getitem__(self, segment: str) -> Evaluation:
        if segment not in self.segments:
            raise DataError(f"there is no segment '{segment}'; {did_you_mean(str(segment), self.segments)}")
        return self.segments[segment]

    def __iter__(self) -> Iterator[str]:
        return iter(self.segments)

    def _all(self) -> dict[str, Evaluation]:
        return {WHOLE: self.whole, **self.segments}

    def _blocks(self) -> Blocks:
        metrics = [str(result.metric) for result in self.whole]
        header = [self.by, "queries", *(name for metric in metrics for name in (metric, "95% interval"))]
        rows = []
        for name, evaluation in self._all().items():
            cells = [name, f"{len(evaluation.qids):,}"]
            for result in evaluation:
                low, high = result.interval
                cells += [decimals(result.mean), "-" if low != low else f"{decimals(low)} to {decimals(high)}"]
            rows.append(cells)
        return [Table(header, rows)]

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {"segment": name, **row}
            for name, evaluation in self._all().items()
            for row in evaluation.to_dict()["results"]
        ]

    def _values(self) -> dict[str, Any]:
        return {"by": self.by, "results": self._rows()}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns(self._rows())

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean of the first metric in each segment with its 95% interval; the line is the mean of all queries.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        shown = [(name, evaluation.results[0]) for name, evaluation in self._all().items()]
        axes = axes_for(ax, 7.0, chart_height(len(shown), 0.4))
        places = name_rows(axes, [name for name, _ in shown])
        axes.axvline(shown[0][1].mean, color="0.5", linewidth=1)
        for place, (_, result) in zip(places, shown, strict=True):
            draw_interval(axes, place, result.mean, result.interval, "C0")
        write_right(axes, places, (f"{result.n_queries:,}" for _, result in shown))
        axes.set(xlabel=f"{shortened(str(shown[0][1].metric))}: mean with 95% interval", ylim=(-0.6, len(shown) - 0.4))
        axes.set_title("queries", loc="right", fontsize="medium")
        axes.set_title(f"by {shortened(self.by)}", loc="left", fontsize="medium")
        return axes
