"""Rankers as in the papers: each can be had with one call, in Python and on the command line."""

import inspect
import json
import tomllib
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.registry import PRESETS, ranker_class, ranker_maker
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("presets")
    parts = sr.datasets.random_net((30, 20), n_features=5, n_documents=8, levels=4, random_state=0)
    for name, part in zip(("train", "vali"), parts, strict=True):
        sr.write_letor(part, folder / f"{name}.txt")
    return folder


def test_all_of_them_are_registered_and_cite_their_paper() -> None:
    public = {name for name, each in vars(sr.papers).items() if inspect.isfunction(each) and name[-4:].isdigit()}
    assert public == set(PRESETS)
    for name in PRESETS:
        first_line = (inspect.getdoc(ranker_maker(name)) or "").partition("\n")[0]
        assert name[-4:] in first_line, f"{name} does not name its paper"
        ranker_maker(name)().check_parameters()


def test_a_parameter_that_is_given_replaces_that_of_the_paper() -> None:
    assert sr.papers.lambdamart2010("map", n_trees=7).get_params()["n_trees"] == 7
    assert sr.papers.mart2010(min_child_samples=5).min_docs_in_leaf == 5
    ranknet_on_trees = sr.papers.lambdamart2010(objective=sr.objectives.RankNetObjective(hessian_floor=0.0), n_trees=1)
    assert (ranknet_on_trees.split, ranknet_on_trees.horizon) == ("least_squares", None)
    with pytest.raises(sr.errors.ParameterError, match="lambdamart has no parameter 'n_leafs'"):
        sr.papers.lambdamart2010(n_leafs=3)
    with pytest.raises(sr.errors.ParameterError, match="there is no ranker 'ranknet2004'; did you mean 'ranknet200"):
        ranker_class("ranknet2004")


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "smoothrank2010"])
def test_the_command_line_trains_the_same_model(name: str, folder: Path) -> None:
    rounds = "n_trees=3" if ranker_class(name).can.round_name == "tree" else "n_epochs=3"
    data = ("train.txt", "--valid", "vali.txt")
    trained = here("train", *data, "--ranker", name, "--set", rounds, "-o", "model.swaprank", folder=folder)
    assert trained.code == 0, trained.err
    key, _, value = rounds.partition("=")
    train, vali = (sr.read(folder / f"{part}.txt") for part in ("train", "vali"))
    ranker_maker(name)(**{key: int(value)}).fit(train, valid=vali).save(folder / "twin.swaprank")
    assert (folder / "model.swaprank").read_bytes() == (folder / "twin.swaprank").read_bytes()

    record = tomllib.loads((folder / "model.toml").read_text("utf-8"))
    assert record["ranker"] == ranker_class(name).kind
    again = here("train", "--config", "model.toml", "-o", "again.swaprank", folder=folder)
    assert again.code == 0, again.err
    assert (folder / "again.swaprank").read_bytes() == (folder / "twin.swaprank").read_bytes()


def test_they_are_listed_with_their_settings() -> None:
    listed = json.loads(here("info", "--rankers", "--json").out)["rankers"]
    assert set(PRESETS) < {each["name"] for each in listed}
    shown = json.loads(here("info", "--ranker", "lambdamart2010", "--json").out)["parameters"]
    assert next(each["default"] for each in shown if each["name"] == "min_docs_in_leaf") == 1


def test_cross_validation_takes_them_by_name() -> None:
    (data,) = sr.datasets.random_net((30,), n_features=5, n_documents=8, random_state=0)
    by_name = sr.cross_validate(data, ["mart", "mart2010"], "ndcg@5", n_folds=3, grid={"n_trees": [2]})
    made = sr.cross_validate(data, {"paper": sr.papers.mart2010(n_trees=2)}, "ndcg@5", n_folds=3)
    assert made.per_fold("paper", "ndcg@5") == by_name.per_fold("mart2010", "ndcg@5")
