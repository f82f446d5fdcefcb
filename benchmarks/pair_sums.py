"""Claim: RankNet's gradients of one list take about n log n, to 1e-6; a list of a million documents takes seconds.

    python benchmarks/pair_sums.py [--sizes 1000 2000 … 1024000] [--levels 2 5 0] [--spread 2]

For lists of increasing length and labels with the given number of levels (0: every document has its own label), the
best of several runs, one thread: all pairs one by one, for lists up to 32,000 documents, and the fast pair sums for all
lists. The error is the largest of 200 documents: of the gradient, relative to the sum of the absolute lambdas of its
pairs, and of the hessian, relative to itself. The slope is that of log seconds by log documents from 10,000 documents
on. Last, a LambdaMART of ten trees with metric="pairwise" on one list of the largest size.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np
from measuring import fastest, machine
from scipy.special import expit

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.pair_sums import add_pair_sums
from swaprank.objectives.ranknet_pairs import add_list

EXACT_UP_TO = 32_000
CHECKED_DOCUMENTS = 200


def fast(labels: Floats, x: Floats) -> tuple[Floats, Floats]:
    n = len(x)
    g, h = np.zeros(n), np.zeros(n)
    add_pair_sums(labels, x, False, np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), g, h)
    return g, h


def exact(labels: Floats, x: Floats) -> tuple[Floats, Floats]:
    g, h = np.zeros(len(x)), np.zeros(len(x))
    add_list(labels, x, False, np.empty(len(x)), g, h)
    return g, h


def errors(labels: Floats, x: Floats) -> tuple[float, float]:
    """The largest relative errors of gradient and hessian among some documents."""
    some = np.random.default_rng(1).integers(0, len(x), CHECKED_DOCUMENTS)
    g, h = fast(labels, x)
    grad_error, hess_error = 0.0, 0.0
    for i in some:
        difference, order = x[i] - x, np.sign(labels[i] - labels)
        lambdas = np.where(order > 0, -expit(-difference), np.where(order < 0, expit(difference), 0.0))
        hess = float((expit(difference) * expit(-difference))[order != 0].sum())
        grad_error = max(grad_error, abs(g[i] - lambdas.sum()) / np.abs(lambdas).sum())
        hess_error = max(hess_error, abs(h[i] - hess) / hess)
    return grad_error, hess_error


def along_sizes(levels: int, options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    title = f"{levels} levels" if levels else "one level per document"
    print(f"\n| documents, {title} | all pairs, s | fast, s | times faster | gradient error | hessian error |")
    print("|---:|---:|---:|---:|---:|---:|")
    times = []
    for n in options.sizes:
        labels = np.sort(rng.integers(0, levels or 2**62, n).astype(np.float64))[::-1].copy()
        x = options.spread * rng.normal(size=n)
        seconds = fastest(partial(fast, labels, x), options.runs, time.thread_time)
        times.append((n, seconds))
        slow, ratio = "", ""
        if n <= EXACT_UP_TO:
            pairs = fastest(partial(exact, labels, x), options.runs if n <= 4000 else 1, time.thread_time)
            slow, ratio = f"{pairs:.5f}", f"{pairs / seconds:.1f}"
        grad_error, hess_error = errors(labels, x)
        print(f"| {n:,} | {slow} | {seconds:.5f} | {ratio} | {grad_error:.0e} | {hess_error:.0e} |", flush=True)
    long = np.log([[n, seconds] for n, seconds in times if n >= 10_000])
    if len(long) > 1:
        print(f"\nSlope from 10,000 documents on: {np.polyfit(long[:, 0], long[:, 1], 1)[0]:.2f}.")


def lambdamart(n: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10)).astype(np.float32)
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n), [-1, 0, 1, 2])
    data = sr.Dataset(X, y, qid=np.zeros(n, np.int64))
    ranker = sr.LambdaMART("pairwise", n_trees=10, normalize=False)
    start = time.perf_counter()
    ranker.fit(data)
    seconds = time.perf_counter() - start
    value = sr.metric("pairwise").mean(y, ranker.predict(data), data.indptr)
    print(
        f'\nLambdaMART("pairwise"), one list of {n:,} documents, 10 features: ten trees in {seconds:.1f} s; '
        f"pairwise accuracy {value:.4f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[500, 1000, *(2000 * 4**i for i in range(5)), 1_000_000]
    )
    parser.add_argument("--levels", type=int, nargs="+", default=[2, 5, 0])
    parser.add_argument("--spread", type=float, default=2.0, help="standard deviation of sigma * score")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    print(f"{machine('numba')}.")
    fast(np.ones(2), np.zeros(2))
    exact(np.ones(2), np.zeros(2))
    for levels in options.levels:
        along_sizes(levels, options)
    lambdamart(max(options.sizes))


if __name__ == "__main__":
    main()
