"""Claim: on small data sets, training on one thread takes no longer than LightGBM's.

    python benchmarks/small_data.py FOLDER [--trees 200] [--leaves 7 15 31 63] [--threads 1 2] [--repeat 5]

FOLDER has any of these public data sets, each in a folder of its own; those that are missing are left out:

    mq2008/Fold1/train.txt          9,630 documents, 46 features, lists of 8 documents (median)
    ohsumed/Fold1/train.txt         9,219 documents, 45 features
    mslr-sample/train.txt           5,000 documents, 136 features
    lightgbm-example/rank.train     LightGBM's example, 3,005 documents, 300 features, and rank.train.query

All parameters are each library's defaults, except the same learning rate, leaves, trees and threads. Both libraries
train in this process, in turns, from float32 in memory to the last tree. A small fit of each comes first, so that
nothing is compiled or loaded in the measurements.

    fit        seconds of the whole fit, with binning: the lowest of all repeats
    tree       milliseconds of a tree: the lowest of all repeats for each tree, then the mean over the trees; other load
               on the machine affects this least
    ratio      our time divided by LightGBM's
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import lightgbm
import numpy as np
from recording import Recording, add_record

import swaprank as sr
from swaprank.arrays import Floats

FILES = {
    "MQ2008": "mq2008/Fold1/train.txt",
    "OHSUMED": "ohsumed/Fold1/train.txt",
    "MSLR sample": "mslr-sample/train.txt",
    "LightGBM example": "lightgbm-example/rank.train",
}
RATE = 0.1


class Setting(NamedTuple):
    """The parameters that both libraries share."""

    n_trees: int
    n_leaves: int
    n_threads: int


class Took(NamedTuple):
    """Seconds of a whole fit, and of each of its trees but the first."""

    fit: float
    trees: Floats


def read(file: Path) -> sr.Dataset:
    """A file with query ids, or LightGBM's file with the sizes of the queries next to it."""
    sizes = file.with_name(f"{file.name}.query")
    if not sizes.exists():
        return sr.read(file)
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(file))
    return sr.Dataset(X.toarray().astype(np.float32), y, group=np.loadtxt(sizes, dtype=np.int64))


def fit_ours(data: sr.Dataset, setting: Setting, after_tree: Callable[[], None]) -> None:
    ranker = sr.LambdaMART(
        n_trees=setting.n_trees, n_leaves=setting.n_leaves, learning_rate=RATE, n_threads=setting.n_threads
    )
    ranker.fit(data, callbacks=[lambda _: after_tree()])


def fit_lightgbm(data: sr.Dataset, setting: Setting, after_tree: Callable[[], None]) -> None:
    options = {
        "objective": "lambdarank",
        "num_leaves": setting.n_leaves,
        "learning_rate": RATE,
        "num_threads": setting.n_threads,
        "verbose": -1,
    }
    train = lightgbm.Dataset(
        data.by_query(data.features), data.by_query(data.labels), group=np.diff(data.indptr), params=options
    )
    booster = lightgbm.Booster(options, train)
    for _ in range(setting.n_trees):
        booster.update()
        after_tree()


FITS = {"swaprank": fit_ours, "LightGBM": fit_lightgbm}


def timed(name: str, data: sr.Dataset, setting: Setting) -> Took:
    ends: list[float] = []
    start = time.perf_counter()
    FITS[name](data, setting, lambda: ends.append(time.perf_counter()))
    return Took(time.perf_counter() - start, np.diff(ends))


def in_turns(data: sr.Dataset, setting: Setting, repeat: int) -> dict[str, Took]:
    """The lowest times of each library."""
    took: dict[str, list[Took]] = {name: [] for name in FITS}
    for turn in range(repeat):
        for name in FITS if turn % 2 == 0 else reversed(FITS):
            took[name].append(timed(name, data, setting))
    return {
        name: Took(min(each.fit for each in runs), np.min([each.trees for each in runs], axis=0))
        for name, runs in took.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--leaves", type=int, nargs="+", default=[7, 15, 31, 63])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    add_record(parser)
    options = parser.parse_args()
    with Recording(options, "lightgbm") as recording:
        recording.says(f"{options.trees} trees, learning rate {RATE}, the lowest of {options.repeat} turns")
        report(recording, options)


def report(recording: Recording, options: argparse.Namespace) -> None:
    table = recording.table(
        "fits", "", "Leaves", "Threads", "Fit: swaprank, s", "LightGBM, s", "Ratio", "Tree: swaprank, ms",
        "LightGBM, ms", "Ratio of trees", n_names=3,
    )  # fmt: skip
    for name, file in FILES.items():
        if not (options.folder / file).exists():
            continue
        data = read(options.folder / file)
        title = f"{name}, {len(data):,} x {data.n_features}"
        for n_leaves, n_threads in itertools.product(options.leaves, options.threads):
            for each in FITS:
                timed(each, data, Setting(3, n_leaves, n_threads))
            took = in_turns(data, Setting(options.trees, n_leaves, n_threads), options.repeat)
            ours, peer = took["swaprank"], took["LightGBM"]
            our_tree, peer_tree = 1e3 * ours.trees.mean(), 1e3 * peer.trees.mean()
            table.add(
                title, n_leaves, n_threads, f"{ours.fit:.2f}", f"{peer.fit:.2f}", f"{ours.fit / peer.fit:.2f}",
                f"{our_tree:.2f}", f"{peer_tree:.2f}", f"{our_tree / peer_tree:.2f}",
            )  # fmt: skip


if __name__ == "__main__":
    main()
