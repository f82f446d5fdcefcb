"""`swaprank cv` and `swaprank tune`: results of the Python functions, interruption and resuming."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.experiments.folds import make_folds
from tests.command_line import here, swaprank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("experiments")
    (data,) = sr.datasets.random_net((45,), n_features=5, n_documents=8, levels=3, random_state=1)
    sr.write_letor(data, folder / "whole.txt")
    for fold in make_folds(data, 3, random_state=0):
        (folder / "letor" / fold.name).mkdir(parents=True)
        for name, part in zip(("train", "vali", "test"), fold.load(), strict=True):
            sr.write_letor(part, folder / "letor" / fold.name / f"{name}.txt")
    return folder


RANKERS = ("--ranker", "small=lambdamart", "--ranker", "mart", "--set", "n_trees=4", "--set", "min_docs_in_leaf=3")
GRID = ("--grid", "small.n_leaves=3,6")


@pytest.mark.slow
def test_cv_prints_what_python_computes(folder: Path) -> None:
    rankers = {
        "small": sr.LambdaMART("map", n_trees=4, min_docs_in_leaf=3),
        "mart": sr.MART(metric="map", n_trees=4, min_docs_in_leaf=3),
    }
    expected = sr.cross_validate(folder / "letor", rankers, ["map", "err"], grid={"small.n_leaves": (3, 6)})
    measures = ("-m", "map", "-m", "err")
    shown = here("cv", "letor", *RANKERS, *GRID, *measures, folder=folder)
    assert shown.code == 0, shown.err
    assert shown.out == f"{expected}\n"
    assert "Fold1  small  n_leaves=3: vali map 0." in shown.err
    quiet = here("cv", "letor", *RANKERS, *GRID, *measures, "--json", "--quiet", folder=folder)
    plain = json.loads(quiet.out)
    for row in plain["chosen"]:
        for tried in row["tried"]:
            assert tried.pop("seconds") > 0
    expected_plain = expected.to_dict()
    for row in expected_plain["chosen"]:
        for tried in row["tried"]:
            del tried["seconds"]
    assert plain == json.loads(json.dumps(expected_plain))
    assert quiet.err == ""


def test_cv_of_one_file(folder: Path) -> None:
    shown = here("cv", "whole.txt", "--folds", 3, *RANKERS, folder=folder)
    assert shown.code == 0, shown.err
    same = here("cv", "letor", *RANKERS, folder=folder)
    assert shown.out == same.out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are another matter there")
def test_ctrl_c_stops_cv_and_the_same_command_resumes(folder: Path) -> None:
    before = """
import os, signal
from swaprank.rankers.tree_ranker import TreeRanker
real, count = TreeRanker._boost, 0
def interrupted(self, *others):
    global count
    count += 1
    if count == 5:
        os.kill(os.getpid(), signal.SIGINT)
    return real(self, *others)
