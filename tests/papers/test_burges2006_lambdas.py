"""The lambda functions of [Burges2006] against plain Python."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from tests.papers import naive_burges2006_lambdas as naive

GAINS = {0: 0, 1: 3, 2: 7, 3: 15, 4: 31}
"""Of the labels, as section 6.3 has them."""
METRIC = "ndcg(gain=0/3/7/15/31)"


def as_in_the_paper(**changes: Any) -> sr.objectives.LambdaRankObjective:
    """The lambda function of section 6.2, Eq. 9."""
    return sr.objectives.LambdaRankObjective(sr.metric(METRIC), **{"normalize": False, **changes})


FORCES: dict[str, tuple[dict[str, Any], naive.Force]] = {
    "chosen": ({}, naive.chosen_force),
    "chosen, margin": ({"margin": 0.7}, naive.with_margin(naive.chosen_force, 0.7)),
    "step": ({"construction": "step"}, naive.step_force(1.0)),
    "step, margin": ({"construction": "step", "margin": 0.3}, naive.step_force(0.3)),
    "linear": ({"construction": "linear"}, naive.spring_force(1.0)),
    "linear, margin": ({"construction": "linear", "margin": 2.0}, naive.spring_force(2.0)),
}


def lists(seed: int, n_lists: int = 12) -> list[tuple[Floats, Floats]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, n_lists)
    return [(rng.integers(0, 5, n).astype(float), rng.normal(size=n)) for n in sizes]


def gains_of(labels: Floats) -> list[float]:
    return [GAINS[int(label)] for label in labels]


def gradient(objective: sr.objectives.Objective, labels: Floats, scores: Floats) -> Floats:
    data = sr.Dataset(np.zeros((len(labels), 1)), labels, qid=np.zeros(len(labels)))
    grad, hess = np.empty(len(labels)), np.empty(len(labels))
    objective.bind(data, random_state=0, n_threads=1).update(scores, grad, hess)
    return grad


def test_ndcg_is_that_of_equation_1() -> None:
    for depth in (1, 3, 10):
        for labels, scores in lists(0):
            found = sr.metric(f"ndcg@{depth}(gain=0/3/7/15/31)").mean(labels, scores, [0, len(labels)])
            assert found == pytest.approx(naive.ndcg(gains_of(labels), scores, depth), abs=1e-12)


@pytest.mark.parametrize("diagonal", [0.0, 0.4])
@pytest.mark.parametrize("name", FORCES)
def test_lambdas_are_the_sums_of_the_pairs_forces(name: str, diagonal: float) -> None:
    options, force = FORCES[name]
    for labels, scores in lists(1):
        found = gradient(as_in_the_paper(**options, diagonal=diagonal), labels, scores)
        expected = -naive.lambdas(gains_of(labels), scores, force, diagonal)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        if diagonal == 0.0:  # section 4: the forces of a query sum to zero
            assert found.sum() == pytest.approx(0, abs=1e-12)


def test_equation_9_is_the_cost_of_equation_8_scaled_by_the_swap() -> None:
    for labels, scores in lists(2):
        gains = gains_of(labels)
        for i in range(len(labels)):
            for j in range(len(labels)):
                if gains[i] > gains[j]:
                    lead, step = scores[i] - scores[j], 1e-6
                    slope = (naive.ranknet_cost(lead + step) - naive.ranknet_cost(lead - step)) / (2 * step)
                    change = naive.swapped(gains, scores, i, j)
                    assert naive.closed_form(gains, scores, i, j) == pytest.approx(-change * slope, abs=1e-9)
                    assert naive.chosen_force(change, lead) == pytest.approx(-change * slope, abs=1e-9)


@pytest.mark.parametrize("name", FORCES)
def test_the_jacobian_is_that_of_the_forces_and_the_diagonal_makes_it_positive_definite(name: str) -> None:
    options, force = FORCES[name]
    for labels, scores in lists(3):
        for diagonal in (0.0, 0.5):
            objective = as_in_the_paper(**options, diagonal=diagonal)
            found = sr.instruments.lambda_jacobian(objective, labels, scores)
            expected = naive.jacobian(
                lambda at, d=diagonal, y=labels: naive.lambdas(gains_of(y), at, force, d),  # type: ignore[misc]
                scores,
            )
            np.testing.assert_allclose(found.matrix, expected, atol=1e-8)
            assert found.symmetric  # the lambdas are a gradient
            assert found.positive_semidefinite  # of a convex cost
            assert found.positive_definite == (diagonal > 0)
            assert np.linalg.eigvalsh((expected + expected.T) / 2)[0] >= diagonal - 1e-8


def test_a_document_near_the_top_is_pushed_harder() -> None:
    # Eq. 2: of two relevant documents, the one to whom the top is nearer has the larger gradient.
    labels, scores = np.array([0, 0, 4] + [0] * 10 + [4] + [0] * 3), -0.01 * np.arange(17.0)
    for metric in ("ndcg", "map", "mrr", "err"):
        found = -gradient(sr.objectives.LambdaRankObjective(sr.metric(metric), normalize=False), labels, scores)
        assert found[2] > found[13]
    assert (
        gradient(sr.objectives.RankNetObjective(), labels, scores)[13]
        < gradient(sr.objectives.RankNetObjective(), labels, scores)[2]
    )


@pytest.mark.parametrize("force", [naive.chosen_force, naive.ranknet_force])
def test_factored_training_has_the_gradient_of_the_pairs(force: naive.Force) -> None:
    rng = np.random.default_rng(4)
    objective: sr.objectives.Objective = (
        as_in_the_paper() if force is naive.chosen_force else sr.objectives.RankNetObjective()
    )
    for labels, _ in lists(4):
        X, weights = rng.normal(size=(len(labels), 3)), rng.normal(size=3)
        by_pair = naive.pair_by_pair(X, gains_of(labels), weights, force)
        np.testing.assert_allclose(naive.factored(X, gains_of(labels), weights, force), by_pair, atol=1e-12)
        np.testing.assert_allclose(X.T @ gradient(objective, labels, X @ weights), by_pair, rtol=1e-9, atol=1e-12)
