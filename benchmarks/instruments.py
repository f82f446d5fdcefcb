"""Claims: combining two rankers takes less than 30 s; certifying a linear model along 459 directions less than 2 min.

    python benchmarks/instruments.py [--queries 10000] [--mixed 2000]

Combination: two noisy rankers on 2,000 queries of 120 documents, over every crossing of the scores of two documents,
for several metrics. Certification: a linear model on 10,000 queries of 50 documents and 300 features, NDCG@10 at ten
steps along 459 directions, on all cores, and the memory that the process used beyond its data. Kernels are compiled
before the clock starts.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from recording import Recording, add_record

import swaprank as sr
from swaprank.ensembles.step_function import sweep

METRICS = ("ndcg@10", "ndcg", "p@10", "pairwise", "map", "mrr", "err")
DOCUMENTS = 120


def combination(recording: Recording, n_queries: int) -> None:
    rng = np.random.default_rng(0)
    n = n_queries * DOCUMENTS
    labels, indptr = rng.choice(5, n, p=(0.5, 0.2, 0.15, 0.1, 0.05)), np.arange(0, n + 1, DOCUMENTS)
    a, b = labels + 2 * rng.normal(size=(2, n))
    title = f"Combine, {n_queries:,} queries of {DOCUMENTS} documents"
    table = recording.table("combine", title, "Seconds", "Steps", "Best single", "Combined", "Again")
    for name in METRICS:
        bound = sr.metric(name).bind(labels, indptr)
        few = sr.metric(name).bind(labels[: 2 * DOCUMENTS], indptr[:3])
        sweep(few, a[: 2 * DOCUMENTS], b[: 2 * DOCUMENTS])
        start = time.perf_counter()
        steps = sweep(bound, a, b)
        best = steps.best(0.0, 1.0)
        seconds = time.perf_counter() - start
        again, single = bound.mean(best.alpha * a + (1 - best.alpha) * b), max(bound.mean(a), bound.mean(b))
        values = (f"{value:.6f}" for value in (single, best.value, again))
        table.add(name, f"{seconds:.1f}", f"{len(steps.edges):,}", *values)


def certification(recording: Recording, n_queries: int) -> None:
    (train,) = sr.datasets.random_polynomial((n_queries,), n_features=300, levels=5, random_state=0)
    ranker = sr.LambdaRank("ndcg@10", hidden=(), pair_weight=0.0, decay=0.8, n_epochs=30, random_state=1).fit(train)
    sr.certify(ranker, train.subset(slice(0, 100)), epsilon=0.5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, used = time.perf_counter(), time.process_time()
    found = sr.certify(ranker, train, n_weights=0)
    seconds, used = time.perf_counter() - start, time.process_time() - used
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    start = time.perf_counter()
    sr.certify(ranker, train)
    with_weights = time.perf_counter() - start
    title = f"Certify a linear model, {n_queries:,} x 50 documents, 300 features"
    table = recording.table("certify", title, "Directions", "Steps", "Seconds", "CPU seconds", "MB beyond data")
    table.add("All directions", found.n_directions, len(found.steps), f"{seconds:.1f}", f"{used:.1f}", f"{memory:.0f}")
    table.add("And 50 single weights", "", "", f"{with_weights:.1f}", "", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000, help="number of queries of the certification")
    parser.add_argument("--mixed", type=int, default=2_000, help="number of queries of the combination")
    add_record(parser)
    options = parser.parse_args()
    with Recording(options) as recording:
        recording.says("Generated data, kernels compiled before, all cores")
        combination(recording, options.mixed)
        certification(recording, options.queries)


if __name__ == "__main__":
    main()
