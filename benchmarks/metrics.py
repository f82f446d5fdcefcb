"""Claim: NDCG@10 and MAP together are at least 5 times faster than with pytrec_eval, one thread against one thread.

    python benchmarks/metrics.py [--queries 2000] [--documents 120] [--runs 15]

Both libraries measure the same documents in the same process with the same conventions, and their values must agree for
every query. They take turns, with one thread each, and the best of several runs counts, in CPU time, which other
programs disturb less. What each needs to be prepared is not timed: pytrec_eval's dictionaries and evaluator, our data
set. "Bound once" is what training does after every round. ir_measures is not in the table because it calls pytrec_eval
for these measures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytrec_eval
from recording import Recording, add_record

import swaprank as sr
from swaprank.metrics.metric import measure_each

THEIR_NAMES = {"ndcg@10": "ndcg_cut_10", "map": "map"}


def best_times(calls: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(runs):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return {name: min(of_call) for name, of_call in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--documents", type=int, default=120)
    parser.add_argument("--runs", type=int, default=15)
    add_record(parser)
    options = parser.parse_args()
    with Recording(options, "pytrec_eval-terrier") as recording:
        report(recording, options)


def report(recording: Recording, options: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    n = options.queries * options.documents
    labels, scores = rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]).astype(float), rng.normal(size=n)
    qid, docid = np.repeat(np.arange(options.queries), options.documents), np.array([f"doc{d}" for d in range(n)])
    data = sr.Dataset(np.zeros((n, 1)), labels, qid=qid, docid=docid)

    qrels: dict[str, dict[str, int]] = {str(q): {} for q in range(options.queries)}
    run: dict[str, dict[str, float]] = {str(q): {} for q in range(options.queries)}
    for d in range(n):
        qrels[str(qid[d])][f"doc{d}"] = int(labels[d])
        run[str(qid[d])][f"doc{d}"] = float(scores[d])

    recording.says(
        f"{n:,} documents in {options.queries:,} queries, one thread, milliseconds of CPU time, best of {options.runs}"
    )
    table = recording.table("metrics", "", "pytrec_eval", "swaprank", "Ratio", "Bound once", "Ratio, bound once")
    for names in (["ndcg@10"], ["map"], ["ndcg@10", "map"]):
        metrics = [sr.metric(name, convention="trec") for name in names]
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {THEIR_NAMES[name] for name in names})
        bound = [metric.bind(labels, data.indptr) for metric in metrics]
        calls: dict[str, Callable[[], object]] = {
            "theirs": partial(evaluator.evaluate, run),
            "ours": partial(sr.evaluate, data, scores, metrics, n_threads=1),
            "bound": partial(measure_each, bound, scores, 1),
        }
        found, ours = evaluator.evaluate(run), sr.evaluate(data, scores, metrics)
        for name, metric in zip(names, metrics, strict=True):
            expected = [found[str(q)][THEIR_NAMES[name]] for q in range(options.queries)]
            np.testing.assert_allclose(ours[metric].per_query, expected, atol=1e-12)
        times = best_times(calls, options.runs)
        theirs = times["theirs"]
        cells = [(f"{1000 * times[way]:.1f}", f"{theirs / times[way]:.1f}") for way in ("ours", "bound")]
        table.add(" and ".join(names), f"{1000 * theirs:.1f}", *cells[0], *cells[1])


if __name__ == "__main__":
    main()
