"""How often do the 95% intervals of the position bias contain the truth? Simulated logs, whose truth is known.

    python benchmarks/click_coverage.py [--logs 200] [--methods harvest swaps]

Every line is one method on many simulated logs: the share of intervals that contain the true examination, over all
positions from 2, and the lowest and highest share at a single position; the mean error relative to the truth.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import swaprank as sr

WORLDS: dict[str, dict[str, Any]] = {
    "mild bias, 5,000 sessions": {"n_sessions": 5_000, "bias": 0.5},
    "strong bias, 5,000 sessions": {"n_sessions": 5_000, "bias": 1.5},
    "strong bias, 50,000 sessions": {"n_sessions": 50_000, "bias": 1.5},
    "half of the sessions with a swap": {"n_sessions": 20_000, "bias": 1.0, "moves": 0.1, "swaps": 0.5},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=int, default=200, help="simulated logs per line")
    parser.add_argument("--methods", nargs="+", default=["harvest", "swaps"], help="methods of position_bias")
    parser.add_argument("--queries", type=int, default=100)
    options = parser.parse_args()
    (data,) = sr.datasets.random_search(options.queries, n_documents=20, random_state=0)
    print(f"{'log':<34}{'method':<12}{'coverage':>9}{'lowest':>8}{'highest':>8}{'error':>8}{'failed':>8}")
    for name, world in WORLDS.items():
        for method in options.methods:
            inside, errors, failed = [], [], 0
            for seed in range(options.logs):
                log, truth = sr.datasets.clicks(data, data.column("match"), n_shown=6, random_state=seed, **world)
                try:
                    found = sr.clicks.position_bias(log, method, random_state=seed)
                except sr.DataError:
                    failed += 1
                    continue
                assert found.low is not None
                assert found.high is not None
                wanted = truth.propensities.examination
                inside.append((found.low <= wanted) & (wanted <= found.high))
                errors.append(found.examination / wanted - 1)
            if not inside:
                print(f"{name:<34}{method:<12}{'the log cannot tell':>28}{failed:>13}")
                continue
            share, error = np.mean(inside, axis=0)[1:], np.mean(errors, axis=0)[1:].mean()
            print(
                f"{name:<34}{method:<12}{share.mean():>9.1%}{share.min():>8.1%}{share.max():>8.1%}{error:>+8.1%}{failed:>8}",
                flush=True,
            )


if __name__ == "__main__":
    main()
