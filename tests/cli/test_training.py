"""`swaprank train` and `swaprank predict`."""

import json
import os
import sys
import threading
import tomllib
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.command_line import here, swaprank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    parts = sr.datasets.random_net((60, 30, 30), n_features=6, n_documents=10, levels=4, random_state=0)
    for name, part in zip(("train", "vali", "test"), parts, strict=True):
        sr.write_letor(part, folder / f"{name}.txt")
    return folder


SETTINGS = ("--set", "n_trees=12", "--set", "n_leaves=7", "--set", "min_docs_in_leaf=5")


@pytest.mark.slow
def test_train_and_predict_are_fit_and_predict(folder: Path) -> None:
    trained = swaprank(
        "train", "train.txt", "--valid", "vali.txt", "--ranker", "lambdamart", "--metric", "map", *SETTINGS, "-o",
        "model.swaprank", folder=folder,
    )  # fmt: skip
    assert trained.code == 0, trained.err
    assert trained.err == ""
    train, vali, test = (sr.read(folder / f"{name}.txt") for name in ("train", "vali", "test"))
    ranker = sr.LambdaMART("map", n_trees=12, n_leaves=7, min_docs_in_leaf=5).fit(train, valid=vali)
    written = (
        f"model.swaprank: {ranker.n_trees_} trees, trained on 600 documents\nvalid map: {ranker.score(vali):.4f}\n"
    )
    assert trained.out.startswith(written)
    ranker.save(folder / "twin.swaprank")
    assert (folder / "model.swaprank").read_bytes() == (folder / "twin.swaprank").read_bytes()

    scored = here("predict", "model.swaprank", "test.txt", "-o", "scores.txt", folder=folder)
    assert scored.code == 0, scored.err
    assert scored.out == "scores.txt: 300 scores\n"
    np.testing.assert_array_equal(sr.trec.read_scores(folder / "scores.txt"), ranker.predict(test))
    fewer = here("predict", "model.swaprank", "test.txt", "--trees", 3, "-o", "three.txt", folder=folder)
    assert fewer.code == 0, fewer.err
    np.testing.assert_array_equal(sr.trec.read_scores(folder / "three.txt"), ranker.predict(test, n_trees=3))


def test_one_line_says_how_training_ended(folder: Path) -> None:
    arguments = ("train", "train.txt", "--set", "n_leaves=4", "--set", "learning_rate=0.5", "-o", "ended.swaprank")
    assumed = here(*arguments, folder=folder)
    assert assumed.out.splitlines()[:2] == [
        "ended.swaprank: 300 trees, trained on 600 documents",
        "n_trees: 300, because there is no validation data; give --valid FILE for early stopping",
    ]
    stopped = here(*arguments, "--valid", "vali.txt", folder=folder)
    ranker, vali = sr.load(folder / "ended.swaprank"), sr.read(folder / "vali.txt")
    assert stopped.out.splitlines()[:2] == [
        f"ended.swaprank: {ranker.best_round_} trees, trained on 600 documents",
        f"stopped after {ranker.n_rounds_} trees, kept {ranker.best_round_}: ndcg@10 {ranker.score(vali):.4f} on valid",
    ]
    assert "n_trees                  2000, chosen" in here("info", "ended.swaprank", folder=folder).out
    again = here("train", "--config", "ended.toml", folder=folder)
    assert "identical, byte for byte" in again.out
    given = here(*arguments, "--valid", "vali.txt", "--set", "early_stopping_rounds=auto", "-q", folder=folder)
    assert given == (0, "", "")
    assert sr.load(folder / "ended.swaprank").n_rounds_ == ranker.n_rounds_


def test_training_continues_from_a_model(folder: Path) -> None:
    for name, base in (("first", ()), ("second", ("--base-ranker", "first.swaprank"))):
        trained = here("train", "train.txt", *SETTINGS, *base, "-o", f"{name}.swaprank", folder=folder)
        assert trained.code == 0, trained.err
    assert sr.load(folder / "second.swaprank").model_.n_stages == 24


