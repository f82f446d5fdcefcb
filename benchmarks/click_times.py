"""Claim: the position bias of a million sessions is estimated in less than a minute, intervals included.

    python benchmarks/click_times.py [--sessions 1000000]

Pages of 10 documents, 1,000 queries of 50 documents. Seconds on the clock and of all cores, once; kernels are compiled
before, on a small log.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

import swaprank as sr
from swaprank.clicks.learning.training_bias import bias_for_training


def timed(name: str, work: Callable[[], Any]) -> Any:
    start, used = time.perf_counter(), time.process_time()
    result = work()
    print(f"{name:<34}{time.perf_counter() - start:>8.1f}{time.process_time() - used:>8.1f}", flush=True)
    return result


def steps(n_sessions: int) -> None:
    (data,) = sr.datasets.random_search(1000, random_state=0)
    log = timed(
        "simulate", lambda: sr.datasets.clicks(data, data.column("match"), n_sessions, swaps=0.2, random_state=0).log
    )
    columns = {
        "session": log.session_ids[log.session],
        "qid": log.qids[log.pair_query[log.document]],
        "docid": log.pair_docid[log.document],
    }
    timed("ClickLog from arrays", lambda: sr.clicks.ClickLog(**columns, position=log.position, click=log.click))
    timed("summarize", log.summarize)
    timed("harvest, without intervals", lambda: sr.clicks.position_bias(log, n_resamples=0))
    timed("harvest, 200 resamples", lambda: sr.clicks.position_bias(log))
    timed("swaps, 200 resamples", lambda: sr.clicks.position_bias(log, "swaps"))
    timed("regression, 20 resamples", lambda: sr.clicks.position_bias(log, "regression"))
    timed("trust, 20 resamples", lambda: sr.clicks.position_bias(log, "trust"))
    bias = timed("bias to train with", lambda: bias_for_training(log))
    timed("unbiased", lambda: sr.clicks.unbiased(log, bias))
    timed("preferences", lambda: sr.clicks.preferences(log, bias))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores{'':<27}{'seconds':>8}{'of CPU':>8}")
    print("10,000 sessions, with compilation")
    steps(10_000)
    print(f"{options.sessions:,} sessions")
    steps(options.sessions)


if __name__ == "__main__":
    main()
