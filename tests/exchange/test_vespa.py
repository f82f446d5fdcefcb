"""LightGBM's JSON for Vespa."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Features
from swaprank.exchange.exported import Export
from swaprank.exchange.to_vespa import content
from swaprank.models.forest import Forest
from swaprank.models.served import Trees
from tests.exchange import vespa_rules
from tests.exchange.fitted_models import NAMES, TREE_RANKERS, documents, fitted
from tests.exchange.orders import assert_same, largest_sum
from tests.exchange.test_ranklib import chain
from tests.models.random_forests import random_documents, random_forest

RENAMED = {"title match": "fieldMatch(title).completeness", "age": "attribute(age)"}
RANK_FEATURES = [RENAMED.get(name, name) for name in NAMES]


def exported(ranker: str, folder: Path, **options: Any) -> bytes:
    fitted(ranker).export(folder / "model.json", "vespa", **{"rename": RENAMED, **options})
    return (folder / "model.json").read_bytes()


def named_documents(ranker: str, X: Features) -> list[dict[str, Any]]:
    """Categories as what they stand for: here whole numbers."""
    categorical = {RENAMED.get(name, name): found for name, found in fitted(ranker).categories_.items()}
    return [
        {
            name: float(value) if name not in categorical or np.isnan(value) else int(categorical[name][int(value)])
            for name, value in zip(RANK_FEATURES, x, strict=True)
        }
        for x in X
    ]


@pytest.mark.parametrize("name", TREE_RANKERS)
def test_scores_are_ours(name: str, tmp_path: Path) -> None:
    X = documents(name)
    body, rows = exported(name, tmp_path), named_documents(name, as_codes(name, X))
    own = fitted(name).predict(X)
    assert_same(vespa_rules.scores(body, rows, is_fast=False), own, tolerance=1e-15)
    assert_same(vespa_rules.scores(body, rows, is_fast=True), own)


def as_codes(name: str, X: Features) -> Features:
    """Documents of a ranker with the codes of its own categories, which are sorted as text."""
    X = X.copy()
    for at, feature in enumerate(NAMES):
        if feature in fitted(name).categories_:
            place = {text: code for code, text in enumerate(fitted(name).categories_[feature])}
            X[:, at] = [np.nan if np.isnan(x) else place[str(int(x))] for x in X[:, at]]
    return X


def test_categories_of_text_new_ones_and_missing_ones(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(5, size=600)
    brands = np.array(["adidas", "nike", "new balance", "puma", None], object)[codes]
    table = np.column_stack((brands, rng.normal(size=600)))
    labels, qid = codes % 3 + rng.integers(0, 2, 600), np.repeat(np.arange(60), 10)
    names = ["brand", "attribute(price)"]
    train = sr.Dataset(table, labels, qid=qid, feature_names=names, categorical_features=["brand"])
    ranker = sr.LambdaMART(n_trees=5, n_leaves=6, min_docs_in_leaf=5).fit(train)
    ranker.export(tmp_path / "model.json", "vespa", rename={"brand": "attribute(brand)"})
    asked = ["adidas", "nike", "new balance", "puma", "brooks", None] * 5
    prices = np.linspace(-2, 2, 30)
    own = ranker.predict(np.column_stack((np.array(asked, object), prices)))
    # A string attribute without a value is empty text.
    rows = [
        {"attribute(brand)": brand or "", "attribute(price)": float(np.float32(price))}
        for brand, price in zip(asked, prices, strict=True)
    ]
    assert_same(vespa_rules.scores((tmp_path / "model.json").read_bytes(), rows, is_fast=False), own, tolerance=1e-15)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_leaves=st.lists(st.integers(1, 12), max_size=5))
def test_random_forests_with_sets(seed: int, n_leaves: list[int]) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_leaves)
    X = random_documents(rng, 30)
    body = written(forest)
    rows = [{f"f{at}": float(value) for at, value in enumerate(x)} for x in X]
    # In these forests, a feature has thresholds and sets. A set takes whole numbers, as our own walk does.
    for row, x in zip(rows, X, strict=True):
        row |= {f"f{at}": float(np.floor(v)) for at, v in enumerate(x) if at in forest.feature[forest.n_words > 0]}
    floored = np.array([list(row.values()) for row in rows], np.float32)
    assert_same(vespa_rules.scores(body, rows, is_fast=False), forest.score(floored), 1e-14, largest_sum(forest))


def written(forest: Forest) -> bytes:
    names = tuple(f"f{at}" for at in range(forest.n_features))
    return content(Export("vespa", Trees(forest), names, {}, "m", "refuse", False, None))


def test_zero_for_missing_values(tmp_path: Path) -> None:
    X = documents(name := "trees of missing values")
    body = exported(name, tmp_path, missing="zero")
    own = fitted(name).predict(np.where(np.isnan(X), np.float32(0), X))
    assert_same(vespa_rules.scores(body, named_documents(name, X), is_fast=True), own)


def test_the_keys_that_the_importer_reads(tmp_path: Path) -> None:
    model = json.loads(exported("trees of categories", tmp_path))
    assert model["feature_names"] == RANK_FEATURES
    assert list(model["feature_infos"]) == ["clicks", "price"]
    assert [len(found) for found in model["pandas_categorical"]] == [6, 40]
    node = model["tree_info"][0]["tree_structure"]
    assert node.keys() == {
        *("split_feature", "threshold", "decision_type", "default_left", "missing_type", "left_child", "right_child")
    }


def test_a_rank_profile_that_uses_the_model(tmp_path: Path) -> None:
    profile = exported("trees", tmp_path, request=True, name="shop").decode()
    assert profile.startswith(
        "rank-profile shop inherits default {\n    # Define these functions: bm25, clicks, price\n"
    )
    assert 'expression: lightgbm("shop.json")' in profile
    assert "        fieldMatch(title).completeness\n        attribute(age)\n" in profile
    with pytest.raises(sr.errors.ExportError, match="cannot be the name of a rank profile"):
        exported("trees", tmp_path, request=True, name="my shop")


@pytest.mark.parametrize(
    "name", ["two words", "a+b", "f(x", "if(a,1,2)+g(x)", "1st", "f(g(x))", "größe", 'f("\n")', ""]
)
def test_names_that_are_no_rank_features_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match="vespa reads a feature's name as a rank feature"):
        exported("trees", tmp_path, rename={**RENAMED, "bm25": name})


@pytest.mark.parametrize(
    "name", ["bm25(title)", "attribute(tags,red).weight", 'rankingExpression("my name")', "a_1", "query(x)"]
)
def test_names_of_rank_features(name: str, tmp_path: Path) -> None:
    body = exported("trees", tmp_path, rename={**RENAMED, "bm25": name})
    assert json.loads(body)["feature_names"][0] == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linear", "vespa holds only trees; found a linear model. Use onnx, which Vespa evaluates too"),
        ("net", "a net of 2"),
    ],
)
def test_what_it_cannot_hold(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match=message):
        exported(name, tmp_path)


def test_categories_that_cannot_be_quoted_are_refused() -> None:
    forest = fitted("trees of categories").model_
    assert isinstance(forest, Forest)
    names = tuple(f"f{at}" for at in range(5))
    for odd in ('24" monitor', "back\\slash", "two\nlines"):
        categories = {"f3": (odd, "b", "c", "d", "e", "f")}
        with pytest.raises(sr.errors.ExportError, match="vespa cannot quote the category"):
            content(Export("vespa", Trees(forest), names, categories, "m", "refuse", False, None))


def test_deep_trees() -> None:
    X = [{"f0": 0.5}, {"f0": 3.5}, {"f0": 1000.0}]
    own = chain(200).score(np.array([[0.5], [3.5], [1000.0]], np.float32))
    assert (vespa_rules.scores(written(chain(200)), X, is_fast=True) == own).all()
    with pytest.raises(sr.errors.ExportError, match="a depth of 200; tree 0 has 5,000"):
        written(chain(5000))
