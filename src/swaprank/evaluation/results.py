"""The metrics of a ranking: means with confidence intervals, and values per query."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.data.ids import id_text
from swaprank.errors import MetricError, did_you_mean
from swaprank.evaluation.significance import bounded_interval, mean
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.rendering.figures import axes_for, chart_height, draw_interval, name_rows, write_right
from swaprank.rendering.result import Backend, Result, json_text, make_frame, plain, rows_as_columns
from swaprank.rendering.tables import Blocks, Table, blocks_text, decimals

_BINS = 25
_TALLEST = 0.7
"""Height of the tallest bin of a histogram; rows are 1 apart."""


@final
@dataclass(frozen=True, eq=False)
class MetricResult:
    """One metric of one ranking.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> isinstance(sr.evaluate(data, [0.1, 0.9], "map")["map"], sr.evaluation.MetricResult)
    True
    """

    metric: Metric
    per_query: Floats
    """The metric of every query; NaN if the query is left out (empty="skip")."""
    is_empty: Bools
    """Whether a query is without what the metric needs (`metric.needs`), for most metrics a relevant document.

    Every order of its documents has the same value.
    """

    @property
    def n_without_relevant(self) -> int:
        """The number of queries without what the metric needs, in the mean or left out."""
        return int(self.is_empty.sum())

    @property
    def n_queries(self) -> int:
        """The number of queries in the mean."""
        return int((~np.isnan(self.per_query)).sum())

    @property
    def n_left_out(self) -> int:
        """The number of queries that are left out of the mean (empty="skip")."""
        return len(self.per_query) - self.n_queries

    @property
    def mean(self) -> float:
        """The mean over all queries that are not left out; NaN if there is none."""
        return mean(self.per_query)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the mean, within the bounds of the metric; NaN for fewer than two queries.

        A score interval (Wilson's, by the variance of the queries) if the metric has bounds; Student's t otherwise.
        """
        return bounded_interval(self.per_query, self.metric.bounds)

    def of_queries(self, queries: Ints) -> "MetricResult":
        """The result of some of the queries, by their positions."""
        return MetricResult(self.metric, self.per_query[queries], self.is_empty[queries])


