from collections.abc import Callable
from itertools import count
from typing import TypeAlias

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.linear.architectures import LinearScoreFunction, NetArchitecture, ScoreFunction
from swaprank.linear.cross_validation import FitProblem
from swaprank.linear.minimization import Cost, conjugate_gradients, limited_memory_bfgs
from swaprank.linear.pairwise_hinge import pairwise_fit
from swaprank.models.layers import make_layers
from swaprank.models.scaling import fit_scaling

Optimize: TypeAlias = Callable[[Cost, Floats, int, float], Floats]

(DATA,) = sr.datasets.random_net((20,), n_features=4, n_documents=10, levels=3, random_state=0)


def rosenbrock(x: Floats) -> tuple[float, Floats]:
    return float(rosen(x)), np.asarray(rosen_der(x))


OPTIMIZERS = [conjugate_gradients, limited_memory_bfgs]


@pytest.mark.parametrize("optimize", OPTIMIZERS)
def test_the_end_of_a_curved_valley_is_found(optimize: Optimize) -> None:
    found = optimize(rosenbrock, np.array([-1.2, 1.0, 0.5]), 500, 1e-8)
    np.testing.assert_allclose(found, 1.0, atol=1e-5)


def test_quasi_newton_steps_take_as_few_evaluations_as_those_of_scipy() -> None:
    counted = count()

    def cost(x: Floats) -> tuple[float, Floats]:
        next(counted)
        return rosenbrock(x)

    start = np.full(20, -1.0)
    found = limited_memory_bfgs(cost, start, 1000, 1e-6)
    theirs = minimize(rosenbrock, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000, "gtol": 1e-6})
    assert rosen(found) <= max(theirs.fun, 1e-12)
    assert next(counted) < 2 * theirs.nfev


@pytest.mark.parametrize("optimize", OPTIMIZERS)
def test_the_cost_never_increases_and_may_be_infinite(optimize: Optimize) -> None:
    def cliff(x: Floats) -> tuple[float, Floats]:
        if x[0] <= 0:
            return np.nan, np.full(1, np.nan)
        return float(x[0] - np.log(x[0])), np.array([1 - 1 / x[0]])

    start = np.array([50.0])
    assert optimize(cliff, start, 100, 1e-9)[0] == pytest.approx(1.0, abs=1e-6)
    flat = optimize(lambda x: (0.0, np.zeros(1)), start, 100, 1e-9)
    np.testing.assert_array_equal(flat, start)
    costs = [rosenbrock(optimize(rosenbrock, np.array([-1.2, 1.0]), n, 0.0))[0] for n in range(12)]
    assert (np.diff(costs) <= 0).all()


def score_functions() -> list[tuple[ScoreFunction, int]]:
    layers = make_layers(4, (3,), 0)
    scaling = fit_scaling(DATA.features, np.zeros(4, np.bool_), True, 1)
    net = NetArchitecture(layers, scaling)
    return [
        (LinearScoreFunction(DATA.features, np.array([1.0, 2.0, 0.5, 0.0])), 4),
        (net.score_function(DATA), net.n_parameters),
    ]


@pytest.mark.parametrize("at", [0, 1], ids=["linear", "net"])
def test_parameter_gradients_equal_finite_differences(at: int) -> None:
    score_function, n = score_functions()[at]
    rng = np.random.default_rng(0)
    parameters, grad = rng.normal(size=n), rng.normal(size=len(DATA))
    found = score_function.pull_back(parameters, grad, 1)
    for p in range(n):
        step = np.zeros(n)
        step[p] = 1e-5
        up, down = (grad @ score_function(parameters + sign * step, 1) for sign in (1, -1))
        assert found[p] == pytest.approx((up - down) / 2e-5, abs=1e-6)


def test_a_pairwise_fit_equals_the_fit_of_explicit_pairs() -> None:
    X, y, strength = DATA.features.astype(float), DATA.labels, 0.05
    weights = np.random.default_rng(0).random(20)

    def cost(w: Floats) -> float:
        total = 0.0
        for q, (a, b) in enumerate(zip(DATA.indptr[:-1], DATA.indptr[1:], strict=True)):
            s = X[a:b] @ w
            better = y[a:b][:, None] > y[a:b][None, :]
            losses = np.maximum(0, 1 - (s[:, None] - s[None, :])) ** 2
            total += weights[q] * losses[better].mean() if better.any() else 0.0
        return total / float(weights.sum()) + strength * float(w @ w)

    score_function = LinearScoreFunction(DATA.features, np.ones(4))
    problem = FitProblem(score_function, y, y, DATA.indptr, np.repeat(weights, np.diff(DATA.indptr)), n_threads=1)
    (found,) = pairwise_fit(problem, [strength], np.zeros(4))(problem.all_queries)
    expected = minimize(cost, np.zeros(4), method="BFGS").x
    np.testing.assert_allclose(found, expected, atol=1e-3)
