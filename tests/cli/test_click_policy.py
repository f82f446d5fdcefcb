"""`swaprank clicks policy`: the estimates of Python, for models, features and policies by name."""

import json
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.clicks.people import click_log, make_world
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policies")
    log = click_log(make_world(5, 6, seed=3), 1500, n_shown=4, features=True, propensity=True)
    sr.clicks.write_clicks(log, folder / "log.parquet")
    model = sr.LinearRegressionRanker()
    model.fit(sr.clicks.unbiased(log, sr.clicks.Propensities(1 / np.arange(1, 5))))
    model.save(folder / "model.swaprank")
    return folder


def test_it_prints_what_python_has(folder: Path) -> None:
    ended = here(
        "clicks", "policy", "log.parquet", "logged", "random=uniform", "m=model.swaprank",
        folder=folder,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    log = sr.clicks.read_clicks(folder / "log.parquet", propensity="propensity")
    policies = {
        "logged": sr.clicks.Policy.logged(log),
        "random": sr.clicks.Policy.uniform(log),
        "m": sr.load(folder / "model.swaprank"),
    }
    for name, policy in policies.items():
        assert f"{name}\n\n{sr.clicks.evaluate_policy(log, policy)}\n" in ended.out
    assert str(sr.clicks.compare_policies(log, policies)) in ended.out


def test_options_reach_python(folder: Path) -> None:
    log = sr.clicks.read_clicks(folder / "log.parquet", propensity="propensity")
    name = log.feature_names[0]
    ended = here(
        "clicks", "policy", "log.parquet", "--propensity", "propensity", name, "-m", "ctr", "--temperature", 0.5,
        "--estimator", "doubly_robust", "--clip", 0.01, "--json", folder=folder,
    )  # fmt: skip
    assert log.features is not None
    policy = sr.clicks.Policy.plackett_luce(log, log.features[:, 0], temperature=0.5, random_state=0)
    wanted = sr.clicks.evaluate_policy(log, policy, "ctr", estimator="doubly_robust", clip=0.01)
    assert json.loads(ended.out) == {"evaluations": {name: wanted.to_dict()}}


def test_bad_input_is_an_error(folder: Path) -> None:
    log = sr.clicks.read_clicks(folder / "log.parquet", propensity="propensity")
    sr.clicks.write_clicks(log._with(propensity=None), folder / "without.csv")
    ended = here("clicks", "policy", "without.csv", "uniform", folder=folder)
    assert (ended.code, "propensity" in ended.err) == (2, True)
    ended = here("clicks", "policy", "log.parquet", "unifrom", folder=folder)
    assert (ended.code, "'unifrom' is neither a file nor a feature" in ended.err) == (2, True)
