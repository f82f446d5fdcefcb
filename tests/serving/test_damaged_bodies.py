"""A few cases of tools/fuzz_bodies.py; the script runs thousands."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import PROJECT

pytest.importorskip("msgspec", reason="msgspec is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.mark.slow
def test_damaged_bodies_give_an_answer_or_a_clear_error() -> None:
    command = [sys.executable, str(PROJECT / "tools" / "fuzz_bodies.py"), "--cases", "1000", "--seed", "14"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "1000 tried, 0 failed" in done.stdout
