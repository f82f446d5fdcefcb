"""Categorical features of files: declared ones everywhere, and text of Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import swaprank as sr
from swaprank.data.fingerprints import data_digest
from swaprank.errors import DataError
from swaprank.reading.read import read_judged, read_matching

TABLE = pl.DataFrame(
    {
        "qid": [1, 1, 2, 2, 2],
        "label": [0, 1, 2, 0, 1],
        "brand": ["nike", "asics", None, "nike", "007"],
        "shop": [12, 7, None, 12, 100],
        "price": [0.5, 1.5, 2.5, 3.5, 4.5],
    }
)
BRANDS, SHOPS = ("007", "asics", "nike"), ("7", "12", "100")
FEATURES = np.array([[2, 1, 0.5], [1, 0, 1.5], [np.nan, np.nan, 2.5], [2, 1, 3.5], [0, 2, 4.5]], np.float32)
BOTH = ["brand", "shop"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    TABLE.write_csv(tmp_path / "table.csv")
    TABLE.write_csv(tmp_path / "table.tsv", separator="\t")
    TABLE.write_parquet(tmp_path / "table.parquet")
    TABLE.with_columns(pl.col("brand").cast(pl.Categorical)).write_parquet(tmp_path / "coded.parquet")
    return tmp_path


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.parquet", "coded.parquet"])
def test_all_tables_have_the_same_codes(folder: Path, name: str) -> None:
    data = sr.read(folder / name, categorical_features=BOTH)
    assert data.categories == {"brand": BRANDS, "shop": SHOPS}
    assert_array_equal(data.features, FEATURES)
    assert data_digest(data) == data_digest(sr.Dataset.from_frame(TABLE, categorical_features=["shop"]))
    assert data_digest(data) != data_digest(sr.Dataset.from_frame(TABLE))


def test_text_of_parquet_is_categorical_by_itself(folder: Path) -> None:
    assert sr.read(folder / "table.parquet").categories == {"brand": BRANDS}


def test_undeclared_text_of_csv_is_an_error_that_says_how_to_declare_it(folder: Path) -> None:
    with pytest.raises(
        DataError, match=r"column 'brand', line 2: 'nike' is not a number: .*categorical_features=\['bra"
    ):
        sr.read(folder / "table.csv")


def test_numbers_in_csv_keep_their_zeros_and_lose_those_of_pandas(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("qid,label,shop\n1,0,007\n1,1, 7.0\n1,2,7\n1,0,NULL\n1,0,\n1,0,1.50\n1,0,-3.00\n")
    data = sr.read(path, categorical_features=["shop"])
    texts = [None if np.isnan(code) else data.categories["shop"][int(code)] for code in data.column("shop")]
    assert texts == ["007", "7", "7", None, None, "1.50", "-3"]


def test_data_for_a_model_need_not_be_declared(folder: Path) -> None:
    data = read_matching(folder / "table.csv", ["price", "brand"], {"brand": BRANDS})
    assert data.categories == {"brand": BRANDS}
    declared = read_matching(folder / "table.csv", ["price", "shop"], categorical_features=BOTH)
    assert declared.categories == {"shop": SHOPS}


def test_judgements_need_no_features(folder: Path) -> None:
    judged = read_judged(folder / "table.csv", categorical_features=BOTH)
    assert isinstance(judged, sr.Dataset)
    assert judged.categories == {}


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"categorical_features": ["brnd"]}, "categorical_features: no feature 'brnd'; did you mean 'brand'?"),
        ({"categorical_features": ["qid"]}, "column 'qid' is given as qid and as categorical: a column has one role."),
        ({"categorical_features": [1]}, "categorical_features of a file must be a list of column names; found [1]."),
        ({"categorical_features": "brand"}, "must be a list of column names; found 'brand'."),
        ({"categorical_features": ["brand"], "features": ["price"]}, "categorical_features: no feature 'brand'"),
        ({"categorical_features": ["brand"], "ignore": ["brand"]}, "categorical_features: no feature 'brand'"),
    ],
)
def test_wrong_names(folder: Path, columns: dict[str, list[str]], words: str) -> None:
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(DataError) as error:
            sr.read(folder / name, **columns)  # type: ignore[arg-type]
        assert words in str(error.value)


def test_letor_text(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("0 qid:1 1:0.5 3:12\n1 qid:1 2:1 3:7\n2 qid:1 3:nan\n0 qid:2 1:1\n")
    for declared in (["3"], [2]):
        data = sr.read_letor(path, categorical_features=declared)
        assert data.categories == {"3": ("0", "7", "12")}
        assert_array_equal(data.column("3"), [2, 1, np.nan, 0])
    assert sr.read(path, categorical_features=["3"]).categories == data.categories
    with pytest.raises(DataError, match=r"train.txt: column 0, row 0: 0.5 is not a category"):
        sr.read(path, categorical_features=["1"])
    with pytest.raises(DataError, match=r"train.txt: categorical_features: no feature 'brand'"):
        sr.read(path, categorical_features=["brand"])


def test_what_letor_text_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    shops = sr.Dataset([[12, 0.5], [7, 1], [np.nan, 2]], [0, 1, 2], qid=[1, 1, 1], categorical_features=[0])
    sr.write_letor(shops, path)
    assert path.read_text().split()[2::4] == ["1:12", "1:7", "1:nan"]
    assert data_digest(sr.read(path, categorical_features=["1"])) == data_digest(shops)
    for wrong in ("nike", "007", "16777217"):
        data = sr.Dataset(np.array([[wrong]], dtype=object), [0], qid=[1], categorical_features=[0])
        with pytest.raises(DataError, match=f"the feature '1' has the category '{wrong}', which LETOR text cannot"):
            sr.write_letor(data, path)
