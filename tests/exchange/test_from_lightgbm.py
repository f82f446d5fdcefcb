"""We score LightGBM's models as it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.exchange.from_lightgbm import read
from swaprank.exchange.peer_files import read_peer
from swaprank.exchange.tree_building import PeerTree, build_forest
from tests.exchange.damaged_files import outcomes
from tests.exchange.orders import assert_same
from tests.exchange.peer_seeds import N_DOCUMENTS, N_QUERIES, lightgbm_seeds, peer_data, shop_frame, train_lightgbm

lgb = pytest.importorskip("lightgbm")
TINY = float(np.float32(1e-35))
OPTIONS: dict[str, dict[str, Any]] = {
    "lambdarank": {},
    "rank_xendcg": {"objective": "rank_xendcg"},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "goss": {"data_sample_strategy": "goss"},
    "categories": {"categorical": True},
    "categories one by one": {"categorical": True, "max_cat_to_onehot": 100},
    "NaN is read as 0": {"use_missing": False},
    "monotone": {"objective": "regression", "monotone_constraints": [1, 0, -1, 0, 0, 0]},
    "binary": {"objective": "binary", "y": (peer_data().y > 1).astype(int)},
    "poisson": {"objective": "poisson"},
    "deep": {"num_leaves": 60, "min_data_in_leaf": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_models_of_lightgbm_are_scored_the_same_bit_for_bit(name: str, tmp_path: Path) -> None:
    booster, X = train_lightgbm(**OPTIONS[name]), peer_data().X
    scores = booster.predict(X, raw_score=True)
    booster.save_model(tmp_path / "model.txt")
    for peer in (read_peer(booster), read_peer(str(tmp_path / "model.txt"))):
        np.testing.assert_array_equal(peer.model.score(X), scores)
        np.testing.assert_allclose(peer.model.contributions(X), booster.predict(X, pred_contrib=True), atol=1e-12)
        assert peer.library == "LightGBM"
        assert peer.feature_names is None
        assert peer.objective == OPTIONS[name].get("objective", "lambdarank")
    ranker = sr.import_model(booster)
    np.testing.assert_array_equal(ranker.predict(X), scores)
    ranker.export(tmp_path / "again.txt", to="lightgbm")
    np.testing.assert_array_equal(lgb.Booster(model_file=str(tmp_path / "again.txt")).predict(X), scores)


def test_averaged_trees() -> None:
    booster = train_lightgbm(boosting="rf", bagging_freq=1, bagging_fraction=0.5, objective="regression")
    assert_same(read_peer(booster).model.score(peer_data().X), booster.predict(peer_data().X), 1e-14)


def test_the_best_trees_of_a_model_that_stopped_early() -> None:
    X, y, _ = peer_data()
    groups = [N_DOCUMENTS] * N_QUERIES
    train = lgb.Dataset(X, y, group=groups, free_raw_data=False)
    vali = train.create_valid(X, np.random.default_rng(0).permutation(y), group=groups)
    options = {"objective": "lambdarank", "min_data_in_leaf": 2, "verbosity": -1, "eval_at": [5]}
    stop = [lgb.early_stopping(3, verbose=False)]
    booster = lgb.train(options, train, 30, valid_sets=[vali], callbacks=stop, keep_training_booster=True)
    assert 0 < booster.best_iteration < booster.current_iteration()
    np.testing.assert_array_equal(read_peer(booster).model.score(X), booster.predict(X))


def test_the_ranker_of_lightgbm() -> None:
    X, y, _ = peer_data()
    ranker = lgb.LGBMRanker(n_estimators=5, num_leaves=7, verbosity=-1, n_jobs=1)
    with pytest.raises(sr.errors.ParameterError, match="the LGBMRanker is not fitted"):
        read_peer(ranker)
    with pytest.raises(
        sr.errors.ParameterError, match="a model of LightGBM is a Booster or an LGBMRanker; found Dataset"
    ):
        read_peer(lgb.Dataset(X))
    ranker.fit(X, y, group=[N_DOCUMENTS] * N_QUERIES)
    np.testing.assert_array_equal(read_peer(ranker).model.score(X), ranker.booster_.predict(X))


def stump_text(threshold: float, missing: int, default_left: bool) -> bytes:
    text = lightgbm_stump().decode()
    text = text.replace("threshold=0.5\n", f"threshold={threshold!r}\n")
    return text.replace("decision_type=8\n", f"decision_type={4 * missing + 2 * default_left}\n").encode()


def lightgbm_stump() -> bytes:
    from swaprank.exchange.exported import Export
    from swaprank.exchange.to_lightgbm import content
    from swaprank.models.served import Trees

    forest = build_forest([PeerTree([0], [0.5], [False], [~0], [~1], [1.0, 2.0])], 1)
    return content(Export("lightgbm", Trees(forest), ("a",), {}, "m", "refuse", False, None))


@pytest.mark.parametrize("default_left", [True, False])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_what_is_missing_and_what_is_zero(missing: int, default_left: bool) -> None:
    """All kinds of missing values at thresholds around 0, against LightGBM itself."""
    edges = [-TINY, -1e-36, 0.0, 1e-36, TINY]
    X = np.array(
        [[-1.0], [np.nextafter(np.float32(-TINY), np.float32(-1))], *([x] for x in edges), [2e-35], [1.0], [np.nan]]
    )
    X = X.astype(np.float32)
    n_refused = 0
    for threshold in (-0.5, -2e-35, *edges, 2e-35, 0.5, 1e300):
        text = stump_text(threshold, missing, default_left)
        # -0.5, -2e-35, 2e-35, …: zeros go to the other side than the numbers around them.
        inconsistent = missing == 1 and abs(threshold) > TINY and default_left != (threshold > 0)
        if inconsistent:
            n_refused += 1
            with pytest.raises(sr.errors.ModelFileError, match="zero_as_missing"):
                read(text)
            continue
        scores = lgb.Booster(model_str=text.decode()).predict(X)
        np.testing.assert_array_equal(read(text).model.score(X), scores, f"threshold {threshold}")
    assert n_refused == (0 if missing != 1 else 2 if default_left else 3)


def test_categories_of_data_frames_are_found_by_their_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame, y = shop_frame("Größe 7")
    frame = frame.assign(same=pandas.Categorical(["one"] * len(frame)))
    booster = train_lightgbm(data=frame, y=y)
    ranker = sr.import_model(booster)
    assert ranker.categories_["brand"] == ("Größe 7", "nike", "puma")
    assert ranker.categories_["shop"] == ("3", "7", "90")
    assert ranker.categories_["same"] == ("one",)
    np.testing.assert_array_equal(ranker.predict(frame), booster.predict(frame))
    mixed = frame.assign(brand=frame.brand.cat.set_categories(["puma", "zara", "nike"]))
    np.testing.assert_array_equal(ranker.predict(mixed), booster.predict(mixed))
    ordered = frame.assign(same=frame.shop.cat.as_ordered())
    booster = train_lightgbm(data=ordered, y=y)
    np.testing.assert_array_equal(sr.import_model(booster).predict(ordered), booster.predict(ordered))


def test_categories_without_names_are_numbers() -> None:
    peer = read_peer(train_lightgbm(categorical=True))
    assert peer.categories[4] == tuple(map(str, range(len(peer.categories[4]))))
    assert 30 < len(peer.categories[4]) <= 40


def test_what_cannot_be_read_is_refused() -> None:
    for options, message in (
        ({"objective": "multiclass", "num_class": 5}, r"several scores per document \(num_class=5\)"),
        ({"objective": "regression", "linear_tree": True}, "its leaves are linear models"),
        ({"zero_as_missing": True}, "it was trained with zero_as_missing"),
    ):
        with pytest.raises(sr.errors.ModelFileError, match=message):
            read_peer(train_lightgbm(2, **options))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version=v4", "version=v9", "its version is v9; known are v2, v3, v4"),
        ("feature_names=a", "feature_names=a b", "it has 1 features, but 2 names"),
        ("tree_sizes=", "tree_sizes=5 ", "it is truncated: there are fewer trees than the file says"),
        ("end of trees", "end", "it is truncated: the end of the trees is missing"),
        ("num_leaves=2", "num_leaves=3", "leaf_value has 2 values, not 3"),
        ("left_child=-1", "left_child=7", "tree 0: node 0 has the child 7"),
        ("left_child=-1\n", "", "tree 0: there is no 'left_child'"),
        ("split_feature=0", "split_feature=1", "splits on a feature that is not one of the 1"),
        ("threshold=0.5", "threshold=nan", "threshold"),
        ("leaf_value=1.0 2.0", "leaf_value=1.0 inf", "leaf_value"),
        ("leaf_value=1.0 2.0", "leaf_value=1.0 x", "could not convert string to float"),
        ("decision_type=8", "decision_type=1", "tree 0: there is no 'cat_boundaries'"),
        ("decision_type=8", "decision_type=12", "decision_type has a value that LightGBM does not write"),
        ("leaf_count=1 1", "leaf_count=1 -1", "the weights or counts of its leaves"),
        ("pandas_categorical:[]", 'pandas_categorical:[["a"]]', "the file does not say which"),
        ("pandas_categorical:[]", "pandas_categorical:7", "pandas_categorical is not a list"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = lightgbm_stump().decode()
    assert old in text
    (tmp_path / "model.txt").write_text(text.replace(old, new))
    with pytest.raises(sr.errors.ModelFileError, match=message):
        read_peer(tmp_path / "model.txt")


@pytest.mark.slow
def test_damaged_files_give_an_error_or_a_safe_model(tmp_path: Path) -> None:
    assert min(outcomes(lightgbm_seeds(), tmp_path, n_files=200).values()) > 20


def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    for seed in lightgbm_seeds():
        for length in range(5, seed.index(b"end of trees"), 13):
            (tmp_path / "model.txt").write_bytes(seed[:length])
            with pytest.raises(sr.errors.ModelFileError):
                read_peer(tmp_path / "model.txt")
