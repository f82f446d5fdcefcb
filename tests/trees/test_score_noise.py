"""The noise of random ranks: its distribution, and that the same seed gives the same noise."""

from __future__ import annotations

import numpy as np
from scipy.stats import gumbel_r, kstest

from swaprank.data.document_places import Places, query_keys
from swaprank.trees.boosting import ranking_scores


def places(n_queries: int, length: int) -> Places:
    return Places(np.arange(n_queries + 1) * length, query_keys(np.arange(n_queries)))


def test_the_noise_is_gumbel_distributed() -> None:
    noise = ranking_scores(np.zeros(100_000), places(1000, 100), 0.5, random_state=3, number=7, n_threads=2)
    assert kstest(noise, gumbel_r(scale=0.5).cdf).pvalue > 0.01


def test_noisy_orders_follow_the_plackett_luce_distribution() -> None:
    scores, n = np.array([1.0, 0.0, -0.5]), 60_000
    noisy = ranking_scores(np.tile(scores, n), places(n, 3), 0.7, random_state=0, number=1, n_threads=1).reshape(n, 3)
    order, weight = np.argsort(-noisy, axis=1), np.exp(scores / 0.7)
    first, second = weight[0] / weight.sum(), weight[2] / (weight[1] + weight[2])
    found = np.mean((order == [0, 2, 1]).all(axis=1))
    assert abs(found - first * second) < 4 * np.sqrt(first * second / n)


def test_noise_depends_on_seed_and_tree_but_not_on_threads() -> None:
    scores = np.random.default_rng(0).normal(size=100_000)
    one = ranking_scores(scores, places(1000, 100), 0.3, random_state=5, number=2, n_threads=1)
    np.testing.assert_array_equal(
        one, ranking_scores(scores, places(1000, 100), 0.3, random_state=5, number=2, n_threads=3)
    )
    for other in ({"random_state": 6, "number": 2}, {"random_state": 5, "number": 3}):
        assert not np.array_equal(one, ranking_scores(scores, places(1000, 100), 0.3, n_threads=1, **other))


def test_without_noise_the_scores_are_not_copied() -> None:
    scores = np.arange(3.0)
    assert ranking_scores(scores, places(1, 3), 0.0, random_state=0, number=1, n_threads=1) is scores
