"""Claim: with defaults, on large data, a tree takes less than half of LightGBM's time, and so does the same NDCG@10.

    python benchmarks/training.py [FOLDER] [--trees 200] [--leaves 63] [--threads 2] [--libraries swaprank LightGBM …]

FOLDER has train.npz and valid.npz, each with X (float32), y and sizes (documents per query); without it, data of a
similar shape is generated from a fixed seed. All libraries train on the same float32 array in this process, with 255
bins, the same number of leaves (CatBoost's symmetric trees: the depth with as many) and a learning rate of 0.1. All
other parameters are the defaults, except that CatBoost takes part leaf by leaf, too, and LightGBM in several ways: row
by row, column by column, with GOSS, with half of the queries, and with quantized gradients. The libraries take turns
after every tree, in a new random order each round, so that other load on the machine affects all of them. Then swaprank
trains for several metrics. time_to_quality.py draws NDCG@10 by seconds from what was recorded.

    binning         from float32 in memory to the library's own data set; the best of several
    a tree          seconds, minimum and median over all trees but the first, which includes preparations
    relative        ratio of the minima, and the median over the turns of the library's tree over our tree of that
                    turn; relative to the first row
    first tree      seconds until the end of the first tree: checks, binning, preparations
    NDCG@10         on valid after all trees, standard convention, always measured by swaprank
    to .60 .62 .63  seconds of training until NDCG@10 on valid is first this high, measured after every ten trees
    memory          in one process per library: the largest anonymous memory (`RssAnon`, sampled every 5 ms) while the
                    data set is built and ten trees are grown, minus the memory before, which includes the arrays
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measuring import watched_memory
from recording import Recording, add_record
from training_peers import (
    BINS,
    RATE,
    Bin,
    Fit,
    Judged,
    Setting,
    bin_catboost,
    bin_lightgbm,
    bin_ours,
    bin_xgboost,
    fit_xgboost,
    in_turns,
    ours,
    with_catboost,
    with_lightgbm,
)

import swaprank as sr

NDCG = sr.metric("ndcg@10")
BINNING: dict[str, Bin] = {
    "swaprank": bin_ours,
    "LightGBM": bin_lightgbm,
    "XGBoost": bin_xgboost,
    "CatBoost": bin_catboost,
}
PEERS: dict[str, Fit] = {
    "LightGBM": with_lightgbm(force_row_wise=True),
    "LightGBM, column-wise": with_lightgbm(force_col_wise=True),
    "LightGBM, GOSS": with_lightgbm(force_row_wise=True, data_sample_strategy="goss"),
    "LightGBM, half of the queries": with_lightgbm(
        force_row_wise=True, bagging_by_query=True, bagging_fraction=0.5, bagging_freq=1
    ),
    "LightGBM, quantized": with_lightgbm(force_row_wise=True, use_quantized_grad=True),
    "XGBoost": fit_xgboost,
    "CatBoost, symmetric trees": with_catboost("YetiRank", symmetric=True),
    "CatBoost, leaf by leaf": with_catboost("YetiRank"),
}
IN_MEMORY: dict[str, Fit] = {"swaprank": ours(), **PEERS}
REVENUE = sr.metrics.CumulativeMetric(
    gain=lambda label: label, discount=lambda rank: 0.85 ** (rank - 1), k=10, name="custom"
)
METRICS: dict[str, str | sr.metrics.Metric] = {
    "ndcg@10": "ndcg@10",
    "ndcg": "ndcg",
    "map": "map",
    "mrr": "mrr",
    "err": "err",
    "err@10": "err@10",
    "custom CumulativeMetric @10": REVENUE,
    "pairwise": "pairwise",
}


OURS: dict[str, Fit] = {
    "swaprank": ours(),
    "swaprank, all documents": ours(document_fraction=1.0),
    "swaprank, horizon=10": ours(horizon=10),
    "swaprank, normalize=False": ours(normalize=False),
}
EVERY = 10
QUALITIES = (0.60, 0.62, 0.63)


def load(file: Path) -> Judged:
    with np.load(file) as arrays:
        return Judged(arrays["X"], arrays["y"], arrays["sizes"])


def generated(n_queries: int, n_features: int, seed: int) -> Judged:
    """Queries of about 120 documents, five labels with the shares of MSLR; every fourth feature is informative."""
    rng = np.random.default_rng(seed)
    sizes = rng.poisson(120, n_queries).astype(np.int64)
    n = int(sizes.sum())
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    directions = np.random.default_rng(0).normal(size=n_features) * (np.arange(n_features) % 4 == 0)
    target = np.tanh(X @ directions / 3) + (X[:, 0] * X[:, 4] > 0.5) + rng.normal(size=n)
    X[:, 1::3] = np.exp(X[:, 1::3])
    X[:, 2::3] = np.floor(np.abs(4 * X[:, 2::3]))
    y = np.digitize(target, np.quantile(target, [0.52, 0.84, 0.97, 0.99]))
    return Judged(X, y.astype(np.int32), sizes)


def data_of(options: argparse.Namespace) -> tuple[Judged, Judged]:
    if options.folder:
        return load(options.folder / "train.npz"), load(options.folder / "valid.npz")
    return generated(options.queries, options.features, 1), generated(options.queries // 3 + 1, options.features, 2)


def head(data: Judged, n_queries: int) -> Judged:
    n = int(data.sizes[:n_queries].sum())
    return Judged(data.X[:n], data.y[:n], data.sizes[:n_queries])


def print_peak(name: str, data: Judged, setting: Setting) -> None:
    """Print one library's peak memory; runs in a process of its own, after a small fit that loads and compiles code."""
    IN_MEMORY[name](head(data, 20), setting._replace(n_trees=2), lambda: None)
    with watched_memory() as peak:
        staged = IN_MEMORY[name](data, setting._replace(n_trees=10), lambda: None)
    print(peak.largest - peak.start)
    del staged


