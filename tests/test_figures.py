"""Tables and figures of the pages are those that the scripts in benchmarks/ have recorded."""

import argparse
import importlib
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
    assert not re.findall(r"^<!-- measured.*-->\S.*", text, re.MULTILINE), (
        "a comment that begins a line ends the paragraph"
    )


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


def test_what_a_script_adds_is_what_a_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(PROJECT / "benchmarks")
    recording = importlib.import_module("recording")
    monkeypatch.setattr(recording, "RESULTS", tmp_path)
    monkeypatch.setattr(recording, "FOLDER", tmp_path / "benchmarks")
    monkeypatch.setattr(recording, "git", lambda *words: "abc")
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["place/reading.py", str(tmp_path), "--repeat", "3", "--record", "trial"])
    with recording.Recording(argparse.Namespace(record="trial"), "scipy") as made:
        made.says("Two rows")
        table = made.table("times", "", "Seconds")
        table.add("`one`", "**1.50**")
        table.add("two", 2)
    printed = "|  | Seconds |\n|---|---:|\n| `one` | **1.50** |\n| two | 2 |\n"
    assert printed in capsys.readouterr().out
    page = "A ratio of <!-- measured: trial / times / one / Seconds -->7<!-- /measured -->\n"
    page += "\n<!-- measured: trial -->\nold\n<!-- /measured -->\n"
    first, *_, new = (text := figures.refreshed(page)).partition("<!-- measured: trial -->")
    assert "Seconds -->1.50<!--" in first
    assert new.startswith(f"\n\n{printed}\n`python benchmarks/reading.py FOLDER --repeat 3` on 20")
    assert "Two rows." in new
    assert "commit abc with changes" in new
    assert "scipy " in new
    assert figures.refreshed(text) == text
    for missing in ("other", "trial / other", "trial / times / three / Seconds", "trial / times / one / Metres"):
        assert figures.MISSING in figures.shown(missing)
