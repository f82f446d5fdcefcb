"""How hot loops are compiled, and how they are spread over cores.

Kernels are serial, release the GIL and are called from ordinary threads, one chunk of queries each. Numba's own
`parallel=True` is not used: under its default threading layer the process aborts when two Python threads enter
such kernels at once, and a ranker that serves must never do that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba
import numpy as np

from swaprank.arrays import Ints
from swaprank.errors import SwaprankError

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")


def kernel(function: Function) -> Function:
    """Compile on first call, keep the machine code on disk, release the GIL, divide as IEEE 754 does."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)


def thread_count(n_threads: int | None) -> int:
    """The number asked for, or the number of cores that this process may use."""
    if n_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_threads < 1:
        raise SwaprankError(f"n_threads must be at least 1, found {n_threads}.")
    return n_threads


def query_chunks(indptr: Ints, n_threads: int, least_documents: int = 8192) -> list[tuple[int, int]]:
    """Cut the queries into (first, last) ranges of about equal documents, at most one a thread.

    Lists too small to be worth a thread stay in one chunk: starting a thread costs about 50 microseconds.
    """
    n_queries = len(indptr) - 1
    n_chunks = max(1, min(n_threads, n_queries, int(indptr[-1]) // least_documents))
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], n_chunks + 1)[1:-1])
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
