"""Run work in threads: cut queries or rows into chunks, start one thread per chunk, wait for all."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any, TypeVar, cast

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.errors import SwaprankError

Result = TypeVar("Result")


def thread_count(n_threads: int | None) -> int:
    """n_threads; if None, the number of cores that this process may use."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_threads < 1:
        raise SwaprankError(f"n_threads must be at least 1, found {n_threads}.")
    return n_threads


def query_chunks(
    indptr: Ints, n_threads: int, *, costs: Floats | Ints | None = None, least_cost: float = 8192
) -> list[tuple[int, int]]:
    """Cut the queries into (first, last) ranges of about equal cost, at most one per thread.

    The default cost of a query is its number of documents. A chunk costs at least `least_cost`, because a thread takes
    about 50 microseconds to start.
    """
    n_queries = len(indptr) - 1
    cumulative = indptr if costs is None else np.concatenate(([0], np.cumsum(costs)))
    n_chunks = max(1, min(n_threads, n_queries, int(cumulative[-1] // least_cost)))
    cuts = np.searchsorted(cumulative, np.linspace(0, cumulative[-1], n_chunks + 1)[1:-1])
    bounds = [0, *(int(cut) for cut in cuts), n_queries]
    return [(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if a < b]


def row_chunks(n_rows: int, n_threads: int, *, least_rows: int = 1) -> list[tuple[int, int]]:
    """Cut rows into (first, last) ranges of equal size, at most one per thread.

    >>> from swaprank.threads import row_chunks
    >>> row_chunks(10, 2), row_chunks(10, 2, least_rows=8), row_chunks(0, 2)
    ([(0, 5), (5, 10)], [(0, 10)], [(0, 0)])
    """
    n_chunks = max(1, min(n_threads, n_rows // least_rows))
    cuts = [n_rows * chunk // n_chunks for chunk in range(n_chunks + 1)]
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def run_strided(work: Callable[[int], object], n_jobs: int, n_threads: int) -> None:
    """Call work(0) to work(n_jobs - 1), each thread taking every n_threads-th job.

    >>> from swaprank.threads import run_strided
    >>> done = []
    >>> run_strided(done.append, 5, n_threads=2)
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """

    def work_of(thread: int) -> None:
        for job in range(thread, n_jobs, n_threads):
            work(job)

    run_in_threads(work_of, [(thread,) for thread in range(min(n_threads, max(n_jobs, 1)))])


def run_in_threads(work: Callable[..., Result], jobs: Sequence[tuple[Any, ...]]) -> list[Result]:
    """Call work(*job) for every job, each in its own thread, and return the results in order.

    The threads end with the call, because a global thread pool does not survive a fork.
    """
    if len(jobs) == 1:
        return [work(*jobs[0])]
    with ThreadPoolExecutor(max_workers=len(jobs)) as pool:
        results: Iterator[Result] = pool.map(lambda job: work(*job), jobs)
        return list(results)


def run_together(work: Callable[[int], Result], n_threads: int, pool: ThreadPoolExecutor) -> list[Result]:
    """Call work(0) to work(n_threads - 1) concurrently, for kernels that wait for each other.

    No call begins before all threads exist. Otherwise a kernel could wait forever for a thread that is never started,
    because the system has too many threads or the user presses Ctrl-C.

    pool: Room for `n_threads` threads that do nothing else. They stay for the next call: starting them takes as long
    as a small tree.
    """
    if n_threads == 1:
        return [work(0)]
    gate, complete = Event(), False
    futures: list[Future[Result | None]] = []

    def job(thread: int) -> Result | None:
        gate.wait()
        return work(thread) if complete else None

    try:
        futures.extend(pool.submit(job, thread) for thread in range(n_threads))
        complete = True
        gate.set()
        wait(futures)
    finally:
        # After Ctrl-C: the kernels share arrays that the caller may not use before they end.
        gate.set()
        wait(futures)
    return [cast(Result, future.result()) for future in futures]
