"""All pairs beside the lambdas, compared with plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from tests.objectives import naive_lambdas, naive_ranknet

TRAIN, VALI, TEST = sr.datasets.random_search((60, 30, 30), random_state=0)
SIZES = [1, 2, 7, 30, 12]


def problem() -> tuple[sr.Dataset, Floats]:
    rng = np.random.default_rng(0)
    n = sum(SIZES)
    labels = rng.integers(0, 4, n).astype(float)
    labels[-12:] = 0  # a query without lambdas
    return sr.Dataset(rng.random((n, 2)), labels, group=SIZES), rng.normal(size=n)


def gradients(objective: sr.objectives.Objective, data: sr.Dataset, scores: Floats, n_threads: int = 1) -> Any:
    grad, hess = np.empty(len(data)), np.empty(len(data))
    objective.bind(data, random_state=0, n_threads=n_threads).update(scores, grad, hess)
    return grad, hess


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize(("weight", "sigma"), [(0.5, 1.0), (1.0, 2.0), (3.0, 1.0)])
@pytest.mark.parametrize("metric", ["ndcg", "map", "err", "pairwise"])
def test_pairs_are_added_query_by_query(metric: str, weight: float, sigma: float, normalize: bool) -> None:
    data, scores = problem()
    lambdas = sr.objectives.LambdaRankObjective(sr.metric(metric), sigma, normalize)
    grad, hess = gradients(sr.objectives.WithPairs(lambdas, weight), data, scores)
    for first, last in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        query = slice(first, last)
        labels = data.labels[query].astype(float)
        expected, curved = naive_lambdas.lambdas(metric, labels, scores[query], sigma, normalize)
        gains = (labels >= 1).astype(float) if metric == "map" else labels
        of_pairs, pairs_curved = naive_ranknet.gradients(naive_ranknet.pairs_of(gains, False), scores[query], sigma)
        scale = weight * curved.sum() / pairs_curved.sum() if pairs_curved.any() else 0.0
        np.testing.assert_allclose(grad[query], expected + scale * of_pairs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(hess[query], curved + scale * pairs_curved, rtol=1e-9, atol=1e-12)
        assert grad[query].sum() == pytest.approx(0, abs=1e-9)


def test_better_is_what_the_metric_says() -> None:
    data, scores = problem()
    small_first = sr.metrics.CumulativeMetric(5, gain=lambda label: 3 - label, normalize=False)
    lambdas = sr.objectives.LambdaRankObjective(small_first)
    other = data.replace(labels=3 - data.labels)
    turned = sr.objectives.LambdaRankObjective(sr.metrics.CumulativeMetric(5, gain=lambda x: x, normalize=False))
    found = gradients(sr.objectives.WithPairs(lambdas, 1.0), data, scores)
    np.testing.assert_array_equal(found, gradients(sr.objectives.WithPairs(turned, 1.0), other, scores))


def test_bpref_does_not_order_documents_without_a_judgement() -> None:
    data = sr.Dataset(np.zeros((4, 1)), [1, 0, 0, -1], qid=np.zeros(4))
    grad, _ = gradients(
        sr.objectives.WithPairs(sr.objectives.LambdaRankObjective(sr.metric("bpref"), normalize=False), 1.0),
        data, np.zeros(4),
    )  # fmt: skip
    assert 0 < grad[3] < grad[1]  # it is below the relevant one, as in RankNet, and not below the others


def test_gradients_do_not_depend_on_threads() -> None:
    objective = sr.objectives.WithPairs(sr.objectives.LambdaRankObjective(sr.metric("ndcg@10")), 1.0)
    scores = np.random.default_rng(0).normal(size=len(TRAIN))
    one, many = (gradients(objective, TRAIN, scores, n_threads) for n_threads in (1, 3))
    np.testing.assert_array_equal(one, many)


def test_long_lists_have_pairs_beside_lambdas_too() -> None:
    rng = np.random.default_rng(1)
    data = sr.Dataset(rng.random((6000, 1)), rng.integers(0, 5, 6000), qid=np.zeros(6000))
    scores = rng.normal(size=6000)
    lambdas = sr.objectives.LambdaRankObjective(sr.metric("ndcg"))
    found, alone = gradients(sr.objectives.WithPairs(lambdas, 2.0), data, scores), gradients(lambdas, data, scores)
    pairs = gradients(sr.objectives.RankNetObjective(), data, scores)
    scale = 2.0 * alone[1].sum() / pairs[1].sum()
    np.testing.assert_allclose(found, np.array(alone) + scale * np.array(pairs), rtol=1e-9)


def test_weight_0_is_lambdarank_of_the_papers_to_the_last_bit() -> None:
    options: dict[str, Any] = {"hidden": (5,), "n_epochs": 8, "decay": 0.8}
    alone = sr.LambdaRank("ndcg@10", pair_weight=0.0, **options).fit(TRAIN, valid=VALI)
    objective = sr.objectives.LambdaRankObjective(sr.metric("ndcg@10"))
    given = sr.LambdaRank("ndcg@10", objective=objective, **options).fit(TRAIN, valid=VALI)
    np.testing.assert_array_equal(alone.predict(TEST), given.predict(TEST))


def test_the_default_is_the_weight_1_saved_and_loaded_and_for_any_number_of_threads(tmp_path: Path) -> None:
    options: dict[str, Any] = {"hidden": (5,), "n_epochs": 8}
    default = sr.LambdaRank("ndcg@10", n_threads=1, **options).fit(TRAIN)
    given = sr.LambdaRank("ndcg@10", n_threads=3, pair_weight=1.0, decay=1.0, **options).fit(TRAIN)
    alone = sr.LambdaRank("ndcg@10", pair_weight=0.0, **options).fit(TRAIN)
    given.save(tmp_path / "net.swaprank")
    again = sr.load(tmp_path / "net.swaprank")
    np.testing.assert_array_equal(default.predict(TEST), given.predict(TEST))
    np.testing.assert_array_equal(default.predict(TEST), again.predict(TEST))
    assert again.get_params()["pair_weight"] == 1.0
    assert (default.predict(TEST) != alone.predict(TEST)).any()


def test_linear_nets_learn_from_the_lambdas_alone_unless_told_otherwise() -> None:
    default, alone, pairs = (
        sr.LambdaRank(hidden=(), n_epochs=3, pair_weight=weight).fit(TRAIN) for weight in (None, 0.0, 1.0)
    )
    np.testing.assert_array_equal(default.predict(TEST), alone.predict(TEST))
    assert (default.predict(TEST) != pairs.predict(TEST)).any()


def test_the_weight_falls_with_the_number_of_documents() -> None:
    ranker = sr.LambdaRank(hidden=(5,), n_epochs=3)
    assert [ranker._pair_weight(n) for n in (0, 50_000, 200_000)] == [1.0, 1.0, 0.25]
    assert sr.LambdaRank(pair_weight=2.0)._pair_weight(10**6) == 2.0


CHANGED: list[dict[str, Any]] = [{"construction": "spring"}, {"margin": 1.0}, {"diagonal": 0.1}]


@pytest.mark.parametrize("changes", CHANGED)
def test_other_lambdas_stay_alone(changes: dict[str, Any]) -> None:
    options: dict[str, Any] = {"hidden": (5,), "n_epochs": 3, **changes}
    default, alone = (sr.LambdaRank(pair_weight=weight, **options).fit(TRAIN) for weight in (None, 0.0))
    np.testing.assert_array_equal(default.predict(TEST), alone.predict(TEST))
    with pytest.raises(sr.errors.ParameterError, match="pair_weight=2 cannot be combined with another construction"):
        sr.LambdaRank(pair_weight=2.0, **options).fit(TRAIN)
