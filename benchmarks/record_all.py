"""Run all scripts whose tables the pages show, and write what they find into the pages.

    python benchmarks/record_all.py FOLDER [NAME ...] [--list]

FOLDER is that of quality.py: mq2008, ohsumed, mslr-sample, lightgbm-example and shaped, with train.npz and valid.npz.
Use a machine that does nothing else: the scripts run one after the other, the most important ones first, and the pages
are written after each, so the run may be interrupted. With names, only these run. `--list` prints the commands and
about how many minutes each takes on two cores.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parent.parent
IN_TURNS = "swaprank LightGBM 'LightGBM, GOSS' XGBoost 'CatBoost, symmetric trees'"
FEW_RELEVANT = "--data 'few relevant' --queries 300 1000"
LARGE = "--formats bins --rows 20000000 --features 24 --workers 4"
SMALL = "lambdamart lambdarank smoothrank linear_regression"


class Run(NamedTuple):
    """A script with its options, recorded under a name."""

    name: str
    command: str
    minutes: float
    with_wheel: bool = False
    """Run with the package of a wheel that has compiled kernels."""


RUNS = (
    Run("training", f"training.py FOLDER/shaped --tables training --catboost-trees 200 --libraries {IN_TURNS}", 7),
    Run("training_parts", f"training.py FOLDER/shaped --tables binning metrics memory --libraries {IN_TURNS}", 4),
    Run("reading", "reading.py --repeat 15", 2),
    Run("metrics", "metrics.py", 0.5),
    Run("small_data", "small_data.py FOLDER --leaves 31 --trees 100 --repeat 3", 1),
    Run("scoring", "scoring.py --runs 4", 5),
    Run("nets", "nets.py --tables speedup growth", 1.5),
    Run("instruments", "instruments.py", 2),
    Run("smoothrank", "smoothrank.py --data FOLDER/ohsumed --repeat 3", 4),
    Run("ranksvm", "ranksvm.py FOLDER/shaped", 2),
    Run("cluster_training", "cluster_training.py", 6),
    Run("cluster_growth", "cluster_growth.py --picture docs/pictures/cluster_growth.svg", 4),
    Run("demo", "cold_start.py --demo", 1.5),
    Run("exported_c", "exported_c.py", 3),
    Run("levels", "levels.py --trees 20 --runs 3", 2),
    Run("growth", "growth.py --rows 50000 100000 200000 400000 --features 34 68 136", 2),
    Run("cold_start", f"cold_start.py --empty {SMALL}", 2.5),
    Run("cluster_memory", "cluster_memory.py PLACE --rows 4000000 --features 24 48 --formats parquet text bins", 4),
    Run("cluster_memory_large", f"cluster_memory.py PLACE {LARGE}", 6),
    # What these find does not depend on the speed of the machine.
    Run("quality", "quality.py FOLDER", 11),
    Run("intervals", "intervals.py --repetitions 400", 1),
    Run("columns", "columns.py FOLDER --seeds 2 --threads 1", 5),
    Run("objectives_by_size", f"objectives_by_size.py --models trees {FEW_RELEVANT} --seeds 5", 4),
    Run("cold_start_wheel", f"cold_start.py {SMALL}", 6, with_wheel=True),
)


def words(run: Run, folder: Path, place: str) -> list[str]:
    script, *options = shlex.split(run.command)
    options = [option.replace("FOLDER", str(folder)).replace("PLACE", place) for option in options]
    return [sys.executable, f"benchmarks/{script}", *options, "--record", run.name]


def wheel_in(folder: Path) -> dict[str, str]:
    """Build a wheel with kernels and unpack it; the environment in which it is imported instead of this checkout."""
    subprocess.run([sys.executable, "tools/build_wheel.py", "--out", str(folder)], cwd=PROJECT, check=True)
    (wheel,) = folder.glob("*.whl")
    unpacked = str(folder / "unpacked")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(wheel), unpacked], check=True)
    return {"PYTHONPATH": unpacked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one or more of those that --list prints")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    known = {run.name: run for run in RUNS}
    failed = []
    for each in [known[name] for name in options.names] or RUNS:
        print(f"{each.name}, about {each.minutes:g} minutes: {each.command}", flush=True)
        if not options.list:
            start = time.perf_counter()
            failed += [] if recorded(each, options.folder.resolve()) else [each.name]
            print(f"{each.name}: {(time.perf_counter() - start) / 60:.1f} minutes\n", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def recorded(run: Run, folder: Path) -> bool:
    """Run a script and write the pages; whether it could."""
    try:
        with tempfile.TemporaryDirectory() as place:
            environment = os.environ | (wheel_in(Path(place)) if run.with_wheel else {})
            subprocess.run(words(run, folder, f"{place}/files"), cwd=PROJECT, env=environment, check=True)
        if run.name == "training":
            subprocess.run([sys.executable, "benchmarks/time_to_quality.py"], cwd=PROJECT, check=True)
        subprocess.run([sys.executable, "tools/refresh_figures.py"], cwd=PROJECT, check=True)
    except subprocess.CalledProcessError as error:
        print(error)
        return False
    return True


if __name__ == "__main__":
    main()
