"""Compiled kernels on disk."""

import os
import subprocess
import sys
from pathlib import Path

SCALE = """
from typing import NamedTuple
from swaprank.kernels import kernel

class {name}(NamedTuple):
    factor: float

@kernel
def scale(settings, x):
    return settings.factor * x

print(scale({name}(2.0), 21.0), sum(scale.stats.cache_hits.values()))
"""


def test_a_cache_of_types_that_are_gone_is_compiled_anew(tmp_path: Path) -> None:
    """As after an update that renamed a type: Numba alone would raise AttributeError."""
    module = tmp_path / "scaling.py"

    def run(name: str) -> str:
        module.write_text(SCALE.format(name=name))
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", "import scaling"]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    assert run("Settings") == "42.0 0"
    assert run("Settings").startswith("42.0")
    assert run("Renamed") == "42.0 0"
    assert run("Renamed").startswith("42.0")
