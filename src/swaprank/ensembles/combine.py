"""The exact best mix of two rankers."""

from __future__ import annotations

from swaprank.data.dataset import Dataset
from swaprank.ensembles.combination import Combination
from swaprank.metrics.metric import Metric
from swaprank.rankers.ranker import Ranker


def combine(
    a: Ranker,
    b: Ranker,
    data: Dataset,
    metric: str | Metric = "ndcg@10",
    *,
    whole_line: bool = False,
    n_threads: int | None = None,
) -> Combination:
    """Combine two fitted rankers: no other alpha a + (1 - alpha) b has a better metric on this data.

    Take data that neither ranker has learned from: on its own training data the one that overfits wins.

    Args:
        a: One fitted ranker.
        b: Another one.
        data: The judged documents on which alpha is found.
        metric: What is to be best there.
        whole_line: Let alpha be any number, and not only from 0 to 1.
        n_threads: All cores if None.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 40, 40), n_features=8, random_state=0)
    >>> mart, linear = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> both = sr.combine(mart, linear, vali, "ndcg@10")
    >>> both.score(vali) == both.value_ >= max(mart.score(vali), linear.score(vali))
    True
    >>> both.predict(test).shape
    (2000,)
    """
    return Combination(metric, whole_line=whole_line, base_ranker=(a, b), n_threads=n_threads).fit(data)
