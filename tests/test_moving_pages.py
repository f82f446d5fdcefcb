"""The tables of docs/from_….md: both names of a row exist, and agree with `peer_names.py`, which errors speak from."""

import json
import re
import tomllib
from collections.abc import Iterator
from inspect import signature
from itertools import takewhile
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import typer

import swaprank as sr
from swaprank import peer_names
from swaprank.cli import app
from tests.conftest import PROJECT

ELSEWHERE = tomllib.loads((PROJECT / "tests" / "names_elsewhere.toml").read_text())
RANKERS = (sr.LambdaMART, sr.MART, sr.LambdaRank, sr.RankNet, sr.SmoothRank, sr.LinearRegressionRanker)
WORD = re.compile(r"(?<![\w.])--?[A-Za-z][\w-]*|[A-Za-z_]\w*")
PLACEHOLDERS = {"True", "False", "X", "y", "w", "b", "qid", "data", "FILE", "swaprank", "sr", "ranker"}
METRICS = {"ndcg", "mrr", "map", "p", "recall", "pairwise", "success", "alpha_ndcg"}


class Row(NamedTuple):
    theirs: list[str]
    ours: set[str]
    none: bool
    """Whether it says that there is no counterpart."""
    text: str


def words(cell: str) -> list[str]:
    """What is named in the code of a cell, without what stands in quotes and values of other kinds."""
    code = re.findall(r"`([^`]+)`", cell)
    return [name for each in code for name in WORD.findall(re.sub(r"\"[^\"]*\"|(?<=[\w)]) .*|\(\w+\)", "", each))]


