"""A model file with a right checksum and wrong content is refused when it is loaded, and not when it is used."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.model_files.container import ModelContent, write_model
from swaprank.model_files.plain_json import plain_values
from swaprank.rankers.saving import content_of

Content = tuple[dict[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def contents() -> dict[str, ModelContent]:
    train, vali = sr.datasets.random_net((30, 20), n_features=4, random_state=0)
    trees = sr.LambdaMART(n_trees=3, n_leaves=4).fit(train, valid=vali)
    linear = sr.LinearRegressionRanker().fit(train)
    shops = sr.Dataset([[7], [12], [7], [3]], [0, 1, 1, 2], qid=[1, 1, 2, 2], categorical_features=["1"])
    net = sr.RankNet(hidden=(3,), n_epochs=2).fit(train)
    new_shops = sr.Dataset([[5], [12], [7], [3]], [0, 1, 1, 2], qid=[1, 1, 2, 2], categorical_features=["1"])
    rankers = {
        "trees": trees,
        "shops": sr.MART(n_trees=1).fit(shops),
        "linear": linear,
        "net": net,
        "kernel": sr.SmoothRank(features="kernel_pca", n_landmarks=10, max_iterations=3).fit(train),
        "both": sr.combine(trees, linear, vali),
        "other shops": sr.combine(sr.MART(n_trees=1).fit(shops), sr.MART(n_trees=1).fit(new_shops), shops),
        "stacked": sr.stack([trees, linear, net], vali, n_epochs=2),
    }
    written = {name: content_of(ranker) for name, ranker in rankers.items()}
    return {name: content._replace(meta=plain_values(content.meta)) for name, content in written.items()}


def set_to(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one value, such as "meta/n_rounds" or "arrays/leaf_value/2"."""

    def change(content: dict[str, Any]) -> None:
        *outer, last = path.replace("//", "\0").split("/")
        at: Any = content
        for key in outer:
            at = at[int(key) if isinstance(at, list | np.ndarray) else key.replace("\0", "/")]
        at[int(last) if isinstance(at, list | np.ndarray) else last.replace("\0", "/")] = value

    return change


