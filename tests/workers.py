"""Workers that are threads of this process: what a cluster computes, without one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar, final

import numpy as np

from swaprank.arrays import Ints
from swaprank.collective import ALONE, Collective

Result = TypeVar("Result")


@final
class ThreadWorker(Collective):
    def __init__(self, rank: int, arrays: list[Ints], barrier: Barrier) -> None:
        self.rank, self.size = rank, len(arrays)
        self.arrays, self.barrier = arrays, barrier

    def add(self, values: Ints) -> None:
        assert values.dtype == np.int64
        self.arrays[self.rank] = values.copy()
        self.barrier.wait()
        assert len({array.shape for array in self.arrays}) == 1, "the workers are not at the same step"
        # A rotated order: sums must not depend on it.
        values[:] = sum(np.roll(np.array(self.arrays), self.rank, axis=0))
        self.barrier.wait()


def run_workers(work: Callable[[Collective], Result], size: int) -> list[Result]:
    """Call work in as many threads, and return what each gives; a worker that fails ends the others."""
    if size == 1:
        return [work(ALONE)]
    arrays, barrier = [np.empty(0, np.int64)] * size, Barrier(size)

    def job(rank: int) -> Result:
        try:
            return work(ThreadWorker(rank, arrays, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(size) as pool:
        return [future.result() for future in [pool.submit(job, rank) for rank in range(size)]]