def test_trees_are_added_to_a_model_of_another_kind(folder: Path) -> None:
    linear = here("train", "train.txt", "--ranker", "linear_regression", "-o", "linear.swaprank", folder=folder)
    assert linear.code == 0, linear.err
    trained = here(
        "train", "train.txt", "--ranker", "mart", *SETTINGS, "--base-ranker", "linear.swaprank", "-o", "both.swaprank",
        folder=folder,
    )  # fmt: skip
    assert trained.out.startswith("both.swaprank: 6 weights plus 12 trees, trained on 600 documents\n"), trained.err
    test, both = sr.read(folder / "test.txt"), sr.load(folder / "both.swaprank")
    base = sr.load(folder / "linear.swaprank").predict(test)
    assert here("predict", "both.swaprank", "test.txt", "-o", "both.txt", folder=folder).code == 0
    np.testing.assert_array_equal(sr.trec.read_scores(folder / "both.txt"), both.predict(test))
    assert here("predict", "both.swaprank", "test.txt", "--trees", 0, "-o", "base.txt", folder=folder).code == 0
    np.testing.assert_array_equal(sr.trec.read_scores(folder / "base.txt"), base)
    info = here("info", "both.swaprank", folder=folder)
    assert "6 weights plus 12 trees" in info.out


def test_a_sparse_file_gets_the_features_of_the_model(folder: Path) -> None:
    assert here("train", "train.txt", *SETTINGS, "-o", "sparse.swaprank", folder=folder).code == 0
    (folder / "narrow.txt").write_text("0 qid:1 2:0.5\n1 qid:1 1:0.25\n")
    scored = here("predict", "sparse.swaprank", "narrow.txt", "-o", "narrow.scores", folder=folder)
    assert scored.code == 0, scored.err


def test_a_run_is_repeated_exactly_from_its_training_record(folder: Path) -> None:
    (folder / "models").mkdir()
    arguments = ("train", "train.txt", "--valid", "vali.txt", "-m", "map", *SETTINGS, "--set", "feature_fraction=0.5")
    trained = here(*arguments, "--seed", 7, "-o", "models/first.swaprank", folder=folder)
    assert trained.code == 0, trained.err
    assert trained.out.splitlines()[-1].startswith("models/first.toml: ")
    before = (folder / "models" / "first.swaprank").read_bytes()
    record = (folder / "models" / "first.toml").read_text()
    (folder / "models" / "first.swaprank").unlink()

    again = here("train", "--config", folder / "models" / "first.toml", folder=folder.parent)
    assert again.code == 0, again.err
    assert "identical, byte for byte" in again.out
    assert again.err == ""
    assert (folder / "models" / "first.swaprank").read_bytes() == before
    tables, tables_again = tomllib.loads(record), tomllib.loads((folder / "models" / "first.toml").read_text())
    assert Path(tables_again.pop("output")).name == tables.pop("output")
    for name in ("train", "valid"):
        assert (folder / "models" / tables.pop(name)).samefile(tables_again.pop(name))
    assert tables == tables_again
    assert tables["parameters"]["n_leaves"] == 7
    assert tables["parameters"]["max_depth"] == "none"
    assert tables["data"]["train"] | {"digest": ""} == {"documents": 600, "queries": 60, "features": 6, "digest": ""}
    assert tables["seed"] == 7

    other = here("train", "--config", "models/first.toml", "--seed", 8, "-o", "other.swaprank", folder=folder)
    assert other.code == 0, other.err
    assert (folder / "other.swaprank").read_bytes() != before
    assert tomllib.loads((folder / "other.toml").read_text())["seed"] == 8


@pytest.mark.parametrize("ending", ["toml", "yaml"])
def test_a_hand_written_configuration(folder: Path, ending: str) -> None:
    if ending == "yaml":
        pytest.importorskip("yaml", reason="PyYAML is not installed")
    equals, table = (" =", "[parameters]\n") if ending == "toml" else (":", "parameters:\n")
    lines = [f'{name}{equals} "{value}"\n' for name, value in CONFIG.items()]
    indent = "" if ending == "toml" else "  "
    lines += [f"seed{equals} 3\n", table, f"{indent}n_epochs{equals} 2\n", f"{indent}hidden{equals} [4, 3]\n"]
    (folder / f"mine.{ending}").write_text("".join(lines))
    assert here("train", "--config", f"mine.{ending}", "--set", "n_epochs=3", "-q", folder=folder) == (0, "", "")
    train, vali = (sr.read(folder / f"{name}.txt") for name in ("train", "vali"))
    twin = sr.LambdaRank("map", hidden=(4, 3), n_epochs=3, random_state=3).fit(train, valid=vali)
    twin.save(folder / "twin.swaprank")
    assert (folder / "net.swaprank").read_bytes() == (folder / "twin.swaprank").read_bytes()


