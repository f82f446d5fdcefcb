"""A few cases of tools/kill_workers.py; the script runs 20 and more."""

import subprocess
import sys

import pytest

from tests.conftest import PROJECT

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize(("cluster", "seed"), [("local", 1), ("commands", 2)])
def test_a_killed_worker_is_a_clear_error_and_training_goes_on_to_the_same_model(cluster: str, seed: int) -> None:
    command = [sys.executable, str(PROJECT / "tools" / "kill_workers.py"), cluster, "--kills", "2", "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "2 kills: " in done.stdout
    assert "2 identical models" in done.stdout
