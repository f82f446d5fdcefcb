"""How good scores are: means with their intervals, and what every query contributed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.dataset import Dataset
from swaprank.errors import MetricError, did_you_mean
from swaprank.evaluation.frames import Backend, make_frame
from swaprank.evaluation.ranked_lists import RankedLists, ranked_lists
from swaprank.evaluation.text_tables import decimals, text_table
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.metrics.terms import Lists
from swaprank.reading.trec import Qrels


@final
@dataclass(frozen=True, eq=False)
class MetricResult:
    """One metric of one ranking.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> isinstance(sr.evaluate(data, [0.1, 0.9], "map")["map"], sr.MetricResult)
    True
    """

    metric: Metric
    per_query: Floats
    """NaN for a query that is left out."""
    n_without_relevant: int
    """Queries that no order could do well or badly on."""

    @property
    def n_queries(self) -> int:
        """Queries in the mean."""
        return int((~np.isnan(self.per_query)).sum())

    @property
    def n_left_out(self) -> int:
        """Queries that the metric's convention leaves out."""
        return len(self.per_query) - self.n_queries

    @property
    def mean(self) -> float:
        """The mean over the queries that count; NaN if none does."""
        return float(np.nanmean(self.per_query)) if self.n_queries else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% confidence interval of the mean, by Student's t; NaN for fewer than two queries."""
        return mean_interval(self.per_query)


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """The metrics of one ranking: printable, and by name `evaluation["ndcg@10"]`.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> isinstance(sr.evaluate(data, [0.1, 0.9], "map"), sr.Evaluation)
    True
    """

    results: tuple[MetricResult, ...]
    qids: AnyArray

    def __getitem__(self, name: str | Metric) -> MetricResult:
        by_name = {str(result.metric): result for result in self.results}
        if str(name) not in by_name:
            raise MetricError(f"'{name}' was not measured; {did_you_mean(str(name), by_name)}")
        return by_name[str(name)]

    def __iter__(self) -> Iterator[MetricResult]:
        return iter(self.results)

    def __str__(self) -> str:
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
        return f"{text_table(header, rows)}\n\n{conventions}"

    def to_frame(self, *, per_query: bool = False, backend: Backend = "pandas") -> Any:
        """A data frame with a row a metric, or a row a query with a column a metric.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2]], [0, 1], qid=["a", "a"])
        >>> sr.evaluate(data, [0.1, 0.9], ["map", "p@1"]).to_frame(per_query=True)
          qid  map  p@1
        0   a  1.0  1.0
        """
        if per_query:
            values = {str(result.metric): result.per_query.tolist() for result in self.results}
            return make_frame({"qid": self.qids.tolist(), **values}, backend)
        rows = self._rows()
        return make_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)

    def to_json(self, *, per_query: bool = False) -> str:
        """The same as JSON; numbers that do not exist are null.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[7, 7])
        >>> '"mean": 1.0' in sr.evaluate(data, [0.1, 0.9], "map").to_json()
        True
        """
        rows = self._rows()
        if per_query:
            for row, result in zip(rows, self.results, strict=True):
                values = [_json_number(value) for value in result.per_query.tolist()]
                row["per_query"] = dict(zip(map(str, self.qids.tolist()), values, strict=True))
        return json.dumps({"results": [{k: _json_number(v) for k, v in row.items()} for row in rows]}, indent=2)

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


def evaluate(
    data: Dataset | Qrels,
    scores: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    convention: str = "standard",
    n_threads: int | None = None,
) -> Evaluation:
    """Measure scores on judged documents.

    Args:
        data: The judged documents; or TREC judgements, then the scores are a TREC run.
        scores: One number a row, in the order in which the rows were given; or a TREC run.
        metrics: Names or metrics, one or several.
        convention: What the names mean: "standard", "trec", "letor", "mslr" or "lightgbm".
        n_threads: Threads to use, all cores if not given; the result does not depend on it.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((100,), random_state=0)
    >>> print(sr.evaluate(data, data.column(0), ["ndcg@10", "map"]))
    metric     mean      95% interval  queries  no relevant  left out
    -------  ------  ----------------  -------  -----------  --------
    ndcg@10  0.2776  0.2537 to 0.3014      100            0         0
    map      0.8228  0.8097 to 0.8360      100            0         0
    <BLANKLINE>
    ndcg@10: normalised discounted cumulative gain to rank 10; ...
    map: average precision; ...
    """
    lists = ranked_lists(data, scores)
    results = tuple(_measure(metric, lists, n_threads) for metric in parse_metrics(metrics, convention))
    return Evaluation(results, lists.qids)


def _measure(metric: Metric, lists: RankedLists, n_threads: int | None) -> MetricResult:
    bound = metric.bind(lists.labels, lists.indptr, docid=lists.docid, pool=lists.pool)
    ranked = Lists(lists.labels, lists.indptr)
    hopeless = np.isnan(replace(metric, empty="skip").terms(ranked, lists.pool or ranked).base)
    return MetricResult(metric, bound.per_query(lists.scores, n_threads=n_threads), int(hopeless.sum()))


def mean_interval(values: Floats) -> tuple[float, float]:
    """The 95% confidence interval of the mean of the values that are not NaN."""
    kept = values[~np.isnan(values)]
    if len(kept) < 2:
        return float("nan"), float("nan")
    from scipy.special import stdtrit

    half = float(stdtrit(len(kept) - 1, 0.975) * kept.std(ddof=1) / np.sqrt(len(kept)))
    mean = float(kept.mean())
    return mean - half, mean + half


def _json_number(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
