"""Claim: a user browsing model predicts clicks of a real log best; click models of a million sessions take seconds.

    python benchmarks/click_models.py [--log train.csv.xz] [--splits 5] [--sessions 1000000]

Bits a row on the half of the pages that a model was not fitted on: the mean over random halves, the least and the most.
Then seconds on the clock and of all cores, once, for pages of 10, 1,000 queries of 50 documents; kernels are compiled
before, on a small log.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

import swaprank as sr
from swaprank.clicks.models.click_model_names import MODELS, ModelName

LOG = Path(__file__).parents[2] / "shared" / "data" / "yandex-clicks" / "train.csv.xz"


def real_log(path: Path) -> sr.clicks.ClickLog:
    """The log, in which a document may be clicked several times on a page."""
    frame = pd.read_csv(path)
    frame["click"] = (frame["clicks"] > 0).astype(float)
    return sr.clicks.ClickLog.from_frame(frame, features=[])


def held_out_bits(log: sr.clicks.ClickLog, n_splits: int) -> None:
    halves = [log.split((0.5, 0.5), random_state=seed) for seed in range(n_splits)]
    found = [{score.model: score.bits for score in sr.clicks.compare_models(fit, other)} for fit, other in halves]
    print(f"{log}\n{'bits a row, held out':<20}{'mean':>8}{'least':>8}{'most':>8}")
    for name in sorted(MODELS, key=lambda name: np.mean([each[name] for each in found])):
        bits = [each[name] for each in found]
        print(f"{name:<20}{np.mean(bits):>8.4f}{min(bits):>8.4f}{max(bits):>8.4f}")


def times(n_sessions: int) -> None:
    (data,) = sr.datasets.random_search(1000, random_state=0)
    log = sr.datasets.clicks(data, data.column("match"), n_sessions, swaps=0.2, random_state=0).log
    print(f"{n_sessions:,} sessions{'':<11}{'seconds':>8}{'of CPU':>8}{'rounds':>8}")
    name: ModelName
    for name in get_args(ModelName):
        start, used = time.perf_counter(), time.process_time()
        model = sr.clicks.fit_model(log, name)
        clock, cpu = time.perf_counter() - start, time.process_time() - used
        print(f"{name:<28}{clock:>8.1f}{cpu:>8.1f}{model.fitted.rounds:>8}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, default=LOG)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    options = parser.parse_args()
    held_out_bits(real_log(options.log), options.splits)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    times(10_000)
    times(options.sessions)


if __name__ == "__main__":
    main()
