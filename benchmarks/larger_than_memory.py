"""Claim: 20 million rows x 136 features are binned and trained on with one byte per value, and never all in memory.

    python benchmarks/larger_than_memory.py FOLDER [--rows 20000000] [--trees 10] [--leaves 63] [--peer-rows N] [--keep]

Parts of a million rows are generated and written to FOLDER as Parquet, block by block. Then, each in a process of its
own:

    bin             `swaprank bin parts -o train.bins`: two passes over the parts; rows per second of both together
    train           LambdaMART with defaults on train.bins: seconds per tree, minimum and median without the first
    LightGBM        the same parts through lightgbm.Sequence, with 255 bins, column by column, and the same number of
                    leaves: rows per second for its data set, and seconds per tree

    CPU s           of all threads: on a machine with other load, a better measure than seconds
    anonymous       the largest memory of the process that is not a file: `RssAnon`, sampled every 20 ms
    with files      the largest memory with the pages of mapped files, which the system takes back if it needs them:
                    `VmHWM`
    limit           1.4 bytes x rows x features + 60 bytes x rows, for training

`--peer-rows` trains LightGBM on the first so many rows only. Disk: 4.3 bytes per value for the parts and 1.1 for bins.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measuring import memory, watched_memory

import swaprank as sr
from swaprank.arrays import AnyArray, Features

N_FEATURES = 136
LIST_LENGTH = 100
PART = 1_000_000
GROUP = 100_000


def generated(number: int, n_rows: int) -> tuple[Features, AnyArray]:
    """Rows of one row group: dense numbers, counts, zeros and missing values, and labels that depend on some."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((n_rows, N_FEATURES), np.float32)
    X[:, 40:70] = np.floor(np.exp(X[:, 40:70] + 1))
    X[:, 70:90] = np.maximum(X[:, 70:90], 0)
    X[:, 90:100][X[:, 90:100] > 1.5] = np.nan
    signal = X[:, :20].sum(axis=1) / 3 + np.log1p(X[:, 45]) + X[:, 75] * X[:, 1]
    labels = np.digitize(signal + 2 * rng.standard_normal(n_rows, np.float32), [1.5, 3, 4.5, 6])
    return X, labels


