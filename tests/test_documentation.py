"""The code blocks of README.md and docs/ run, and print what the block after them says."""

import contextlib
import importlib
import io
import json
import re
import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT

PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NEEDED = {"spark.md": "pyspark", "ray.md": "ray.data"}
"""What pages need that is not installed for the tests."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```python" in page.read_text()], ids=lambda page: page.name
)
def test_code_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if page.name in NEEDED:
        pytest.importorskip(NEEDED[page.name], reason=f"{NEEDED[page.name]} is not installed")
        # Such large libraries warn of each other's versions.
        warnings.simplefilter("ignore")
    if '"MQ2008"' in page.read_text():
        monkeypatch.setenv("MQ2008", str(request.getfixturevalue("shared_data") / "mq2008"))
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(page.read_text())
    for (language, code), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, page.name, "exec"), names)
            if following == "text":
                assert printed.getvalue() == expected


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
