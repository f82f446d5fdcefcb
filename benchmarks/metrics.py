"""Claim: NDCG@10 and MAP from flat arrays are at least 5 times faster than pytrec_eval on prepared dictionaries.

    python benchmarks/metrics.py [--queries 2000] [--documents 120] [--runs 7]

Both libraries measure the same documents in the same process with the same conventions, and their values must agree for
every query. The best of several runs counts. Preparation (pytrec_eval's dictionaries) is not timed. ir_measures is not
in the table because it calls pytrec_eval for these measures.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import pytrec_eval

import swaprank as sr


def best_time(call: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    n = options.queries * options.documents
    indptr = np.arange(0, n + 1, options.documents)
    labels, scores = rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float), rng.normal(size=n)
    docid = np.array([f"doc{d}" for d in range(n)])

    bounds = list(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True))
    qrels = {str(q): {f"doc{d}": int(labels[d]) for d in range(a, b)} for q, (a, b) in enumerate(bounds)}
    run = {str(q): {f"doc{d}": float(scores[d]) for d in range(a, b)} for q, (a, b) in enumerate(bounds)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10", "map"})
    ours = [sr.metric("ndcg@10", convention="trec"), sr.metric("map", convention="trec")]

    def measure(n_threads: int | None) -> list[np.ndarray[tuple[int], np.dtype[np.float64]]]:
        return [metric.per_query(labels, scores, indptr, n_threads=n_threads) for metric in ours]

    found, (ndcg, average_precision) = evaluator.evaluate(run), measure(None)
    np.testing.assert_allclose(ndcg, [found[str(q)]["ndcg_cut_10"] for q in range(len(bounds))], atol=1e-12)
    np.testing.assert_allclose(average_precision, [found[str(q)]["map"] for q in range(len(bounds))], atol=1e-12)

    bound = [metric.bind(labels, indptr, docid=docid) for metric in ours]
    theirs = best_time(lambda: evaluator.evaluate(run), options.runs)
    rows = [
        ("pytrec_eval, prepared dictionaries", theirs),
        ("swaprank, flat arrays, 1 thread", best_time(lambda: measure(1), options.runs)),
        ("swaprank, flat arrays, all cores", best_time(lambda: measure(None), options.runs)),
        ("swaprank, bound once, all cores", best_time(lambda: [b.per_query(scores) for b in bound], options.runs)),
    ]
    print(f"NDCG@10 and MAP of {n:,} documents in {options.queries:,} queries, best of {options.runs}.")
    versions = ", ".join(f"{name} {version(name)}" for name in ("swaprank", "numba", "pytrec_eval-terrier"))
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}.\n")
    print("| | milliseconds | times faster |\n|---|---:|---:|")
    for name, seconds in rows:
        print(f"| {name} | {1000 * seconds:.1f} | {theirs / seconds:.1f} |")


if __name__ == "__main__":
    main()
