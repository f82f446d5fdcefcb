"""docs/reproduction.md is what tools/refresh_reproduction.py makes from the saved runs."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from swaprank.reproduction.experiment_names import EXPERIMENTS
from tests.conftest import PROJECT

SCRIPT = PROJECT / "tools" / "refresh_reproduction.py"


@pytest.fixture
def tool() -> ModuleType:
    found = importlib.util.spec_from_file_location("refresh_reproduction", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_page_is_made_from_the_saved_runs(tool: ModuleType) -> None:
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run python tools/refresh_reproduction.py"


def test_every_experiment_has_a_section_and_every_run_says_on_what_it_ran(tool: ModuleType) -> None:
    page = tool.page()
    assert all(f"[`{name}`](#" in page for name in EXPERIMENTS)
    for run in tool.RUNS.glob("*.txt"):
        first = run.read_text(encoding="utf-8").partition("\n")[0]
        assert re.match(r"commit [0-9a-f]{7,}, .*\d{4}-\d\d-\d\d$", first), run
        assert first in page, f"{run} is in no section"


def test_a_run_is_saved_with_what_it_ran_on(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "RUNS", tmp_path)
    (tmp_path / "output").write_text("a table\n")
    tool.save("some", tmp_path / "output", "abcdef0")
    first, second = (tmp_path / "some.txt").read_text(encoding="utf-8").splitlines()
    assert second == "a table"
    assert first.startswith("commit abcdef0, swaprank ")
    assert "numba" in first
