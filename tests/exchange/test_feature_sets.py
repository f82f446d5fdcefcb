"""The features of a target: names from lists, text and JSON, matched with those of the model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.exchange.feature_sets import feature_set, renamed

ELASTICSEARCH = {
    "featureset": {"name": "shop", "features": [{"name": "bm25", "params": [], "template": {}}, {"name": "age"}]}
}
SOLR = [{"name": "bm25", "class": "org.apache.solr.ltr.feature.SolrFeature", "params": {}}, {"name": "age"}]


@pytest.mark.parametrize("given", [ELASTICSEARCH, SOLR, {"features": ["bm25", "age"]}, ["bm25", "age"]])
def test_names_from_values_and_from_files_are_the_same(given: Any, tmp_path: Path) -> None:
    file = tmp_path / "features.json"
    file.write_text(json.dumps(given))
    for found in (feature_set(given), feature_set(file), feature_set(str(file))):
        assert found is not None
        assert found.names == ("bm25", "age")
        has_definitions = given in (ELASTICSEARCH, SOLR)
        assert (found.definitions is not None) == has_definitions


def test_names_from_text(tmp_path: Path) -> None:
    file = tmp_path / "features.txt"
    file.write_text("bm25\n title match \n\n")
    found = feature_set(file)
    assert found is not None
    assert found.names == ("bm25", "title match")


def test_a_model_takes_its_features_wherever_they_are() -> None:
    found = feature_set(["price", "bm25", "age"])
    assert found is not None
    assert found.columns_of(["age", "price"]).tolist() == [2, 0]
    assert found.columns_of(["1", "2", "3"]).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "wanted", "message"),
    [
        (["bm25", "bm25"], ["bm25"], "the name 'bm25' twice"),
        (["bm25", "ages"], ["age"], r"no feature 'age', which the model has; did you mean 'ages'\? If .*rename"),
        (["bm25"], ["1", "2"], r"has 1 features, but the model is expecting 2 .* only numbered: list as many"),
        (["bm25", "age", "price"], ["1", "2"], r"has 3 features, but .* or name them \(rename="),
    ],
)
def test_features_that_do_not_fit(given: list[str], wanted: list[str], message: str) -> None:
    found = feature_set(given)
    assert found is not None
    with pytest.raises(sr.errors.DataError, match=message):
        found.columns_of(wanted)


@pytest.mark.parametrize(
    "content", ['{"features": [{"title": "x"}]}', '{"features": []}', "[1, 2]", "{", "", "[" * 10**5]
)
def test_files_without_features(content: str, tmp_path: Path) -> None:
    file = tmp_path / "features.json"
    file.write_text(content)
    with pytest.raises(sr.errors.DataError, match=r"features\.json"):
        feature_set(file)


@pytest.mark.parametrize("given", [[], [1], 5, [{"name": "a"}, "b"]])
def test_values_that_are_no_features(given: Any) -> None:
    with pytest.raises((sr.errors.SwaprankError, TypeError)):
        feature_set(given)


def test_renaming() -> None:
    with pytest.raises(sr.errors.DataError, match="the model has no feature 'bm52'; did you mean 'bm25'"):
        renamed(["bm25"], {}, {"bm52": "x"})
    with pytest.raises(sr.errors.DataError, match="two features would have the same name"):
        renamed(["bm25", "age"], {}, {"age": "bm25"})


def test_an_exported_model_takes_the_features_of_the_target(tmp_path: Path) -> None:
    (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    qid = np.repeat(np.arange(20), 50)
    named = sr.Dataset(data.features, data.labels, qid=qid, feature_names=["bm25", "age", "clicks"])
    ranker = sr.MART(n_trees=3, n_leaves=4).fit(named)
    file = tmp_path / "model.txt"
    ranker.export(file, "lightgbm", features=["price", "visits", "bm25", "age"], rename={"clicks": "visits"})
    again = sr.import_model(file)
    assert again.feature_names_in_.tolist() == ["price", "visits", "bm25", "age"]
    X = np.column_stack((np.full(len(data), np.nan), data.features[:, [2, 0, 1]]))
    assert (again.predict(X) == ranker.predict(data)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"to": "lightgmb"}, "there is no format 'lightgmb'; did you mean 'lightgbm'"),
        ({"to": "lightgbm", "missing": "one"}, "missing must be 'refuse' or 'zero'; found 'one'"),
        ({"to": "lightgbm", "features": ["a"]}, "1 features, but the model is expecting 2"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    (data,) = sr.datasets.random_net((10,), n_features=2, random_state=0)
    with pytest.raises(sr.errors.SwaprankError, match=message):
        sr.MART(n_trees=1).fit(data).export(tmp_path / "model", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("file", "to"), [("m.onnx", "onnx"), ("m.C", "c"), ("m.xml", "elasticsearch"), ("m.txt", "lightgbm")]
)
def test_the_ending_says_the_format(file: str, to: str, tmp_path: Path) -> None:
    (train,) = sr.datasets.random_net((10,), n_features=3, random_state=0)
    ranker = sr.LambdaMART(n_trees=2).fit(train)
    ranker.export(tmp_path / file, name="m", missing="zero")
    ranker.export(tmp_path / "given", to=to, name="m", missing="zero")
    assert (tmp_path / file).read_bytes() == (tmp_path / "given").read_bytes()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("m.json", r"with the ending '.json' are xgboost, xgboost\+json, solr, vespa: give to='xgboost'"),
        ("m.model", "no format has files with the ending '.model': give to='onnx'"),
    ],
)
def test_an_ending_that_says_no_format(file: str, message: str, tmp_path: Path) -> None:
    (train,) = sr.datasets.random_net((10,), n_features=3, random_state=0)
    with pytest.raises(sr.errors.ParameterError, match=message):
        sr.LambdaMART(n_trees=2).fit(train).export(tmp_path / file)
