"""Claim: compiled for a CPU level instead of for this very CPU, LambdaMART trains at most 5% slower.

    python benchmarks/levels.py [FOLDER] [--trees 30] [--runs 5] [--threads 2]

FOLDER has train.npz with X (float32), y and sizes (documents per query); without it, data is generated. Processes with
kernels for each level of this CPU and for the CPU itself (Numba's default) take turns. The time is that of the fastest
fit of each, without the first fit of its process, and relative to the CPU itself. The models must be the same.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from recording import Recording, add_record

HOST = "this CPU"


def fit(folder: str | None, n_trees: int, n_threads: int) -> tuple[float, str, str]:
    """Seconds of the second fit, a digest of the model, and the data; runs in the measured processes."""
    import swaprank as sr

    if folder:
        with np.load(Path(folder) / "train.npz") as arrays:
            data = sr.Dataset(arrays["X"], arrays["y"], qid=np.repeat(np.arange(len(arrays["sizes"])), arrays["sizes"]))
    else:
        (data,) = sr.datasets.random_net(4000, n_features=100, random_state=0)
    ranker = sr.LambdaMART("ndcg@10", n_trees=n_trees, n_leaves=63, n_threads=n_threads)
    for _ in range(2):
        start = time.perf_counter()
        ranker.fit(data)
        seconds = time.perf_counter() - start
    shape = f"{len(data):,} documents x {data.n_features} features"
    return seconds, hashlib.sha256(ranker.predict(data).tobytes()).hexdigest(), shape


def measured_process(level: str, options: argparse.Namespace, cache: str) -> tuple[float, str, str]:
    command = [sys.executable, __file__, *sys.argv[1:], "--measured", level]
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    seconds, digest, shape = json.loads(done.stdout)
    return seconds, digest, shape


def main() -> None:
    from swaprank.compilation import levels

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--measured", help=argparse.SUPPRESS)
    add_record(parser)
    options = parser.parse_args()
    if options.measured:
        # Before anything is compiled: what swaprank itself would choose is a level.
        known = {level.name: level for level in levels.cpu_levels()}
        levels.LEVEL = known.get(options.measured, levels.Level(HOST, llvm.get_host_cpu_name()))
        print(json.dumps(fit(options.folder, options.trees, options.threads)))
        return
    with Recording(options) as recording:
        report(recording, options)


def report(recording: Recording, options: argparse.Namespace) -> None:
    from swaprank.compilation import levels

    names = [HOST, *(level.name for level in levels.cpu_levels())]
    times: dict[str, list[float]] = {name: [] for name in names}
    digests = set()
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(options.runs):
            for name in names:
                seconds, digest, shape = measured_process(name, options, cache)
                times[name].append(seconds)
                digests.add(digest)
    assert len(digests) == 1, "the models differ"
    recording.says(
        f"{shape}; {options.trees} trees, {options.threads} threads; this CPU is {llvm.get_host_cpu_name()}; "
        "all models are equal"
    )
    table = recording.table("levels", "Compiled for", "Seconds", "Relative")
    for name in names:
        table.add(name, f"{min(times[name]):.2f}", f"{min(times[name]) / min(times[HOST]):.2f}")


if __name__ == "__main__":
    main()