def rows(page: str, heading: str) -> list[Row]:
    text = (PROJECT / "docs" / page).read_text()
    lines = [
        [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        for line in text.splitlines()
    ]
    heads = [number for number, cells in enumerate(lines) if cells and cells[0].startswith(heading)]
    assert heads, heading
    table = [cells for first in heads for cells in takewhile(len, lines[first + 2 :])]
    return [Row(words(c[0]), set(words(c[1])), c[1].startswith("none"), " | ".join(c)) for c in table]


def own_names() -> set[str]:
    names = {each for ranker in RANKERS for each in (*ranker.declared, *dir(ranker), *signature(ranker.fit).parameters)}
    names |= {*signature(sr.LambdaMART.predict).parameters, *signature(sr.LambdaMART.refit).parameters}
    names |= {*signature(sr.Dataset).parameters, *dir(sr.Dataset)}
    names |= set(signature(sr.Dataset.from_frame).parameters)
    for name in dir(sr):
        value: Any = getattr(sr, name)
        names |= {name, *(vars(value)["__all__"] if isinstance(value, ModuleType) else ())}
    names |= {each for name in vars(sr.baselines)["__all__"] for each in getattr(sr.baselines, name).declared}
    names |= {"per_query", "to_frame", *signature(sr.metrics.NDCG).parameters}
    command = typer.main.get_command(app)
    names |= {option for each in command.commands.values() for one in each.params for option in one.opts}  # type: ignore[attr-defined]
    return names | {"--valid", *command.commands}  # type: ignore[attr-defined]


def lightgbm_names() -> set[str]:
    lgb = pytest.importorskip("lightgbm")
    known = lgb.basic._ConfigAliases._get_all_param_aliases()
    names = {*known, *(alias for aliases in known.values() for alias in aliases), *dir(lgb), *dir(lgb.LGBMRanker)}
    names |= {*signature(lgb.LGBMRanker.fit).parameters, *signature(lgb.Booster.predict).parameters}
    names |= {*signature(lgb.Dataset).parameters, *dir(lgb.Booster), *signature(lgb.train).parameters}
    names |= {*signature(lgb.Booster.refit).parameters}
    return names | {*signature(lgb.LGBMRanker).parameters, "shap", "TreeExplainer", "lightgbm", "booster", "d"}


def xgboost_names() -> set[str]:
    xgb = pytest.importorskip("xgboost")
    data = xgb.DMatrix([[0.0], [1.0]], [0, 1], qid=[0, 0])
    booster = xgb.train({"objective": "rank:ndcg", "verbosity": 0}, data, 1)

    def keys(value: Any) -> Iterator[str]:
        for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from keys(each)
        yield from value if isinstance(value, dict) else ()

    names = {*keys(json.loads(booster.save_config())), *dir(booster), *dir(xgb.XGBRanker), "EarlyStopping", "rounds"}
    assert hasattr(xgb.callback, "EarlyStopping")
    for call in (xgb.train, xgb.XGBRanker.fit, xgb.XGBRanker.predict, booster.predict):
        names |= set(signature(call).parameters)
    return names | set(xgb.XGBRanker().get_params())


def catboost_names() -> set[str]:
    catboost = pytest.importorskip("catboost")
    names = set(dir(catboost.CatBoostRanker))
    for call in (catboost.CatBoostRanker.__init__, catboost.CatBoostRanker.fit, catboost.Pool.__init__):
        names |= set(signature(call).parameters)
    return names | set(signature(catboost.CatBoostRanker.predict).parameters)


def names_of(library: str) -> set[str]:
    known = {"LightGBM": lightgbm_names, "XGBoost": xgboost_names, "CatBoost": catboost_names}
    return known[library]() if library in known else set(ELSEWHERE[library]["names"].split())


PAGES = [
    ("from_lightgbm.md", "LightGBM"),
    ("from_xgboost.md", "XGBoost"),
    ("from_catboost.md", "CatBoost"),
    ("from_ranklib.md", "RankLib"),
    ("from_neural.md", "allRank"),
    ("from_neural.md", "TensorFlow Ranking"),
]


@pytest.mark.parametrize(("page", "library"), PAGES, ids=[library for _, library in PAGES])
def test_both_names_exist(page: str, library: str) -> None:
    theirs, ours = names_of(library), own_names() | PLACEHOLDERS
    for row in rows(page, library):
        assert row.theirs, row.text
        assert set(row.theirs) - PLACEHOLDERS <= theirs, row.text
        assert row.ours - METRICS <= ours, row.text
    for name in METRICS - {"alpha_ndcg"}:
        sr.metric(f"{name}@10" if name != "pairwise" else name)


@pytest.mark.parametrize(("page", "library"), PAGES[:3], ids=[library for _, library in PAGES[:3]])
def test_a_row_says_what_the_error_says(page: str, library: str) -> None:
    accepted, ours = sr.LambdaMART.accepted_names(), own_names()
    rankers = {ranker.__name__ for ranker in RANKERS}
    for row in rows(page, library):
        for name in row.theirs:
            if name in accepted and accepted[name] != name:
                assert accepted[name] in row.text, (name, row.text)
            said = [known[name] for known in (peer_names.ARGUMENTS, peer_names.ADVICE) if name in known]
            if name in accepted or not said or row.ours & rankers:
                continue
            named = {word for text in said for word in WORD.findall(text)} & ours
            if said[-1].startswith("not available"):
                assert row.none, (name, said, row.text)
            elif named:
                assert any(re.search(rf"\b{word}\b", row.text, re.IGNORECASE) for word in named), (name, said, row.text)


@pytest.mark.parametrize(("page", "library"), PAGES[1:3], ids=["XGBoost", "CatBoost"])
def test_every_argument_that_errors_know_is_in_the_table(page: str, library: str) -> None:
    if library == "XGBoost":
        xgb = pytest.importorskip("xgboost")
        arguments = {*xgb.XGBRanker().get_params(), *signature(xgb.XGBRanker.fit).parameters}
    else:
        catboost = pytest.importorskip("catboost")
        arguments = {*signature(catboost.CatBoostRanker.__init__).parameters}
        arguments |= set(signature(catboost.CatBoostRanker.fit).parameters)
    known = {*sr.LambdaMART.accepted_names(), *peer_names.ARGUMENTS, *peer_names.ADVICE}
    shown = {name for row in rows(page, library) for name in row.theirs}
    assert (arguments & known) - shown <= PLACEHOLDERS
