"""Ridge regression, pairwise fits, conjugate gradients and kernel maps against other libraries and brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der
from sklearn.linear_model import Ridge

import swaprank as sr
from swaprank.arrays import Features, Floats
from swaprank.errors import ModelFileError
from swaprank.linear.architectures import LinearScoreFunction, NetScoreFunction, rows_by_query
from swaprank.linear.cross_validation import FitProblem, query_folds
from swaprank.linear.minimization import conjugate_gradients
from swaprank.linear.pairwise_hinge import pairwise_fit, squared_hinge_queries
from swaprank.linear.ridge import moments_of, overweighted, ridge, ridge_fit
from swaprank.linear.start import calibrated
from swaprank.models.kernel_machine import KernelMachine, fit_kernel_map, kernel_map_from_arrays
from swaprank.models.layers import make_layers, random_weights
from swaprank.models.linear import LinearModel
from swaprank.models.products import project, pull_back
from swaprank.models.scaling import fill_missing, fit_scaling, units_of
from swaprank.objectives.ranknet_objective import by_descending_label

RNG = np.random.default_rng(0)


def features(n: int, d: int, seed: int = 0) -> Features:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 5, 4096, 10_000])
def test_projection_and_its_transpose(n: int) -> None:
    X, w, g = features(n, 7), RNG.normal(size=7), RNG.normal(size=n)
    np.testing.assert_allclose(project(X, w), X.astype(float) @ w, atol=1e-12)
    np.testing.assert_allclose(pull_back(X, g), g @ X.astype(float), atol=1e-10)


def test_projection_is_identical_for_any_number_of_threads() -> None:
    X, w = features(30_000, 60), RNG.normal(size=60)
    grad = RNG.normal(size=30_000)
    assert len({project(X, w, n).tobytes() for n in (1, 2, 5)}) == 1
    assert len({pull_back(X, grad, n).tobytes() for n in (1, 2, 5)}) == 1
    np.testing.assert_array_equal(project(X[100:200], w), project(X, w)[100:200])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-6, 0.1, 10.0])
def test_ridge_is_that_of_scikit_learn(alpha: float, weighted: bool) -> None:
    X, y = features(9000, 6), RNG.normal(size=9000)
    X[:, 1] = 3 + 0.01 * X[:, 1]
    weights = RNG.uniform(0.1, 2, 9000) if weighted else np.ones(9000)
    units = units_of(X, standardize=True)
    (ours,) = ridge(moments_of(X, units.factor, units.missing.astype(float), y, weights, np.arange(9000)), [alpha])
    scaled = (X.astype(float) - units.missing) * units.factor
    theirs = Ridge(alpha=alpha * weights.sum()).fit(scaled, y, sample_weight=weights).coef_
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_constant_features_get_no_weight() -> None:
    X = features(100, 3)
    X[:, 1], X[:, 2] = 5.0, X[:, 0]  # one constant, one twice
    units = units_of(X, standardize=True)
    y = 2.0 * X[:, 0].astype(float)
    (weights,) = ridge(moments_of(X, units.factor, units.missing.astype(float), y, np.ones(100), np.arange(100)), [0.0])
    assert units.factor[1] == 0.0
    assert abs(weights[1]) < 1e-12
    assert weights[0] == pytest.approx(weights[2])
    np.testing.assert_allclose(((X - units.missing) * units.factor) @ weights, y - y.mean(), atol=1e-5)


def test_overweighted_classes_have_the_same_total_weight() -> None:
    relevant, weights = np.array([1.0, 0.0, 0.0, 3.0, 0.0]), np.array([1.0, 2.0, 1.0, 1.0, 1.0])
    balanced = overweighted(relevant, weights)
    assert balanced[relevant > 0].sum() == pytest.approx(balanced[relevant == 0].sum())
    assert balanced.sum() == pytest.approx(weights.sum())
    np.testing.assert_array_equal(overweighted(np.zeros(5), weights), weights)


@pytest.mark.parametrize("overweight", [False, True])
def test_a_fit_to_some_queries_is_that_of_their_rows_alone(overweight: bool) -> None:
    indptr, X, y = np.array([0, 10, 30, 60]), features(60, 3), RNG.integers(0, 3, 60).astype(float)
    weights, queries = RNG.uniform(0.5, 2.0, 60), np.array([True, False, True])
    problem = FitProblem(LinearScoreFunction(X, np.ones(3)), y, y, indptr, weights)
    rows = np.flatnonzero(np.repeat(queries, np.diff(indptr)))
    balanced = overweighted(y[rows] - y.min(), weights[rows]) if overweight else weights[rows]
    expected = ridge(moments_of(X[rows], np.ones(3), np.zeros(3), y[rows], balanced, np.arange(40)), [0.1])
    found = ridge_fit(problem, [0.1], overweight, np.zeros(3))(queries)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def naive_hinge(labels: Floats, scores: Floats) -> float:
    losses = [
        max(0.0, 1 - (scores[i] - scores[j])) ** 2
        for i in range(len(labels))
        for j in range(len(labels))
        if labels[i] > labels[j]
    ]
    return float(np.mean(losses)) if losses else 0.0


def test_hinge_losses_and_gradients_are_those_of_all_pairs() -> None:
    indptr = np.array([0, 1, 6, 18, 20])
    labels, scores = RNG.integers(0, 4, 20).astype(float), RNG.normal(size=20)
    labels[18:] = 2.0  # no pairs
    by_label, costs, grad = by_descending_label(labels, indptr), np.empty(4), np.empty(20)

    def total(at: Floats) -> float:
        squared_hinge_queries(labels, indptr, by_label, at, 12, 0, 4, costs, grad)
        return float(costs.sum())

    total(scores)
    for query in range(4):
        a, b = indptr[query], indptr[query + 1]
        assert costs[query] == pytest.approx(naive_hinge(labels[a:b], scores[a:b]))
    slope = grad.copy()
    for p in range(20):
        move = np.zeros(20)
        move[p] = 1e-6
        assert slope[p] == pytest.approx((total(scores + move) - total(scores - move)) / 2e-6, abs=1e-7)


def test_a_pairwise_fit_is_the_minimum() -> None:
    X = features(60, 3)
    indptr = np.array([0, 20, 40, 60])
    labels = np.clip(np.round(X[:, 0] - X[:, 1] + 1), 0, 4).astype(float)
    score_function = LinearScoreFunction(X, np.ones(3))
    weights = np.array([1.0, 2.0, 0.0])

    def cost(w: Floats) -> float:
        scores = score_function(w)
        means = [naive_hinge(labels[a:b], scores[a:b]) for a, b in zip(indptr[:-1], indptr[1:], strict=True)]
        return float(weights @ means / weights.sum() + 0.01 * w @ w)

    problem = FitProblem(score_function, labels, labels, indptr, np.repeat(weights, 20))
    (found,) = pairwise_fit(problem, [0.01], np.zeros(3))(problem.all_queries)
    assert cost(found) <= minimize(cost, np.zeros(3)).fun + 1e-6


def test_conjugate_gradients_find_what_scipy_finds() -> None:
    for d in (2, 5, 10):
        found = conjugate_gradients(lambda x: (float(rosen(x)), rosen_der(x)), np.full(d, 0.3), 1000, 1e-8)
        np.testing.assert_allclose(found, 1.0, atol=1e-4)
    A = RNG.normal(size=(30, 12))
    A, b = A.T @ A, RNG.normal(size=12)
    found = conjugate_gradients(lambda x: (float(x @ A @ x / 2 - b @ x), A @ x - b), np.zeros(12), 200, 1e-10)
    np.testing.assert_allclose(found, np.linalg.solve(A, b), atol=1e-5)


def test_conjugate_gradients_do_not_overflow_on_steep_slopes() -> None:
    def bowl(x: Floats) -> tuple[float, Floats]:
        return float(1e100 * (x @ x)), 2e100 * x

    start = np.array([1e-10, -2e-10])
    with np.errstate(all="raise", under="ignore"):
        found = conjugate_gradients(bowl, start, 20, 1e-9)
    assert bowl(found)[0] < 1e-6 * bowl(start)[0]


def test_units_are_those_of_all_rows_however_many() -> None:
    X = features(20_000, 3) * 0.01 + np.array([1e3, 0.0, -5.0], dtype=np.float32)
    X[::3, 1] = np.nan
    X[:9000, 2] = np.nan
    units = units_of(X, standardize=True)
    np.testing.assert_allclose(units.missing, np.nanmean(X.astype(float), axis=0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(units.factor, 1 / np.nanstd(X.astype(float), axis=0), rtol=1e-9)


def test_conjugate_gradients_never_increase_the_cost_and_stop_where_it_is_flat() -> None:
    seen: list[float] = []

    def bumpy(x: Floats) -> tuple[float, Floats]:
        value = float(np.sin(5 * x[0]) + x[0] ** 2 + abs(x[1]))
        seen.append(value)
        return value, np.array([5 * np.cos(5 * x[0]) + 2 * x[0], np.sign(x[1])])

    found = conjugate_gradients(bumpy, np.array([2.0, 3.0]), 50, 1e-6)
    assert bumpy(found)[0] <= seen[0]
    flat = conjugate_gradients(lambda x: (0.0, np.zeros(2)), np.array([1.0, 2.0]), 50, 1e-6)
    np.testing.assert_array_equal(flat, [1.0, 2.0])
    steep = conjugate_gradients(
        lambda x: (float("nan") if x[0] > 1.01 else float(-x[0]), np.array([-1.0])), np.array([1.0]), 5, 1e-6
    )
    assert 1.0 <= steep[0] <= 1.01


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_a_kernel_map_keeps_the_kernels_inner_products(kernel: Any) -> None:
    X = features(40, 3)
    units = units_of(X, standardize=True)
    options: dict[str, Any] = dict(kernel=kernel, gamma=0.3, degree=2, random_state=0)
    mapping = fit_kernel_map(X, units, n_landmarks=40, **options)
    mapped, z = mapping(X).astype(float), (X.astype(float) - units.missing) * units.factor
    distances = ((z[:, None] - z) ** 2).sum(axis=2)
    expected = np.exp(-0.3 * distances) if kernel == "rbf" else (0.3 * z @ z.T + 1) ** 2
    np.testing.assert_allclose(mapped @ mapped.T, expected, atol=2e-5 * np.abs(expected).max())
    meta, arrays = KernelMachine(mapping, np.zeros(mapping.projection.shape[1])).to_parts()
    again = kernel_map_from_arrays(arrays, meta)
    np.testing.assert_array_equal(again(X), mapping(X))
    smaller = fit_kernel_map(X, units, n_landmarks=5, **options)
    assert smaller(X).shape[1] <= 5


def test_damaged_models_are_refused() -> None:
    X = features(10, 3)
    options: dict[str, Any] = dict(kernel="rbf", gamma=None, degree=2, n_landmarks=5, random_state=0)
    mapping = fit_kernel_map(X, units_of(X, standardize=True), **options)
    meta, arrays = KernelMachine(mapping, np.zeros(mapping.projection.shape[1])).to_parts()
    for change in ({"landmarks": np.full((5, 3), np.nan)}, {"landmarks": np.zeros((4, 3))}, {"factor": np.zeros(2)}):
        with pytest.raises(ModelFileError):
            kernel_map_from_arrays({**arrays, **change}, meta)
    with pytest.raises(ModelFileError, match="kernel 'tanh' is not known"):
        kernel_map_from_arrays(arrays, {**meta, "kernel": "tanh"})
    with pytest.raises(ModelFileError, match="gamma"):
        kernel_map_from_arrays(arrays, {**meta, "gamma": -1.0})
    meta, arrays = LinearModel(np.zeros(3), np.zeros(3, np.float32)).to_parts()
    for bad in ({"weights": np.zeros(2)}, {"missing": np.full(3, np.inf)}, {"weights": np.zeros((3, 1))}):
        with pytest.raises(ModelFileError):
            LinearModel.from_parts(meta, arrays | bad)


def test_missing_values_are_means() -> None:
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]], dtype=np.float32)
    units = units_of(X, standardize=False)
    assert units.missing.tolist() == [2.0, 0.0]
    assert fill_missing(X, units.missing).tolist() == [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]
    whole = features(3, 2)
    assert fill_missing(whole, units.missing) is whole
    data = sr.Dataset(whole, [0, 1, 2], qid=[1, 2, 1])
    np.testing.assert_array_equal(rows_by_query(data, units.missing), whole[[0, 2, 1]])


def test_a_nets_gradient_equals_finite_differences() -> None:
    X = features(30, 4)
    X[3, 2] = np.nan
    layers = make_layers(4, (3, 2), activation=0)
    scaling = fit_scaling(X, np.zeros(4, bool), standardize=True)
    rows = np.random.default_rng(1).permutation(30)
    score_function = NetScoreFunction(layers, scaling, X, rows, base=np.arange(30.0))
    weights = random_weights(layers, np.random.default_rng(2)).astype(float)
    grad = RNG.normal(size=30)
    back = score_function.pull_back(weights, grad)
    for p in range(len(weights)):
        move = np.zeros(len(weights))
        move[p] = 1e-6
        slope = grad @ (score_function(weights + move) - score_function(weights - move)) / 2e-6
        assert back[p] == pytest.approx(slope, abs=1e-6)
    assert len({score_function.pull_back(weights, grad, n).tobytes() for n in (1, 2, 4)}) == 1


def test_calibration_does_not_depend_on_the_scale_of_the_weights() -> None:
    w, X = RNG.normal(size=3), features(50, 3).astype(float)
    targets = X @ w + RNG.normal(size=50)
    expected = calibrated(w, X @ w, targets)
    np.testing.assert_allclose(calibrated(1e-3 * w, X @ (1e-3 * w), targets), expected)
    np.testing.assert_array_equal(calibrated(-w, X @ -w, targets), -w)
    np.testing.assert_array_equal(calibrated(np.zeros(3), np.zeros(50), targets), np.zeros(3))


def test_every_query_is_held_out_once() -> None:
    folds = query_folds(13, 5, random_state=3)
    assert np.sum(folds, axis=0).tolist() == [1] * 13
    assert len(query_folds(2, 5, random_state=3)) == 2
