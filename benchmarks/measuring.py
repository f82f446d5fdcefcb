"""Measuring, for all benchmarks: the fastest of several runs, the memory of this process, a line about the machine."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def package_version(name: str) -> str:
    """The version of an installed package; XGBoost without code for GPUs is a package of its own."""
    try:
        return version(name)
    except PackageNotFoundError:
        return version(f"{name}-cpu")


def cpu() -> str:
    """The name of the CPU, such as "AMD EPYC", with its widest vectors."""
    if not (listed := Path("/proc/cpuinfo")).exists():
        return platform.machine()
    lines = listed.read_text().splitlines()
    named = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    flags = named.get("flags", "").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "no AVX2")
    return f"{named.get('model name', platform.machine())} ({vectors})"


def machine(*packages: str) -> str:
    """Cores, load and versions: "2 cores, load 0.3, Python 3.11.7, swaprank 0.2.0, numba 0.68.1"."""
    versions = ", ".join(f"{name} {package_version(name)}" for name in ("swaprank", *packages))
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, {versions}"


def fastest(work: Callable[[], object], runs: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(runs):
        start = clock()
        work()
        seconds.append(clock() - start)
    return min(seconds)


def memory(name: str = "RssAnon") -> int:
    """A line of /proc/self/status, in bytes: by default the memory that is not backed by files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


@dataclass
class Peak:
    """The largest memory so far, and that at the start."""

    start: int
    largest: int


@contextmanager
def watched_memory(pause: float = 0.005) -> Iterator[Peak]:
    """Watch the memory of this process during a block."""
    now = memory()
    peak, ended = Peak(now, now), threading.Event()

    def watch() -> None:
        while not ended.wait(pause):
            peak.largest = max(peak.largest, memory())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield peak
        peak.largest = max(peak.largest, memory())
    finally:
        ended.set()
        watching.join()
