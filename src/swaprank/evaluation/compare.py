"""Compare rankings with a baseline by paired tests over queries."""

from collections.abc import Iterable, Mapping
from typing import Any, overload

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels
from swaprank.errors import DataError
from swaprank.evaluation.comparison import Comparison, compare_evaluations
from swaprank.evaluation.differences import check_systems
from swaprank.evaluation.evaluate import evaluate
from swaprank.evaluation.segment_comparison import SegmentComparison, compare_segments
from swaprank.evaluation.segments import By, segments_of
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics


@overload
def compare(
    data: Dataset | Qrels,
    systems: Mapping[str, Any],
    metrics: str | Metric | Iterable[str | Metric],
    *,
    by: None = None,
    baseline: str | None = ...,
    convention: str = ...,
    n_resamples: int = ...,
    random_state: int = ...,
    n_threads: int | None = ...,
) -> Comparison: ...


@overload
def compare(
    data: Dataset | Qrels,
    systems: Mapping[str, Any],
    metrics: str | Metric | Iterable[str | Metric],
    *,
    by: By,
    baseline: str | None = ...,
    convention: str = ...,
    n_resamples: int = ...,
    random_state: int = ...,
    n_threads: int | None = ...,
) -> SegmentComparison: ...


def compare(
    data: Dataset | Qrels,
    systems: Mapping[str, Any],
    metrics: str | Metric | Iterable[str | Metric],
    *,
    by: By | None = None,
    baseline: str | None = None,
    convention: str = "standard",
    n_resamples: int = 10_000,
    random_state: int = 0,
    n_threads: int | None = None,
) -> Comparison | SegmentComparison:
    """Compare rankings of the same documents, query by query, with a baseline.

    Args:
        data: The judged documents; or TREC judgements, if the systems are TREC runs.
        systems: Rankings by name: fitted rankers, names of side columns or features, one number per row in row order,
            or TREC runs.
        metrics: One or several metrics, or their names.
        by: Compare segments of the queries, too: the name of a side column or a feature with one value per query;
            "n_documents" or "n_relevant", the size of queries in ranges; or one value per query.
        baseline: The system that the others are compared with. The default is the first one.
        convention: The tool whose definitions of metrics to use, see `metric`.
        n_resamples: The number of resamples of the randomization test.
        random_state: The seed of the randomization test.
        n_threads: The number of threads. The default is all cores. The result does not depend on it.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((50, 100), random_state=0)
    >>> comparison = sr.compare(test, {"first": "1", "second": "2"}, "ndcg@10")  # names of features
    >>> print(comparison.differences[0].sentence())
    ndcg@10: second looks worse than first by 0.0194 (95% interval -0.0096 to 0.0483), but that may be luck; \
randomization test, p = .1824.
    """
    against = check_systems(systems, baseline)
    _check_randomization(n_resamples, random_state)
    metrics = parse_metrics(metrics, convention)
    if by is not None:
        segments = segments_of(data, by)
        in_segments = {
            name: evaluate(data, scores, metrics, by=segments, convention=convention, n_threads=n_threads)
            for name, scores in systems.items()
        }
        return compare_segments(in_segments, against, n_resamples, random_state)
    evaluations = {
        name: evaluate(data, scores, metrics, convention=convention, n_threads=n_threads)
        for name, scores in systems.items()
    }
    return compare_evaluations(evaluations, against, n_resamples, random_state)


def _check_randomization(n_resamples: int, random_state: int) -> None:
    for name, value, least in (("n_resamples", n_resamples, 1), ("random_state", random_state, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise DataError(f"{name} must be a whole number from {least}, found {value!r}.")
