"""One case of tools/cut_network.py; the script cuts five times and more."""

import subprocess
import sys

import pytest

from tests.conftest import PROJECT

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


def test_training_goes_on_without_a_worker_that_is_cut_off() -> None:
    command = [sys.executable, str(PROJECT / "tools" / "cut_network.py"), "--cuts", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.strip())
    assert "1 cuts: 1 identical models" in done.stdout
