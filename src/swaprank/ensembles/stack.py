"""Several rankers by a LambdaRank model on their scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.ensembles.stacked import Stacked
from swaprank.metrics.metric import Metric
from swaprank.rankers.ranker import Ranker


def stack(
    rankers: Sequence[Ranker],
    data: Dataset,
    metric: str | Metric = "ndcg@10",
    *,
    valid: Dataset | None = None,
    **parameters: Any,
) -> Stacked:
    """Learn how much each of several fitted rankers should count [Burges2010, section 7.1].

    Take data that none of them has learned from.

    Args:
        rankers: Two or more fitted rankers.
        data: The judged documents to learn from.
        metric: What to learn for.
        valid: Measured after every epoch, the best of which is kept.
        parameters: Any others of `Stacked`.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 40, 40), n_features=8, random_state=0)
    >>> kinds = sr.MART(n_trees=10), sr.LambdaMART(n_trees=10), sr.LinearRegressionRanker(regularization=0.1)
    >>> stacked = sr.stack([ranker.fit(train) for ranker in kinds], vali, "ndcg@10", n_epochs=20)
    >>> stacked.score(vali) > 0.8, stacked.predict(test).shape
    (True, (2000,))
    """
    return Stacked(metric, base_ranker=tuple(rankers), **parameters).fit(data, valid=valid)
