"""Permutation importances: how much a metric falls when the values of a feature are shuffled."""

from typing import Any

import numpy as np

from swaprank.arrays import read_only
from swaprank.data.dataset import Dataset
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.parameters import Bounds, check_parameter
from swaprank.seeds import random_generator


def permutation_importances(
    ranker: Any, data: Dataset, metric: Metric, n_repeats: int, random_state: int
) -> dict[str, float]:
    """The mean fall of the metric when one feature is shuffled over all rows, the most important feature first."""
    check_parameter("n_repeats", n_repeats, Bounds(True, 1, 10**7))
    bound = bind_metric(metric, data)
    rng = random_generator(random_state)
    X, base = np.array(ranker._features_of(data)), 0.0 if data.base_score is None else data.base_score

    def measured() -> float:
        # Not by predict, which would take the codes of categories for their values.
        scores = ranker.model_.score(read_only(X), ranker.n_threads) + base
        return bound.mean(data.by_query(scores), n_threads=ranker.n_threads)

    unshuffled = measured()
    falls = {}
    for f, name in enumerate(ranker.feature_names_in_):
        original = X[:, f].copy()
        values = []
        for _ in range(n_repeats):
            X[:, f] = rng.permutation(original)
            values.append(measured())
        X[:, f] = original
        falls[str(name)] = unshuffled - float(np.mean(values))
    return dict(sorted(falls.items(), key=lambda item: -item[1]))