TreeRanker._boost = interrupted
"""
    arguments = ("cv", "letor", *RANKERS, *GRID, "-o", "results")
    stopped = swaprank(*arguments, folder=folder, before=before)
    assert (stopped.code, stopped.out) == (130, "")
    assert stopped.err.splitlines()[-2:] == [
        "finished trainings are saved in results: run the same command again to resume.",
        "interrupted",
    ]
    assert not (folder / "results" / "results.txt").exists()
    resumed = here(*arguments, folder=folder)
    assert resumed.code == 0, resumed.err
    lines = resumed.err.splitlines()
    assert lines[:3] == [
        "Fold1  small  already trained",
        "Fold1  mart  already trained",
        "Fold2  small  1 of 2 already trained",
    ]
    assert sum("already trained" not in line for line in lines) == 5
    whole = here("cv", "letor", *RANKERS, *GRID, folder=folder)
    assert resumed.out.startswith(whole.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cv", "nowhere"), "there is no file nowhere"),
        (("cv", "letor", "--folds", "5"), "letor is a folder with its own folds"),
        (("cv", "letor", "--ranker", "lambdamrt"), "there is no ranker 'lambdamrt'; did you mean 'lambdamart'?"),
        (("cv", "letor", "--ranker", "mart", "--ranker", "mart"), "two rankers are named 'mart'"),
        (("cv", "letor", "--grid", "n_leafs=3"), "lambdamart has no parameter 'n_leafs'; did you mean 'n_leaves'?"),
        (("cv", "letor", "--grid", "n_leaves"), "write a grid as name=value,value, found 'n_leaves'."),
        (("cv", "letor", "--set", "n_leafs=3"), "lambdamart has no parameter 'n_leafs'; did you mean 'n_leaves'?"),
        (("cv", "letor", "--set", "n_leaves"), "write a setting as name=value, found 'n_leaves'."),
        (("cv", "letor", "--baseline", "mart"), "there is no ranker 'mart' to compare with"),
        (("cv", "letor", "-m", "ndgc"), "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        (("cv", "letor", "-o", "whole.txt"), "whole.txt is a file: choose a folder for the results."),
    ],
)  # fmt: skip
def test_bad_usage_of_cv_ends_with_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    failed = here(*arguments, folder=folder)
    assert failed.code == 2
    assert message in failed.err
    assert failed.out == ""


TUNE = ("tune", "letor/Fold1/train.txt", "--valid", "letor/Fold1/vali.txt")
SETTINGS = ("--set", "n_trees=5", "--set", "min_docs_in_leaf=3", "--set", "early_stopping_rounds=none")


def test_tune_saves_the_best_model_and_resumes(folder: Path) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    arguments = (*TUNE, *SETTINGS, "-m", "map", "-o", "best.swaprank")
    tuned = here(*arguments, "--trials", 3, folder=folder)
    assert tuned.code == 0, tuned.err
    assert "The best of 3 trials is trial " in tuned.out
    assert tuned.err.startswith("trial 1: map 0.")
    more = here(*arguments, "--trials", 4, "--json", "-q", folder=folder)
    assert more.err == ""
    plain = json.loads(more.out)
    assert len(plain["trials"]) == 4
    model = sr.load(folder / "best.swaprank")
    assert model.score(sr.read(folder / "letor" / "Fold1" / "vali.txt")) == plain["best"]["value"]
    tables = tomllib.loads((folder / "best.toml").read_text())
    for name, value in plain["best"]["parameters"].items():
        assert tables["parameters"][name] in (value, "none"), name  # none: what the ranker chose by the data
    assert tables["parameters"]["n_trees"] == 5
    before = (folder / "best.swaprank").read_bytes()
    again = here("train", "--config", "best.toml", folder=folder)
    assert "identical, byte for byte" in again.out
    assert (folder / "best.swaprank").read_bytes() == before


def test_tune_within_given_ranges(folder: Path) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    ranges = ("--range", "n_leaves=3..9", "--range", "normalize=true,false")
    tuned = here(*TUNE, *SETTINGS, *ranges, "--trials", 3, "-o", "ranged.swaprank", "--json", folder=folder)
    assert tuned.code == 0, tuned.err
    for trial in json.loads(tuned.out)["trials"]:
        assert set(trial["parameters"]) == {"n_leaves", "normalize"}
        assert 3 <= trial["parameters"]["n_leaves"] <= 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "n_leafs=3"), "lambdamart has no parameter 'n_leafs'"),
        (("--range", "n_leafs=3..4"), "lambdamart has no parameter 'n_leafs'"),
        (("--range", "n_leaves=9..3"), "the range of n_leaves must be LOW..HIGH"),
        (("--range", "n_leaves=3..9", "--set", "n_leaves=4"), "n_leaves is both set and tuned"),
        (("--ranker", "combination"), "use `swaprank combine` for two"),
        (("--trials", "0"), "--trials"),
    ],
)
def test_bad_usage_of_tune_ends_with_2(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    failed = here(*TUNE, *arguments, "-o", "bad.swaprank", folder=folder)
    assert failed.code == 2
    assert message in failed.err
    assert not list(folder.glob("bad.*"))


def test_tune_without_optuna(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    failed = here(*TUNE, "-o", "none.swaprank", folder=folder)
    assert failed.code == 2
    assert "tuning needs Optuna: pip install 'swaprank[tune]'." in failed.err