CONFIG = {
    "train": "train.txt", "valid": "vali.txt", "output": "net.swaprank", "ranker": "lambdarank", "metric": "map",
}  # fmt: skip


def test_yaml_without_pyyaml_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "some.yaml").write_text("train: train.txt\n")
    monkeypatch.setitem(sys.modules, "yaml", None)
    failed = here("train", "--config", "some.yaml", folder=folder)
    assert failed.code == 2
    assert "PyYAML is not installed: pip install PyYAML, or use TOML." in failed.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranker = 'mart'\noutput = 'x.swaprank'", "bad.toml has no 'train' (the training data): add it to the file"),
        ("n_leaves = 7", "entry 'n_leaves'; it is a parameter of lambdamart: move it below [parameters]."),
        ("rankr = 'mart'", "bad.toml has an unknown entry 'rankr'; did you mean 'ranker'?"),
        ("seed = 'one'", "bad.toml: seed must be a whole number, found 'one'."),
        ("train = []\noutput = 'x'", "bad.toml: train must be text or a list of files, found []."),
        ("seed = ", "bad.toml is not valid TOML"),
        ("train = 'train.txt'\noutput = 'x'\n[parameters]\nn_leafs = 7", "no parameter 'n_leafs'; did you mean"),
        ("train = 'train.txt'\noutput = 'x'\nseed = 1\n[parameters]\nrandom_state = 7", "seed is given twice"),
        ("train = 'train.txt'\noutput = 'bad.swaprank'", "bad.toml would be overwritten by the training record"),
        (
            "train = 'train.txt'\noutput = 'x'\n[data.train]\ndigest = 'f00'",
            "train.txt has changed since the configuration was written",
        ),
    ],
)
def test_a_bad_configuration_ends_with_2_and_leaves_nothing_behind(folder: Path, text: str, message: str) -> None:
    (folder / "bad.toml").write_text(text)
    failed = here("train", "--config", "bad.toml", folder=folder)
    assert failed.code == 2
    assert message in failed.err
    assert (folder / "bad.toml").read_text() == text
    assert not any((folder / name).exists() for name in ("x", "x.swaprank", "x.toml", "bad.swaprank"))


def test_quiet_prints_nothing_and_verbose_prints_rounds(folder: Path) -> None:
    arguments = ("train", "train.txt", "--valid", "vali.txt", *SETTINGS, "-o", "quiet.swaprank")
    assert here(*arguments, "-q", folder=folder) == (0, "", "")
    verbose = here(*arguments, "--verbose", folder=folder)
    assert "round 12 of 12  valid ndcg@10 0." in verbose.err
    both = here(*arguments, "-q", "-v", folder=folder)
    assert both.code == 2
    assert "--verbose and --quiet exclude each other" in both.err


def test_verbose_prints_what_is_read_and_scored(folder: Path) -> None:
    assert here("train", "train.txt", *SETTINGS, "-o", "verbose.swaprank", folder=folder).code == 0
    shown = here("evaluate", "test.txt", "verbose.swaprank", "-v", folder=folder)
    assert shown.err == "reading test.txt\nscoring with verbose.swaprank: 12 trees\n"
    assert shown.out == here("evaluate", "test.txt", "verbose.swaprank", folder=folder).out


