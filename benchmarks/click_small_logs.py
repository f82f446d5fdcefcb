"""Claim: `sr.clicks.train` without propensities is not worse than training on click rates, however small the log.

    python -m benchmarks.click_small_logs [--seeds 8] [--first 5000]

The simulator is that of the tests, with which no ranker and no person of `sr.datasets.clicks` has anything in common:
100 queries of 12 documents, pages of six. Production rankers: "weak", "good" (better than what features tell), and
"misled" (by a feature that has nothing to do with relevance). People: by position, (1/k)^0.5 and (1/k)^1.5, cascade,
dynamic Bayesian, and user browsing. NDCG@5 on 100 other queries, with the true relevance as labels, minus that of the
same LambdaMART on click rates; the standard error by query, and by seed. Where the log decides for click rates, the
difference is 0.
"""

from __future__ import annotations

import argparse
import itertools
from typing import Any

import numpy as np
from tests.clicks.people import World, click_log, make_world

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.rendering.tables import text_table

SETTINGS: dict[str, Any] = {"metric": "dcg@10(gain=linear)", "n_trees": 40, "n_leaves": 7, "n_threads": 1}
QUALITY = {"weak": 0.3, "good": 0.8, "misled": 0.2}
PEOPLE: tuple[tuple[Any, float], ...] = (
    ("position", 0.5), ("position", 1.5), ("cascade", 1.0), ("dbn", 1.0), ("browsing", 1.0),
)  # fmt: skip
NONE = sr.clicks.Propensities(np.ones(6))


def world_of(kind: str, seed: int) -> World:
    world = make_world(100, quality=QUALITY[kind], seed=seed)
    if kind == "misled":
        rng = np.random.default_rng(seed)
        liked = rng.standard_normal(world.rankings.shape[1:])
        world.rankings[:] = np.argsort(-(liked + 0.4 * rng.standard_normal(world.rankings.shape)), axis=2)
        world.features[..., 2] = liked
    return world


def judged(world: World) -> sr.Dataset:
    relevance = world.mean_relevance
    features = world.features.reshape(relevance.size, -1)
    return sr.Dataset(features, relevance.ravel(), group=[relevance.shape[1]] * len(relevance))


def difference(kind: str, people: Any, power: float, n_sessions: int, seed: int) -> Floats:
    """The difference of each test query; all 0 if the log decides for click rates."""
    test = judged(world_of(kind, seed + 500))
    examination = np.arange(1, 7.0) ** -power
    world = world_of(kind, seed)
    log = click_log(world, n_sessions, people=people, examination=examination, seed=seed, features=True)
    trained = sr.clicks.train(sr.LambdaMART(**SETTINGS), log)
    if (trained.propensities.examination == 1).all():
        return np.zeros(test.n_queries)
    naive = sr.LambdaMART(**SETTINGS).fit(sr.clicks.unbiased(log, NONE))
    ours, theirs = (
        sr.evaluate(test, ranker.predict(test), "ndcg@5(gain=linear)").results[0].per_query
        for ranker in (trained.ranker, naive)
    )
    return ours - theirs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=5000)
    parser.add_argument("--sessions", nargs="*", type=int, default=[500, 2000, 10_000])
    arguments = parser.parse_args()
    table, below = [], {"query": 0, "seed": 0}
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    for n_sessions, kind, (people, power) in itertools.product(arguments.sessions, QUALITY, PEOPLE):
        found = np.array([difference(kind, people, power, n_sessions, seed) for seed in seeds])
        corrected = int(found.any(axis=1).sum())
        errors = {
            "query": float(found.std() / found.size**0.5),
            "seed": float(found.mean(axis=1).std(ddof=1) / len(found) ** 0.5),
        }
        for unit, error in errors.items():
            below[unit] += corrected > 1 and bool(found.mean() < -2 * error)
        about = [f"{n_sessions:,}", kind, f"{people}, {power:g}" if people == "position" else people]
        cells = [f"{found.mean():+.4f}", *(f"{error:.4f}" for error in errors.values())]
        table.append([*about, f"{corrected} of {len(found)}", *cells])
    header = ["sessions", "ranker", "people", "corrected", "to naive", "error by query", "error by seed"]
    print(text_table(header, table, left=3))
    print(
        f"below by more than two standard errors: {below['query']} by query, {below['seed']} by seed, of {len(table)}"
    )


if __name__ == "__main__":
    main()
