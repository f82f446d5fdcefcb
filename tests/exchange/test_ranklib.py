"""RankLib's files: written for Elasticsearch LTR, and read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.exchange.export import export
from swaprank.exchange.exported import Export
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.to_ranklib import content
from swaprank.exchange.tree_building import PeerTree, build_forest
from swaprank.models.forest import Forest
from swaprank.models.served import Trees
from tests.exchange import ltr_rules, ranklib_rules
from tests.exchange.damaged_files import outcomes
from tests.exchange.fitted_models import NAMES, documents, fitted, without_missing
from tests.exchange.orders import assert_same, largest_sum
from tests.exchange.ranklib_models import DOCUMENTS, RECORDED
from tests.exchange.ranklib_seeds import PLAIN_SEEDS, ensemble, ranklib_seeds
from tests.models.random_forests import random_documents, random_forest

HELD = ("trees", "one leaf", "sum of trees", "linear", "smoothrank", "linear net", "sum of linear models")
LEAF = "<split><output>1</output></split>"


def exported(ranker: str, folder: Path, **options: Any) -> str:
    fitted(ranker).export(folder / "model.xml", "ranklib", **{"missing": "zero", **options})
    return (folder / "model.xml").read_text()


def written(forest: Forest) -> str:
    names = tuple(f"f{at}" for at in range(forest.n_features))
    return content(Export("ranklib", Trees(forest), names, {}, "m", "zero", False, None)).decode()


def read(folder: Path, text: str | bytes) -> Forest:
    (folder / "model.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    found = read_peer(folder / "model.txt").model
    assert isinstance(found, Forest)
    return found


def chain(n_nodes: int) -> Forest:
    """A tree of one node per level."""
    left, right = [*range(1, n_nodes), ~0], [~(n_nodes - at) for at in range(n_nodes)]
    limits = [float(n_nodes - at) for at in range(n_nodes)]
    values = [float(value) for value in range(n_nodes + 1)]
    return build_forest([PeerTree([0] * n_nodes, limits, [True] * n_nodes, left, right, values)], n_features=1)


@pytest.mark.parametrize("name", HELD)
def test_scores_are_ours_to_single_precision(name: str, tmp_path: Path) -> None:
    X = without_missing(documents(name))
    assert_same(ranklib_rules.scores(exported(name, tmp_path), X), fitted(name).predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["trees", "sum of trees", "one leaf"])
def test_what_is_written_is_read_again(name: str, tmp_path: Path) -> None:
    X = without_missing(documents(name))
    model = read(tmp_path, exported(name, tmp_path))
    assert_same(model.score(X[:, : model.n_features]), fitted(name).predict(X))
    (tmp_path / "again.txt").write_text(text := written(model))
    assert (read(tmp_path, text).score(X[:, : model.n_features]) == model.score(X[:, : model.n_features])).all()


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_leaves=st.lists(st.integers(1, 12), max_size=5))
def test_random_forests(seed: int, n_leaves: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n_leaves, set_share=0.0)
    X = random_documents(rng, 30)
    text = written(forest)
    as_zero = np.where(np.isnan(X), np.float32(0), X)
    assert_same(ranklib_rules.scores(text, X), forest.score(as_zero), largest=largest_sum(forest))
    model = read(tmp_path_factory.mktemp("ranklib"), text)
    # A missing value is 0 in models of RankLib.
    assert_same(model.score(X[:, : model.n_features]), forest.score(as_zero), largest=largest_sum(forest))


def test_features_have_their_place_in_the_feature_set(tmp_path: Path) -> None:
    X = without_missing(documents("trees"))
    names = ["other", *reversed(NAMES), "last"]
    text = exported("trees", tmp_path, features=names)
    wide = np.column_stack((np.full(len(X), np.nan), X[:, ::-1], np.full(len(X), np.nan))).astype(np.float32)
    assert_same(ranklib_rules.scores(text, wide), fitted("trees").predict(X))


def test_the_request_for_a_stored_feature_set(tmp_path: Path) -> None:
    text = exported("trees", tmp_path)
    body = exported("trees", tmp_path, request=True, name="shop", features=list(NAMES)).encode()
    assert ltr_rules.created_model(body, "model/ranklib") == ("shop", text)


def test_the_request_with_the_definitions_of_features(tmp_path: Path) -> None:
    features = [
        {"name": name, "params": ["keywords"], "template": {"match": {"title": "{{keywords}}"}}} for name in NAMES
    ]
    given = {"featureset": {"name": "shop_features", "features": features}}
    body = exported("linear", tmp_path, request=True, features=given).encode()
    name, stored, definition = ltr_rules.put_model(body, "model/ranklib")
    assert (name, stored["name"], stored["features"]) == ("model", "shop_features", features)
    assert definition.startswith("## Linear Regression\n0:0.0 1:")


def test_missing_values_are_refused_or_warned_about(tmp_path: Path) -> None:
    with pytest.raises(
        sr.errors.ExportError, match=r"RankLib reads them as 0.*The format xgboost\+json keeps where they go\."
    ):
        exported("trees of missing values", tmp_path, missing="refuse")
    with pytest.warns(sr.errors.ExportWarning, match="RankLib reads a missing value as 0") as caught:
        fitted("linear").export(tmp_path / "model.xml", "ranklib")
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("trees of categories", "ranklib compares numbers only, but the trees have sets of categories of 'price'"),
        ("net", "ranklib holds only trees and linear models; found a net of 2 hidden layers. Use solr, onnx or c"),
        ("kernel machine", "found a kernel machine"),
        ("stack of everything", "found an ensemble of trees and a linear model"),
    ],
)
def test_what_it_cannot_hold(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ExportError, match=message):
        exported(name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_deep_trees_are_refused_in_writing_and_read_at_any_depth(tmp_path: Path) -> None:
    assert ranklib_rules.scores(written(chain(190)), np.array([[0.5]], np.float32)).tolist() == [0.0]
    with pytest.raises(sr.errors.ExportError, match=r"tree 0 has 5,000\. Train with max_depth=190"):
        written(chain(5000))
    depth = 5000
    start = "<split><feature>1</feature><threshold>0</threshold>"
    xml = start + f'<split pos="left">{start.removeprefix("<split>")}' * depth
    xml += f'<split pos="left">{LEAF.removeprefix("<split>")}' + f'<split pos="right">{LEAF.removeprefix("<split>")}'
    xml += f'</split><split pos="right">{LEAF.removeprefix("<split>")}' * depth + "</split>"
    model = read(tmp_path, f"## MART\n{ensemble(xml, weight='2')}")
    assert model.score(np.array([[0.5]], np.float32)).tolist() == [2.0]
    assert len(model.feature) == depth + 1


def test_very_large_leaf_values_are_refused() -> None:
    forest = build_forest([PeerTree([0], [0.5], [True], [~0], [~1], [1e39, 0.0])], n_features=1)
    with pytest.raises(sr.errors.ExportError, match="single precision, in which these scores may be infinite"):
        written(forest)


def test_files_of_ranklib_score_by_its_rules(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50, 12)).astype(np.float32)
    X[::7, 2] = np.float32(-0.25)
    X[::5, 0] = np.nan
    for seed in ranklib_seeds():
        model = read(tmp_path, seed)
        assert model.n_features == 12
        assert_same(model.score(X), ranklib_rules.scores(seed.decode(), X))
    lambdamart, _, forest = (read(tmp_path, seed) for seed in ranklib_seeds())
    assert (lambdamart.n_trees, forest.n_trees) == (3, 3)


def test_a_peer_of_ranklib_is_a_ranker(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_bytes(ranklib_seeds()[1])
    ranker = sr.import_model(tmp_path / "model.txt", feature_names=[f"f{at}" for at in range(12)])
    assert (ranker.library_, ranker.model_.n_features) == ("RankLib", 12)
    ranker.export(tmp_path / "again.xml", "ranklib")
    X = np.random.default_rng(0).normal(size=(20, 12)).astype(np.float32)
    assert_same(ranklib_rules.scores((tmp_path / "again.xml").read_text(), X), ranker.predict(X))


@pytest.mark.parametrize("kind", RECORDED)
def test_models_without_trees_have_the_scores_that_ranklib_gave(kind: str, tmp_path: Path) -> None:
    text, scores = RECORDED[kind]
    (tmp_path / "model.txt").write_text(text)
    ranker = sr.import_model(tmp_path / "model.txt", feature_names=["a", "b", "c"])
    X = np.array(DOCUMENTS, np.float32)
    np.testing.assert_allclose(ranker.predict(X), scores, rtol=1e-14)
    np.testing.assert_array_equal(sr.Scorer(ranker).predict(X), ranker.predict(X))
    X[0, :] = np.nan
    zero = np.nan_to_num(X)
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(zero))
    ranker.export(tmp_path / "again.txt", to="ranklib")
    assert_same(sr.import_model(tmp_path / "again.txt", feature_names=["a", "b", "c"]).predict(X), ranker.predict(X))


def test_a_linear_model_does_all_that_trees_do_but_what_needs_trees(tmp_path: Path) -> None:
    (tmp_path / "model.txt").write_text(RECORDED["Linear Regression"][0])
    ranker = sr.import_model(tmp_path / "model.txt", feature_names=["a", "b", "c", "d"])
    assert ranker.size_ == "4 weights of RankLib"
    ranker.save(tmp_path / "model.swaprank")
    again = sr.load(tmp_path / "model.swaprank")
    rng = np.random.default_rng(0)
    data = sr.Dataset(
        rng.normal(size=(60, 4)), rng.integers(0, 3, 60), qid=np.arange(60) // 10, feature_names=list("abcd")
    )
    np.testing.assert_array_equal(again.predict(data), ranker.predict(data))
    np.testing.assert_allclose(again.contributions(data).sum(axis=1), ranker.predict(data))
    more = sr.LambdaMART(n_trees=2, base_ranker=again).fit(data)
    assert more.size_ == "4 weights plus 2 trees"
    for call in (ranker.to_text, ranker.importances, lambda: ranker.apply(data), lambda: ranker.n_trees_):
        with pytest.raises(sr.errors.ParameterError, match="the model has no trees, but 4 weights"):
            call()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## RankNet\n1 2\n", "it is a RankLib model of the kind 'RankNet', which is not one of LambdaMART, MART"),
        ("## Coordinate Ascent\n1:0.5 2:x", "the weight 'x'"),
        ("## Coordinate Ascent\n0:0.5 2:1", "the feature '0'"),
        ("## AdaRank\n", "it has no weights"),
        ("## Linear Regression\n0:0.5 1:1e307", "its weights are so large"),
        ("## RankBoost\n1:0.5", "the weight ''"),
        ("## LambdaMART\n", "it has no <ensemble> of trees"),
        (f"## MART\n{ensemble(LEAF)}{ensemble(LEAF)}", "it has 2 ensembles, but only random forests"),
        (f"## MART\n{ensemble(LEAF)[:-20]}", "its XML is damaged"),
        (f"## MART\n{ensemble(LEAF, weight='heavy')}", "the weight 'heavy', which is not a number"),
        (f"## MART\n{ensemble(LEAF.replace('1', 'NaN'))}", "the output 'NaN'"),
        (f"## MART\n{ensemble(LEAF.replace('1', '1_0'))}", "the output '1_0'"),
        (f"## MART\n{ensemble(LEAF.replace('1', '1e99'))}", "leaf_value|too large|out of range"),
        (f"## MART\n{ensemble(LEAF.replace('output', 'input'))}", "<input> in a split, which RankLib does not write"),
        ("## MART\n<ensemble><tree weight='1'><split/></tree></ensemble>", "a split that ends too early"),
        ("## MART\n<ensemble><tree weight='1'></tree></ensemble>", "a tree that ends too early"),
        ("## MART\n<!DOCTYPE a [<!ENTITY b 'c'>]><ensemble/>", "its XML is damaged"),
        (ranklib_seeds()[1].decode().replace('pos="left"', 'pos="right"'), "the right side of a split before the left"),
        (ranklib_seeds()[1].decode().replace(">12<", ">0<"), "the feature '0': features have numbers from 1"),
        (ranklib_seeds()[1].decode().replace(">12<", ">99999999<"), "features have numbers from 1 to 1,000,000"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(sr.errors.ModelFileError, match=message):
        read(tmp_path, text)


def test_damaged_files_give_an_error_or_a_safe_model(tmp_path: Path) -> None:
    assert min(outcomes([*ranklib_seeds(), *PLAIN_SEEDS], tmp_path, printable=True).values()) > 10


def test_a_forest_without_trees_is_its_base_score(tmp_path: Path) -> None:
    empty = random_forest(np.random.default_rng(0), [])
    export(empty, [f"f{at}" for at in range(5)], {}, tmp_path / "model.xml", "ranklib")
    X = np.zeros((3, 5), np.float32)
    assert_same(ranklib_rules.scores((tmp_path / "model.xml").read_text(), X), empty.score(X))


def test_engines_are_names_of_the_format(tmp_path: Path) -> None:
    (data,) = sr.datasets.random_net((10,), n_features=3, random_state=0)
    ranker = sr.LambdaMART(n_trees=2).fit(data)
    for to in ("ranklib", "elasticsearch", "opensearch"):
        ranker.export(tmp_path / to, to, name="m")
    assert len({(tmp_path / to).read_bytes() for to in ("ranklib", "elasticsearch", "opensearch")}) == 1
