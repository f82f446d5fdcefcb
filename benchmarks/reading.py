"""The speed of reading LETOR text, and the memory that it takes, compared with scikit-learn and XGBoost.

    python benchmarks/reading.py [FILE or FOLDER] [--repeat 5]

Without a file, the script generates one of 130 MB with 136 dense features, half of them zero, from a fixed seed. For a
folder, it uses the smallest file of at least 100 MB. All readers run in this process, one after the other, with all
cores, on a file in the page cache. The best of the repetitions counts; scikit-learn runs at most twice. Memory is
measured in one process per reader: the largest anonymous memory (`RssAnon`, sampled every 5 ms) during the second read
(the first one compiles) minus the memory before it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from measuring import fastest, machine, package_version, watched_memory

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
    "scikit-learn": read_scikit_learn,
    "xgboost": read_xgboost,
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


def report(file: Path, repeat: int) -> None:
    from swaprank.data.dataset import Dataset

    data = READERS["swaprank"](file)
    assert isinstance(data, Dataset)
    size, matrix = file.stat().st_size, data.features.nbytes
    print(f"{file.name}: {size / MEGABYTE:,.0f} MB, {data}")
    print(f"{machine('numba')}\n")
    del data
    seconds = {
        name: fastest(partial(read, file), min(repeat, 2) if name == "scikit-learn" else repeat)
        for name, read in READERS.items()
    }
    print("| reader | seconds | MB/s | times swaprank | peak memory, MB | relative to the matrix |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, each in seconds.items():
        peak = peak_bytes(name, file)
        print(
            f"| {name} {package_version(name)} | {each:.2f} | {size / each / MEGABYTE:,.0f} "
            f"| {each / seconds['swaprank']:.1f} | {peak / MEGABYTE:,.0f} | {peak / matrix:.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--peak-of", choices=list(READERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_of:
        print_peak(arguments.peak_of, arguments.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        report(choose_file(arguments.path, Path(folder)), arguments.repeat)


if __name__ == "__main__":
    main()
