"""Categorical features: values become text, and texts become numbers, whatever the data is stored in."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import swaprank as sr
from swaprank import Dataset
from swaprank.data.categories import encoded, extended, recoded
from swaprank.errors import DataError, ParameterError

VALUES = ["nike", None, "adidas", "nike", "ångström", "10", "9"]
CODES = [3.0, np.nan, 2.0, 3.0, 4.0, 0.0, 1.0]
CATEGORIES = ("10", "9", "adidas", "nike", "ångström")
LABELS, QUERIES = [0, 1, 2, 0, 1, 2, 0], [1, 1, 1, 2, 2, 2, 2]


def tables() -> dict[str, Any]:
    """One column of text in every kind of table."""
    made: dict[str, Any] = {
        "pandas objects": pd.DataFrame({"brand": np.array(VALUES, dtype=object)}),
        "pandas strings": pd.DataFrame({"brand": pd.array(VALUES, dtype="string")}),
        "pandas categories": pd.DataFrame({"brand": pd.Categorical(VALUES, categories=["unused", *CATEGORIES[::-1]])}),
    }
    try:
        import polars as pl

        made["polars String"] = pl.DataFrame({"brand": VALUES})
        made["polars Categorical"] = pl.DataFrame({"brand": pl.Series(VALUES, dtype=pl.Categorical)})
        made["polars Enum"] = pl.DataFrame({"brand": pl.Series(VALUES, dtype=pl.Enum(["unused", *CATEGORIES]))})
    except ImportError:
        pass
    try:
        import pyarrow as pa

        made["arrow strings"] = pa.table({"brand": VALUES})
        made["arrow dictionary"] = pa.table({"brand": pa.array(VALUES).dictionary_encode()})
        made["pandas with arrow"] = pd.DataFrame({"brand": pd.array(VALUES, dtype=pd.ArrowDtype(pa.string()))})
    except ImportError:
        pass
    return made


@pytest.mark.parametrize("kind", tables())
def test_the_same_text_has_the_same_codes_in_all_tables(kind: str) -> None:
    data = Dataset(tables()[kind], LABELS, qid=QUERIES)
    assert data.categories == {"brand": CATEGORIES}
    assert_array_equal(data.column("brand"), np.array(CODES, np.float32))


def numbers_in(kind: str, values: list[Any]) -> Any:
    """Two columns, the second of which has the values."""
    first = [0.5] * len(values)
    with_nan = [np.nan if value is None else value for value in values]
    match kind:
        case "float32":
            return np.array([first, with_nan], np.float32).T
        case "objects":
            return np.array([first, values], dtype=object).T
        case "lists":
            return [list(row) for row in zip(first, values, strict=True)]
        case "masked":
            filled = np.array([first, [-1 if value is None else value for value in values]]).T
            return np.ma.array(filled, mask=filled == -1)
        case "sparse":
            return scipy.sparse.csc_matrix(np.array([first, with_nan]).T)
        case "pandas Int64":
            return pd.DataFrame({"1": first, "2": pd.array(values, dtype="Int64")})
        case "pandas categories":
            return pd.DataFrame({"1": first, "2": pd.Categorical(values)})
        case "polars":
            return pytest.importorskip("polars").DataFrame({"1": first, "2": values})
        case "arrow":
            return pytest.importorskip("pyarrow").table({"1": first, "2": values})
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    ["float32", "objects", "lists", "masked", "sparse", "pandas Int64", "pandas categories", "polars", "arrow"],
)
def test_declared_numbers_have_the_same_codes_in_all_kinds_of_data(kind: str) -> None:
    X = numbers_in(kind, [12, None, 7, 12, 0, 100])
    declared: Any
    for declared in (["2"], [1], np.array([1])):
        data = Dataset(X, [0, 1, 2, 0, 1, 2], qid=[1] * 6, categorical_features=declared)
        assert data.categories == {"2": ("0", "7", "12", "100")}
        assert_array_equal(data.features.T, np.array([[0.5] * 6, [2, np.nan, 1, 2, 0, 3]], np.float32))


def test_large_numbers_stay_apart() -> None:
    values = [2**62, 2**62 + 1, None, -(2**62)]
    tables = [pd.DataFrame({"shop": pd.array(values, dtype="Int64")}), np.array([values], dtype=object).T]
    tables.append(np.array([[2**62], [2**62 + 1], [2**62 + 2], [-(2**62)]]))
    for X in tables:
        data = Dataset(X, [0, 1, 2, 3], qid=[1] * 4, feature_names=["shop"], categorical_features=["shop"])
        assert data.categories["shop"][0] == str(-(2**62))
        assert_array_equal(data.column("shop")[[0, 1, 3]], [1, 2, 0])


def test_no_warning_about_the_precision_of_categories() -> None:
    seconds = 1.7e9 + np.arange(60.0)
    for X in (seconds[:, None], scipy.sparse.csr_matrix(seconds[:, None]), pd.DataFrame({"1": seconds})):
        data = Dataset(X, np.zeros(60), qid=np.zeros(60, int), categorical_features=["1"])
        assert len(data.categories["1"]) == 60


@pytest.mark.slow
@given(st.lists(st.none() | st.text(max_size=3)) | st.lists(st.none() | st.integers(-5, 10**20)))
def test_codes_are_the_places_of_texts(values: list[Any]) -> None:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    codes, categories = encoded(objects, "x")
    assert codes.dtype == np.float32
    assert set(categories) == {str(value) for value in values if value is not None}
    assert len(set(categories)) == len(categories)
    for code, value in zip(codes.tolist(), values, strict=True):
        assert np.isnan(code) if value is None else categories[int(code)] == str(value)


@given(st.lists(st.none() | st.sampled_from("abcdef")), st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_recoding_keeps_texts_and_forgets_unknown_ones(values: list[Any], wanted: list[str]) -> None:
    codes, found = encoded(np.array([*values, None], dtype=object)[:-1], "x")
    expected = [np.nan if value not in wanted else wanted.index(value) for value in values]
    assert_array_equal(recoded(codes, found, tuple(wanted)), np.array(expected, np.float32))
    longer = extended(tuple(wanted), found)
    assert longer[: len(wanted)] == tuple(wanted)
    assert set(longer) == {*wanted, *found}


def test_values_as_text() -> None:
    values = [True, False, 7.0, Decimal(7), b"7", float("nan"), pd.NA, pd.NaT, pd.Interval(0, 1)]
    codes, categories = encoded(np.array(values, dtype=object), "x")
    texts = [None if np.isnan(code) else categories[int(code)] for code in codes]
    assert texts == ["True", "False", "7", "7", "7", None, None, None, "(0, 1]"]
    assert encoded(np.array([True, False]), "x")[1] == ("False", "True")
    assert encoded(np.array(["2024-01-02", "NaT"], "M8[D]"), "x")[1] == ("2024-01-02",)
    assert encoded(np.array([], dtype=object), "x")[1] == ()


@pytest.mark.parametrize(
    ("X", "declared", "words"),
    [
        ([[1.5], [2]], [0], "column 0: 1.5 is not a category: give whole numbers or text"),
        (np.array([[0, 1], [0, 2.5]]), [1], "column 1, row 1: 2.5 is not a category: give whole numbers or text"),
        (np.array([[np.inf]]), [0], "column 0, row 0: inf is not a category"),
        (np.array([[2**25]], np.float32), [0], "the category 33554432 is too large to be exact as float32"),
        (scipy.sparse.csr_matrix([[0.5]]), [0], "column 0, row 0: 0.5 is not a category"),
        (pd.DataFrame({"size": [1.5]}), ["size"], "column 'size', row 0: 1.5 is not a category"),
        (np.array([[[1]]], dtype=object), [0], "X must have two dimensions"),
        (pd.DataFrame({"size": [[1], [2]]}), ["size"], "column 'size' has values that cannot be categories"),
        (np.ones((1, 2)), ["brnd"], "categorical_features: no feature 'brnd'"),
        (pd.DataFrame({"brand": [1]}), ["brnd"], "categorical_features: no feature 'brnd'; did you mean 'brand'?"),
        (np.ones((1, 2)), [2], "categorical_features: there is no feature 2: there are 2, numbered from 0."),
        (np.ones((1, 2)), "1", "categorical_features must be a list of names or positions; found '1'."),
        (np.ones((1, 2)), 1, "categorical_features must be a list of names or positions; found 1."),
        (np.ones((1, 2)), [True, False], "Instead of a mask, give np.flatnonzero(mask)."),
        (np.array([["a", "b"]]), [0], "X must hold numbers"),
    ],
)
def test_what_cannot_be_categorical(X: Any, declared: Any, words: str) -> None:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    with pytest.raises((DataError, ParameterError)) as error:
        Dataset(X, [0] * n, qid=[1] * n, categorical_features=declared)
    assert words in str(error.value)


def test_text_in_arrays_must_be_declared() -> None:
    X = np.array([["nike", 1.5], ["asics", None]], dtype=object)
    data = Dataset(X, [0, 1], qid=[1, 1], feature_names=["brand", "price"], categorical_features=["brand"])
    assert_array_equal(data.features, np.array([[1, 1.5], [0, np.nan]], np.float32))
    assert X[0, 0] == "nike"
    with pytest.raises(DataError, match="X must hold numbers"):
        Dataset(X, [0, 1], qid=[1, 1])
    only_text = Dataset([["nike"], ["asics"]], [0, 1], qid=[1, 1], categorical_features=[0])
    assert only_text.categories == {"1": ("asics", "nike")}


def test_names_given_for_a_table() -> None:
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    data = Dataset(frame, [0, 1], qid=[1, 1], feature_names=["brand", "shop"], categorical_features=["shop"])
    assert data.categories == {"brand": ("x", "y"), "shop": ("1", "2")}


def test_the_given_array_does_not_change() -> None:
    X = np.array([[5, 7], [6, 9]], np.float32)
    data = Dataset(X, [0, 1], qid=[1, 1], categorical_features=[1])
    assert X.tolist() == [[5, 7], [6, 9]]
    assert data.features.tolist() == [[5, 0], [6, 1]]


def test_from_frame_takes_positions_of_features() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "price": [0.5, 2.5], "shop": [3, 1], "empty": [None, None]})
    data = Dataset.from_frame(frame, categorical_features=[1, "empty"])
    assert data.categories == {"shop": ("1", "3"), "empty": ()}
    assert np.isnan(data.column("empty")).all()


def brands() -> Dataset:
    frame = pd.DataFrame({"brand": ["nike", "asics", "puma", "nike"], "price": [4.0, 3, 2, 1]})
    return Dataset(frame, [0, 1, 2, 0], qid=[1, 2, 1, 2], docid=list("abcd"))


def test_parts_and_copies_keep_the_categories() -> None:
    data = brands()
    assert repr(data) == "Dataset(4 documents, 2 queries, 2 features (1 categorical), labels 0 to 2)"
    for part in (data.subset([1]), *data.split((0.5, 0.5), 0), pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert part.categories == data.categories
    assert data.with_features(["price"]).categories == {}
    assert data.with_features(["price", "brand"]).categories == data.categories


def test_with_features_of_a_model() -> None:
    data = brands()
    known = {"brand": ("puma", "reebok", "nike")}
    matched = data.with_features(["price", "brand"], categories=known)
    assert matched.categories == known
    assert_array_equal(matched.features, np.array([[4, 2], [3, np.nan], [2, 0], [1, 2]], np.float32))
    longer = data.with_features(["brand"], categories=known, new_categories=True)
    assert longer.categories == {"brand": ("puma", "reebok", "nike", "asics")}
    assert longer.column("brand").tolist() == [2, 3, 0, 2]
    assert data.with_features(["brand", "price"], categories=data.categories) is data
    assert data.column("brand").tolist() == [1, 0, 2, 1]
    with pytest.raises(DataError, match=r"the data, feature 'brand' holds categories such as 'asics', but for MART it"):
        data.with_features(["brand"], categories={}, whose="MART")


def test_numbers_are_matched_with_categories_by_their_text() -> None:
    data = Dataset([[12, 0.5], [7, 0.5], [np.nan, 1]], [0, 1, 2], qid=[1, 1, 1])
    matched = data.with_features(["shop", "price"], categories={"shop": ("7", "x", "12")})
    assert matched.categories == {"shop": ("7", "x", "12")}
    assert_array_equal(matched.features, np.array([[2, 0.5], [0, 0.5], [np.nan, 1]], np.float32))
    with pytest.raises(DataError, match=r"feature 'price', row 0: 0.5 is not a category"):
        data.with_features(["shop", "price"], categories={"price": ("1",)})


def test_categories_of_numbered_features_are_matched_by_position() -> None:
    named = brands()
    matched = named.with_features(["1", "2"], categories={"1": ("nike",)})
    assert matched.feature_names == ("brand", "price")
    assert matched.categories == {"brand": ("nike",)}


def test_summary() -> None:
    frame = pd.DataFrame({"brand": ["nike", "asics"], "only": ["x", "x"], "zero": [0, 0]})
    summary = sr.data.summarize(Dataset(frame, [0, 1], qid=[1, 1]))
    assert summary.categorical == {"brand": 2, "only": 1}
    assert summary.all_zero == ["zero"]
    assert "categorical features                 2: brand (2 values), only (1 values)" in str(summary)
    assert "categorical features" not in str(sr.data.summarize(Dataset([[1], [2]], [0, 1], qid=[1, 1])))


def test_titles_are_no_categories() -> None:
    titles = pd.DataFrame({"title": [f"Shoe {row}" for row in range(2000)]})
    labels, qid = np.zeros(2000), np.zeros(2000, int)
    with pytest.warns(UserWarning, match="column 'title' is text with 2,000 different values in 2,000 rows") as caught:
        Dataset(titles, labels, qid=qid)
    assert [warning.filename for warning in caught] == [__file__]
    # No warning, which would be an error here: declared, or repeated often enough.
    assert len(Dataset(titles, labels, qid=qid, categorical_features=["title"]).categories["title"]) == 2000
    assert len(Dataset(titles.loc[np.arange(2000) % 1000], labels, qid=qid).categories["title"]) == 1000
