"""The code blocks of README.md and docs/ run, and print what the block after them says."""

import difflib
import importlib
import json
import re
import shlex
import tomllib
import warnings
from pathlib import Path

import pytest
from typer.main import get_command

from swaprank.cli import app
from tests.conftest import PROJECT
from tests.pages import BLOCK, COMMANDS, commands, comparable, is_of_these_versions, refreshed, runnable

NEEDED = {"spark.md": "pyspark", "ray.md": "ray.data"}
"""What pages need that is not installed for the tests."""


@pytest.mark.slow
@pytest.mark.parametrize("page", runnable(), ids=lambda page: page.name)
def test_code_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if page == COMMANDS:
        pytest.importorskip("optuna", reason="Optuna is not installed")
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name], reason=f"{NEEDED[page.name]} is not installed")
        # Such large libraries warn of each other's versions.
        warnings.simplefilter("ignore")
    text = page.read_text("utf-8")
    if '"MQ2008"' in text:
        monkeypatch.setenv("MQ2008", str(request.getfixturevalue("shared_data") / "mq2008"))
    new = refreshed(page)
    if is_of_these_versions(page):
        changed = "".join(difflib.unified_diff(text.splitlines(True), new.splitlines(True), "page", "printed", n=1))
        assert not changed, f"{changed}\ntools/refresh_docs.py {page.name} writes what is printed now."


def test_times_and_last_digits_are_not_compared() -> None:
    table = "trial  seconds  leaves\n-----  -------  ------\n    1      {}      31\n\nseven 1.0 2.0\n"
    assert comparable(table.format("1.5")) == comparable(table.format("0.7"))
    assert comparable(table.format("1.5")) != comparable(table.format("1.5").replace("31", "32"))
    assert comparable("a\n\nseven 1.0 2.0") != comparable("a\n\nseven 1.1 2.0")
    assert comparable("1.00759855738197") == comparable("1.00759855738198")
    assert comparable("1.0076") != comparable("1.0077")


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    page = COMMANDS.read_text("utf-8")
    lines = [line for language, code in BLOCK.findall(page) if language == "sh" for line in commands(code)]
    run = {words[1] for line in lines if (words := shlex.split(line, comments=True))[:1] == ["swaprank"]}
    linked = set(re.findall(r"\[`(\w+)`\]\((?!#)", page))
    known = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert known - run <= linked


def test_the_first_commands_are_those_that_ci_runs() -> None:
    readme = (PROJECT / "README.md").read_text()
    first_block = next(code for language, code in BLOCK.findall(readme) if language == "sh")
    commands = [line.partition("#")[0].strip() for line in first_block.splitlines()]
    assert commands == ["pip install . && swaprank demo", 'pip install ".[test]" && pytest']
    ci = (PROJECT / ".ci" / "run").read_text().splitlines()
    for command in commands:
        install, then = command.split(" && ")
        assert ci[ci.index(install) + 1] == then


def test_the_badges_of_the_readme_say_what_is_declared() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    first, *_, last = (each for each in project["classifiers"] if ":: Python :: 3." in each)
    python = f"Python {first.rpartition(' ')[2]} to {last.rpartition(' ')[2]}"
    badges = re.findall(r"!\[([^]]+)\]\((docs/pictures/badge_\w+\.svg)\)", (PROJECT / "README.md").read_text())
    assert [text for text, _ in badges] == [python, project["license"], "typed, mypy strict"]
    assert project["requires-python"] == f">={first.rpartition(' ')[2]}"
    for text, file in badges:
        assert f"<title>{text}</title>" in (PROJECT / file).read_text()


def test_the_first_picture_shows_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PROJECT / "benchmarks")
    chart = importlib.import_module("time_to_quality")
    assert chart.PICTURE.read_text() == chart.drawn(json.loads(chart.MEASURED.read_text()))
