"""Claim: a log of ten million rows takes about 200 MB, and to count clicks, many files take as much memory as one.

    python benchmarks/click_memory.py [--sessions 1000000]

Pages of 10 documents, 1,000 queries of 50 documents. Each line is a process of its own: seconds on the clock, megabytes
that it held at most beyond what it had before, and what it held in the end. Kernels are compiled before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import swaprank as sr


def columns(n_sessions: int, seed: int = 0, *, text: bool = False) -> dict[str, Any]:
    """The columns of a log, sorted by session."""
    rng = np.random.default_rng(seed)
    query, start = rng.integers(1000, size=n_sessions), rng.integers(5, size=n_sessions)
    position = np.tile(np.arange(1, 11), n_sessions)
    ids: dict[str, Any] = {
        "session": np.repeat(np.arange(n_sessions), 10) + seed * n_sessions,
        "qid": np.repeat(query, 10),
        "docid": ((start[:, None] + np.arange(10)) % 50 + 50 * query[:, None]).ravel(),
    }
    if text:
        ids = {name: np.char.add(name[0], values.astype(str)) for name, values in ids.items()}
    return {**ids, "position": position, "click": (rng.random(10 * n_sessions) < 0.3 / position).astype(np.int64)}


def memory(what: str) -> float:
    """Megabytes of this process, on Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def measured(work: Callable[[], Any]) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # The highest memory starts anew.
    before, start = memory("VmRSS"), time.perf_counter()
    result = work()  # Kept until it was measured.
    seconds = time.perf_counter() - start
    print(f"{seconds:8.1f}{memory('VmHWM') - before:8.0f}{memory('VmRSS') - before:8.0f}")
    del result


def run(case: str, n_sessions: int, folder: Path) -> None:
    small = columns(3000)
    sr.clicks.position_bias(sr.clicks.ClickLog(**small), n_resamples=20)
    if case in ("arrays", "text arrays"):
        given = columns(n_sessions, text=case == "text arrays")
        measured(lambda: sr.clicks.ClickLog(**given))
    elif case == "Parquet":
        measured(lambda: sr.clicks.read_clicks(folder / "part-0.parquet", features=[]))
    elif case == "harvest, 20 resamples":
        log = sr.clicks.ClickLog(**columns(n_sessions))
        measured(lambda: sr.clicks.position_bias(log, n_resamples=20))
    else:
        files = [folder / f"part-{number}.parquet" for number in range(int(case.split()[1]))]
        sr.clicks.count_clicks(sr.clicks.ClickLog(**small))
        measured(lambda: sr.clicks.count_clicks(files))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        run(options.case, options.sessions, options.folder)
        return
    print(f"{'':<24}{'seconds':>8}{'MB':>8}{'kept':>8}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(4):
            pl.DataFrame(columns(options.sessions, number, text=True)).write_parquet(f"{folder}/part-{number}.parquet")
        for case in ("arrays", "text arrays", "Parquet", "harvest, 20 resamples", "count 1", "count 2", "count 4"):
            print(f"{case:<24}", end="", flush=True)
            call = [sys.executable, __file__, "--sessions", str(options.sessions), "--case", case, "--folder", folder]
            subprocess.run(call, check=False)


if __name__ == "__main__":
    main()