@pytest.mark.parametrize("metric", ["ndcg@10", "nDCG@10"])
def test_training_result_as_json(folder: Path, metric: str) -> None:
    arguments = ("train", "train.txt", "--valid", "vali.txt", *SETTINGS, "-m", metric, "-o", "json.swaprank", "--json")
    shown = json.loads(here(*arguments, folder=folder).out)
    ranker, vali = sr.load(folder / "json.swaprank"), sr.read(folder / "vali.txt")
    assert shown["valid"]["value"] == pytest.approx(ranker.score(vali))
    assert shown["valid"]["best"] == max(ranker.history_["valid"]["ndcg@10"])
    assert (shown["valid"]["best_round"], shown["valid"]["n_rounds"]) == (ranker.best_round_, ranker.n_rounds_)
    assert (shown["model"], shown["config"], shown["n_documents"]) == ("json.swaprank", "json.toml", 600)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "train.txt", "--set", "n_leafs=7", "-o", "x"), "no parameter 'n_leafs'; did you mean 'n_leaves'?"),
        (("train", "train.txt", "--set", "n_leaves", "-o", "x"), "write a setting as name=value, found 'n_leaves'."),
        (("train", "train.txt", "--set", "n_leaves=many", "-o", "x"), "n_leaves must be a whole number from 2 to"),
        (("train", "train.txt", "--ranker", "lambdamrt", "-o", "x"), "there is no ranker 'lambdamrt'; did you mean"),
        (("train", "train.txt", "--metric", "ndgc", "-o", "x"), "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        (("train", "train.txt", "-o", "nowhere/x"), "there is no folder nowhere to write x in."),
        (("train", "absent.txt", "-o", "x"), "there is no file absent.txt"),
        (("train", "train.txt"), "missing: --output / -o"),
        (("train", "-o", "x"), "missing: TRAIN"),
        (("train", "train.txt", "-o", "x.toml"), "end the model's name in .swaprank"),
        (("train", "train.txt", "--ranker", "combination", "-o", "x"), "use `swaprank combine` for two"),
        (("train", "train.txt", "--seed", "1", "--set", "random_state=2", "-o", "x"), "seed is given twice"),
        (("train", "train.txt", "-o", "x", "--checkpoint", "x"), "x is to hold the model or its training record, too"),
        (("train", "train.txt", "-o", "x", "--checkpoint", "x.toml"), "x.toml is to hold the model or its training"),
        (("train", "train.txt", "-o", "x", "--checkpoint", "vali.txt"), "vali.txt is there already, and is no check"),
        (("train", "train.txt", "-o", "x", "--dask", "localhost:1", "--mpi"), "give --dask or --mpi, not both."),
        (("predict", "train.txt", "test.txt", "-o", "x"), "train.txt: this is not a swaprank model."),
    ],
)  # fmt: skip
def test_bad_usage_ends_with_2_and_leaves_nothing_behind(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    failed = here(*arguments, folder=folder)
    assert failed.code == 2
    assert message in failed.err
    assert "Traceback" not in failed.err
    assert not (folder / "x").exists()


def test_a_column_that_single_precision_merges_is_noted(tmp_path: Path) -> None:
    rows = [f"{at % 2} qid:{at // 10} 1:{at / 7:.3f} 2:{1_700_000_000 + at}\n" for at in range(60)]
    (tmp_path / "train.txt").write_text("".join(rows))
    arguments = ("train", "train.txt", "--ranker", "mart", "--set", "n_trees=1", "-o", "model.swaprank")
    told = here(*arguments, folder=tmp_path)
    assert told.code == 0
    assert told.err.startswith(
        "warning: train.txt, first 60 documents, column '2': 60 distinct values become 1 in single precision"
    )
    assert told.err.count("\n") == 1
    assert here(*arguments, "--quiet", folder=tmp_path).err == ""
    predicted = here("predict", "model.swaprank", "train.txt", "-o", "scores.txt", folder=tmp_path)
    assert predicted.err == told.err


def test_a_model_for_a_pipe_has_no_record(folder: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("no named pipes")
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    trained = here("train", "train.txt", *SETTINGS, "--json", "-o", "pipe", folder=folder)
    assert trained.code == 0, trained.err
    reader.join()
    assert json.loads(trained.out)["config"] is None
    assert not (folder / "pipe.toml").exists()
    (folder / "copy.swaprank").write_bytes(found[0])
    assert sr.load(folder / "copy.swaprank").n_features_in_ == 6
    tuned = here("tune", "train.txt", "--valid", "vali.txt", "-o", "pipe", folder=folder)
    assert tuned.code == 2
    assert "pipe is not a file" in tuned.err
