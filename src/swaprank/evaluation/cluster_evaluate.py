"""`evaluate` with data on a cluster: each worker measures its queries, and the values per query come here."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from swaprank.cluster.mapping import each_part
from swaprank.cluster.parts import as_parts
from swaprank.data.dataset import Dataset
from swaprank.data.ids import id_text
from swaprank.errors import DataError
from swaprank.evaluation.evaluate import Evaluation, MetricResult, evaluate
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.ranker import Ranker


def evaluate_on_cluster(
    data: Any,
    ranker: Any,
    metrics: str | Metric | Iterable[str | Metric],
    *,
    convention: str = "standard",
    n_threads: int | None = None,
    **columns: Any,
) -> Evaluation:
    """Evaluate a fitted ranker on data in parts; the queries are in the order of the parts.

    Args:
        data: A Dask data frame, or what `Parts` takes.
        ranker: Scores would have to be brought together with the parts: a ranker gives them where the parts are.
        metrics: As for `evaluate`.
        convention: As for `evaluate`.
        n_threads: For each part.
        columns: For a data frame: `label` and `qid`, as for `Parts.from_frame`.
    """
    import dask

    if not isinstance(ranker, Ranker):
        raise DataError(f"data on a cluster is evaluated with a fitted ranker; found {type(ranker).__name__}.")
    ranker.check_fitted()
    chosen = parse_metrics(metrics, convention)
    tasks = each_part(as_parts(data, **columns), _evaluate_part, ranker, chosen, n_threads)
    found = [each for each in dask.compute(*tasks) if each is not None]
    if not found:
        raise DataError("the data has no documents: all parts are empty.")
    results = tuple(
        MetricResult(
            metric,
            np.concatenate([each.results[at].per_query for each in found]),
            sum(each.results[at].n_without_relevant for each in found),
        )
        for at, metric in enumerate(chosen)
    )
    ids = [each.qids for each in found]
    if len({each.dtype for each in ids}) > 1:
        ids = [np.array([id_text(qid) for qid in each.tolist()]) for each in ids]
    return Evaluation(results, np.concatenate(ids), convention)


def _evaluate_part(data: Dataset | None, ranker: Ranker, metrics: list[Metric], n_threads: int | None) -> Any:
    return None if data is None else evaluate(data, ranker.predict(data), metrics, n_threads=n_threads)
