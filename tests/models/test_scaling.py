from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from swaprank.models.scaling import MAX_SCALED, fit_scaling, scale_rows


def scaled(X: Any, *, logged: Any = None, standardize: bool = True, rows: Any = None, of: Any = None) -> Any:
    """X with the scaling fitted on `of`, or on X itself."""
    X = np.asarray(X, np.float32)
    known = X if of is None else np.asarray(of, np.float32)
    logged = np.zeros(X.shape[1], bool) if logged is None else np.asarray(logged)
    result = np.empty((len(X) if rows is None else len(rows), X.shape[1]))
    scaling = fit_scaling(known, logged, standardize, n_threads=1)
    scale_rows(X, np.arange(len(X)) if rows is None else np.asarray(rows), scaling, result)
    return result


def test_features_get_mean_0_and_standard_deviation_1() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6)) * [1, 1e-3, 1e6, 5, 1e-20, 1] + [0, 5, 1e7, -2, 0, 1e4]
    found = scaled(X)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=2e-3)
    np.testing.assert_allclose(found.std(axis=0), 1, atol=1e-3)
    X32 = X.astype(np.float32).astype(float)
    np.testing.assert_allclose(found, (X32 - X32.mean(axis=0)) / X32.std(axis=0), atol=2e-3)


def test_missing_values_are_the_mean_of_the_others() -> None:
    X = [[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan]]
    np.testing.assert_allclose(scaled(X), [[-1, 0], [1, 0], [0, 0]])
    np.testing.assert_allclose(scaled(X, standardize=False), [[1, 0], [3, 0], [2, 0]])


def test_constant_features_become_0() -> None:
    X = np.full((1000, 2), 0.1)
    X[:, 1] = np.arange(1000) % 2
    found = scaled(X)
    assert (found[:, 0] == 0).all()
    assert (scaled([[7.0, 1.0]], of=X)[:, 0] == 0).all()


def test_logarithms_of_chosen_features() -> None:
    x = np.concatenate((10.0 ** np.arange(-30, 38), -(10.0 ** np.arange(-30, 38)), [0.0, 1.0, 1e-3, 3e38]))
    x32 = x.astype(np.float32).astype(float)
    found = scaled(np.stack((x, x / 1e10), axis=1), logged=[True, False], standardize=False)
    np.testing.assert_allclose(found[:, 0], np.sign(x32) * np.log1p(np.abs(x32)), rtol=2e-7)


def test_rows_may_be_scattered() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = [7, 3, 3, 49, 0]
    np.testing.assert_array_equal(scaled(X, rows=rows), scaled(X)[rows])


def test_any_number_of_threads_finds_the_same() -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 7)).astype(np.float32)
    X[::3, 2] = np.nan
    one, *others = (fit_scaling(X, np.arange(7) % 2 == 0, True, n_threads=n) for n in (1, 2, 3, 8))
    for other in others:
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@settings(max_examples=200)
@given(
    hnp.arrays(
        np.float32, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(width=32, allow_infinity=False)
    ),
    st.booleans(),
    st.booleans(),
)
def test_scaled_values_are_finite(X: Any, logged: bool, standardize: bool) -> None:
    found = scaled(X, logged=np.full(X.shape[1], logged), standardize=standardize)
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= MAX_SCALED


@pytest.mark.parametrize("value", [3.4e38, -3.4e38, np.nan])
def test_outliers_that_were_never_seen_stay_finite(value: float) -> None:
    of = [[1e-38, -3e38, 1.0], [2e-38, -3e38, 2.0]]
    assert np.isfinite(scaled([[value] * 3], of=of)).all()


@pytest.mark.parametrize("logged", [False, True])
def test_missing_values_are_replaced_by_the_mean(logged: bool) -> None:
    X = np.random.default_rng(1).lognormal(size=(300, 2))
    holes = X.copy()
    holes[::5, 1] = np.nan
    flags = np.array([logged, logged])
    full = fit_scaling(np.delete(X, np.s_[::5], axis=0).astype(np.float32), flags, True)
    found = fit_scaling(holes.astype(np.float32), flags, True)
    np.testing.assert_allclose(found.mean[1], full.mean[1], rtol=1e-5)
    np.testing.assert_allclose(found.factor[1], full.factor[1], rtol=1e-5)
    assert scaled([[1.0, np.nan]], of=holes, logged=flags)[0, 1] == 0.0
