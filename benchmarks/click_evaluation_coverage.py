"""Claim: 95% intervals of metrics that are estimated from clicks contain the truth in 93 to 97% of simulations.

    python benchmarks/click_evaluation_coverage.py [--simulations 200]

Two kinds of logs. "few": 150 queries of six documents, which are shown once, twice or ten times on average, in random
orders or in those of a good ranker. "long": 50 queries of 25 documents, of which ten are shown at a time; the new
ranking brings up what was seldom shown. Place k is examined with probability (1/k)^eta. Propensities are known, or
estimated from the same log. The table has, for each metric, the share of intervals that contain the truth, the bias,
the standard deviation of estimates and the standard error that the intervals claim (median), the share of the logs for
which `evaluate` says that they do not support an answer, and the number of logs without a position bias. Nothing here
uses the simulator of swaprank.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import swaprank as sr
from swaprank.arrays import Bools, Floats, Ints
from swaprank.rendering.tables import text_table

METRICS = ("dcg@5(gain=linear)", "p@3", "mrr")


def true_values(relevance: Floats, scores: Floats, shown: Bools) -> Floats:
    """The metrics by their definitions, over the documents that the log has."""
    asked = shown.any(axis=1)
    order = np.argsort(np.where(shown, -scores, np.inf), axis=1)
    ranked = np.take_along_axis(relevance * shown, order, axis=1)[asked]
    ranks = np.arange(1, ranked.shape[1] + 1)
    reading = np.cumprod(np.hstack([np.ones((len(ranked), 1)), 1 - ranked[:, :-1]]), axis=1)
    dcg = ranked[:, :5] @ (1 / np.log2(1 + ranks[:5]))
    return np.array([dcg.mean(), ranked[:, :3].mean(), (reading * ranked / ranks).sum(axis=1).mean()])


def simulated(
    relevance: Floats, production: Floats, noise: float, n_sessions: int, examination: Floats, seed: Any
) -> tuple[sr.clicks.ClickLog, Ints, Ints]:
    """A log, the query of each session, and the documents that it shows."""
    rng = np.random.default_rng(seed)
    n_queries, n_documents = relevance.shape
    query = rng.integers(n_queries, size=n_sessions)
    scores = production[query] + noise * rng.standard_normal((n_sessions, n_documents))
    document = np.argsort(-scores, axis=1)[:, : len(examination)]
    click = rng.random(document.shape) < examination * relevance[query[:, None], document]
    log = sr.clicks.ClickLog(
        session=np.repeat(np.arange(n_sessions), len(examination)),
        qid=np.repeat(query, len(examination)),
        docid=(query[:, None] * n_documents + document).ravel(),
        position=np.tile(np.arange(1, len(examination) + 1), n_sessions),
        click=click.ravel().astype(np.float64),
    )
    return log, query, document


def study(name: str, eta: float, times: int, good: bool, known: bool, simulations: int) -> list[list[str]]:
    rng = np.random.default_rng(7)
    n_queries, n_documents, n_shown = (150, 6, 6) if name == "few" else (50, 25, 10)
    relevance = 0.05 + 0.9 * rng.beta(0.8, 2.5, (n_queries, n_documents))
    quality = (relevance - relevance.mean()) / relevance.std() if good else np.zeros(relevance.shape)
    production, noise = (quality, 1.0) if name == "few" else (quality + rng.standard_normal(relevance.shape), 0.7)
    new = relevance + 0.25 * rng.standard_normal(relevance.shape)
    examination = np.asarray(1.0 / np.arange(1, n_shown + 1) ** eta, np.float64)
    bias = sr.clicks.Propensities(examination) if known else None
    found: list[list[tuple[float, ...]]] = [[] for _ in METRICS]
    refused = 0
    for seed in range(simulations):
        log, query, document = simulated(
            relevance, production, noise, n_queries * times, examination, [eta, times, seed]
        )
        shown = np.zeros(relevance.shape, np.bool_)
        shown[query[:, None], document] = True
        truth = true_values(relevance, new, shown)
        try:
            rows = sr.clicks.evaluate(log, new.ravel()[log.pair_docid.astype(int)], METRICS, propensities=bias)
        except sr.errors.DataError:
            refused += 1
            continue
        for each, row, value in zip(found, rows, truth.tolist(), strict=True):
            error = (row.high - row.low) / 3.92
            each.append((row.low <= value <= row.high, row.mean - value, error, not row.is_supported))
    table = []
    for metric, rows_of in zip(METRICS, found, strict=True):
        if rows_of:
            covered, off, errors, doubted = np.array(rows_of, dtype=float).T
            cells = [f"{each:.4f}" for each in (off.mean(), off.std(), float(np.median(errors)))]
            about = [name, f"{eta:g}", str(times), "good" if good else "random", "known" if known else "estimated"]
            table.append([*about, metric, f"{covered.mean():.1%}", *cells, f"{doubted.mean():.0%}", str(refused)])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=200)
    n = parser.parse_args().simulations
    table = []
    for eta in (1, 2):
        for times in (1, 2, 10):
            for good in (False, True):
                table += study("few", eta, times, good, True, n)
        for times in (10, 40):
            table += study("long", eta, times, True, True, n)
        table += study("long", eta, 100, True, False, n)
    header = ["log", "eta", "times", "ranker", "propensities", "metric", "coverage", "bias", "deviation", "error"]
    print(text_table([*header, "doubts", "refused"], table, left=6))


if __name__ == "__main__":
    main()
