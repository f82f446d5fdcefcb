"""A model of another library is a ranker like ours: whatever one does with a ranker works."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import swaprank as sr
from swaprank.exchange.peer_files import read_peer
from tests.command_line import here
from tests.exchange.fitted_models import NAMES, data, data_with_categories, fitted
from tests.exchange.portable_seeds import catboost_seeds

lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed")


@pytest.fixture(scope="module")
def booster() -> Any:
    train, _, _ = data()
    options = {"objective": "lambdarank", "num_leaves": 7, "verbosity": -1, "deterministic": True, "num_threads": 1}
    names = [name.replace(" ", "_") for name in NAMES]
    given = lightgbm.Dataset(train.features, train.labels, group=np.diff(train.indptr), feature_name=names)
    return lightgbm.train(options, given, 15)


@pytest.fixture(scope="module")
def peer(booster: Any) -> sr.rankers.ImportedRanker:
    return sr.import_model(booster, feature_names=NAMES)


def test_it_says_where_it_comes_from(peer: sr.rankers.ImportedRanker) -> None:
    assert (peer.library_, peer.objective_, peer.size_) == ("LightGBM", "lambdarank", "15 trees of LightGBM")
    assert peer.feature_names_in_.tolist() == list(NAMES)


def test_scores_are_those_of_the_library(peer: sr.rankers.ImportedRanker, booster: Any) -> None:
    _, _, test = data()
    assert (peer.predict(test) == booster.predict(test.features)).all()
    assert (peer.predict(test, n_trees=5) == booster.predict(test.features, num_iteration=5)).all()


def test_contributions_are_those_of_the_library(peer: sr.rankers.ImportedRanker, booster: Any) -> None:
    _, _, test = data()
    np.testing.assert_allclose(
        peer.contributions(test), booster.predict(test.features, pred_contrib=True), rtol=0, atol=1e-12
    )
    assert peer.importances("splits") == dict(
        sorted(zip(NAMES, booster.feature_importance("split").astype(float), strict=True), key=lambda each: -each[1])
    )
    assert "title match" in "".join(peer.to_text(tree) for tree in range(3))
    assert (peer.apply(test)[:, 0] <= 6).all()


def test_it_is_saved_loaded_and_described(peer: sr.rankers.ImportedRanker, tmp_path: Path) -> None:
    file = tmp_path / "model.swaprank"
    peer.save(file)
    again = sr.load(file)
    assert isinstance(again, sr.rankers.ImportedRanker)
    assert (again.library_, again.objective_, again.metric) == ("LightGBM", "lambdarank", "ndcg@10")
    assert (again.predict(data()[2]) == peer.predict(data()[2])).all()
    again.save(tmp_path / "again.swaprank")
    assert (tmp_path / "again.swaprank").read_bytes() == file.read_bytes()
    shown = here("info", file)
    assert shown.out.splitlines() == [
        "ranker        imported",
        "size          15 trees of LightGBM",
        "metric        ndcg@10",
        "features      5",
        shown.out.splitlines()[-1],
    ]


def test_it_is_evaluated_certified_explained_and_reported(peer: sr.rankers.ImportedRanker, tmp_path: Path) -> None:
    _, _, test = data()
    assert sr.evaluate(test, peer.predict(test), "ndcg@10")["ndcg@10"].mean == peer.score(test)
    assert sr.certify(peer, test, epsilon=0.2, n_weights=2).n_directions > 0
    assert sr.explain_query(peer, test).metric == "ndcg@10"
    sr.report(peer, test, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "15 trees of LightGBM, trained for lambdarank" in page


def test_it_is_combined_stacked_and_continued(peer: sr.rankers.ImportedRanker) -> None:
    train, vali, test = data()
    ours = fitted("trees")
    both = sr.combine(peer, ours, vali)
    assert both.value_ >= max(peer.score(vali), ours.score(vali))
    stacked = sr.stack([peer, ours], vali, n_epochs=2)
    assert stacked.predict(test).shape == (len(test),)
    more = sr.LambdaMART("ndcg@10", n_trees=5, n_leaves=7, base_ranker=peer).fit(train)
    assert more.n_trees_ == 20
    assert (more.predict(test, n_trees=15) == peer.predict(test)).all()
    assert more.score(train) > peer.score(train)


def test_it_goes_back_to_its_library(peer: sr.rankers.ImportedRanker, booster: Any, tmp_path: Path) -> None:
    _, _, test = data()
    peer.export(tmp_path / "model.txt", "lightgbm", rename={"title match": "title_match"})
    again = lightgbm.Booster(model_file=tmp_path / "model.txt")
    assert (again.predict(test.features) == booster.predict(test.features)).all()


def test_it_cannot_be_trained(peer: sr.rankers.ImportedRanker) -> None:
    train, _, _ = data()
    with pytest.raises(sr.errors.ParameterError, match=r"LambdaMART\(…, base_ranker=…\)"):
        sr.rankers.ImportedRanker().fit(train)
    copied = clone(peer)
    with pytest.raises(NotFittedError):
        copied.predict(train)
    with pytest.raises(sr.errors.ParameterError, match="must be a ranker that learns from data"):
        sr.cross_validate(train, [peer], "ndcg@10", n_folds=3)
    assert "a model of another library" in here("train", "x.txt", "--ranker", "imported", "-o", "y.swaprank").err


def test_names_of_features(booster: Any) -> None:
    assert sr.import_model(booster).feature_names_in_.tolist() == [name.replace(" ", "_") for name in NAMES]
    with pytest.raises(
        sr.errors.DataError, match="feature_names has 2 features, but the model of LightGBM is expecting 5"
    ):
        sr.import_model(booster, feature_names=["a", "b"])
    with pytest.raises(sr.errors.DataError, match="two features of the model have the same name"):
        sr.import_model(booster, feature_names=["a", "b", "c", "d", "a"])
    with pytest.raises(sr.errors.MetricError):
        sr.import_model(booster, metric="ndgc")


def test_a_model_without_names_may_get_more_features(tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    fitted("trees").export(file, "ranklib", missing="zero")
    names = [*NAMES, "one more"]
    wide = sr.import_model(file, feature_names=names)
    assert wide.n_features_in_ == 6
    _, _, test = data()
    X = np.column_stack((test.features, np.zeros(len(test), np.float32)))
    np.testing.assert_allclose(wide.predict(X), fitted("trees").predict(test), rtol=0, atol=1e-5)


def test_tables_are_matched_by_name(peer: sr.rankers.ImportedRanker) -> None:
    pandas = pytest.importorskip("pandas")
    _, _, test = data()
    table = pandas.DataFrame(test.features, columns=list(NAMES))[[*reversed(NAMES)]]
    assert (peer.predict(table) == peer.predict(test)).all()


def test_categories_are_matched_by_value(tmp_path: Path) -> None:
    ranker, (_, _, test) = fitted("trees of categories"), data_with_categories()
    ranker.export(tmp_path / "model.txt", "lightgbm", rename={"title match": "title_match"})
    again = sr.import_model(tmp_path / "model.txt", feature_names=NAMES)
    assert again.categories_.keys() == ranker.categories_.keys()
    assert (again.predict(test) == ranker.predict(test)).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"swaprank model\r\n", "it is a model of swaprank: read it with swaprank.load"),
        (b"\x80\x04\x95", "a pickle may run any code"),
        (gzip.compress(b"tree\n", mtime=0), "it is compressed: unpack it first"),
        (b"[{}]", "this is a dump for people to read: save the model with save_model"),
        (b'{"tree_info": []}', "JSON dump of LightGBM: save the model as text"),
        (b'{"a": 1}', "the format is not known; known are LightGBM text"),
        (b'{"a": ', "this is not JSON"),
        (b"", "the format is not known"),
        (b"hello", "the format is not known"),
        (b"[" * 10**6, "save_model"),
        (b'{"a":' * 10**5, "this is not JSON|nested too deeply"),
    ],
)
def test_files_that_are_no_models(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "model"
    file.write_bytes(content)
    with pytest.raises(sr.errors.ModelFileError, match=rf"model: .*({message})"):
        read_peer(file)


def test_json_is_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads, texts = json.loads, []

    def counted(text: bytes) -> Any:
        texts.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", counted)
    for at, content in enumerate([*catboost_seeds(), fitted_as_json(tmp_path)]):
        texts.clear()
        (tmp_path / f"{at}.json").write_bytes(content)
        read_peer(tmp_path / f"{at}.json")
        assert len(texts) == 1


def fitted_as_json(folder: Path) -> bytes:
    fitted("trees").export(folder / "trees.json", to="xgboost")
    return (folder / "trees.json").read_bytes()


def test_a_file_that_does_not_exist() -> None:
    with pytest.raises(sr.errors.DataError, match=r"there is no file nothing\.txt"):
        sr.import_model("nothing.txt")


def test_the_command_line_reads_uses_and_writes_them(booster: Any, tmp_path: Path) -> None:
    train, _, test = data()
    booster.save_model(tmp_path / "model.txt")
    sr.write_letor(test, tmp_path / "test.txt")
    sr.write_letor(train, tmp_path / "train.txt")
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    done = here("import", "model.txt", "-o", "model.swaprank", "--features", "names.txt", folder=tmp_path)
    assert done.out == "model.swaprank: 15 trees of LightGBM, 5 features\n", done.err
    done = here("import", "model.txt", "-o", "same.swaprank", "--check", "test.txt", folder=tmp_path)
    assert "documents as swaprank does: the largest difference is 0 of the largest score" in done.out, done.err
    done = here("import", "model.txt", "-o", "same.swaprank", "--features", ", ".join(NAMES), folder=tmp_path)
    assert (tmp_path / "same.swaprank").read_bytes() == (tmp_path / "model.swaprank").read_bytes(), done.err
    scores = here("predict", "model.swaprank", "test.txt", folder=tmp_path).out.split()
    np.testing.assert_allclose(np.array(scores, dtype=float), booster.predict(sr.read(tmp_path / "test.txt").features))
    for model in ("model.txt", "model.swaprank"):
        done = here("export", model, "--to", "c", "-o", "model.c", folder=tmp_path)
        assert done.out == "model.c: 15 trees of LightGBM as c\n", done.err
    done = here(
        "train",
        "train.txt",
        "--base-ranker",
        "model.swaprank",
        "-o",
        "more.swaprank",
        "--set",
        "n_trees=2",
        folder=tmp_path,
    )
    assert done.code == 0, done.err


def test_errors_of_the_command_line(tmp_path: Path) -> None:
    fitted("trees of missing values").save(tmp_path / "missing.swaprank")
    fitted("trees").save(tmp_path / "trees.swaprank")
    refused = here("export", "missing.swaprank", "--to", "ranklib", "-o", "model.json", folder=tmp_path)
    assert refused.code == 2
    assert "--missing zero" in refused.err
    assert not (tmp_path / "model.json").exists()
    unknown = here("export", "trees.swaprank", "--to", "solar", "-o", "model.json", folder=tmp_path)
    assert "did you mean 'solr'" in unknown.err
    assert "--list" in here("export", "trees.swaprank", folder=tmp_path).err
    wrong = here("export", "trees.swaprank", "--to", "c", "-o", "m.c", "--rename", "bm25", folder=tmp_path)
    assert "write --rename OLD=NEW; found 'bm25'" in wrong.err
    lost = here("export", "trees.swaprank", "--to", "c", "-o", "m.c", "--features", "bm25,age", folder=tmp_path)
    assert "--rename OLD=NEW" in lost.err
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    for file in ("trees.swaprank", "names.txt"):
        over = here("export", "trees.swaprank", "--to", "c", "-o", file, "--features", "names.txt", folder=tmp_path)
        assert f"{file} is an input file and would be overwritten" in over.err


def test_formats_are_listed() -> None:
    listed = json.loads(here("export", "--list", "--json").out)["formats"]
    assert {"lightgbm", "xgboost", "ranklib", "xgboost+json", "solr", "vespa", "onnx", "c"} <= {
        each["format"] for each in listed
    }
    assert "solr" in here("export", "--list").out


def test_models_of_ydf_are_refused(tmp_path: Path) -> None:
    message = "models of YDF and TensorFlow Decision Forests are not read"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "data_spec.pb").write_bytes(b"")
    with pytest.raises(sr.errors.ModelFileError, match=message):
        sr.import_model(tmp_path / "model")
    ydf = pytest.importorskip("ydf", reason="ydf is not installed")
    data = {"x": np.arange(100.0), "label": np.arange(100.0) % 3, "qid": np.arange(100) // 10}
    learner = ydf.GradientBoostedTreesLearner("label", task=ydf.Task.RANKING, ranking_group="qid", num_trees=2)
    model = learner.train(data, verbose=0)
    model.save(str(tmp_path / "saved"))
    for source in (model, tmp_path / "saved"):
        with pytest.raises(sr.errors.ModelFileError, match=message):
            sr.import_model(source)


def test_the_command_line_subtracts_and_names_columns(tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    seconds = 1_700_000_000 + rng.integers(0, 300, 400)
    frame = pandas.DataFrame({"shop": pandas.Categorical(rng.choice(list("abc"), 400)), "published": seconds})
    frame["n"] = rng.integers(0, 3, 400)
    labels = seconds % 7 + (frame.shop == "b") + frame.n
    train = lgb.Dataset(frame, labels, categorical_feature=["shop"])
    booster = lgb.train({"objective": "regression", "verbosity": -1, "min_data_per_group": 5}, train, 5)
    booster.save_model(tmp_path / "model.txt")
    arguments = ["import", "model.txt", "-o", "model.swaprank"]
    assert "Name them: --pandas-categories brand,shop" in here(*arguments, folder=tmp_path).err
    arguments += ["--pandas-categories", "shop"]
    assert "--subtract published=1700000000" in here(*arguments, folder=tmp_path).err
    done = here(*arguments, "--subtract", "published=1700000000", folder=tmp_path)
    assert "5 trees of LightGBM, 3 features" in done.out, done.err
    ranker = sr.load(tmp_path / "model.swaprank")
    moved = frame.assign(**{"published - 1700000000": seconds - 1_700_000_000})
    np.testing.assert_array_equal(ranker.predict(moved), booster.predict(frame))
    assert "--subtract FEATURE=NUMBER" in here(*arguments, "--subtract", "published", folder=tmp_path).err