def peak_bytes(name: str, arguments: list[str]) -> int:
    command = [sys.executable, __file__, *arguments, "--peak-of", name]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def report_binning(recording: Recording, train: Judged, setting: Setting, repeat: int) -> None:
    best = dict.fromkeys(BINNING, np.inf)
    for turn in range(repeat + 1):
        for name, bin_data in BINNING.items():
            start = time.perf_counter()
            bin_data(train if turn else head(train, 20), setting)
            if turn:
                best[name] = min(best[name], time.perf_counter() - start)
    table = recording.table("binning", f"Binning, best of {repeat}", "Seconds", "Relative")
    for name, seconds in best.items():
        table.add(name, f"{seconds:.2f}", f"{seconds / best['swaprank']:.1f}")


def report_training(
    recording: Recording, fits: dict[str, Fit], train: Judged, valid: Judged, settings: dict[str, Setting]
) -> None:
    took = in_turns(fits, train, settings)
    table = recording.table(
        "trees", "", "Trees", "Seconds a tree, minimum", "Median", "Relative, minimum", "Relative, median of turns",
        "First tree", "NDCG@10", *(f"Seconds to {quality:.2f}" for quality in QUALITIES),
    )  # fmt: skip
    ours = np.array(next(iter(took.values())).trees[1:])
    indptr = np.concatenate(([0], np.cumsum(valid.sizes)))
    curves = recording.more["curves"] = {}
    for name, (seconds, staged) in took.items():
        curve = np.array([NDCG.mean(valid.y, scores, indptr) for scores in staged(valid.X, EVERY)])
        at = np.cumsum(seconds)[EVERY - 1 :: EVERY]
        curves[name] = {"seconds": at.round(2).tolist(), "ndcg@10": curve.round(4).tolist()}
        reached = [at[np.argmax(curve >= quality)] if (curve >= quality).any() else None for quality in QUALITIES]
        trees = np.array(seconds[1:])
        turns = np.median(trees / ours[: len(trees)])
        table.add(
            name, len(seconds), f"{trees.min():.3f}", f"{np.median(trees):.3f}", f"{trees.min() / ours.min():.1f}",
            f"{turns:.1f}", f"{seconds[0]:.1f}", f"{curve[-1]:.4f}",
            *("–" if each is None else f"{each:.1f}" for each in reached),
        )  # fmt: skip


