"""sigma makes no difference to LambdaMART and MART [Burges2010, sections 6 and 7]: without normalization, that is.

Nor with `score_noise`, whose scale is that of the scores, or `l2`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import swaprank as sr

TRAIN, TEST = sr.datasets.random_polynomial((40, 20), n_features=6, n_documents=20, random_state=0)


def trees(**changes: Any) -> sr.LambdaMART:
    settings: dict[str, Any] = {
        "n_trees": 15,
        "n_leaves": 7,
        "min_docs_in_leaf": 5,
        "score_noise": 0.0,
        "squared_error": 0.0,
    }
    if "objective" in changes:
        del settings["squared_error"]  # it is for the lambdas only
    return sr.LambdaMART("ndcg", **(settings | changes)).fit(TRAIN)


@pytest.mark.parametrize("sigma", [0.3, 4.0])
def test_scores_of_trees_scale_as_one_over_sigma(sigma: float) -> None:
    """Leaf values, Newton steps, scale as 1 / sigma, and scores appear multiplied by sigma."""
    scores = trees(sigma=sigma, normalize=False).predict(TEST)
    np.testing.assert_allclose(sigma * scores, trees(normalize=False).predict(TEST), atol=1e-9)
    by_pairs = trees(objective=sr.objectives.RankNetObjective(sigma)).predict(TEST)
    np.testing.assert_allclose(
        sigma * by_pairs, trees(objective=sr.objectives.RankNetObjective()).predict(TEST), atol=1e-9
    )


@pytest.mark.parametrize("loss", ["logistic", "balanced_logistic"])
def test_scores_of_mart_scale_as_one_over_sigma(loss: Any) -> None:
    one, three = (
        sr.MART(objective=loss, sigma=sigma, n_trees=15, n_leaves=7, min_docs_in_leaf=5).fit(TRAIN).predict(TEST)
        for sigma in (1.0, 3.0)
    )
    np.testing.assert_allclose(3.0 * three, one, atol=1e-9)


def test_sigma_matters_where_lambdas_are_normalized_or_leaves_regularized() -> None:
    """A normalized pair is divided by .01 + |s_i - s_j|, and l2 is added to hessians: neither scales with sigma."""
    for changes in ({"normalize": True}, {"normalize": False, "l2": 1.0}):
        scores, ones = trees(sigma=4.0, **changes).predict(TEST), trees(**changes).predict(TEST)
        assert np.abs(4.0 * scores - ones).max() > 0.01 * np.ptp(ones), changes


@pytest.mark.parametrize("normalize", [False, True])
def test_a_linear_net_with_sigma_is_one_of_sigma_times_the_weights(normalize: bool) -> None:
    """v = sigma w takes the steps of sigma = 1 with the learning rate times sigma²; not if it is normalized."""
    sigma, rate = 2.0, 0.02

    def net(sigma: float, rate: float, times: float) -> sr.LambdaRank:
        plain = {"hidden": (), "optimizer": "sgd", "decay": 1.0, "normalize": normalize, "pair_weight": 0.0}
        begun = sr.LambdaRank("ndcg", n_epochs=0, **plain).fit(TRAIN)  # type: ignore[arg-type]
        scaled = replace(begun.model_, weights=begun.model_.weights * np.float32(times))
        begun.learned_ = replace(begun.learned_, model=scaled)
        settings = {"sigma": sigma, "learning_rate": rate, "n_epochs": 3} | plain
        return sr.LambdaRank("ndcg", **settings).fit(TRAIN, base_ranker=begun)  # type: ignore[arg-type]

    scores, ones = net(sigma, rate, 1.0).predict(TEST), net(1.0, sigma**2 * rate, sigma).predict(TEST)
    assert np.allclose(sigma * scores, ones, atol=1e-4 * np.ptp(ones)) != normalize
