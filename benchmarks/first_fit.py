"""Claim: the first fit on a new machine takes at most 30 s longer than a warm fit, and in the next process at most 1 s.

    python benchmarks/first_fit.py [--runs 3] [--valid]

Every run is a new process. It imports swaprank, generates a small data set, and fits a LambdaMART of ten trees four
times. The result is the time of the first fit minus the fastest of the other three, the best of several processes: with
an empty NUMBA_CACHE_DIR, so that all kernels are compiled, and with the cache that this process leaves behind. The
times of the import and of the first predict are also shown. With --valid, the fit also measures a validation set after
every tree, which needs more kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from typing import NamedTuple

LIMITS = {"empty cache": 30.0, "warm cache": 1.0}


class Times(NamedTuple):
    """Seconds of one process."""

    imported: float
    first_fit: float
    warm_fit: float
    predicted: float

    @property
    def overhead(self) -> float:
        """How much longer the first fit took than a warm one."""
        return self.first_fit - self.warm_fit


def print_times(with_valid: bool) -> None:
    """Print the times of this process; runs in the measured processes."""
    start = time.perf_counter()
    import swaprank as sr

    train, vali = sr.datasets.random_net((100, 50), n_features=20, random_state=0)
    ranker = sr.LambdaMART("ndcg@10", n_trees=10)
    ends = [start, time.perf_counter()]
    for _ in range(4):
        ranker.fit(train, valid=vali if with_valid else None)
        ends.append(time.perf_counter())
    ranker.predict(vali)
    ends.append(time.perf_counter())
    imported, first_fit, *warm_fits, predicted = (b - a for a, b in zip(ends[:-1], ends[1:], strict=True))
    print(json.dumps(Times(imported, first_fit, min(warm_fits), predicted)))


def run_process(cache: str, with_valid: bool) -> Times:
    command = [sys.executable, __file__, "--measured", *(["--valid"] if with_valid else [])]
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return Times(*json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--valid", action="store_true")
    parser.add_argument("--measured", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measured:
        print_times(options.valid)
        return
    times: dict[str, list[Times]] = {name: [] for name in LIMITS}
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as cache:
            times["empty cache"].append(run_process(cache, options.valid))
            times["warm cache"].append(run_process(cache, options.valid))
    print(f"First fit of a process, best of {options.runs}; {os.cpu_count()} cores, ", end="")
    print(f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, ", end="")
    print(f"swaprank {version('swaprank')}, numba {version('numba')}.\n")
    print("| seconds | first fit | warm fit | difference | limit | import and data | first predict |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, runs in times.items():
        best = min(runs, key=lambda each: each.overhead)
        fits = f"{best.first_fit:.2f} | {best.warm_fit:.3f} | {best.overhead:.2f} | under {LIMITS[name]:g}"
        print(f"| {name} | {fits} | {best.imported:.2f} | {best.predicted:.2f} |")


if __name__ == "__main__":
    main()
