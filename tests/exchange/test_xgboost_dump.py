"""XGBoost's dump for Elasticsearch LTR and OpenSearch LTR."""

import json
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.exchange.exported import Export
from swaprank.exchange.to_xgboost_dump import content
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import Forest
from swaprank.models.served import Trees
from tests.exchange import ltr_rules
from tests.exchange.fitted_models import NAMES, documents, fitted
from tests.exchange.orders import assert_same, largest_sum
from tests.exchange.test_ranklib import chain
from tests.models.random_forests import random_documents, random_forest

HELD = ("trees", "one leaf", "trees of missing values", "sum of trees")


def exported(ranker: str, folder: Path, **options: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.ExportWarning)
        fitted(ranker).export(folder / "model.json", "xgboost+json", **options)
    return (folder / "model.json").read_text()


def written(forest: Forest, names: tuple[str, ...] = ("a",), missing: Literal["refuse", "zero"] = "zero") -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.ExportWarning)
        return content(Export("xgboost+json", Trees(forest), names, {}, "m", missing, False, None)).decode()


@pytest.mark.parametrize("name", HELD)
def test_scores_are_ours_to_single_precision_also_of_missing_values(name: str, tmp_path: Path) -> None:
    X = documents(name)
    assert_same(ltr_rules.scores(exported(name, tmp_path), NAMES, X), fitted(name).predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("version", ["by node", "zero"])
def test_zero_for_missing_values_holds_in_all_versions(name: str, version: ltr_rules.Missing, tmp_path: Path) -> None:
    X = documents(name)
    found = ltr_rules.scores(exported(name, tmp_path, missing="zero"), NAMES, X, version)
    assert_same(found, fitted(name).predict(np.where(np.isnan(X), np.float32(0), X)))


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_leaves=st.lists(st.integers(1, 12), max_size=5))
def test_random_forests(seed: int, n_leaves: list[int]) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_leaves, set_share=0.0)
    names = ('"quoted"', "two words", "ü", "\\", "a")
    X = random_documents(rng, 30)
    assert_same(
        ltr_rules.scores(written(forest, names, "refuse"), names, X), forest.score(X), largest=largest_sum(forest)
    )


def test_extreme_thresholds() -> None:
    largest = float(np.finfo(np.float32).max)
    limits = [largest, -largest, 0.0, -0.0, 1e-45, -1e-45]
    X = np.array([[limit] for limit in (*limits, 1e-40, -1e-40, 1.0, -1.0, np.inf, -np.inf)], np.float32)
    for limit in limits:
        forest = build_forest([PeerTree([0], [limit], [True], [~0], [~1], [1.0, 2.0])], n_features=1)
        assert (ltr_rules.scores(written(forest), ["a"], X) == forest.score(X)).all()


def test_the_version_of_the_target_is_warned_about_if_it_matters(tmp_path: Path) -> None:
    message = "a missing value of 'bm25' and . more for 0. Elasticsearch LTR before 1.5.9 and OpenSearch LTR before 3.8"
    ranker = fitted("trees of missing values")
    with pytest.warns(sr.errors.ExportWarning, match=message) as caught:
        ranker.export(tmp_path / "model.json", "xgboost+json")
    assert caught[0].filename == __file__
    ranker.export(tmp_path / "model.json", "xgboost+json", missing="zero")
    fitted("trees").export(tmp_path / "model.json", "xgboost+json")


def test_the_request(tmp_path: Path) -> None:
    text = exported("trees", tmp_path)
    body = exported("trees", tmp_path, request=True, name="shop").encode()
    assert ltr_rules.created_model(body, "model/xgboost+json") == ("shop", text)
    features = [{"name": name, "template": {"match_all": {}}} for name in ("extra", *NAMES)]
    body = exported("trees", tmp_path, request=True, features=features).encode()
    name, stored, definition = ltr_rules.put_model(body, "model/xgboost+json")
    assert (name, stored, definition) == ("model", {"name": "model", "features": features}, text)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trees of categories", r"xgboost\+json compares numbers only, but the trees have sets of categories"),
        ("linear", r"holds only trees; found a linear model. Use ranklib for a linear model"),
        ("net", "found a net of 2 hidden layers"),
    ],
)
def test_what_it_cannot_hold(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match=message):
        exported(name, tmp_path)


def test_deep_trees() -> None:
    X = np.array([[0.5], [3.5], [1000.0]], np.float32)
    deep = chain(300)
    assert (ltr_rules.scores(written(deep), ["a"], X) == deep.score(X)).all()
    # The limit of the JSON library that reads it.
    assert 900 < _deepest_nesting(written(chain(490))) < 1000
    with pytest.raises(sr.errors.ExportError, match="a depth of 490; tree 0 has 5,000"):
        written(chain(5000))


def _deepest_nesting(text: str) -> int:
    return int(np.cumsum([{"{": 1, "[": 1, "}": -1, "]": -1}.get(letter, 0) for letter in text]).max())


def test_depths_and_numbers_of_nodes() -> None:
    (tree,) = json.loads(written(chain(2)))
    inner = tree["children"][0]
    assert (tree["nodeid"], tree["depth"], inner["nodeid"], inner["depth"]) == (0, 0, 1, 1)
    assert sorted(leaf["nodeid"] for leaf in (tree["children"][1], *inner["children"])) == [2, 3, 4]
