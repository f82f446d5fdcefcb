"""Theorem 1 of [Chapelle2010] and the constant of the smooth NDCG, recomputed."""

import math
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.papers import naive_chapelle2010_smoothrank as naive

SIZES: dict[str, Any] = {"weight_norm": 1.3, "feature_norm": 0.7, "n_documents": 20}


@pytest.mark.parametrize("sigma", [2.0**-6, 1.0, 64.0])
def test_equation_14(sigma: float) -> None:
    L = sr.instruments.smooth_lipschitz(sigma, **SIZES)
    assert pytest.approx(naive.lipschitz_constant(1.3, 0.7, sigma, 20), rel=1e-12) == L
    found = sr.instruments.generalization_bound(0.4, L, **SIZES, n_queries=500, delta=0.1)
    assert found == pytest.approx(naive.bound(0.4, L, 1.3, 0.7, 20, 500, 0.1), rel=1e-12)
    # The middle term, as the paper writes it: 24 (B R m)² / (sigma sqrt(n)).
    rest = 0.4 + math.sqrt(8 * math.log(2 / 0.1) / 500)
    assert found - rest == pytest.approx(24 * (1.3 * 0.7 * 20) ** 2 / (sigma * math.sqrt(500)), rel=1e-9)


def test_the_limits() -> None:
    def bound(n_queries: int, sigma: float = 1.0, delta: float = 0.05) -> float:
        L = sr.instruments.smooth_lipschitz(sigma, **SIZES)
        return sr.instruments.generalization_bound(0.4, L, **SIZES, n_queries=n_queries, delta=delta)

    assert bound(10**18) == pytest.approx(0.4, abs=1e-3)
    assert bound(100, sigma=1e12) == pytest.approx(0.4 + math.sqrt(8 * math.log(40) / 100), abs=1e-6)
    assert bound(100) - 0.4 == pytest.approx(10 * (bound(10_000) - 0.4))
    assert bound(100, sigma=0.5) > bound(100) > bound(100, sigma=2.0)
    assert bound(100, delta=0.001) > bound(100)


def test_the_constant_bounds_every_gradient() -> None:
    """|dA / df| <= L for all scores |f| <= B R; the step sizes up to it are those of section 5.2."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        m, sigma = int(rng.integers(2, 8)), float(2.0 ** rng.integers(-4, 5))
        labels = [2.0, *map(float, rng.integers(0, 3, m - 1))]
        f = rng.uniform(-1, 1, m).tolist()
        slope = np.linalg.norm(naive.smooth_ndcg_slopes(labels, f, sigma))
        assert slope <= sr.instruments.smooth_lipschitz(sigma, weight_norm=1.0, feature_norm=1.0, n_documents=m)


def test_what_is_not_positive_is_refused() -> None:
    with pytest.raises(sr.errors.ParameterError, match="smoothing_factor must be a number above 0; found 0"):
        sr.instruments.smooth_lipschitz(0.0, **SIZES)
    with pytest.raises(sr.errors.ParameterError, match="delta must be a number between 0 and 1; found 1"):
        sr.instruments.generalization_bound(0.4, 1.0, **SIZES, n_queries=5, delta=1.0)
