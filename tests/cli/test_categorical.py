"""Categorical features on the command line: declared once in training, known to the model afterwards."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import swaprank as sr
from tests.command_line import Ended, here

pytest.importorskip("polars", reason="Polars is not installed")

SMALL = ("--set", "n_trees=5", "--set", "n_leaves=4", "--set", "min_docs_in_leaf=3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("categories")
    for seed, (name, brands) in enumerate({"train": ["nike", "asics"], "vali": ["nike", "puma", ""]}.items()):
        rng = np.random.default_rng(seed)
        lines = ["qid,label,brand,shop,price"]
        for row in range(240):
            brand, shop, price = rng.choice(brands), rng.integers(8, 12), rng.random()
            lines.append(
                f"{row // 8},{int(brand == 'nike') + int(shop == 9) + int(price > 0.5)},{brand},{shop},{price}"
            )
        (folder / f"{name}.csv").write_text("\n".join(lines))
    ran(folder, "train", "train.csv", "--valid", "vali.csv", "--categorical", "brand,shop", *SMALL, "-o", "m.swaprank")
    return folder


def ran(folder: Path, *arguments: object) -> Ended:
    ended = here(*arguments, folder=folder)
    assert ended.code == 0, (arguments, ended.err)
    return ended


def test_train_and_repeat(folder: Path) -> None:
    model = sr.load(folder / "m.swaprank")
    assert model.categories_ == {"brand": ("asics", "nike"), "shop": ("8", "9", "10", "11")}
    record = tomllib.loads((folder / "m.toml").read_text())
    assert record["columns"] == {"categorical_features": ["brand", "shop"]}
    ran(folder, "train", "--config", "m.toml", "-o", "again.swaprank")
    assert (folder / "again.swaprank").read_bytes() == (folder / "m.swaprank").read_bytes()


@pytest.mark.slow
def test_the_model_knows_its_categorical_features(folder: Path) -> None:
    model = sr.load(folder / "m.swaprank")
    scores = [float(line) for line in ran(folder, "predict", "m.swaprank", "vali.csv").out.split()]
    data = sr.read(folder / "vali.csv", categorical_features=["brand", "shop"])
    assert_array_equal(scores, model.predict(data))
    measured = json.loads(ran(folder, "evaluate", "vali.csv", "m.swaprank", "--metric", "ndcg@10", "--json").out)
    assert f"{model.score(data):.6f}"[:6] in json.dumps(measured)
    ran(folder, "explain", "m.swaprank", "vali.csv", "--query", "3")
    ran(folder, "report", "m.swaprank", "vali.csv", "-o", "report.html")
    assert "Of a categorical feature, the most frequent values are listed" in (folder / "report.html").read_text(
        "utf-8"
    )
    ran(folder, "train", "train.csv", "--ignore", "brand", "--ranker", "linear_regression", "-o", "linear.swaprank")
    ran(folder, "train", "train.csv", "--categorical", "brand", *SMALL, "-o", "two.swaprank")
    failed = here("combine", "m.swaprank", "linear.swaprank", "vali.csv", "-o", "both.swaprank", folder=folder)
    assert "the feature 'shop' is categorical for some members of the ensemble" in failed.err
    ran(folder, "combine", "two.swaprank", "linear.swaprank", "vali.csv", "-o", "both.swaprank")
    assert sr.load(folder / "both.swaprank").categories_ == {"brand": ("asics", "nike")}
    ran(folder, "predict", "both.swaprank", "vali.csv")


def test_info(folder: Path) -> None:
    described = ran(folder, "info", "train.csv", "--categorical", "brand", "--categorical", "shop").out
    assert "categorical features                 2: brand (2 values), shop (4 values)" in described
    assert "brand (2 values), shop (4 values)" in ran(folder, "info", "m.swaprank").out
    assert json.loads(ran(folder, "info", "m.swaprank", "--json").out)["categorical"] == {"brand": 2, "shop": 4}


def test_cross_validation(folder: Path) -> None:
    ran(folder, "cv", "train.csv", "--ranker", "mart", "--set", "n_trees=2", "--folds", "3", "--categorical", "brand")


def test_a_declared_feature_that_is_not_there(folder: Path) -> None:
    failed = here("train", "train.csv", "--categorical", "brnd", "-o", "x.swaprank", folder=folder)
    assert failed.code == 2
    assert "--categorical: no feature 'brnd'; did you mean 'brand'?" in failed.err
    failed = here("train", "train.csv", "--categorical", "brand,shp", "-o", "x.swaprank", folder=folder)
    assert "--categorical: no feature 'shp'; did you mean 'shop'?" in failed.err
    refused = here("train", "train.csv", "--categorical", "brand", "--ranker", "ranknet", "-o", "x", folder=folder)
    assert "RankNet learns from numbers, but the feature 'brand' is categorical" in refused.err
