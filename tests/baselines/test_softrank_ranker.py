"""SoftRank, linear and as a net."""

from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.objectives.naive_softrank import softrank_cost

TRAIN, VALI, TEST = sr.datasets.random_net((50, 20, 20), n_features=6, n_documents=10, levels=4, random_state=0)


def soft_ndcg(scores: np.ndarray, sigma: float) -> float:
    terms = sr.metric("ndcg@5").bind(TRAIN.labels, TRAIN.indptr).terms
    costs = [
        softrank_cost(terms.gains[a:b] / terms.divisors[query], terms.discounts, scores[a:b], sigma)
        for query, (a, b) in enumerate(zip(TRAIN.indptr[:-1], TRAIN.indptr[1:], strict=True))
    ]
    return -float(np.mean(costs))


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_it_raises_the_expected_metric(hidden: tuple[int, ...]) -> None:
    values = [
        soft_ndcg(
            sr.baselines.SoftRank("ndcg@5", hidden=hidden, n_epochs=n, sigma=0.7, decay=1.0).fit(TRAIN).predict(TRAIN),
            0.7,
        )
        for n in (1, 5, 20)
    ]
    assert values == sorted(values)
    assert values[-1] > soft_ndcg(np.zeros(len(TRAIN)), 0.7) + 0.1


def test_it_is_a_ranker_like_the_others(tmp_path: Path) -> None:
    ranker = sr.baselines.SoftRank("ndcg@5", n_epochs=20, n_threads=1).fit(TRAIN, valid=VALI)
    assert ranker.score(VALI) == max(ranker.history_["valid"]["ndcg@5"])
    assert ranker.score(TEST) > sr.metric("ndcg@5").mean(TEST.labels, np.zeros(len(TEST)), TEST.indptr) + 0.2
    ranker.save(tmp_path / "model.swaprank")
    again = sr.baselines.SoftRank("ndcg@5", n_epochs=20, n_threads=3).fit(TRAIN, valid=VALI)
    for other in (sr.load(tmp_path / "model.swaprank"), again):
        np.testing.assert_array_equal(other.predict(TEST), ranker.predict(TEST))
    trees = sr.LambdaMART(
        "ndcg@5", n_trees=20, min_docs_in_leaf=5, objective=sr.objectives.SoftRankObjective(sr.metric("ndcg@5"))
    )
    assert trees.fit(TRAIN).score(TRAIN) > ranker.score(TRAIN)


def test_pairs_have_the_probabilities_of_the_noise() -> None:
    ranker = sr.baselines.SoftRank(sigma=0.5, n_epochs=5).fit(TRAIN)
    scores, rng = ranker.predict(TRAIN), np.random.default_rng(0)
    noisy = scores[:2] + 0.5 * rng.normal(size=(200_000, 2))
    assert ranker.predict_proba_pair(TRAIN, 0, 1) == pytest.approx((noisy[:, 0] > noisy[:, 1]).mean(), abs=0.005)


def test_long_lists_are_refused_with_advice() -> None:
    long = sr.Dataset(np.random.default_rng(0).normal(size=(3000, 2)), np.arange(3000) % 3, group=[3000])
    with pytest.raises(sr.errors.DataError, match=r"3,000 documents.* or SmoothRank, which takes n² in all"):
        sr.baselines.SoftRank("ndcg").fit(long)
