"""Tables and figures of the pages are those that the scripts in benchmarks/ have recorded."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import PROJECT


def loaded(file: Path) -> ModuleType:
    found = importlib.util.spec_from_file_location(file.stem, file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


figures = loaded(PROJECT / "tools" / "refresh_figures.py")
MARKED_PAGES = [page for page in figures.PAGES if "<!-- measured" in page.read_text("utf-8")]
BENCHMARKS = PROJECT / "docs" / "benchmarks.md"


def name_of(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


@pytest.mark.parametrize("page", MARKED_PAGES, ids=name_of)
def test_a_page_shows_what_was_recorded(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == figures.refreshed(text), "python tools/refresh_figures.py writes what was recorded"
    assert text.count("<!-- measured") == text.count("<!-- /measured -->") == len(list(figures.places(text)))
    assert figures.MISSING not in text


def test_every_recorded_table_is_on_a_page() -> None:
    shown = {place for page in MARKED_PAGES for place in figures.places(page.read_text("utf-8"))}
    for file in sorted(figures.RESULTS.glob("*.json")):
        for table in json.loads(file.read_text("utf-8"))["tables"]:
            assert {file.stem, f"{file.stem} / {table}"} & shown, f"{file.name}, {table}"


def test_benchmarks_have_no_figures_that_no_script_recorded() -> None:
    prose = re.sub(r"`[^`\n]*`", "", figures.MARKED.sub("", BENCHMARKS.read_text("utf-8")))
    assert not re.findall(r"^\|.*", prose, re.MULTILINE), "a table that is not between comments"
    assert not re.findall(r"\d+\.\d+", prose)


def test_the_commands_have_no_paths_of_a_machine() -> None:
    for file in figures.RESULTS.glob("*.json"):
        script, *words = json.loads(file.read_text("utf-8"))["command"].removeprefix("python ").split()
        assert (PROJECT / script).is_file()
        assert not [word for word in words if "/" in word], file.name
