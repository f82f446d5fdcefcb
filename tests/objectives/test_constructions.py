from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.constructions import CONSTRUCTIONS
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from tests.objectives.naive_constructions import forces
from tests.objectives.test_lambdas import METRICS, queries


def gradients(data: sr.Dataset, scores: Floats, **options: Any) -> tuple[Floats, Floats]:
    grad, hess = np.full(len(data), np.nan), np.full(len(data), np.nan)
    LambdaRankObjective(**options).bind(data, random_state=0, n_threads=2).update(scores, grad, hess)
    return grad, hess


@pytest.mark.slow
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_kernel_equals_the_definition(name: str, metric: str, normalize: bool) -> None:
    data = queries()
    scores = np.random.default_rng(1).normal(size=len(data))
    grad, hess = gradients(data, scores, metric=METRICS[metric], sigma=1.7, normalize=normalize, construction=name)
    for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        expected = forces(name, metric, data.labels[a:b], scores[a:b], 1.7, normalize)
        np.testing.assert_allclose(grad[a:b], expected[0], atol=1e-12)
        np.testing.assert_allclose(hess[a:b], expected[1], atol=1e-12)


@pytest.mark.parametrize("margin", [0.0, 0.6])
@pytest.mark.parametrize("metric", ["ndcg", "p@2", "map", "pairwise"])
@pytest.mark.parametrize("name", ["pairs", *(name for name in CONSTRUCTIONS if name != "discrete_bounded")])
def test_pairs_beyond_the_margin_have_no_force(name: str, metric: str, margin: float) -> None:
    data = queries(5)
    scores = np.random.default_rng(5).normal(size=len(data))
    for normalize in (False, True):
        options = {"metric": METRICS[metric], "sigma": 1.3, "normalize": normalize, "construction": name}
        grad, hess = gradients(data, scores, **options, margin=margin)
        for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True):
            expected = forces(name, metric, data.labels[a:b], scores[a:b], 1.3, normalize, margin)
            np.testing.assert_allclose(grad[a:b], expected[0], atol=1e-12)
            np.testing.assert_allclose(hess[a:b], expected[1], atol=1e-12)
        if name not in ("step", "linear"):
            far = gradients(data, scores, **options, margin=1e9)
            np.testing.assert_allclose(far, gradients(data, scores, **options), atol=1e-12)


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_forces_sum_to_zero_and_feel_no_shift(name: str) -> None:
    data = queries(3)
    scores = np.random.default_rng(3).normal(size=len(data))
    options = {"metric": METRICS["ndcg"], "normalize": False, "construction": name}
    grad, hess = gradients(data, scores, **options)
    sums = [grad[a:b].sum() for a, b in zip(data.indptr[:-1], data.indptr[1:], strict=True)]
    np.testing.assert_allclose(sums, 0, atol=1e-12)
    assert (hess >= 0).all()
    np.testing.assert_allclose(gradients(data, scores + 99.0, **options), (grad, hess), atol=1e-10)


@pytest.mark.parametrize("name", ["pairs", *CONSTRUCTIONS])
def test_following_the_forces_mends_a_list(name: str) -> None:
    data = sr.Dataset(np.zeros((6, 1)), [0, 0, 1, 0, 2, 3], qid=[1] * 6)
    scores = -0.1 * np.arange(6.0)
    for _ in range(200):
        grad, _ = gradients(data, scores, metric=METRICS["ndcg"], normalize=False, construction=name)
        scores -= 0.2 * grad
    assert METRICS["ndcg"].mean(data.labels, scores, data.indptr) == 1.0


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("metric", ["ndcg", "pairwise"])
@pytest.mark.parametrize("name", ["pairs", "linear"])
def test_a_diagonal_pulls_every_score_towards_zero(name: str, metric: str, normalize: bool) -> None:
    data = queries(6)
    data = data.replace(sample_weight=np.linspace(0.5, 2, len(data)))
    scores = np.random.default_rng(6).normal(size=len(data))
    options = {"metric": METRICS[metric], "normalize": normalize, "construction": name}
    plain, pulled = gradients(data, scores, **options), gradients(data, scores, **options, diagonal=0.3)
    assert data.sample_weight is not None
    np.testing.assert_allclose(pulled[0], plain[0] + 0.3 * scores * data.sample_weight, atol=1e-12)
    np.testing.assert_allclose(pulled[1], plain[1] + 0.3 * data.sample_weight, atol=1e-12)


def test_spring_pushes_every_pair_at_least_as_ranknet_does() -> None:
    data = sr.Dataset(np.zeros((3, 1)), [0, 0, 1], qid=[1, 1, 1])
    grad, _ = gradients(data, np.zeros(3), metric=sr.metric("ndcg@1"), normalize=False, construction="spring")
    assert grad[2] <= -1.0


def test_forces_of_documents_alone_are_bounded_by_one() -> None:
    data = sr.Dataset(np.zeros((3, 1)), [0, 0, 5], qid=[1, 1, 1])
    grad, _ = gradients(
        data, np.array([2.0, 1.0, 0.0]), metric=sr.metric("dcg"), normalize=False, construction="discrete_bounded"
    )
    # The good one would gain 15.5 at the top; the others' places are as good as their ideal ones. The mean is 1/3.
    np.testing.assert_allclose(grad, [1 / 3, 1 / 3, 1 / 3 - 1])


def test_an_own_metric_that_fails_is_named_by_every_construction() -> None:
    def picky(labels: Floats) -> float:
        if labels[0] == 0:
            raise ValueError
        return 1.0

    data = sr.Dataset(np.zeros((2, 1)), [1, 0], qid=[1, 1])
    for name in CONSTRUCTIONS:
        scores = np.array([0.0, 1.0]) if name == "discrete_bounded" else np.array([1.0, 0.0])
        with pytest.raises(sr.errors.MetricError, match="picky: evaluate failed"):
            gradients(data, scores, metric=sr.metrics.CustomMetric(evaluate=picky, name="picky"), construction=name)


def test_unknown_constructions_are_refused() -> None:
    with pytest.raises(sr.errors.ParameterError, match="margin must be a number from 0, or None; found -1"):
        LambdaRankObjective(METRICS["map"], margin=-1)
    with pytest.raises(sr.errors.ParameterError, match="diagonal must be a number from 0; found -1"):
        LambdaRankObjective(METRICS["map"], diagonal=-1)
    with pytest.raises(sr.errors.ParameterError, match="moves documents one by one: it has no margin"):
        LambdaRankObjective(METRICS["map"], construction="discrete_bounded", margin=1)
    with pytest.raises(sr.errors.ParameterError, match="there is no construction 'sprng'; did you mean 'spring'"):
        LambdaRankObjective(METRICS["map"], construction="sprng")
