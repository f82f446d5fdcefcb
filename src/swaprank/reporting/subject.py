"""The subject of a report: a ranker, the test data and samples of it, a baseline, and the evaluation of both."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.data.grouping import query_of_row
from swaprank.evaluation.given_scores import column_scores, value_scores
from swaprank.evaluation.segments import By
from swaprank.metrics.metric import bind_metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.reporting.markup import Html, join, paragraph

SEED = 0
"""Seed of all samples."""
_MOST_VALUES = 4_000_000
"""Upper limit of feature values that are read to find the best feature."""


class Section(NamedTuple):
    """A section of the page.

    >>> from swaprank.reporting.markup import Html
    >>> from swaprank.reporting.subject import Section
    >>> Section("metrics", "Metrics", Html("<p>…</p>")).anchor
    'metrics'
    """

    anchor: str
    title: str
    body: Html


def section(anchor: str, title: str, words: object, *parts: object) -> Section:
    """A section that begins with words about what it shows.

    >>> from swaprank.reporting.subject import section
    >>> section("metrics", "Metrics", "All metrics.").body
    '<p class="lead">All metrics.</p>'
    """
    return Section(anchor, title, join([paragraph(words, class_="lead"), *parts]))


class Baseline(NamedTuple):
    """A name and one score per row.

    >>> import numpy as np
    >>> from swaprank.reporting.subject import Baseline
    >>> Baseline("feature 3", np.array([0.1])).name
    'feature 3'
    """

    name: str
    scores: Floats


@final
@dataclass(frozen=True, eq=False)
class Subject:
    """A ranker compared with a baseline on test data; charts show the first metric.

    >>> import swaprank as sr
    >>> from swaprank.reporting.subject import Subject, make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> isinstance(make_subject(sr.MART(n_trees=2).fit(data), data, "map"), Subject)
    True
    """

    ranker: sr.Ranker
    data: sr.Dataset
    scores: Floats
    name: str
    baseline: str
    """The name of the baseline."""
    comparison: sr.evaluation.Comparison
    segments: sr.evaluation.SegmentComparison | None
    """The comparison in segments of the queries, if they were asked for."""

    @property
    def evaluation(self) -> sr.evaluation.Evaluation:
        """The evaluation of the ranker."""
        return self.comparison.evaluations[self.name]

    @property
    def baseline_evaluation(self) -> sr.evaluation.Evaluation:
        """The evaluation of the baseline."""
        return self.comparison.evaluations[self.baseline]

    @property
    def result(self) -> sr.evaluation.MetricResult:
        """The result of the ranker for the first metric."""
        return self.evaluation.results[0]

    @property
    def metric(self) -> sr.metrics.Metric:
        """The first metric."""
        return self.result.metric

    @property
    def difference(self) -> sr.evaluation.Difference:
        """The difference from the baseline in the first metric."""
        return self.comparison.differences[0]


def make_subject(
    ranker: sr.Ranker,
    data: sr.Dataset,
    metrics: str | sr.metrics.Metric | Iterable[str | sr.metrics.Metric],
    baseline: Baseline | None = None,
    name: str | None = None,
    by: By | None = None,
) -> Subject:
    """Score, evaluate and compare, also by segments. If there is no baseline, compare with the best single feature.

    >>> import swaprank as sr
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, ["ndcg@10", "map"])
    >>> subject.name, subject.baseline, str(subject.metric)
    ('MART', 'feature 1', 'ndcg@10')
    """
    parsed = parse_metrics(metrics)
    name = type(ranker).__name__ if name is None else name
    against = best_feature(data, parsed[0]) if baseline is None else baseline
    other = f"{against.name} (baseline)" if against.name == name else against.name
    scores = ranker.predict(data)
    systems = {other: against.scores, name: scores}
    segments = None if by is None else sr.compare(data, systems, parsed, by=by)
    comparison = sr.compare(data, systems, parsed) if segments is None else segments.whole
    return Subject(ranker, data, scores, name, other, comparison, segments)


def column_baseline(data: sr.Dataset, column: str) -> Baseline:
    """Rank by a feature or a side column, largest first, or smallest first if its name begins with a minus.

    >>> import swaprank as sr
    >>> from swaprank.reporting.subject import column_baseline
    >>> data = sr.Dataset([[3.0], [float("nan")]], [0, 1], qid=[1, 1], feature_names=["price"])
    >>> column_baseline(data, "-price")
    Baseline(name='feature price, smallest first', scores=array([-3., -4.]))
    """
    scores = column_scores(data, column)
    name = column if column in (*data.columns, *data.feature_names) else column[1:]
    kind = "column" if name in data.columns else "feature"
    return Baseline(f"{kind} {name}" + ("" if name == column else ", smallest first"), scores)


def best_feature(data: sr.Dataset, metric: sr.metrics.Metric) -> Baseline:
    """The single feature, ascending or descending, with the best metric on the data, or on a sample of large data.

    If all features are categorical, none can rank, and all documents are tied.

    >>> import swaprank as sr
    >>> from swaprank.reporting.subject import best_feature
    >>> data = sr.Dataset([[1, 9], [1, 3], [1, 4]], [0, 2, 1], qid=[1, 1, 1], feature_names=["age", "price"])
    >>> best_feature(data, sr.metric("ndcg")).name
    'feature price, smallest first'
    """
    part = query_sample(data, max(1000, _MOST_VALUES // data.n_features))
    bound = bind_metric(metric, part)
    numeric = [at for at, name in enumerate(data.feature_names) if name not in data.categories]
    if not numeric:
        return Baseline("all documents tied", np.zeros(len(data)))
    best, best_value = (numeric[0], False), -np.inf
    for at in numeric:
        values = part.column(at)
        for is_reversed in (False, True):
            value = bound.mean(part.by_query(value_scores(values, is_reversed=is_reversed)))
            if value > best_value + 1e-12:
                best, best_value = (at, is_reversed), value
    at, is_reversed = best
    return column_baseline(data, f"-{data.feature_names[at]}" if is_reversed else data.feature_names[at])


def query_sample(data: sr.Dataset, n_documents: int) -> sr.Dataset:
    """A random sample of whole queries with about this many documents, or all data if it is not larger.

    >>> import swaprank as sr
    >>> from swaprank.reporting.subject import query_sample
    >>> (data,) = sr.datasets.random_net((50,), n_features=2, n_documents=10, random_state=0)
    >>> query_sample(data, 100).n_queries
    10
    """
    if len(data) <= n_documents:
        return data
    drawn = np.random.default_rng(SEED).permutation(data.n_queries)
    n_taken = int(np.searchsorted(np.cumsum(np.diff(data.indptr)[drawn]), n_documents)) + 1
    part = data.subset(np.sort(drawn[:n_taken]))
    return part if len(part) <= 2 * n_documents else _thinned(part, n_documents)


def row_sample(n_rows: int, most: int) -> Ints:
    """At most `most` random rows, in ascending order.

    >>> from swaprank.reporting.subject import row_sample
    >>> len(row_sample(100, 7)), len(row_sample(5, 7))
    (7, 5)
    """
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(SEED).choice(n_rows, most, replace=False))


def _thinned(data: sr.Dataset, n_documents: int) -> sr.Dataset:
    """A random sample of rows, for data whose single lists are longer than the sample."""
    rows = row_sample(len(data), n_documents)
    return sr.Dataset(
        data.stored.rows(rows),
        data.labels[rows],
        qid=query_of_row(data.indptr, data.order)[rows],
        docid=None if data.docid is None else data.docid[rows],
        base_score=None if data.base_score is None else data.base_score[rows],
        columns={name: values[rows] for name, values in data.columns.items()},
    )
