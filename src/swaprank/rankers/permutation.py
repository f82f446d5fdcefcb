"""How much a ranker relies on each feature: what it loses when the feature says nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric


def permutation_importances(
    ranker: Any, data: Dataset, metric: Metric, n_repeats: int, random_state: int
) -> dict[str, float]:
    """The fall of the metric when one feature's values are shuffled over all rows, most important first."""
    bound = bind_metric(metric, data)
    rng = np.random.default_rng(random_state)
    X = data.features.copy()
    whole = bound.mean(data.by_query(ranker.predict(X)))
    falls = {}
    for f, name in enumerate(data.feature_names):
        kept = X[:, f].copy()
        values = []
        for _ in range(n_repeats):
            X[:, f] = rng.permutation(kept)
            values.append(bound.mean(data.by_query(ranker.predict(X))))
        X[:, f] = kept
        falls[name] = whole - float(np.mean(values))
    return dict(sorted(falls.items(), key=lambda item: -item[1]))