def write_parts(folder: Path, n_rows: int) -> None:
    import pyarrow
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for part in range(-(-n_rows // PART)):
        file = folder / f"part-{part:04}.parquet"
        if file.exists():
            continue
        writer = None
        for first in range(part * PART, min((part + 1) * PART, n_rows), GROUP):
            X, labels = generated(first // GROUP, min(GROUP, n_rows - first))
            qid = (first + np.arange(len(X))) // LIST_LENGTH
            columns = {"qid": qid, "label": labels.astype(np.int8)}
            table = pyarrow.table({**columns, **{f"f{k}": np.ascontiguousarray(X[:, k]) for k in range(N_FEATURES)}})
            writer = writer or parquet.ParquetWriter(
                folder / f"{file.name}.new", table.schema, compression="zstd", use_dictionary=False
            )
            writer.write_table(table)
        assert writer is not None
        writer.close()
        (folder / f"{file.name}.new").rename(file)


def bin_parts(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    from swaprank.reading.binned_reading import read_binned

    passes: dict[str, list[float]] = {}

    def update(done: int, total: int, title: str, details: str) -> None:
        passes.setdefault(title, []).append(time.perf_counter())

    start = time.perf_counter()
    data = read_binned(folder / "parts", None, 255, target=folder / "train.bins", progress=update)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "rows/s": len(data) / seconds,
        "first pass": passes["sampling"][-1] - start,
        "second pass": passes["binning"][-1] - passes["binning"][0],
        "GB of bins": (folder / "train.bins").stat().st_size / 1e9,
    }


def train(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    times = [time.perf_counter()]
    data = sr.read(folder / "train.bins")
    opened = time.perf_counter() - times[0]
    times = [time.perf_counter()]
    ranker = sr.LambdaMART(n_trees=options.trees, n_leaves=options.leaves)
    ranker.fit(data, callbacks=[lambda progress: times.append(time.perf_counter())])
    rows = len(data)
    limit = 1.4 * rows * data.n_features + 60 * rows
    return {"seconds to open": opened, **per_tree(times), "limit GB": limit / 1e9}


def per_tree(times: list[float]) -> dict[str, float]:
    taken = np.diff(times)
    return {
        "first tree s": float(taken[0]),
        "s/tree min": float(taken[1:].min()),
        "s/tree median": float(np.median(taken[1:])),
    }


def train_lightgbm(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    import lightgbm
    from pyarrow import parquet

    class Part(lightgbm.Sequence):
        """Rows of a Parquet file; the row group that was asked for last is kept."""

        batch_size = 4096

        def __init__(self, file: Path) -> None:
            self.file = parquet.ParquetFile(file)
            self.at, self.X = -1, np.empty((0, N_FEATURES), np.float32)

        def __len__(self) -> int:
            return int(self.file.metadata.num_rows)

        def group(self, number: int) -> Features:
            if number != self.at:
                columns = self.file.read_row_group(number, [f"f{k}" for k in range(N_FEATURES)])
                self.at, self.X = number, np.column_stack([column.to_numpy() for column in columns])
            return self.X

        def __getitem__(self, rows: Any) -> Any:
            if isinstance(rows, slice):
                start, stop, _ = rows.indices(len(self))
                parts = []
                while start < stop:
                    end = min(stop, (start // GROUP + 1) * GROUP)
                    first = start // GROUP * GROUP
                    parts.append(self.group(start // GROUP)[start - first : end - first])
                    start = end
                return np.concatenate(parts).astype(np.float64)
            return self.group(int(rows) // GROUP)[int(rows) % GROUP].astype(np.float64)

    files = sorted((folder / "parts").glob("*.parquet"))[: -(-options.peer_rows // PART)]
    labels = np.concatenate([parquet.read_table(file, columns=["label"])["label"].to_numpy() for file in files])
    n_rows = len(labels)
    start = time.perf_counter()
    data = lightgbm.Dataset(
        [Part(file) for file in files],
        label=labels,
        group=[LIST_LENGTH] * (n_rows // LIST_LENGTH),
        params={"max_bin": 255, "verbose": -1, "num_threads": 2, "force_col_wise": True},
    )
    data.construct()
    binned = time.perf_counter() - start
    times = [time.perf_counter()]
    parameters = {
        "objective": "lambdarank", "num_leaves": options.leaves, "learning_rate": 0.1, "verbose": -1, "num_threads": 2,
        "max_bin": 255, "force_col_wise": True, "min_data_in_leaf": 20,
    }  # fmt: skip
    lightgbm.train(parameters, data, options.trees, callbacks=[lambda _: times.append(time.perf_counter())])
    return {"rows": n_rows, "seconds": binned, "rows/s": n_rows / binned, **per_tree(times)}


STEPS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "bin": bin_parts,
    "train": train,
    "LightGBM": train_lightgbm,
}


def measured(step: str, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run a step in this process, and watch its memory."""
    with watched_memory(pause=0.02) as peak:
        found = STEPS[step](folder, options)
    return {
        **found,
        "CPU s": time.process_time(),
        "anonymous GB": peak.largest / 1e9,
        "with files GB": memory("VmHWM") / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--peer-rows", type=int, help="rows that LightGBM reads; default: all, 0: none")
    parser.add_argument("--keep", action="store_true", help="keep the files")
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.peer_rows = options.rows if options.peer_rows is None else options.peer_rows
    if options.step:
        print(json.dumps(measured(options.step, options.folder, options)))
        return
    start = time.perf_counter()
    write_parts(options.folder / "parts", options.rows)
    size = sum(file.stat().st_size for file in (options.folder / "parts").iterdir())
    print(f"{options.rows:,} rows x {N_FEATURES} features in {size / 1e9:.1f} GB of Parquet, {os.cpu_count()} cores; "
          f"generated in {time.perf_counter() - start:.0f} s")  # fmt: skip
    for step in STEPS:
        if step == "LightGBM" and not options.peer_rows:
            continue
        done = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--step", step], check=True, capture_output=True, text=True
        )
        found = json.loads(done.stdout.splitlines()[-1])
        shown = [f"{name} {value:,.3g}" if value < 1000 else f"{name} {value:,.0f}" for name, value in found.items()]
        print(f"{step:10}{', '.join(shown)}", flush=True)
    if not options.keep:
        for file in [*(options.folder / "parts").iterdir(), options.folder / "train.bins"]:
            file.unlink()


if __name__ == "__main__":
    main()
