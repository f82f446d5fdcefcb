"""The share of 95% intervals of the position bias that contain the truth, on simulated logs, whose truth is known.

    python benchmarks/click_coverage.py [--logs 200] [--only TEXT]

Every line is one method on many simulated logs: the share of intervals that contain the true examination, over all
positions from 2, and the lowest and highest share at a single position; the mean error relative to the truth; and on
how many logs the answer was that the log cannot tell.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks.bias.trust_em import TrustBias, in_normal_form

WORLDS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("mild bias, 5,000 sessions", ("harvest", "swaps"), {"n_sessions": 5_000, "bias": 0.5}),
    ("strong bias, 5,000 sessions", ("harvest", "swaps"), {"n_sessions": 5_000, "bias": 1.5}),
    ("strong bias, 50,000 sessions", ("harvest", "swaps"), {"n_sessions": 50_000, "bias": 1.5}),
    ("few moves, half with a swap", ("harvest", "swaps"), {"n_sessions": 20_000, "moves": 0.1, "swaps": 0.5}),
    ("trust bias, 50,000 sessions", ("trust",), {"n_sessions": 50_000, "trust": 0.5}),
]


def known_examination(truth: sr.clicks.Propensities) -> Floats:
    """The true examination; with trust bias, on the scale that `position_bias` chooses."""
    if truth.epsilon_minus is None:
        return truth.examination
    return in_normal_form(TrustBias(truth.alpha, truth.beta, np.empty(0), np.empty(0)))[0]


def measured(data: sr.Dataset, method: Any, world: dict[str, Any], n_logs: int) -> str:
    inside, errors, failed = [], [], 0
    for seed in range(n_logs):
        log, truth = sr.datasets.clicks(data, data.column("match"), n_shown=6, random_state=seed, **world)
        try:
            found = sr.clicks.position_bias(
                log, method, random_state=seed, n_resamples=200 if method != "trust" else 40
            )
        except sr.errors.DataError:
            failed += 1
            continue
        assert found.low is not None
        assert found.high is not None
        known = known_examination(truth.propensities)[1:]
        inside.append((found.low[1:] <= known) & (known <= found.high[1:]))
        errors.append(found.examination[1:] / known - 1)
    if not inside:
        return f"{'':>33}{failed:>8}"
    share = np.mean(inside, axis=0)
    return f"{share.mean():>9.1%}{share.min():>8.1%}{share.max():>8.1%}{np.mean(errors):>+8.1%}{failed:>8}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=200, help="simulated logs per line")
    parser.add_argument("--only", default="", help="only worlds with this text in their name")
    options = parser.parse_args()
    (data,) = sr.datasets.random_search(100, n_documents=20, random_state=0)
    print(f"{'log':<34}{'method':<12}{'coverage':>9}{'lowest':>8}{'highest':>8}{'error':>8}{'failed':>8}")
    for name, methods, world in WORLDS:
        for method in methods if options.only in name else ():
            print(f"{name:<34}{method:<12}{measured(data, method, world, options.logs)}", flush=True)


if __name__ == "__main__":
    main()
