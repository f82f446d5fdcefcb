"""Claim: 95% intervals of metrics that are estimated from clicks contain the truth in 92 to 98% of simulations.

    python benchmarks/click_evaluation_coverage.py [--simulations 1000] [--sessions 5000] [--queries 40]

People click on ten of the twelve documents of each query, ordered by one feature with noise; another feature orders the
documents in the ranking that is estimated. Propensities are those of the simulation ("known"), or they are estimated
from the same log ("estimated"), without trust bias. The table has, for each metric, the share of intervals that contain
the true value, the true value, the mean estimate, the standard deviation of estimates, and the standard error that the
intervals claim.
"""

from __future__ import annotations

import argparse
import itertools
from collections import defaultdict
from typing import get_args

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.relevance_estimates import Estimator
from swaprank.rendering.tables import text_table

METRICS = ("dcg@5", "p@3", "mrr")
N_DOCUMENTS = 12


def judged(n_queries: int) -> sr.Dataset:
    (data,) = sr.datasets.random_search(n_queries, n_documents=N_DOCUMENTS, random_state=0)
    qid = np.repeat(np.arange(n_queries), N_DOCUMENTS)
    return sr.Dataset(data.features, data.labels, qid=qid, docid=np.arange(len(data)), feature_names=data.feature_names)


def true_values(data: sr.Dataset, scores: Floats) -> dict[str, float]:
    """The metrics by their definitions; the simulation's noise is 0.1."""
    gain = np.exp2(data.labels) - 1
    relevance = (0.1 + 0.9 * gain / gain.max()).reshape(-1, N_DOCUMENTS)
    order = np.argsort(-scores.reshape(-1, N_DOCUMENTS), axis=1, kind="stable")
    ranked, ranks = np.take_along_axis(relevance, order, axis=1), np.arange(1, N_DOCUMENTS + 1)
    reading = np.cumprod(np.hstack([np.ones((len(ranked), 1)), 1 - ranked[:, :-1]]), axis=1)
    return {
        "dcg@5": float(np.mean(np.sum(ranked[:, :5] / np.log2(1 + ranks[:5]), axis=1))),
        "p@3": float(np.mean(ranked[:, :3])),
        "mrr": float(np.mean(np.sum(reading * ranked / ranks, axis=1))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--sessions", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=40)
    arguments = parser.parse_args()
    data = judged(arguments.queries)
    scores = data.column("authority").astype(np.float64)
    truth = true_values(data, scores)
    found = defaultdict(list)
    for seed in range(arguments.simulations):
        log, known = sr.datasets.clicks(data, data.column("match"), arguments.sessions, moves=1, random_state=seed)
        for bias, estimator in itertools.product(("known", "estimated"), get_args(Estimator)):
            given = known.propensities if bias == "known" else None
            results = sr.clicks.evaluate(log, scores, METRICS, propensities=given, data=data, estimator=estimator)
            for name, row in zip(METRICS, results, strict=True):
                covered = row.low <= truth[name] <= row.high
                found[bias, estimator, name].append((covered, row.mean, (row.high - row.low) / 3.92))
    table = []
    for (bias, estimator, name), rows in found.items():
        covered, means, errors = np.array(rows, dtype=float).T
        values = [f"{value:.4f}" for value in (truth[name], means.mean(), means.std(), errors.mean())]
        table.append([bias, estimator, name, f"{covered.mean():.1%}", *values])
    header = ["propensities", "estimator", "metric", "coverage", "truth", "mean", "deviation", "claimed error"]
    print(text_table(header, table, left=3))


if __name__ == "__main__":
    main()
