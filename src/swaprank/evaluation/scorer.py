"""A metric as a scorer of scikit-learn, for its searches and cross-validation."""

from typing import Any, final

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.data.frames import split_column
from swaprank.evaluation.evaluate import evaluate
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric


@final
class RankingScorer:
    """A metric for `scoring` in scikit-learn's searches; the query ids are a column of X, so none need be routed.

    Args:
        metric: The metric, or its name.
        qid: The name of the column of query ids.

    >>> import pandas as pd, swaprank as sr
    >>> from sklearn.model_selection import GroupKFold, cross_val_score
    >>> (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=10, random_state=0)
    >>> frame = pd.DataFrame(data.features).assign(query=[i // 10 for i in range(120)])
    >>> scorer = sr.evaluation.RankingScorer("ndcg@10", qid="query")
    >>> folds = GroupKFold(3).split(frame, data.labels, frame["query"])
    >>> scores = cross_val_score(
    ...     sr.LambdaMART(n_trees=3), frame, data.labels, cv=folds, scoring=scorer, params={"qid": "query"}
    ... )
    >>> scores.shape
    (3,)
    """

    def __init__(self, metric: str | Metric, *, qid: str) -> None:
        self.metric, self.qid = parse_metric(metric), qid

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The mean of the metric for the scores that an estimator predicts; larger is better."""
        _, qid = split_column(X, self.qid)
        labels = Dataset(np.zeros((len(qid), 1)), y, qid=qid)
        return evaluate(labels, estimator.predict(X), self.metric).results[0].mean

    def __repr__(self) -> str:
        return f"RankingScorer('{self.metric}', qid='{self.qid}')"
