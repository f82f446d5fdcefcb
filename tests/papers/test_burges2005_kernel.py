"""Kernel RankNet [Burges2005, Eqs. 17 and 18] against plain NumPy."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import swaprank as sr
from swaprank.arrays import Features, Floats
from tests.papers import naive_burges2005_kernel as naive

TRAIN, TEST = sr.datasets.random_polynomial((6, 4), n_features=3, n_documents=8, random_state=0)
RNG = np.random.default_rng(0)


def as_in_the_paper(strength: float, total_weight: float, **changes: Any) -> sr.baselines.KernelRankNet:
    """Eq. 17 with this lambda for pairs of this total weight, and all training documents in the sum of Eq. 18."""
    regularization = strength / total_weight
    same = {"regularization": regularization, "standardize": False, "n_landmarks": 10**6}
    return sr.baselines.KernelRankNet(**{**same, **changes})


def total_weight(pairs: list[tuple[int, int, float, float]]) -> float:
    return sum(weight for *_, weight in pairs)


def given_pairs(data: sr.Dataset) -> list[tuple[int, int, float, float]]:
    found = []
    for query in range(data.n_queries):
        for _ in range(15):
            i, j = RNG.permutation(data.rows(query))[:2]
            found.append((int(i), int(j), float(RNG.uniform()), float(RNG.uniform(0, 3))))
    return found


def label_pairs(data: sr.Dataset) -> list[tuple[int, int, float, float]]:
    return [
        (int(i), int(j), 1.0, 1.0)
        for query in range(data.n_queries)
        for i in data.rows(query)
        for j in data.rows(query)
        if data.labels[i] > data.labels[j]
    ]


def kernel(options: dict[str, Any], X: Features, Z: Features) -> Floats:
    # Features are centred, which changes nothing for a kernel of differences.
    x, z = (each.astype(float) - TRAIN.features.astype(float).mean(axis=0) for each in (X, Z))
    if options["kernel"] == "rbf":
        return np.asarray(naive.rbf(x, z, options["gamma"]))
    return np.asarray(naive.polynomial(x, z, options["gamma"], options["degree"]))


def centred(scores: Floats) -> Floats:
    """The cost does not depend on a constant that all scores have."""
    return np.asarray(scores - scores.mean())


KERNELS: list[dict[str, Any]] = [
    {"kernel": "rbf", "gamma": 0.4},
    {"kernel": "polynomial", "gamma": 0.5, "degree": 2},
    {"kernel": "polynomial", "gamma": 0.3, "degree": 3},
]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("strength", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("options", KERNELS)
def test_it_is_the_minimum_of_equation_17(options: dict[str, Any], strength: float, given: bool) -> None:
    pairs = given_pairs(TRAIN) if given else label_pairs(TRAIN)
    data = TRAIN.replace(pairs=pairs if given else None)
    ranker = as_in_the_paper(strength, total_weight(pairs), sigma=1.3, **options).fit(data)
    K = kernel(options, TRAIN.features, TRAIN.features)
    alphas = [naive.solution(K, pairs, strength, 1.3, start) for start in (np.zeros(len(K)), RNG.normal(size=len(K)))]
    np.testing.assert_allclose(K @ alphas[0], K @ alphas[1], atol=1e-8)  # one minimum
    for rows in (TRAIN, TEST):
        expected = kernel(options, rows.features, TRAIN.features) @ alphas[0]
        np.testing.assert_allclose(centred(ranker.predict(rows)), centred(expected), atol=2e-6)
    # Equation 18 with our coefficients: the gradient is 0, and the cost is the least.
    ours: Any = ranker.model_.for_export()
    assert np.abs(K @ naive.slope(K, ours.coefficients, pairs, strength, 1.3)).max() < 1e-4
    least = naive.objective(K, alphas[0], pairs, strength, 1.3)
    assert naive.objective(K, ours.coefficients, pairs, strength, 1.3) == pytest.approx(least, rel=1e-10)
    assert ranker.gap_ < 1e-12


def test_the_linear_kernel_is_a_penalized_linear_ranknet() -> None:
    X, pairs = TRAIN.features.astype(float), label_pairs(TRAIN)
    ranker = as_in_the_paper(3.0, len(pairs), kernel="polynomial", gamma=1.0, degree=1).fit(TRAIN)

    def cost(w: Floats) -> tuple[float, Floats]:
        total, by_weight = 3.0 * float(w @ w), 6.0 * w
        for i, j, *_ in pairs:
            x = X[i] - X[j]
            total += float(np.logaddexp(0, -w @ x))
            by_weight = by_weight - x / (1 + np.exp(w @ x))
        return total, by_weight

    w = minimize(cost, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose(centred(ranker.predict(TEST)), centred(TEST.features.astype(float) @ w), atol=2e-6)


def test_outputs_model_the_probabilities_of_pairs() -> None:
    # With targets that a function of the kernel's space has, and little regularization, they are found.
    truth = 0.7 * TRAIN.features[:, 0] * TRAIN.features[:, 1]
    pairs = [(i, j, 1 / (1 + np.exp(truth[j] - truth[i]))) for i, j, *_ in label_pairs(TRAIN)]
    ranker = as_in_the_paper(1e-5, len(pairs), kernel="polynomial", gamma=1.0, degree=2)
    ranker.fit(TRAIN.replace(pairs=pairs))
    i, j, probability = np.array(pairs).T
    found = ranker.predict_proba_pair(TRAIN, i.astype(int), j.astype(int))
    np.testing.assert_allclose(found, probability, atol=0.002)
