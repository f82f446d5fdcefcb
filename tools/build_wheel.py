"""Build a wheel that contains compiled kernels, for every CPU level that this machine has.

    python tools/build_wheel.py [--out dist]

The wheel is for this platform, version of Python and version of Numba. With another version of Numba, it works as a
wheel without compiled kernels does: kernels are compiled when they are first used.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from tempfile import TemporaryDirectory

PROJECT = Path(__file__).parent.parent
sys.path.insert(0, str(PROJECT / "src"))


def wheel_tag(metadata: str) -> str:
    r"""The tags of a wheel's file WHEEL as one, with all platforms.

    >>> wheel_tag("Tag: cp312-cp312-manylinux_2_27_x86_64\nTag: cp312-cp312-manylinux_2_28_x86_64\n")
    'cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64'
    """
    tags = re.findall(r"^Tag: (\S+-\S+)-(\S+)$", metadata, re.MULTILINE)
    return f"{tags[0][0]}-{'.'.join(platform for _, platform in tags)}"


def main() -> None:
    from swaprank.compilation.levels import VARIABLE, cpu_levels

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheel")
    out = parser.parse_args().out.absolute()
    # Kernels call Python, Numba and old functions of the C library (memcpy, log10, send): they run where llvmlite does.
    tag = wheel_tag(distribution("llvmlite").read_text("WHEEL") or "")
    with TemporaryDirectory() as cache:
        for level in cpu_levels():
            print(f"Compiling for {level.name}:", flush=True)
            environment = os.environ | {
                "NUMBA_CACHE_DIR": cache,
                VARIABLE: level.name,
                "PYTHONPATH": str(PROJECT / "src"),
            }
            subprocess.run([sys.executable, "-m", "swaprank", "warm", "--verbose"], check=True, env=environment)
        environment = os.environ | {"SWAPRANK_KERNELS": str(Path(cache) / "swaprank"), "SWAPRANK_KERNELS_TAG": tag}
        command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(out), str(PROJECT)]
        subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
