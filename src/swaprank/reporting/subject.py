"""The subject of a report: a ranker, the test data, and the evaluation that all sections share."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, final

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.evaluation.compare import Comparison, Difference, compare
from swaprank.evaluation.results import Evaluation, MetricResult
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.ranker import Ranker
from swaprank.reporting.baseline import Baseline, best_feature
from swaprank.reporting.markup import Html


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

    ranker: Ranker
    data: Dataset
    scores: Floats
    name: str
    baseline: str
    """The name of the baseline."""
    comparison: Comparison

    @property
    def evaluation(self) -> Evaluation:
        """The evaluation of the ranker."""
        return self.comparison.evaluations[self.name]

    @property
    def baseline_evaluation(self) -> Evaluation:
        """The evaluation of the baseline."""
        return self.comparison.evaluations[self.baseline]

    @property
    def result(self) -> MetricResult:
        """The result of the ranker for the first metric."""
        return self.evaluation.results[0]

    @property
    def metric(self) -> Metric:
        """The first metric."""
        return self.result.metric

    @property
    def difference(self) -> Difference:
        """The difference from the baseline in the first metric."""
        return self.comparison.differences[0]


def make_subject(
    ranker: Ranker,
    data: Dataset,
    metrics: str | Metric | Iterable[str | Metric],
    baseline: Baseline | None = None,
    name: str | None = None,
) -> Subject:
    """Score, evaluate and compare. If there is no baseline, compare with the best single feature.

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
    comparison = compare(data, {other: against.scores, name: scores}, parsed)
    return Subject(ranker, data, scores, name, other, comparison)
