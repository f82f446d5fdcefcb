"""`swaprank clicks count` and `propensity --counts` do what the library does."""

import json
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.clicks.people import click_log, make_world
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, world = tmp_path_factory.mktemp("counts"), make_world(10)
    for seed, day in enumerate(("monday", "tuesday")):
        sr.clicks.write_clicks(click_log(world, 1500, n_shown=4, seed=seed), folder / f"{day}.csv")
    return folder


def test_a_days_counts_are_added_to_yesterdays(folder: Path) -> None:
    here("clicks", "count", "monday.csv", "-o", "yesterday.parquet", folder=folder)
    shown = here("clicks", "count", "tuesday.csv", "--add", "yesterday.parquet", "-o", "both.csv", folder=folder)
    assert shown.code == 0
    here("clicks", "count", "monday.csv", "tuesday.csv", "-o", "at_once.csv", folder=folder)
    both, at_once = (sr.clicks.LogCounts.load(folder / name) for name in ("both.csv", "at_once.csv"))
    assert dict(zip(both.pair_docid.tolist(), np.bincount(both.document, both.clicks).tolist(), strict=True)) == dict(
        zip(at_once.pair_docid.tolist(), np.bincount(at_once.document, at_once.clicks).tolist(), strict=True)
    )
    found = json.loads(here("clicks", "propensity", "both.csv", "--counts", "--json", folder=folder).out)
    assert found["examination"] == sr.clicks.position_bias(both).to_dict()["examination"]


def test_what_counts_have_no_use_for_is_refused(folder: Path) -> None:
    failed = here("clicks", "count", "monday.csv", "-o", "a.csv", "--propensity", "p", folder=folder)
    assert failed.code == 2
    assert "no use for --propensity" in failed.err
    failed = here("clicks", "propensity", "monday.csv", "--counts", folder=folder)
    assert failed.code == 2
    assert "shown" in failed.err
    assert not (folder / "a.csv").exists()


def test_a_forgotten_context_is_an_error(folder: Path) -> None:
    table = (folder / "monday.csv").read_text().splitlines()
    by_hour = [f"{table[0]},hour", *(f"{line},{9 if number % 8 < 4 else 23}" for number, line in enumerate(table[1:]))]
    (folder / "hours.csv").write_text("\n".join(by_hour))
    assert here("clicks", "count", "hours.csv", "--context", "hour", "-o", "hours.parquet", folder=folder).code == 0
    failed = here("clicks", "count", "monday.csv", "--add", "hours.parquet", "-o", "sum.csv", folder=folder)
    assert failed.code == 2
    assert "has counts by hour: name it with --context" in failed.err
