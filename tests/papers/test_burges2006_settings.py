"""The settings of the experiments of [Burges2006, section 6]: each is one argument of a ranker or of the data."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.papers import naive_burges2006_lambdas as naive
from tests.papers.test_burges2006_lambdas import gains_of

DATA, VALI = sr.datasets.random_polynomial((30, 15), n_features=6, n_documents=12, levels=5, random_state=0)


def as_in_the_paper(**changes: Any) -> sr.LambdaRank:
    """LambdaRank of section 6.3: Eq. 9 for all ranks, the rate falls with NDCG@10; two layers, 10 hidden units."""
    return sr.papers.lambdarank2006(**changes)


def test_lambdas_are_of_all_ranks_and_the_metric_is_of_ten() -> None:
    ranker = as_in_the_paper()
    assert str(ranker.training_metric()) == "ndcg@10(gain=0/3/7/15/31)"
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 5, 30).astype(float), rng.normal(size=30)
    grad, hess = np.empty(30), np.empty(30)
    data = sr.Dataset(np.zeros((30, 1)), labels, qid=np.zeros(30))
    ranker._objective().bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
    expected = naive.lambdas(gains_of(labels), scores, naive.chosen_force)
    np.testing.assert_allclose(-grad, expected, rtol=1e-9)


@pytest.mark.parametrize("hidden", [(), (10,)])
def test_the_epoch_with_the_best_ndcg_on_the_validation_set_is_kept(hidden: tuple[int, ...]) -> None:
    ranker = as_in_the_paper(hidden=hidden, n_epochs=30, learning_rate=0.01).fit(DATA, valid=VALI)
    values = ranker.history_["valid"]["ndcg@10(gain=0/3/7/15/31)"]
    assert ranker.best_round_ == 1 + int(np.argmax(values))
    scores = ranker.predict(VALI)
    lists = [VALI.rows(query) for query in range(VALI.n_queries)]
    kept = np.mean([naive.ndcg(gains_of(VALI.labels[rows]), scores[rows].tolist(), 10) for rows in lists])
    assert kept == pytest.approx(max(values), abs=1e-9)


def test_ranknet_with_a_step_per_query_is_the_same_training_with_ranknets_lambdas() -> None:
    # Section 6.1: V2 is LambdaRank's training with the function G, RankNet's gradients. The metric that counts pairs
    # gives them, divided by the number of pairs of the query.
    options: dict[str, Any] = {"hidden": (), "optimizer": "sgd", "decay": 1.0, "n_epochs": 3, "standardize": False}
    query = DATA.subset([0])
    n_pairs = int((query.labels[:, None] > query.labels).sum())
    ranknet = sr.RankNet(**options, learning_rate=0.01).fit(query).predict(query)
    by_pair = sr.RankNet(**options, learning_rate=0.01, training="pairs").fit(query).predict(query)
    lambdas: dict[str, Any] = {"learning_rate": 0.01 * n_pairs, "normalize": False, "pair_weight": 0.0}
    general = sr.LambdaRank("pairwise", **options, **lambdas).fit(query)
    np.testing.assert_allclose(by_pair, ranknet, atol=1e-5)
    np.testing.assert_allclose(general.predict(query), ranknet, atol=1e-5)


def test_data_of_the_papers_sizes_in_small() -> None:
    shares = (0.4, 0.3, 0.15, 0.1, 0.05)
    parts = sr.datasets.random_polynomial((10, 5, 10), n_features=50, n_documents=50, levels=shares, random_state=0)
    assert [part.n_queries for part in parts] == [10, 5, 10]
    assert parts[0].n_features == 50
    labels = np.concatenate([part.labels for part in parts]).astype(int)
    np.testing.assert_allclose(np.bincount(labels) / len(labels), shares, atol=0.01)
    # Section 6.3.2: 400 queries in five parts, two of which train, two validate, and one tests.
    (intranet,) = sr.datasets.random_net((400,), n_features=3, n_documents=2, random_state=0)
    train, vali, test = intranet.split((0.4, 0.4, 0.2), random_state=0)
    assert (train.n_queries, vali.n_queries, test.n_queries) == (160, 160, 80)
