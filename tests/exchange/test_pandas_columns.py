"""The columns of a LightGBM model that were pandas categories, against LightGBM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.exchange.pandas_columns import pandas_columns

lgb = pytest.importorskip("lightgbm")
pandas = pytest.importorskip("pandas")


def frame(n_numbers: int) -> Any:
    """A and B are pandas categories, C is a number of a category."""
    rng = np.random.default_rng(0)
    n = 1000
    return pandas.DataFrame(
        {
            "bm25": rng.normal(size=n),
            "A": pandas.Categorical(rng.choice(list("abcde"), n)),
            "B": pandas.Categorical(rng.choice(["p", "q", "r", "s"], n)),
            "C": rng.integers(0, n_numbers, n),
        }
    )


def booster(data: Any, declared: Any) -> Any:
    codes = {name: data[name].cat.codes for name in "AB"}
    y = codes["A"] % 2 + (codes["B"] == 2) + (data.C == 1) + data.bm25
    options = {"objective": "regression", "verbosity": -1, "min_data_per_group": 5, "cat_smooth": 1, "num_threads": 1}
    return lgb.train(options, lgb.Dataset(data, y, categorical_feature=declared), 10)


@pytest.mark.parametrize("declared", [["A", "C"], ["A"], ["B", "C"], "auto"], ids=str)
@pytest.mark.parametrize("n_numbers", [6, 40])
def test_the_columns_are_found(declared: Any, n_numbers: int, tmp_path: Path) -> None:
    data = frame(n_numbers)
    theirs = booster(data, declared)
    theirs.save_model(tmp_path / "model.txt")
    other = data.assign(B=data.B.cat.set_categories(["s", "new", "q", "p", "r"]))
    other.loc[:30, "B"], other.loc[20:50, "A"], other.loc[40:70, "bm25"] = "new", None, np.nan
    for ranker in (sr.import_model(theirs), sr.import_model(tmp_path / "model.txt")):
        assert ranker.categories_["A"] == ("a", "b", "c", "d", "e")
        assert ranker.categories_["B"] == ("p", "q", "r", "s")
        np.testing.assert_array_equal(ranker.predict(data), theirs.predict(data))
        np.testing.assert_array_equal(ranker.predict(other), theirs.predict(other))


def test_columns_that_the_file_does_not_tell_must_be_given() -> None:
    data = frame(4)
    theirs = booster(data, ["A", "C"])
    with pytest.raises(sr.errors.ModelFileError, match=r"file does not say which\. Name them: pandas_categories=\["):
        sr.import_model(theirs)
    ranker = sr.import_model(theirs, pandas_categories=["A", "B"], check=data)
    np.testing.assert_array_equal(ranker.predict(data), theirs.predict(data))
    for given, said in (
        (["A"], "must name 2 columns, as many as had pandas categories; found 1"),
        (["A", "Bb"], "the model has no feature 'Bb'; did you mean 'B'"),
        (["bm25", "A"], "'bm25' would have 5 categories, but held"),
    ):
        with pytest.raises(sr.errors.ParameterError, match=said):
            sr.import_model(theirs, pandas_categories=given)
    # The wrong columns fit, too, but not to the data.
    with pytest.raises(sr.errors.DataError, match="column 'B' holds Categorical"):
        sr.import_model(theirs, pandas_categories=["A", "C"], check=data)


def test_they_are_only_for_lightgbm_with_pandas_categories() -> None:
    plain = lgb.train({"verbosity": -1}, lgb.Dataset(np.arange(100.0)[:, None], np.arange(100.0)), 2)
    with pytest.raises(sr.errors.ParameterError, match="no column of the training data had pandas categories"):
        sr.import_model(plain, pandas_categories=["Column_0"])
    xgb = pytest.importorskip("xgboost")
    other = xgb.train({"nthread": 1}, xgb.DMatrix(np.arange(100.0)[:, None], np.arange(100.0)), 2)
    with pytest.raises(sr.errors.ParameterError, match="pandas_categories is only for models of LightGBM"):
        sr.import_model(other, pandas_categories=["0"])


@pytest.mark.parametrize(
    ("sizes", "infos", "columns"),
    [
        ([3], "[0:2] 2:0:1", None),
        ([3], "[0:2.5] 2:0:1", [1]),
        ([3], "[0:1] 2:0:1", [1]),
        ([3], "[-1:2] none 2:0:-1", [2]),
        ([3, 1], "2:0:1 none [0:9]", [0, 1]),
        ([5], "[0:3] [0:1]", [0]),
        ([3, 4], "3:0 1:2:0", []),
        ([50], "[0:49] 3:40", None),
        ([2, 2], "[0:1] 1:0", [0, 1]),
        ([2], "[0:9]", []),
    ],
)
def test_columns_by_what_they_held(sizes: list[int], infos: str, columns: list[int] | None) -> None:
    held = infos.split(" ")
    names = [str(at) for at in range(len(held))]
    if columns:
        assert pandas_columns(sizes, held, names, None) == columns
        return
    with pytest.raises(sr.errors.ModelFileError, match="does not say which"):
        pandas_columns(sizes, held, names, None)
