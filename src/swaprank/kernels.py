"""How hot loops are compiled, and how they are spread over cores.

Kernels are serial, release the GIL and are called from ordinary threads, one chunk of queries each. Numba's own
`parallel=True` is not used: under its default threading layer the process aborts when two Python threads enter
such kernels at once, and a ranker that serves must never do that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any, TypeVar, cast

import numba
import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.errors import SwaprankError

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


def kernel(function: Function) -> Function:
    """Compile on first call, keep the machine code on disk, release the GIL, divide as IEEE 754 does."""
    return _compiled(function, fastmath=False)


def vector_kernel(function: Function) -> Function:
    """A kernel whose sums may be added up in another order, the same in every run, so that its loops vectorise."""
    return _compiled(function, fastmath={"reassoc", "nsz", "nnan"})


def _compiled(function: Function, fastmath: bool | set[str]) -> Function:
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": fastmath}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # Numba finds no folder that it may write to, as in a container without a home.
        compiled = numba.njit(**options)(function)
    return cast(Function, compiled)


def thread_count(n_threads: int | None) -> int:
    """The number asked for, or the number of cores that this process may use."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_threads < 1:
        raise SwaprankError(f"n_threads must be at least 1, found {n_threads}.")
    return n_threads


def query_chunks(
    indptr: Ints, n_threads: int, *, costs: Floats | Ints | None = None, least_cost: float = 8192
) -> list[tuple[int, int]]:
    """Cut the queries into (first, last) ranges of about equal cost, at most one a thread.

    A query costs its documents, or what `costs` says: its pairs, say. A chunk of less than `least_cost` is not worth a
    thread, which takes about 50 microseconds to start.
    """
    n_queries = len(indptr) - 1
    spent = indptr if costs is None else np.concatenate(([0], np.cumsum(costs)))
    n_chunks = max(1, min(n_threads, n_queries, int(spent[-1] // least_cost)))
    cuts = np.searchsorted(spent, np.linspace(0, spent[-1], n_chunks + 1)[1:-1])
    bounds = [0, *(int(cut) for cut in cuts), n_queries]
    return [(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]


def run_in_threads(work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Call work(*job) for every job, each in a thread of its own, and give the results in order.

    The threads end with the call: a pool kept in the module would be dead after a fork.
    """
    if len(jobs) == 1:
        return [work(*jobs[0])]
    with ThreadPoolExecutor(max_workers=len(jobs)) as pool:
        results: Iterator[Result] = pool.map(lambda job: work(*job), jobs)
        return list(results)


def run_together(work: Callable[[int], Result], n_threads: int) -> list[Result]:
    """Call work(0) to work(n_threads - 1) at the same time: for kernels that wait for each other.

    None begins before all threads exist, for one that waits for a thread that never comes would wait forever: there
    may be too many threads already, or the user presses Ctrl-C just then.
    """
    if n_threads == 1:
        return [work(0)]
    gate, complete = Event(), False

    def job(thread: int) -> Result | None:
        gate.wait()
        return work(thread) if complete else None

    with ThreadPoolExecutor(max_workers=n_threads) as pool:
        try:
            futures = [pool.submit(job, thread) for thread in range(n_threads)]
            complete = True
        finally:
            gate.set()
        return [cast(Result, future.result()) for future in futures]
