"""`swaprank clicks models` and `check` do what the library does."""

import json
from pathlib import Path

import pytest

import swaprank as sr
from tests.clicks.people import click_log, make_world
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, world = tmp_path_factory.mktemp("models"), make_world(10)
    sr.clicks.write_clicks(click_log(world, 1000, people="cascade"), folder / "log.csv")
    sr.clicks.write_clicks(click_log(world, 300, people="cascade", seed=1), folder / "other.csv")
    return folder


def test_models_are_compared(folder: Path) -> None:
    log, other = (sr.clicks.read_clicks(folder / name) for name in ("log.csv", "other.csv"))
    shown = here("clicks", "models", "log.csv", "-m", "pbm", "-m", "dcm", folder=folder)
    assert shown.out.strip() == str(sr.clicks.compare_models(log, models=["pbm", "dcm"]))
    values = json.loads(here("clicks", "models", "log.csv", "--held-out", "other.csv", "--json", folder=folder).out)
    assert values == sr.clicks.compare_models(log, other).to_dict()
    failed = here("clicks", "models", "log.csv", "-m", "ubn", folder=folder)
    assert failed.code == 2
    assert "ubm" in failed.err


def test_the_check_is_printed(folder: Path) -> None:
    log = sr.clicks.read_clicks(folder / "log.csv")
    shown = here("clicks", "check", "log.csv", "--max-position", 3, folder=folder)
    assert shown.out.strip() == str(sr.clicks.check_model(log, max_position=3))
    assert "People stop after a click" in shown.out
    assert json.loads(here("clicks", "check", "log.csv", "--json", folder=folder).out)["holds"] is False


def test_info_and_propensity_say_what_contradicts_the_model(folder: Path) -> None:
    for command in ("info", "propensity"):
        assert "People stop after a click" in here("clicks", command, "log.csv", folder=folder).out
        json.loads(here("clicks", command, "log.csv", "--json", folder=folder).out)