WRONG = [
    (
        "trees",
        "meta/parameters/n_trees",
        "many",
        "n_trees must be a whole number from 0 to 1e.07, or None; found 'many'",
    ),
    ("trees", "meta/parameters/n_trees", -1, "n_trees must be"),
    ("trees", "meta/parameters/learning_rate", 10**400, "learning_rate must be"),
    ("trees", "meta/parameters/metric", 17, "17 is not the name of a metric"),
    ("trees", "meta/parameters/metric", "ndgc", "there is no metric 'ndgc'"),
    ("trees", "meta/parameters/objective", 17, "there is no objective '17'"),
    ("trees", "meta/parameters/normalize", "yes", "normalize must be True or False"),
    ("trees", "meta/parameters/n_roots", 2, "n_roots"),
    ("trees", "meta/parameters", [], "not valid"),
    ("shops", "meta/categories", [], "its categories are not those of features"),
    ("shops", "meta/categories/2", ["7"], "categories or missing values of a feature '2', which it does not have"),
    ("shops", "meta/categories/1", "7", "its categories of '1' are not a list of text"),
    ("shops", "meta/categories/1/0", 7, "its categories of '1' are not a list of text"),
    ("shops", "meta/categories/1/0", "7", "it has a category of '1' twice"),
    ("other shops", "arrays/1//codes//0", np.array([0.5], np.float32), "codes of categories that are not whole"),
    ("other shops", "arrays/1//codes//0", np.array([-1], np.float32), "codes of categories that are not whole"),
    ("other shops", "arrays/1//codes//0", np.array([1]), "codes of categories that are not whole"),
    ("other shops", "arrays/1//codes//7", np.array([1], np.float32), "codes of a feature 7, which it does not have"),
    ("net", "meta/categories", {"1": ["7"]}, "its categories are not those of the features of a ranknet"),
    ("trees", "meta/sigma", 0, "sigma must be a number above 0"),
    ("trees", "meta/sigma", float("nan"), "sigma must be"),
    ("trees", "meta/best_round", 1.5, "a number of rounds must be a whole number"),
    ("trees", "meta/n_rounds", float("inf"), "a number of rounds must be"),
    ("trees", "meta/seed", "x", "its seed must be a whole number"),
    ("trees", "meta/missing_features", ["a"], "missing values of a feature 'a', which it does not have"),
    ("trees", "meta/seen", {}, "what it says that training has seen is not made of counts and cuts"),
    ("trees", "meta/seen/0", 0, "training has seen no documents"),
    ("trees", "meta/seen/1", 7, "not made of counts and cuts"),
    ("trees", "meta/seen/2", [], "counts of 0 features, but the model has 4"),
    ("trees", "meta/seen/2/0/1/0", -1, "not made of counts and cuts"),
    ("trees", "meta/seen/2/0/2/1", float("nan"), "not made of counts and cuts"),
    ("trees", "meta/seen/2/0/2/0", 1e30, "not made of counts and cuts"),
    ("trees", "meta/seen/3/3", True, "not made of counts and cuts"),
    ("trees", "meta/calibration", {}, "its calibration is not a rising function of the scores"),
    ("trees", "meta/calibration", ["platt", "label", 1, 0, 1, [-1], [0], 3], "not a rising function"),
    ("trees", "meta/calibration", ["isotonic", "label", 1, 0, 1, [1, 2], [0.5, 0.4], 3], "not a rising function"),
    ("trees", "meta/calibration", ["isotonic", "label", 1, 0, 1, [1, 2], [0.5, 1.4], 3], "not a rising function"),
    ("trees", "meta/calibration", ["isotonic", "odds", 1, 0, 1, [1, 2], [0.5, 0.6], 3], "not a rising function"),
    ("trees", "meta/calibration", ["platt", "label", 1, 0, 1, [float("inf")], [0], 3], "not a rising function"),
    ("shops", "meta/seen/2/0/2/0", 99, "its counts of '1' have a category that the feature does not have"),
    ("shops", "meta/seen/2/0", [0, [4], [], 0, 0, None, None], "its counts of '1' are not those of categories"),
    ("both", "arrays/center/0", float("nan"), "center"),
    ("trees", "meta/interrupted", 1, "interrupted must be true or false"),
    ("trees", "meta/history/valid/ndcg@10/0", "high", "its history has 'high' where a number is expected"),
    ("trees", "meta/history", {"valid": 3}, "not valid"),
    ("trees", "meta/feature_names", "abcd", "not a list of text"),
    ("trees", "meta/feature_names", ["a", "b", "c"], "3 feature names, but the model has 4 features"),
    ("trees", "meta/feature_names", ["a", "b", "c", "a"], "a feature name twice"),
    ("trees", "meta/feature_names/1", None, "not a list of text"),
    ("trees", "meta/model/base_score", 1e308, "the leaf values of the forest are too large"),
    ("trees", "meta/model/n_features", 10**9, "feature names"),
    ("trees", "arrays/leaf_value/2", 1e308, "the leaf values of the forest are too large"),
    ("trees", "arrays/leaf_value/2", np.nan, r"leaf_value\[2\] is nan"),
    ("trees", "arrays/threshold/0", np.inf, r"threshold\[0\] is inf"),
    ("trees", "arrays/gain/0", 1e308, "the gains of the forest are too large"),
    ("trees", "arrays/feature/0", 4, r"feature\[0\] is 4"),
    ("trees", "arrays/left/0", 0, r"left\[0\] is 0: neither a later node nor a leaf"),
    ("trees", "arrays/right/1", 77, r"right\[1\] is 77"),
    ("trees", "arrays/feature", np.zeros(9, np.int64), "feature must be int32"),
    ("linear", "arrays/weights/0", 1e308, "weights are so large"),
    ("linear", "arrays/weights/0", np.inf, "not finite"),
    ("linear", "arrays/missing", np.full(4, 1e300), "values of missing in float32; found float64"),
    ("linear", "arrays/weights", np.ones(4, np.float32), "values of weights in float64; found float32"),
    ("linear", "meta/parameters/target", "x", "there is no target 'x'"),
    ("linear", "meta/parameters/regularization", -3.0, "regularization"),
    ("linear", "meta/found/regularization", {}, "not valid"),
    ("net", "arrays/weights/0", np.nan, "weights that is not finite"),
    ("net", "arrays/missing/0", 3e38, "missing values"),
    ("net", "meta/model/sizes", [4, 10**9, 1], "its net needs"),
    ("net", "meta/model/activation", "step", "activation 'step'"),
    ("net", "meta/parameters/activation", 3, "there is no activation '3'"),
    ("net", "meta/parameters/training", "slow", "there is no training 'slow'"),
    ("net", "meta/parameters/log_features", "all", "log_features must be"),
    ("net", "meta/parameters/hidden", 3, "hidden must be a tuple"),
    ("kernel", "meta/model/gamma", float("inf"), "gamma=inf"),
    ("kernel", "meta/model/degree", 10**6, "degree=1000000"),
    ("kernel", "arrays/landmarks/0/0", np.nan, "landmarks"),
    ("kernel", "arrays/weights/0", 1e300, "weights are so large"),
    ("kernel", "meta/parameters/kernel", None, "there is no kernel 'None'"),
    ("both", "arrays/spread/0", 0.0, "above 0"),
    ("both", "arrays/center", np.zeros(2, np.float32), "values of center"),
    ("both", "meta/found/alpha", float("nan"), "alpha is nan"),
    ("both", "arrays/0//leaf_value/0", -1e308, "the leaf values of the forest are too large"),
    ("stacked", "meta/found/members/0/parameters", 3, "not valid"),
]


