"""A few cases of tools/fuzz.py; the script runs thousands."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent.parent / "tools" / "fuzz.py"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX limits of memory")
@pytest.mark.parametrize(
    ("kind", "n_cases"),
    [("readers", 150), ("models", 80), ("bins", 80), ("clicks", 80), ("trials", 25), ("config", 80)],
)
def test_damaged_files_give_an_answer_or_a_clear_error(kind: str, n_cases: int) -> None:
    pytest.importorskip("polars")
    if kind == "trials":
        pytest.importorskip("optuna")
    command = [sys.executable, str(SCRIPT), kind, "--cases", str(n_cases), "--seed", "14"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert f"{n_cases} tried, 0 failed" in done.stdout