@final
@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """The metrics of one ranking; prints as a table. Look up a metric by any of its names: `evaluation["ndcg@10"]`.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> evaluation = sr.evaluate(data, [0.1, 0.9], "map")
    >>> isinstance(evaluation, sr.evaluation.Evaluation), evaluation["AP"].mean
    (True, 1.0)
    """

    results: tuple[MetricResult, ...]
    qids: AnyArray
    """Query ids, in the order of `per_query`."""
    convention: str = "standard"
    """The convention for the names of metrics."""

    def __getitem__(self, name: str | Metric) -> MetricResult:
        by_metric = {result.metric: result for result in self.results}
        by_name = {str(result.metric): result for result in self.results}
        try:
            wanted = parse_metric(name, self.convention)
        except MetricError:
            wanted = None  # possibly the name of a user's own metric
        if wanted is not None and wanted in by_metric:
            return by_metric[wanted]
        if str(name) not in by_name:
            raise MetricError(f"'{name}' was not evaluated; {did_you_mean(str(name), by_name)}")
        if isinstance(name, Metric):
            raise MetricError(f"this metric was not evaluated, but another metric with the name '{name}' was.")
        return by_name[name]

    def __iter__(self) -> Iterator[MetricResult]:
        return iter(self.results)

    def of_queries(self, queries: Ints) -> "Evaluation":
        """The evaluation of some of the queries, by their positions.

        >>> import numpy as np, swaprank as sr
        >>> data = sr.Dataset([[1], [2], [3]], [0, 1, 1], qid=[7, 7, 8])
        >>> sr.evaluate(data, [0.1, 0.9, 0.5], "map").of_queries(np.array([1])).qids.tolist()
        [8]
        """
        return Evaluation(tuple(each.of_queries(queries) for each in self.results), self.qids[queries], self.convention)

    def to_text(self, *, per_query: bool = False) -> str:
        """The table that `print` shows, with the conventions in words, and optionally one row per query.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2]], [0, 1], qid=["a", "a"])
        >>> text = sr.evaluate(data, [0.1, 0.9], ["map", "p@1"]).to_text(per_query=True)
        >>> print(text[text.index("qid"):])
        qid     map     p@1
        ---  ------  ------
        a    1.0000  1.0000
        """
        return blocks_text([*self._blocks(), self._per_query_table()] if per_query else self._blocks())

    def _blocks(self) -> Blocks:
        rows = [
            [
                str(result.metric),
                decimals(result.mean),
                f"{decimals(result.interval[0])} to {decimals(result.interval[1])}",
                f"{result.n_queries:,}",
                f"{result.n_without_relevant:,}",
                f"{result.n_left_out:,}",
            ]
            for result in self.results
        ]
        header = ["metric", "mean", "95% interval", "queries", "no relevant", "left out"]
        conventions = "\n".join(f"{result.metric}: {result.metric.describe()}." for result in self.results)
        return [Table(header, rows), conventions]

    def _per_query_table(self) -> Table:
        columns = [map(decimals, result.per_query.tolist()) for result in self.results]
        header = ["qid", *(str(result.metric) for result in self.results)]
        return Table(header, list(zip(map(str, self.qids.tolist()), *columns, strict=True)))

    def to_frame(self, *, per_query: bool = False, backend: Backend = "pandas") -> Any:
        """A data frame with one row per metric; or with one row per query and one column per metric.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2]], [0, 1], qid=["a", "a"])
        >>> sr.evaluate(data, [0.1, 0.9], ["map", "p@1"]).to_frame(per_query=True)
          qid  map  p@1
        0   a  1.0  1.0
        """
        if not per_query:
            return super().to_frame(backend=backend)
        values = {str(result.metric): result.per_query.tolist() for result in self.results}
        return make_frame({"qid": self.qids.tolist(), **values}, backend)

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns(self._rows())

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """The content of `to_json` as Python values; NaN becomes None.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[7, 7])
        >>> sr.evaluate(data, [0.1, 0.9], "map").to_dict(per_query=True)["results"][0]["per_query"]
        {'7': 1.0}
        """
        values: dict[str, Any] = plain(self._values(per_query=per_query))
        return values

    def to_json(self, *, per_query: bool = False) -> str:
        """The results as JSON; NaN becomes null. With `per_query`, all of it is on one line.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[7, 7])
        >>> '"mean": 1.0' in sr.evaluate(data, [0.1, 0.9], "map").to_json()
        True
        """
        return json_text(self._values(per_query=per_query), large=per_query)

    def _values(self, *, per_query: bool = False) -> dict[str, Any]:
        rows = self._rows()
        if per_query:
            for row, result in zip(rows, self.results, strict=True):
                row["per_query"] = dict(zip(self.qids.tolist(), result.per_query.tolist(), strict=True))
        return {"results": rows}

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean of each metric with its 95% interval, over a histogram of its values per query.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        results = self.results
        axes = axes_for(ax, 7.0, chart_height(len(results), 0.7))
        places = name_rows(axes, [str(result.metric) for result in results])
        values = [result.per_query[~np.isnan(result.per_query)] for result in results]
        together = np.concatenate([[0.0, 1.0], *values])
        edges = np.linspace(together.min(), together.max(), _BINS + 1)
        for place, result, kept in zip(places, results, values, strict=True):
            counts = np.histogram(kept, edges)[0]
            heights = _TALLEST * counts / max(counts.max(), 1)
            axes.bar(edges[:-1], heights, np.diff(edges), place, align="edge", color="C0", alpha=0.25)
            draw_interval(axes, place, result.mean, result.interval, "C0")
        write_right(axes, places, (decimals(result.mean) for result in results))
        axes.set(xlabel="mean with 95% interval, and histogram of the queries", ylim=(-0.3, len(results) - 0.1))
        return axes

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "metric": str(result.metric),
                "mean": result.mean,
                "low": result.interval[0],
                "high": result.interval[1],
                "n_queries": result.n_queries,
                "n_without_relevant": result.n_without_relevant,
                "n_left_out": result.n_left_out,
                "conventions": result.metric.describe(),
            }
            for result in self.results
        ]


def pooled(parts: Sequence[Evaluation], metrics: Iterable[Metric], convention: str) -> Evaluation:
    """The evaluation of all queries, given those of parts of them, with these metrics."""
    results = tuple(
        MetricResult(
            metric,
            np.concatenate([each.results[at].per_query for each in parts]),
            np.concatenate([each.results[at].is_empty for each in parts]),
        )
        for at, metric in enumerate(metrics)
    )
    ids = [each.qids for each in parts]
    if len({each.dtype for each in ids}) > 1:
        ids = [np.array([id_text(qid) for qid in each.tolist()]) for each in ids]
    return Evaluation(results, np.concatenate(ids), convention)
