"""Claims: a SmoothRank step costs little more than its exponentials; OHSUMED takes minutes; long lists fit memory.

    python benchmarks/smoothrank.py [--tables evaluation experiment long] [--data FOLDER] [--repeat 9]

    evaluation   the smooth metric of all queries and its gradient, compared with the exponentials of its formula: one
                 per document and rank down to the cutoff, computed by NumPy and by the kernel's own loop. At a small
                 sigma most of them are 0 and are skipped. Also the time with two threads over that with one
    experiment   FOLDER/Fold1 to Fold5 of OHSUMED, each with train.txt, vali.txt and test.txt: 5 regularizations on 10
                 folds of train, and 13 sigmas; trained and chosen for NDCG@50, measured by the convention of LETOR
    long         100 queries of 1,000 documents with 64 features, and 30 validation queries: time, and memory beyond the
                 data

Evaluations are measured in CPU time, except with two threads; the fastest of several counts.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from measuring import fastest
from recording import Recording, Table, add_record

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.elementary import exp2
from swaprank.kernels import kernel
from swaprank.objectives.smooth import SmoothObjective

CASES = [(63, 152, "ndcg@50"), (63, 152, "ndcg"), (63, 152, "map"), (100, 1000, "ndcg@50"), (100, 1000, "ndcg")]
N_AT_ONCE = 512


@kernel
def exponentials(x: Floats, n: int, e: Floats) -> None:
    """Compute n exponentials, of x repeatedly."""
    for _ in range(n // len(x)):
        for i in range(len(x)):
            e[i] = exp2(x[i])


def judged(n_queries: int, n_documents: int, n_features: int, seed: int = 0) -> sr.Dataset:
    """Normal features; three labels from a noisy sum of some features, with the shares of OHSUMED."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * n_documents, n_features), dtype=np.float32)
    target = X[:, :8].sum(axis=1) + 4 * rng.standard_normal(len(X))
    labels = np.digitize(target, np.quantile(target, (0.7, 0.86)))
    return sr.Dataset(X, labels, qid=np.repeat(np.arange(n_queries), n_documents))


def report_evaluation(recording: Recording, repeat: int) -> None:
    table = recording.table(
        "evaluation", "Queries x documents, metric, sigma", "Exponentials", "Milliseconds", "Relative to NumPy's exp",
        "To the kernel's exp", "Two threads / one",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    x, e = -rng.random(N_AT_ONCE), np.empty(N_AT_ONCE)

    def by_numpy(n: int) -> None:
        for _ in range(n // N_AT_ONCE):
            np.exp(x, out=e)

    for n_queries, n_documents, metric in CASES:
        data = judged(n_queries, n_documents, 8)
        scores = data.labels * 0.5 + rng.normal(size=len(data))
        grad, hess = np.empty(len(data)), np.empty(len(data))
        depth = min(n_documents, sr.metric(metric).k or n_documents)
        n = n_queries * n_documents * depth
        numpys, ours = (
            fastest(run, repeat, time.thread_time)
            for run in (lambda n=n: by_numpy(n), lambda n=n: exponentials(x, n, e))
        )
        for sigma in (16.0, 1.0, 1 / 64):
            found = []
            for n_threads, clock in ((1, time.thread_time), (1, time.perf_counter), (2, time.perf_counter)):
                objective = SmoothObjective(sr.metric(metric), smoothing_factor=sigma)
                smooth = objective.bind(data, random_state=0, n_threads=n_threads)
                smooth = replace(smooth, order=smooth.tie_order.copy())
                found.append(fastest(lambda: smooth.update(scores, grad, hess), repeat, clock))  # noqa: B023
            one, one_by_clock, two = found
            table.add(
                f"{n_queries} x {n_documents:,}, {metric}, {sigma:g}", f"{n:,}", f"{1e3 * one:.2f}",
                f"{one / numpys:.2f}", f"{one / ours:.2f}", f"{two / one_by_clock:.2f}",
            )  # fmt: skip


def report_experiment(recording: Recording, times: Table, folder: Path) -> None:
    metrics = [sr.metric(name, convention="letor") for name in ("ndcg@10", "map")]
    values, chosen = [], []
    wall, processor = time.perf_counter(), time.process_time()
    for number in range(1, 6):
        train, vali, test = (sr.read(folder / f"Fold{number}" / f"{part}.txt") for part in ("train", "vali", "test"))
        ranker = sr.SmoothRank("ndcg@50").fit(train, valid=vali)
        chosen.append(ranker.regularization_)
        values.append([result.mean for result in sr.evaluate(test, ranker.predict(test), metrics).results])
    took, worked = time.perf_counter() - wall, time.process_time() - processor
    times.add("All fits of five folds of OHSUMED", f"{took:.0f}", f"{worked:.0f}", "")
    table = recording.table("experiment", "OHSUMED", *(f"Fold {number}" for number in range(1, 6)), "Mean", "Published")
    for name, row, published in zip(("NDCG@10", "MAP"), np.transpose(values), (0.457, 0.448), strict=True):
        table.add(name, *(f"{value:.4f}" for value in (*row, row.mean())), published)
    table.add("Regularization", *(f"{strength:g}" for strength in chosen), "", "")


def report_long(times: Table) -> None:
    sr.SmoothRank(regularization=(1.0, 0.1), annealing=(1.0,)).fit(judged(5, 40, 64), valid=judged(3, 40, 64))
    data, vali = judged(100, 1000, 64), judged(30, 1000, 64, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, processor = time.perf_counter(), time.process_time()
    sr.SmoothRank().fit(data, valid=vali)
    took, worked = time.perf_counter() - wall, time.process_time() - processor
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    title = f"Fit on 100 queries of 1,000 documents, 64 features ({data.features.nbytes / 2**20:.0f} MB)"
    times.add(title, f"{took:.0f}", f"{worked:.0f}", f"{memory:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["evaluation", "experiment", "long"])
    parser.add_argument("--data", type=Path, help="folder of OHSUMED; the experiment is skipped without it")
    parser.add_argument("--repeat", type=int, default=9)
    add_record(parser)
    options = parser.parse_args()
    with Recording(options) as recording:
        recording.says(f"CPU time, except with two threads; the fastest of {options.repeat}")
        if "evaluation" in options.tables:
            report_evaluation(recording, options.repeat)
        if {"experiment", "long"} & {*options.tables}:
            times = recording.table("times", "", "Seconds", "CPU seconds", "MB beyond the data")
            if "long" in options.tables:
                report_long(times)
            if "experiment" in options.tables and options.data:
                report_experiment(recording, times, options.data)


if __name__ == "__main__":
    main()
