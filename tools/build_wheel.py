"""Build a wheel that contains compiled kernels, for every CPU level that this machine has.

    python tools/build_wheel.py [--out dist]

The wheel is for this platform, version of Python and version of Numba. With another version of Numba, it works as a
wheel without compiled kernels does: kernels are compiled when they are first used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT / "src"))


def main() -> None:
    from swaprank.compilation.levels import VARIABLE, cpu_levels

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheel")
    out = parser.parse_args().out.absolute()
    with TemporaryDirectory() as cache:
        for level in cpu_levels():
            print(f"Compiling for {level.name}:", flush=True)
            environment = os.environ | {
                "NUMBA_CACHE_DIR": cache,
                VARIABLE: level.name,
                "PYTHONPATH": str(PROJECT / "src"),
            }
            subprocess.run([sys.executable, "-m", "swaprank", "warm", "--verbose"], check=True, env=environment)
        environment = os.environ | {"SWAPRANK_KERNELS": str(Path(cache) / "swaprank")}
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(out), str(PROJECT)]
        subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
