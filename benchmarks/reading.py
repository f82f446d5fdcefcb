"""The speed of reading LETOR text, and the memory that it takes, compared with scikit-learn and XGBoost.

    python benchmarks/reading.py [FILE or FOLDER] [--repeat 5]

Without a file, the script generates one of 130 MB with 136 dense features, half of them zero, from a fixed seed. For a
folder, it uses the smallest file of at least 100 MB. All readers run in this process, in turns, with all cores, on a
file in the page cache. The best of the turns counts, and the median of the ratios; scikit-learn runs once. Memory is
measured in one process per reader: the largest anonymous memory (`RssAnon`, sampled every 5 ms) during the second read
(the first one compiles) minus the memory before it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import watched_memory
from recording import Recording, add_record

from swaprank.arrays import Floats

MEGABYTE = 1e6
MIN_BYTES = 100 * MEGABYTE


def read_ours(file: Path) -> object:
    from swaprank.reading.letor import read_letor

    return read_letor(file)


def read_scikit_learn(file: Path) -> object:
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(str(file), query_id=True)


def read_xgboost(file: Path) -> object:
    import xgboost

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xgboost.DMatrix(f"{file}?format=libsvm", nthread=os.cpu_count(), silent=True)


READERS: dict[str, Callable[[Path], object]] = {
    "swaprank": read_ours,
    "XGBoost": read_xgboost,
    "scikit-learn": read_scikit_learn,
}


def make_file(folder: Path) -> Path:
    """Write a file like those of MSLR: counts, fractions with six digits, and many zeros."""
    from swaprank.data.dataset import Dataset
    from swaprank.reading.letor_writing import write_letor

    rng = np.random.default_rng(0)
    n_rows = 120_000
    X = np.round(rng.lognormal(0, 2, (n_rows, 136)), 6)
    X[:, ::3] = np.floor(X[:, ::3])
    X[rng.random(X.shape) < 0.4] = 0
    file = folder / "train.txt"
    write_letor(Dataset(X, rng.integers(0, 5, n_rows), qid=np.arange(n_rows) // 120), file)
    return file


def choose_file(given: Path | None, folder: Path) -> Path:
    if given is None:
        return make_file(folder)
    if given.is_file():
        return given
    files = [file for file in given.glob("*.txt") if file.stat().st_size >= MIN_BYTES]
    return min(files, key=lambda file: file.stat().st_size)


def print_peak(name: str, file: Path) -> None:
    """Print one reader's peak memory; runs in a process of its own."""
    READERS[name](file)
    with watched_memory() as peak:
        result = READERS[name](file)
    print(peak.largest - peak.start)
    del result


def peak_bytes(name: str, file: Path) -> int:
    command = [sys.executable, __file__, str(file), "--peak-of", name]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def in_turns(file: Path, repeat: int) -> dict[str, Floats]:
    """Seconds on the clock and of CPU time (columns) of every turn."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in READERS}
    for turn in range(repeat):
        for name, read in READERS.items():
            if turn == 0 or name != "scikit-learn":
                start, worked = time.perf_counter(), time.process_time()
                read(file)
                seconds[name].append((time.perf_counter() - start, time.process_time() - worked))
    return {name: np.array(each) for name, each in seconds.items()}


def report(recording: Recording, file: Path, repeat: int) -> None:
    from swaprank.data.dataset import Dataset

    data = READERS["swaprank"](file)
    assert isinstance(data, Dataset)
    matrix = data.features.nbytes
    recording.says(
        f"{file.stat().st_size / MEGABYTE:,.0f} MB, {len(data):,} documents x {data.n_features} features, "
        f"{os.cpu_count()} threads, best of {repeat} turns (scikit-learn: one)"
    )
    del data
    table = recording.table(
        "readers", "", "Seconds", "Relative", "Median of turns", "CPU seconds", "Relative CPU", "Peak MB",
        "Relative to the matrix",
    )  # fmt: skip
    READERS["XGBoost"](file)
    found = in_turns(file, repeat)
    ours = found["swaprank"]
    for name, seconds in found.items():
        peak = peak_bytes(name, file)
        (clock, cpu), relative = seconds.min(axis=0), seconds.min(axis=0) / ours.min(axis=0)
        median = np.median(seconds[:, 0] / ours[: len(seconds), 0])
        table.add(
            name, f"{clock:.3f}", f"{relative[0]:.1f}", f"{median:.1f}", f"{cpu:.3f}", f"{relative[1]:.1f}",
            f"{peak / MEGABYTE:,.0f}", f"{peak / matrix:.2f}",
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peak-of", choices=list(READERS), help=argparse.SUPPRESS)
    add_record(parser)
    arguments = parser.parse_args()
    if arguments.peak_of:
        print_peak(arguments.peak_of, arguments.path)
        return
    with Recording(arguments, "scikit-learn", "xgboost") as recording, tempfile.TemporaryDirectory() as folder:
        report(recording, choose_file(arguments.path, Path(folder)), arguments.repeat)


if __name__ == "__main__":
    main()