def report_metrics(recording: Recording, train: Judged, setting: Setting) -> None:
    took = in_turns({name: ours(metric) for name, metric in METRICS.items()}, train, dict.fromkeys(METRICS, setting))
    trees = {name: np.array(each.trees[1:]) for name, each in took.items()}
    title = f"swaprank, {setting.n_trees} trees"
    table = recording.table("metrics", title, "Seconds a tree, minimum", "Median", "Relative to `ndcg@10`", "To `ndcg`")
    for name, seconds in trees.items():
        relative = [f"{seconds.min() / trees[other].min():.2f}" for other in ("ndcg@10", "ndcg")]
        table.add(name, f"{seconds.min():.3f}", f"{np.median(seconds):.3f}", *relative)


def report_memory(recording: Recording, names: list[str], arguments: list[str], data: Judged) -> None:
    table = recording.table(
        "memory", "Memory for ten trees", "MB beyond the arrays", "Relative to the array", "Relative"
    )
    peaks = {name: peak_bytes(name, arguments) for name in names}
    for name, peak in peaks.items():
        table.add(name, f"{peak / 1e6:,.0f}", f"{peak / data.X.nbytes:.2f}", f"{peak / peaks['swaprank']:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--trees", type=int, default=200, help="a multiple of ten")
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--catboost-trees", type=int, default=20, help="most trees of CatBoost, which is slow")
    parser.add_argument("--metric-trees", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3, help="number of binnings, of which the best counts")
    parser.add_argument("--queries", type=int, default=1000, help="number of queries of generated data")
    parser.add_argument("--features", type=int, default=136, help="number of features of generated data")
    every = [*OURS, *PEERS]
    parser.add_argument("--libraries", nargs="+", choices=every, default=every, help="the first one is compared with")
    parser.add_argument("--tables", nargs="+", default=["binning", "training", "metrics", "memory"])
    parser.add_argument("--peak-of", choices=list(IN_MEMORY), help=argparse.SUPPRESS)
    add_record(parser)
    options = parser.parse_args()

    setting = Setting(options.trees, options.leaves, options.threads)
    train, valid = data_of(options)
    if options.peak_of:
        print_peak(options.peak_of, train, setting)
        return
    with Recording(options, "lightgbm", "xgboost", "catboost") as recording:
        report(recording, train, valid, setting, options)


def report(recording: Recording, train: Judged, valid: Judged, setting: Setting, options: argparse.Namespace) -> None:
    shape = f"{len(train.X):,} documents x {train.X.shape[1]} features in {len(train.sizes):,} queries"
    recording.says(f"{shape}; {options.leaves} leaves, learning rate {RATE}, {BINS} bins, {options.threads} threads")
    # Compile and load everything before the measurements.
    fits = {name: fit for name, fit in {**OURS, **PEERS}.items() if name in options.libraries}
    for fit in (*fits.values(), ours(document_fraction=0.3)):
        fit(head(train, 20), setting._replace(n_trees=2), lambda: None)
    if "binning" in options.tables:
        report_binning(recording, train, setting, options.repeat)
    if "training" in options.tables:
        few = setting._replace(n_trees=min(options.trees, options.catboost_trees))
        settings = {name: few if name.startswith("CatBoost") else setting for name in fits}
        report_training(recording, fits, train, valid, settings)
    if "metrics" in options.tables:
        report_metrics(recording, train, setting._replace(n_trees=options.metric_trees))
    if "memory" in options.tables:
        arguments = [str(options.folder)] if options.folder else []
        arguments += ["--leaves", str(options.leaves), "--threads", str(options.threads)]
        arguments += ["--queries", str(options.queries), "--features", str(options.features)]
        report_memory(recording, [name for name in IN_MEMORY if name in fits], arguments, train)


if __name__ == "__main__":
    main()
