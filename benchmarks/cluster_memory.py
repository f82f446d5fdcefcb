"""Claim: a worker of a cluster needs about 1 byte a value and 70 bytes a row, whatever its parts are.

    python benchmarks/cluster_memory.py FOLDER [--rows 1000000] [--features 48 96] [--workers 2] [--parts 4]
        [--formats parquet text bins memory] [--trees 3] [--leaves 63]

Parts with so many rows are generated and written to FOLDER, in one file each. Then so many processes, with a thread
each, read their parts and train together, over the sockets of training on a cluster. Each has trained on a few rows of
the same format before, so that kernels are loaded; what it needs beyond that is measured:

    anonymous       the largest memory that is not a file, `RssAnon`, sampled every 5 ms, less that before reading
    with files      the same with the pages of mapped files, which the system takes back if it needs them
    computed        by `worker_bytes` in cluster_growth.py
    s a tree        the fastest, without the first

`memory` are Datasets in the memory of the worker, as of Dask: their values, 4 bytes each, are there before. Large data
is written as bins at once, block by block: --formats bins --rows 20000000 --features 24 --workers 4.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from cluster_growth import in_processes, worker_bytes
from measuring import memory, watched_memory
from recording import Recording, add_record

import swaprank as sr
from swaprank.cluster.parts import DataPart, Parts
from swaprank.cluster.shard import fit_on_shard, make_shard
from swaprank.collective import ALONE, Collective

LIST_LENGTH = 100
BLOCK = 50_000
"""Rows that are generated at once."""
FORMATS = {"parquet": "Parquet", "text": "LETOR text", "bins": "files of bins", "memory": "in memory"}
ENDINGS = {"parquet": "parquet", "text": "txt", "bins": "bins", "memory": "bins"}


class Setting(NamedTuple):
    """A training whose workers are measured."""

    form: str
    folder: Path
    warm_up: Path
    n_rows: int
    n_parts: int
    n_features: int
    n_trees: int
    n_leaves: int


class Measured(NamedTuple):
    """What one worker has needed."""

    n_rows: int
    anonymous: int
    """Bytes."""
    with_files: int
    read_seconds: float
    tree_seconds: float


def generated(first_query: int, n_queries: int, n_features: int) -> sr.Dataset:
    """Queries, each of which depends on its number alone."""
    X = np.empty((n_queries * LIST_LENGTH, n_features), np.float32)
    for at in range(n_queries):
        rng = np.random.default_rng(first_query + at)
        X[at * LIST_LENGTH : (at + 1) * LIST_LENGTH] = rng.standard_normal((LIST_LENGTH, n_features), np.float32)
    labels = np.digitize(X[:, :8].sum(axis=1) + X[:, 0] * X[:, 1], [1.0, 3.0, 5.0, 7.0])
    return sr.Dataset(X, labels, qid=np.repeat(np.arange(first_query, first_query + n_queries), LIST_LENGTH))


@final
class Generated:
    """The rows of a part in blocks, from the first each time."""

    def __init__(self, first_row: int, n_rows: int, n_features: int) -> None:
        self.first_row, self.n_rows, self.n_features = first_row, n_rows, n_features

    def __iter__(self) -> Iterator[sr.Dataset]:
        for start in range(0, self.n_rows, BLOCK):
            n_rows = min(BLOCK, self.n_rows - start)
            yield generated((self.first_row + start) // LIST_LENGTH, n_rows // LIST_LENGTH, self.n_features)


def write_parts(folder: Path, form: str, n_rows: int, n_parts: int, n_features: int) -> None:
    folder.mkdir(parents=True)
    like = None
    size = n_rows // n_parts // LIST_LENGTH * LIST_LENGTH
    for part in range(n_parts):
        blocks, file = Generated(part * size, size, n_features), folder / f"part-{part}.{ENDINGS[form]}"
        if form == "parquet":
            write_parquet(file, blocks)
        elif form == "text":
            write_text(file, blocks)
        elif form == "bins":
            written = sr.data.bin_blocks(blocks, like=like, path=file)
            like = like or written


def write_parquet(file: Path, blocks: Generated) -> None:
    import pyarrow
    from pyarrow import parquet

    writer = None
    for block in blocks:
        columns: dict[str, Any] = {"qid": np.repeat(block.qids, LIST_LENGTH), "label": block.labels.astype(np.int8)}
        columns |= {f"f{k}": np.ascontiguousarray(block.features[:, k]) for k in range(block.n_features)}
        table = pyarrow.table(columns)
        writer = writer or parquet.ParquetWriter(file, table.schema, compression="zstd", use_dictionary=False)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def write_text(file: Path, blocks: Generated) -> None:
    piece = file.with_suffix(".piece.txt")
    with file.open("wb") as stream:
        for block in blocks:
            sr.write_letor(block, piece)
            stream.write(piece.read_bytes())
    piece.unlink()


def parts_of(setting: Setting, rank: int, size: int) -> list[DataPart]:
    if setting.form != "memory":
        return list(Parts.read(setting.folder).parts)[rank::size]
    n_rows = setting.n_rows // setting.n_parts // LIST_LENGTH * LIST_LENGTH
    n_queries = n_rows // LIST_LENGTH
    chosen = range(rank, setting.n_parts, size)
    return [DataPart(f"part {k}", generated(k * n_queries, n_queries, setting.n_features)) for k in chosen]


def need_of(collective: Collective, setting: Setting) -> Measured:
    ranker = sr.LambdaMART(n_trees=setting.n_trees + 1, n_leaves=setting.n_leaves, n_threads=1)
    small = generated(0, 20, setting.n_features)
    warm = [DataPart("warm up", small)] if setting.form == "memory" else Parts.read(setting.warm_up).parts
    fit_on_shard(ranker, ALONE, make_shard(0, 1, warm, {}))
    parts, ends = parts_of(setting, collective.rank, collective.size), list[float]()
    before, start = memory("VmRSS"), time.perf_counter()
    with watched_memory() as peak:
        shard = make_shard(collective.rank, collective.size, parts, {})
        fit_on_shard(ranker, collective, shard, callbacks=[lambda progress: ends.append(time.perf_counter())])
    with_files = memory("VmHWM") - before
    n_rows = setting.n_rows // setting.n_parts * len(parts)
    trees = np.diff(ends)
    return Measured(n_rows, peak.largest - peak.start, with_files, ends[0] - start, float(trees.min()))


def measured(form: str, n_features: int, options: argparse.Namespace) -> Measured:
    """The worker that needs most."""
    folder, warm_up = options.folder / f"{form}-{n_features}", options.folder / f"{form}-{n_features}-small"
    if form != "memory":
        write_parts(folder, form, options.rows, options.parts, n_features)
        write_parts(warm_up, form, 20 * LIST_LENGTH, 1, n_features)
    setting = Setting(form, folder, warm_up, options.rows, options.parts, n_features, options.trees, options.leaves)
    try:
        found: list[Measured] = in_processes(options.workers, setting, need_of)
    finally:
        for each in (folder, warm_up):
            shutil.rmtree(each, ignore_errors=True)
    return max(found, key=lambda each: each.anonymous)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of all workers together")
    parser.add_argument("--features", type=int, nargs="+", default=[48, 96])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--leaves", type=int, default=63)
    add_record(parser)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with Recording(options) as recording:
        recording.says(
            f"{options.rows:,} generated rows in {options.parts} parts, {options.workers} workers of one thread, "
            f"{options.leaves} leaves, best of {options.trees} trees"
        )
        columns = ("Parts", "Features", "Rows of a worker", "MB", "MB computed", "MB with mapped files")
        table = recording.table("memory", *columns, "Seconds to the first tree", "Seconds a tree", n_names=2)
        for form in options.formats:
            for n_features in options.features:
                found = measured(form, n_features, options)
                bins = form == "bins"
                computed = worker_bytes(found.n_rows, n_features, not bins, bins and options.parts == options.workers)
                table.add(
                    FORMATS[form],
                    n_features,
                    f"{found.n_rows:,}",
                    *(f"{each / 1e6:.0f}" for each in (found.anonymous, computed, found.with_files)),
                    f"{found.read_seconds:.1f}",
                    f"{found.tree_seconds:.2f}",
                )


if __name__ == "__main__":
    main()
