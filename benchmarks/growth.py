"""Claim: the time per tree grows linearly with the rows and with the features, and nearly so with the length of lists.

    python benchmarks/growth.py [--rows 25000 50000 … 800000] [--features 17 34 … 272] [--lengths 1000 10000 100000]
                                [--plot growth.png]

Generated data: queries of 120 documents, labels from a few of the features. The rows vary at 136 features, the features
at 200,000 rows. For each size, the minimum and the median over the trees of several fits (without the first tree of
each fit), with 63 leaves, for NDCG@10. The slope is that of log seconds by log size, fitted to the minima. 1 is linear;
less is better than linear, because part of a tree's work does not grow: computing gradients does not depend on the
number of features. The second slope is fitted to the larger half of the sizes, where that part matters least.

The lengths are those of one query, with 17 features: the seconds per tree for several metrics.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from recording import Recording, add_record

import swaprank as sr
from swaprank.arrays import Features

QUERY_DOCUMENTS = 120
FIXED_FEATURES = 136
FIXED_ROWS = 200_000
LENGTH_FEATURES = 17
METRICS = ("ndcg", "map", "err", "ndcg@10")


class Point(NamedTuple):
    """One size and its seconds per tree."""

    size: int
    lowest: float
    median: float


def generated(n_rows: int, n_features: int, query_documents: int = QUERY_DOCUMENTS) -> sr.Dataset:
    rng = np.random.default_rng(0)
    X: Features = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    useful = X[:, : min(16, n_features)]
    target = np.tanh(useful).sum(axis=1) + 2 * (useful[:, 0] * useful[:, 1] > 0.5) + rng.normal(size=n_rows) * 2
    y = np.digitize(target, np.quantile(target, [0.52, 0.84, 0.97, 0.99]))
    return sr.Dataset(X, y, qid=np.arange(n_rows) // query_documents)


def measure(data: sr.Dataset, size: int, options: argparse.Namespace, metric: str = "ndcg@10") -> Point:
    seconds: list[float] = []
    for _ in range(options.repeat):
        ends: list[float] = []
        ranker = sr.LambdaMART(metric, n_trees=options.trees + 1, n_leaves=options.leaves, n_threads=options.threads)
        ranker.fit(data, callbacks=[lambda _, ends=ends: ends.append(time.perf_counter())])  # type: ignore[misc]
        seconds += np.diff(ends).tolist()
    return Point(size, min(seconds), float(np.median(seconds)))


def slope(points: list[Point]) -> float:
    sizes, seconds = np.log([point.size for point in points]), np.log([point.lowest for point in points])
    return float(np.polyfit(sizes, seconds, 1)[0])


def report(recording: Recording, what: str, fixed: str, points: list[Point]) -> None:
    columns = (f"{what.capitalize()} ({fixed})", "Seconds a tree, minimum", "Median", "ns per value, minimum")
    table = recording.table(what, *columns)
    other = FIXED_FEATURES if what == "rows" else FIXED_ROWS
    for point in points:
        each = 1e9 * point.lowest / (point.size * other)
        table.add(f"{point.size:,}", f"{point.lowest:.4f}", f"{point.median:.4f}", f"{each:.2f}")
    larger = points[len(points) // 2 - (len(points) < 4) :]
    table.add("Slope in a log-log plot", f"{slope(points):.2f}", "", "")
    table.add("Slope of the larger half", f"{slope(larger):.2f}", "", "")


def report_lengths(recording: Recording, options: argparse.Namespace) -> None:
    table = recording.table("lengths", f"Documents of one query ({LENGTH_FEATURES} features)", *METRICS)
    for length in options.lengths:
        data = generated(length, LENGTH_FEATURES, length)
        points = [measure(data, length, options, metric) for metric in METRICS]
        table.add(f"{length:,}", *(f"{point.lowest:.4f}" for point in points))


def plot(file: Path, lines: dict[str, list[Point]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(lines), figsize=(9, 4), sharey=True, layout="constrained")
    for axis, (what, points) in zip(axes, lines.items(), strict=True):
        sizes = np.array([point.size for point in points], dtype=float)
        axis.loglog(sizes, [point.lowest for point in points], "o-", label=f"minimum, slope {slope(points):.2f}")
        axis.loglog(sizes, [point.median for point in points], "x", color="0.5", label="median")
        axis.loglog(sizes, points[-1].lowest * sizes / sizes[-1], "--", color="0.7", label="linear")
        axis.set_xlabel(what)
        axis.legend(frameon=False)
    axes[0].set_ylabel("seconds per tree")
    figure.savefig(file, dpi=150)
    print(f"\nPlot: {file}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[25_000 * 2**i for i in range(6)])
    parser.add_argument("--features", type=int, nargs="*", default=[17 * 2**i for i in range(5)])
    parser.add_argument("--lengths", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--plot", type=Path, help="write a plot to this file; needs matplotlib")
    add_record(parser)
    options = parser.parse_args()
    with Recording(options) as recording:
        measure_all(recording, options)


def measure_all(recording: Recording, options: argparse.Namespace) -> None:
    recording.says(
        f"Seconds a tree, {options.leaves} leaves, {options.threads} threads, the minimum of {options.trees} trees "
        f"of {options.repeat} fits"
    )
    measure(generated(2400, 16), 0, options)
    if options.lengths:
        report_lengths(recording, options)
    lines = {
        "rows": [measure(generated(n, FIXED_FEATURES), n, options) for n in options.rows],
        "features": [measure(generated(FIXED_ROWS, n), n, options) for n in options.features],
    }
    for what, fixed in (("rows", f"{FIXED_FEATURES} features"), ("features", f"{FIXED_ROWS:,} rows")):
        if lines[what]:
            report(recording, what, fixed, lines[what])
    if options.plot:
        plot(options.plot, lines)


if __name__ == "__main__":
    main()
