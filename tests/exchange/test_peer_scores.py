"""`import_model(…, check=X)`: the library itself scores the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import swaprank as sr
from swaprank.rankers.imported import ImportedRanker
from tests.exchange.peer_seeds import peer_data, shop_frame, train_lightgbm, train_xgboost
from tests.exchange.portable_seeds import graph_of, regressor


def largest(ranker: ImportedRanker) -> float:
    assert ranker.agreement_ is not None
    assert ranker.agreement_.n_documents == 900
    return ranker.agreement_.largest_difference


@pytest.mark.parametrize("categorical", [False, True])
def test_models_and_files_of_lightgbm_and_xgboost(categorical: bool, tmp_path: Path) -> None:
    X, y, qid = peer_data()
    for train, exact in ((train_lightgbm, 0.0), (train_xgboost, 1e-6)):
        booster = train(categorical=categorical)
        booster.save_model(tmp_path / "model.json")
        data = sr.Dataset(X, y, qid=qid, categorical_features=list(sr.import_model(booster).categories_))
        for source in (booster, tmp_path / "model.json", str(tmp_path / "model.json")):
            for rows in (X, X.tolist(), data):
                assert largest(sr.import_model(source, check=rows)) <= exact
    again = sr.import_model(tmp_path / "model.json", check=X)
    assert "XGBoost 3" in str(again.agreement_)
    again.save(tmp_path / "again.swaprank")
    assert sr.load(tmp_path / "again.swaprank").agreement_ is None


def test_categories_of_data_frames(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame, y = shop_frame("asics")
    data = sr.Dataset.from_frame(frame.assign(label=y, qid=1), label="label", qid="qid")
    turned = frame[["shop", "brand", "bm25"]]
    for train in (train_lightgbm, train_xgboost):
        booster = train(data=frame, y=y)
        booster.save_model(tmp_path / "model.json")
        for rows in (frame, turned, data):
            assert largest(sr.import_model(tmp_path / "model.json", check=rows)) < 1e-6
    numbers = frame[["bm25"]].assign(price=1.5)
    booster = train_lightgbm(data=numbers, y=y)
    assert largest(sr.import_model(booster, check=polars.DataFrame(numbers.to_dict("list")))) == 0


def test_estimators_of_xgboost_that_stopped_early(tmp_path: Path) -> None:
    xgb = pytest.importorskip("xgboost")
    X, y, qid = peer_data()
    ranker = xgb.XGBRanker(n_estimators=30, early_stopping_rounds=2, n_jobs=1)
    other = np.random.default_rng(0).permutation(y)
    ranker.fit(X, y, qid=qid, eval_set=[(X, other)], eval_qid=[qid], verbose=False)
    assert ranker.best_iteration < 25
    ranker.save_model(tmp_path / "model.ubj")
    for source in (ranker, tmp_path / "model.ubj"):
        assert largest(sr.import_model(source, check=X)) < 1e-6


@pytest.mark.slow
def test_catboost(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    X, y, qid = peer_data()
    model = catboost.CatBoostRanker(iterations=4, depth=3, verbose=False, allow_writing_files=False, thread_count=1)
    model.fit(X, y, group_id=qid)
    model.save_model(str(tmp_path / "model.cbm"))
    model.save_model(str(tmp_path / "model.json"), format="json")
    for source in (model, tmp_path / "model.cbm", tmp_path / "model.json"):
        assert largest(sr.import_model(source, check=X)) < 1e-14


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_onnx(transform: str) -> None:
    pytest.importorskip("onnxruntime")
    X = peer_data().X[:, :5].astype(np.float64)
    cast = helper.make_node("Cast", ["X"], ["F"], to=TensorProto.FLOAT)
    for model in (
        graph_of(regressor(post_transform=transform, base_values=[-30.0])),
        graph_of(cast, regressor(source="F", post_transform=transform), elem_type=TensorProto.DOUBLE),
    ):
        assert largest(sr.import_model(model, check=X)) < 1e-6


def test_what_differs_is_an_error() -> None:
    X = peer_data().X

    class Liar:
        """A Booster whose text is that of another."""

        def __init__(self, booster: Any, other: Any) -> None:
            self.predict, self.model_to_string = booster.predict, other.model_to_string

    Liar.__module__ = "lightgbm.basic"
    with pytest.raises(
        sr.errors.ModelFileError,
        match=r"LightGBM \S+ scores \d+ of 900 documents differently: document \d+ has \S+ here",
    ):
        sr.import_model(Liar(train_lightgbm(3), train_lightgbm(4)), check=X)
    with pytest.raises(sr.errors.ParameterError, match="at least one document"):
        sr.import_model(train_lightgbm(3), check=X[:0])


def test_ranklib_cannot_be_called(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text("## AdaRank\n1:0.5 2:0.25\n")
    with pytest.raises(sr.errors.ParameterError, match="check: RankLib cannot be called from Python"):
        sr.import_model(tmp_path / "model.txt", check=np.zeros((1, 2)))