@pytest.mark.parametrize(("whose", "path", "value", "message"), WRONG)
def test_wrong_values_are_refused(
    whose: str, path: str, value: Any, message: str, contents: dict[str, ModelContent], tmp_path: Path
) -> None:
    content = copy.deepcopy(contents[whose])
    set_to(path, value)(content._asdict())
    file = tmp_path / "model.swaprank"
    write_model(file, content.kind, content.meta, content.arrays)
    with pytest.raises(sr.errors.ModelFileError, match=message) as caught:
        sr.load(file)
    assert str(caught.value).startswith(f"{file}: ")


def test_unchanged_contents_are_accepted(contents: dict[str, ModelContent], tmp_path: Path) -> None:
    for name, content in contents.items():
        write_model(tmp_path / name, content.kind, content.meta, content.arrays)
        assert sr.load(tmp_path / name).n_features_in_ == (1 if "shops" in name else 4)


@pytest.mark.parametrize(
    ("ranker", "model", "message"),
    [
        ("trees", "linear", "which is no model of a lambdamart"),
        ("linear", "net", "which is no model of a linear_regression"),
        ("both", "stacked", "a combination has two members; found 3"),
        ("kernel", "both", "which is no model of a smoothrank"),
        ("net", "trees", "which is no model of a ranknet"),
    ],
)
def test_the_model_of_another_ranker_is_refused(
    ranker: str, model: str, message: str, contents: dict[str, ModelContent], tmp_path: Path
) -> None:
    own, other = contents[ranker], contents[model]
    file = tmp_path / "model.swaprank"
    write_model(file, own.kind, {**own.meta, "model": other.meta["model"]}, other.arrays)
    with pytest.raises(sr.errors.ModelFileError, match=message):
        sr.load(file)


def test_models_with_own_metrics_and_objectives_are_accepted(tmp_path: Path) -> None:
    (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    ranker = sr.LambdaMART(objective=sr.objectives.RankNetObjective(2.0), n_trees=2).fit(train)
    ranker.save(tmp_path / "own")
    assert (sr.load(tmp_path / "own").predict(train) == ranker.predict(train)).all()
