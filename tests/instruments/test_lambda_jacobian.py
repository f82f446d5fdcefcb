from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective_names import PairwiseObjective, pairwise_objective
from swaprank.objectives.ranknet_objective import RankNetObjective

LABELS = np.array([2.0, 0.0, 1.0, 0.0, 3.0, 1.0])
SCORES = np.array([0.3, 0.9, -0.4, 0.1, 0.0, 1.7])


def lambdas(objective: PairwiseObjective, labels: Floats) -> Callable[[Floats], Floats]:
    data = sr.Dataset(np.zeros((len(labels), 1)), labels, qid=np.zeros(len(labels)))
    bound = objective.bind(data, random_state=0, n_threads=1)

    def at(scores: Floats) -> Floats:
        grad, hess = np.empty(len(labels)), np.empty(len(labels))
        bound.update(scores, grad, hess)
        return grad

    return at


def differences(objective: PairwiseObjective, labels: Floats, scores: Floats) -> Floats:
    at, step = lambdas(objective, labels), 1e-5
    return np.stack([(at(scores + step * e) - at(scores - step * e)) / (2 * step) for e in np.eye(len(labels))], axis=1)


def circulation(objective: PairwiseObjective, labels: Floats, corners: list[list[float]]) -> float:
    """The integral of the lambdas along a closed path: 0 if they are a gradient all around it."""
    at, total, n_steps = lambdas(objective, labels), 0.0, 4000
    for a, b in zip(corners, [*corners[1:], corners[0]], strict=True):
        start, way = np.array(a), np.array(b) - np.array(a)
        total += sum(float(at(start + (t + 0.5) / n_steps * way) @ way) / n_steps for t in range(n_steps))
    return total


@pytest.mark.parametrize("ties", [False, True])
def test_ranknets_is_analytic_symmetric_and_positive_semidefinite(ties: bool) -> None:
    sigma = 1.3
    found = sr.instruments.lambda_jacobian(RankNetObjective(sigma, ties), LABELS, SCORES)
    expected = np.zeros((6, 6))
    for i in range(6):
        for j in range(6):
            if i != j and (ties or LABELS[i] != LABELS[j]):
                p = expit(sigma * (SCORES[i] - SCORES[j]))
                expected[i, j] -= sigma**2 * p * (1 - p)
                expected[i, i] += sigma**2 * p * (1 - p)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-14)
    np.testing.assert_allclose(found.matrix, differences(RankNetObjective(sigma, ties), LABELS, SCORES), atol=1e-8)
    assert found.symmetric
    assert found.positive_semidefinite
    assert not found.order_held


@pytest.mark.parametrize("metric", ["ndcg", "ndcg@2", "map", "mrr", "err", "pairwise", "bpref", "rprec"])
def test_lambdaranks_is_both_inside_one_order(metric: str) -> None:
    for horizon in (None, 2) if sr.metric(metric).takes_k else (None,):
        objective = LambdaRankObjective(sr.metric(metric), 1.3, normalize=False, horizon=horizon)
        found = sr.instruments.lambda_jacobian(objective, LABELS, SCORES)
        np.testing.assert_allclose(found.matrix, differences(objective, LABELS, SCORES), atol=1e-8)
        assert found.symmetric
        assert found.positive_semidefinite


def test_ties_are_no_trouble_where_swap_gains_are_held() -> None:
    found = sr.instruments.lambda_jacobian("ndcg", LABELS, np.zeros(6))
    assert found.symmetric
    assert found.positive_semidefinite


def test_normalized_lambdas_are_no_gradient() -> None:
    found = sr.instruments.lambda_jacobian(LambdaRankObjective(sr.metric("ndcg")), LABELS, SCORES)
    assert not found.symmetric
    assert "no cost has these lambdas as its gradient" in str(found)
    with pytest.raises(sr.errors.DataError, match="jump where two scores are equal"):
        sr.instruments.lambda_jacobian(LambdaRankObjective(sr.metric("ndcg")), LABELS, np.zeros(6))


def test_local_gradients_have_a_cost_that_is_not_convex() -> None:
    objective = LambdaRankObjective(sr.metric("ndcg"), normalize=False, construction="local_gradient")
    found = sr.instruments.lambda_jacobian(objective, LABELS, SCORES)
    assert found.symmetric
    assert not found.positive_semidefinite
    assert "a cost that is not convex" in str(found)


@pytest.mark.parametrize("construction", ["pairs", "spring", "local_gradient", "local_cost", "step", "linear"])
@pytest.mark.parametrize("seed", range(5))
def test_a_diagonal_makes_a_symmetric_jacobian_positive_definite(construction: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(0, 4, 6).astype(float), rng.normal(size=6)
    plain = LambdaRankObjective(sr.metric("ndcg"), normalize=False, construction=construction)
    found = sr.instruments.lambda_jacobian(plain, labels, scores)
    assert found.symmetric
    assert not found.positive_definite
    diagonal = max(0.0, -1.01 * float(found.eigenvalues[0])) + 0.1
    objective = LambdaRankObjective(sr.metric("ndcg"), normalize=False, construction=construction, diagonal=diagonal)
    pulled = sr.instruments.lambda_jacobian(objective, labels, scores)
    np.testing.assert_allclose(pulled.matrix, found.matrix + diagonal * np.eye(6), atol=1e-8)
    np.testing.assert_allclose(pulled.matrix, differences(objective, labels, scores), atol=1e-8)
    np.testing.assert_allclose(pulled.eigenvalues, found.eigenvalues + diagonal, atol=1e-7)
    assert pulled.symmetric
    assert pulled.positive_definite
    assert "positive definite" in str(pulled)


@pytest.mark.slow
def test_for_which_scores_lambdarank_is_a_gradient() -> None:
    labels = np.array([2.0, 1.0, 0.0])
    ndcg, ranknet = pairwise_objective("ndcg"), pairwise_objective("ranknet")
    within = [[3.0, 2.0, 0.0], [5.0, 2.0, 0.0], [5.0, 2.0, 1.0], [3.0, 2.0, 1.0]]
    across = [[1.0, 2.0, 0.0], [3.0, 2.0, 0.0], [3.0, 2.0, 1.0], [1.0, 2.0, 1.0]]
    for corners in (within, across):
        assert circulation(ranknet, labels, corners) == pytest.approx(0, abs=1e-6)
    # Within one order of the documents it is; around a place where the first two change, it is not ...
    assert circulation(ndcg, labels, within) == pytest.approx(0, abs=1e-6)
    assert abs(circulation(ndcg, labels, across)) > 1e-3
    # ... unless there are but two documents.
    square = [[1.0, 2.0], [3.0, 2.0], [3.0, 1.0], [1.0, 1.0]]
    assert circulation(ndcg, labels[:2], square) == pytest.approx(0, abs=1e-3)


def test_what_is_no_objective_is_refused() -> None:
    with pytest.raises(sr.errors.ParameterError, match="objective must be 'ranknet', a metric or its name"):
        sr.instruments.lambda_jacobian(3, [0, 1], [0, 1])  # type: ignore[arg-type]
    with pytest.raises(sr.errors.DataError, match="scores must be one number per document"):
        sr.instruments.lambda_jacobian("ranknet", [0, 1], [0, 1, 2])
