"""A few cases of tools/fuzz.py; the script runs thousands."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TOOLS = Path(__file__).parent.parent / "tools"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits of memory")
@pytest.mark.parametrize(
    ("kind", "n_cases"),
    [("readers", 150), ("models", 80), ("bins", 80), ("clicks", 80), ("trials", 25), ("config", 80)],
)
def test_damaged_files_give_an_answer_or_a_clear_error(
    kind: str, n_cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("polars")
    if kind == "trials":
        pytest.importorskip("optuna")
    monkeypatch.syspath_prepend(TOOLS)
    fuzz = import_module("fuzz")
    # The cases run in a process of their own, which may crash.
    fuzz.prepare(kind, tmp_path)
    counts = fuzz.fuzz(kind, 14, n_cases, tmp_path)
    assert counts["FAILED"] == 0, capsys.readouterr().out
    assert counts.total() == n_cases
