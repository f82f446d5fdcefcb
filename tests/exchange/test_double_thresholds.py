"""Thresholds in double precision that single precision cannot tell apart, against LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import AnyArray
from swaprank.exchange.double_thresholds import minus, moved_share

lgb = pytest.importorskip("lightgbm")
NOW = 1_700_000_000


def documents(n_seconds: float, step: float = 1.0) -> AnyArray:
    """A time in seconds since 1970, and another feature."""
    rng = np.random.default_rng(0)
    return np.column_stack((NOW + rng.integers(0, int(n_seconds / step), 600) * step, rng.normal(size=600)))


def booster(X: AnyArray) -> Any:
    options = {"objective": "regression", "verbosity": -1, "min_data_in_leaf": 2, "num_threads": 1}
    data = lgb.Dataset(X, np.sin(X[:, 0] * 7 / np.ptp(X[:, 0])) * 3 + X[:, 1], feature_name=["published", "bm25"])
    return lgb.train(options, data, 10)


def test_features_that_are_too_large_are_refused_or_moved() -> None:
    X = documents(300)
    theirs = booster(X)
    with pytest.raises(
        sr.errors.ModelFileError,
        match=r"float32\) is too coarse for 'published': .* subtract it in your features, too: "
        r"subtract=\{'published': 1700000000\}",
    ):
        sr.import_model(theirs)
    subtract = {"published": NOW}
    ranker = sr.import_model(theirs, subtract=subtract, check=X)
    assert ranker.agreement_ is not None
    assert ranker.agreement_.largest_difference == 0
    assert ranker.feature_names_in_.tolist() == ["published - 1700000000", "bm25"]
    moved = X - [NOW, 0]
    np.testing.assert_array_equal(ranker.predict(moved), theirs.predict(X))
    scorer = sr.Scorer(ranker)
    np.testing.assert_array_equal(scorer.predict(moved), theirs.predict(X))
    assert scorer.predict(moved[0]) == theirs.predict(X[:1])[0]
    with pytest.raises(sr.errors.DataError, match="no feature 'published'; known are bm25, published - 1700000000"):
        scorer.row({"published": NOW, "bm25": 1})
    with pytest.raises(sr.errors.ModelFileError, match="too coarse for 'published' minus 5"):
        sr.import_model(theirs, subtract={"published": 5})


def test_the_columns_of_a_table_are_checked_and_moved() -> None:
    pandas = pytest.importorskip("pandas")
    X = documents(300)
    frame = pandas.DataFrame({"bm25": X[:, 1], "published": X[:, 0]})
    ranker = sr.import_model(booster(X), subtract={"published": NOW}, check=frame)
    assert ranker.agreement_ is not None
    assert ranker.agreement_.largest_difference == 0


def test_features_that_are_fine_enough_are_read() -> None:
    year = 365 * 86_400
    for X in (
        documents(year),
        documents(year, step=86_400),
        documents(300, step=128),
        documents(300).astype(np.float32),
    ):
        ranker, theirs = sr.import_model(booster(X)), booster(X)
        single = X.astype(np.float32).astype(np.float64)
        np.testing.assert_array_equal(ranker.predict(single), theirs.predict(single))


def test_what_cannot_be_subtracted() -> None:
    theirs = booster(documents(300))
    for subtract, said in (({"publish": 1}, "no feature 'publish'"), ({"bm25": np.inf}, "must be finite")):
        with pytest.raises(sr.errors.SwaprankError, match=said):
            sr.import_model(theirs, subtract=subtract)
    xgb = pytest.importorskip("xgboost")
    other = xgb.train({"nthread": 1}, xgb.DMatrix(np.arange(100.0)[:, None], np.arange(100.0)), 2)
    with pytest.raises(sr.errors.ParameterError, match="compares in single precision itself"):
        sr.import_model(other, subtract={"1": 5})


@given(st.floats(-1e12, 1e12).filter(lambda x: abs(x) > 1e-9), st.floats(-1e12, 1e12), st.integers(-3, 3))
def test_the_test_is_the_same_for_numbers_that_can_be_moved_exactly(threshold: float, offset: float, by: int) -> None:
    from fractions import Fraction

    limit = float(minus(np.array(threshold), offset))
    exact = Fraction(threshold) - Fraction(offset)
    assert Fraction(limit) <= exact < Fraction(float(np.nextafter(limit, np.inf)))


def test_the_share_of_documents_that_might_move() -> None:
    rng = np.random.default_rng(0)
    values = np.sort(NOW + rng.uniform(0, 86_400 * 30, 100_001))
    limits = (values[:-1:400] + values[1::400])[1:] / 2
    share = moved_share(limits, values[0], values[-1])
    crossed = np.searchsorted(limits, values) != np.searchsorted(limits, values.astype(np.float32).astype(np.float64))
    # A value in the gap of a threshold crosses it in half of the cases at most.
    assert crossed.mean() <= share < 6 * crossed.mean()
    assert moved_share(limits[:1], -np.inf, np.inf) == 0
