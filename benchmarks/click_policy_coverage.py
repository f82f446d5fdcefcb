"""Claim: 95% intervals of clicks that are estimated from logged propensities contain the truth in 93 to 97%.

    python -m benchmarks.click_policy_coverage [--simulations 500]

The simulator is that of the tests, tests/clicks/people.py: six places, twelve documents a query, and a production
ranker that draws one of six rankings; if it is personalised, with weights that depend on what the user finds relevant.
The policies that are estimated show one of the rankings always, or draw them with other weights. The truth is exact.
"difference" is that from the logged policy, self-normalized; "supported" the share of the logs that raise no doubt.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import get_args

import numpy as np
from tests.clicks.people import World, click_log, make_world
from tests.clicks.policy_worlds import mixture, true_clicks

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.policies.policy_values import PolicyEstimator
from swaprank.rendering.tables import text_table

EXAMINATION = 1.0 / np.arange(1, 7)
SIZES = ((20, 1_000), (50, 5_000), (50, 20_000))
"""Queries and sessions."""


def target_weights(n_rankings: int) -> dict[str, Floats]:
    one = np.zeros(n_rankings)
    one[2] = 1.0
    return {"ranking": one, "mixture": np.arange(1.0, n_rankings + 1) / np.arange(1.0, n_rankings + 1).sum()}


def simulate(world: World, weights: Floats, n_sessions: int, n_simulations: int) -> dict[str, list[tuple[float, ...]]]:
    """(truth, estimate, low, high, supported) of each simulation, by estimator."""
    truth = true_clicks(world, weights, EXAMINATION)
    logged = true_clicks(world, world.weights, EXAMINATION)
    found: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for seed in range(n_simulations):
        log = click_log(world, n_sessions, seed=seed, propensity=True)
        policy = mixture(world, log, weights)
        for estimator in get_args(PolicyEstimator):
            row = sr.clicks.evaluate_policy(log, policy, "clicks", estimator=estimator)["clicks"]
            found[estimator].append((truth, row.mean, row.low, row.high, row.is_supported))
        both = {"logged": sr.clicks.Policy.logged(log), "new": policy}
        (change,) = sr.clicks.compare_policies(log, both, "clicks")
        found["difference"].append((truth - logged, change.difference, change.low, change.high, not change.doubts))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=500)
    n_simulations = parser.parse_args().simulations
    table = []
    for personalised in (False, True):
        for name, weights in target_weights(6).items():
            for n_queries, n_sessions in SIZES:
                world = make_world(n_queries, personalised=personalised, seed=1)
                for estimator, rows in simulate(world, weights, n_sessions, n_simulations).items():
                    truth, estimate, low, high, supported = np.array(rows, dtype=float).T
                    covered = np.mean((low <= truth) & (truth <= high))
                    numbers = [truth[0], estimate.mean(), estimate.std(), np.mean(high - low) / 3.92]
                    kind = "personalised" if personalised else "one for all"
                    cells = [kind, name, f"{n_sessions:,}", estimator, f"{covered:.1%}"]
                    table.append([*cells, *(f"{number:.4f}" for number in numbers), f"{supported.mean():.0%}"])
                    print(*table[-1], flush=True)
    header = ["production", "policy", "sessions", "estimator", "coverage", "truth", "mean", "deviation"]
    print(text_table([*header, "claimed error", "supported"], table, left=4))


if __name__ == "__main__":
    main()
