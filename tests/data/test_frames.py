from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from swaprank import MART
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading.read import read

COLUMNS: dict[str, list[Any]] = {
    "query": ["b", "a", "b"],
    "rel": [0, 2, 1],
    "bm25": [1.5, None, 0.1],
    "clicks": [3, 4, None],
    "new": [True, False, True],
    "doc": ["x", "y", "z"],
    "weight": [1.0, 0.5, 2.0],
}

MAKERS = {
    "pandas": pd.DataFrame,
    "pandas-arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pandas-nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("maker", MAKERS)
def test_all_makes_of_tables(maker: str) -> None:
    frame = MAKERS[maker](COLUMNS)
    data = Dataset.from_frame(frame, label="rel", qid="query", docid="doc", sample_weight="weight")
    assert data.feature_names == ("bm25", "clicks", "new")
    expected = np.array([[1.5, 3, 1], [np.nan, 4, 0], [0.1, np.nan, 1]], np.float32)
    np.testing.assert_array_equal(data.features, expected)
    assert data.features.flags.c_contiguous
    assert data.labels.tolist() == [0, 2, 1]
    assert data.qids.tolist() == ["b", "a"]
    assert data.docid is not None
    assert data.docid.tolist() == ["x", "y", "z"]
    assert data.sample_weight is not None
    assert data.sample_weight.tolist() == [1, 0.5, 2]


@pytest.mark.parametrize("maker", MAKERS)
def test_nulls_where_none_may_be(maker: str) -> None:
    frame = MAKERS[maker]({"qid": ["a", "b"], "label": [1.0, None], "x": [1.0, 2.0]})
    with pytest.raises(DataError, match="column 'label', row 1: the value is missing"):
        Dataset.from_frame(frame)
    frame = MAKERS[maker]({"qid": [None, "b"], "label": [1.0, 1.0], "x": [1.0, 2.0]})
    with pytest.raises(DataError, match="column 'qid', row 0: the value is missing"):
        Dataset.from_frame(frame)


@pytest.mark.parametrize("maker", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("values", [[datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)], [[1, 2], [3, 4]]])
def test_columns_that_are_not_numbers(maker: str, values: list[Any]) -> None:
    frame = MAKERS[maker]({"qid": [1, 1], "label": [1, 0], "x": [1, 2], "title": values})
    with pytest.raises(DataError, match=r"column 'title' holds .*, not numbers: .*give features=\[…\]"):
        Dataset.from_frame(frame)
    assert Dataset.from_frame(frame, features=["x"]).feature_names == ("x",)
    with pytest.raises(DataError, match="column 'title' holds"):
        Dataset.from_frame(frame, label="title")


def test_unknown_columns_and_tables() -> None:
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(DataError, match=r"there is no column 'qery'; did you mean 'query'\?"):
        Dataset.from_frame(frame, label="rel", qid="qery")
    with pytest.raises(DataError, match="there is no column 'bm52'; did you mean 'bm25'"):
        Dataset.from_frame(frame, label="rel", qid="query", features=["bm52"])
    with pytest.raises(DataError, match="found dict"):
        Dataset.from_frame(COLUMNS)
    with pytest.raises(DataError, match="no feature columns besides label, qid"):
        Dataset.from_frame(pd.DataFrame({"label": [1], "qid": [1]}))


def test_categorical_queries_are_text() -> None:
    columns = {"qid": ["b", "a"], "label": [1, 0], "x": [1, 2]}
    pandas = pd.DataFrame(columns).astype({"qid": "category"})
    polars = pl.DataFrame(columns).with_columns(pl.col("qid").cast(pl.Categorical))
    for frame in (pandas, polars):
        assert Dataset.from_frame(frame).qids.tolist() == ["b", "a"]


def test_infinite_values_are_named() -> None:
    frame = pl.DataFrame({"qid": [1], "label": [1], "x": [1e300]})
    with pytest.raises(DataError, match="row 0, column 'x'"):
        Dataset.from_frame(frame)


def test_columns_named_by_numbers() -> None:
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3))
    data = Dataset.from_frame(frame.assign(label=0, qid=1))
    assert data.feature_names == ("0", "1", "2")
    np.testing.assert_array_equal(data.features, frame)
    assert frame.columns.tolist() == [0, 1, 2]


def test_columns_of_one_name() -> None:
    names = ["x", "x", "label", "qid"]
    for frame in (pd.DataFrame([[1, 2, 0, 1]], columns=names), pa.table([[1], [2], [0], [1]], names=names)):
        with pytest.raises(DataError, match="more than one column 'x'"):
            Dataset.from_frame(frame)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (dict(features=["x", "label"]), "column 'label' is given as label and as feature"),
        (dict(features=["x", "x"]), "column 'x' is given twice as feature"),
        (dict(label="qid"), "column 'qid' is given as label and as qid"),
        (dict(sample_weight="label"), "column 'label' is given as label and as sample_weight"),
    ],
)
def test_a_column_has_one_role(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=complaint):
        Dataset.from_frame(pl.DataFrame({"qid": [1], "label": [1], "x": [1]}), **options)


def test_ignored_columns_are_no_features() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "bm25": [3.2, 8.1], "url": ["a", "b"]})
    assert Dataset.from_frame(frame, ignore=["url"]).feature_names == ("bm25",)
    with pytest.raises(DataError, match="there is no column 'urls' to ignore; did you mean 'url'"):
        Dataset.from_frame(frame, ignore=["urls"])
    with pytest.raises(DataError, match="ignore must be a list of column names"):
        Dataset.from_frame(frame, ignore="url")
    with pytest.raises(DataError, match="'label' cannot be ignored"):
        Dataset.from_frame(frame, ignore=["label"])
    with pytest.raises(DataError, match="'bm25' cannot be ignored"):
        Dataset.from_frame(frame, features=["bm25"], ignore=["bm25"])


def test_columns_of_an_index_are_found_by_all_roles(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "shop": [7, 3], "device": ["web", "web"], "age": [2.0, 3.0]})
    indexed = frame.set_index(["device", "shop"])
    data = Dataset.from_frame(indexed, columns=["device"], features=["shop", "age"])
    assert data.columns["device"].tolist() == ["web", "web"]
    assert data.column("shop").tolist() == [7, 3]
    indexed.to_parquet(tmp_path / "data.parquet")
    declared = read(tmp_path / "data.parquet", categorical_features=["shop"])
    assert declared.categories == {"shop": ("3", "7")}
    assert sorted(declared.feature_names) == ["age", "shop"]
    assert read(tmp_path / "data.parquet").feature_names == ("age",)


def test_a_list_per_query_of_a_table_and_its_column_of_ids() -> None:
    frame = pd.DataFrame({"query": ["b", "a", "b", "a"], "x": [1.0, 2.0, 3.0, 4.0], "y": [0.0, 1.0, 2.0, 1.0]})
    ranker = MART(n_trees=2, min_docs_in_leaf=1).fit(frame[["y", "x"]], [0, 1, 1, 0], qid=frame["query"])
    ranked = ranker.rank(frame, qid="query", k=1)
    pd.testing.assert_frame_equal(ranked, ranker.rank(frame[["x", "y"]], qid=frame["query"], k=1))
    assert ranked["qid"].tolist() == ["b", "a"]
    with pytest.raises(DataError, match="there is no column 'nobody'"):
        ranker.rank(frame, qid="nobody")


def test_an_infinite_value_is_named_by_its_column() -> None:
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "price": [1.0, np.inf]})
    with pytest.raises(DataError, match="row 1, column 'price': inf is not finite"):
        Dataset.from_frame(frame)
