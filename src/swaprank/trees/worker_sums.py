"""How a growing tree adds up over workers: the kernel calls back to Python, where the collective is.

While one thread of the kernel is here, the others wait for it. A ctypes function takes the GIL by itself. It cannot
raise: an error is kept, the kernel leaves, and `check` raises it.
"""

from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from typing import final

import numpy as np

from swaprank.arrays import Ints
from swaprank.collective import Collective
from swaprank.trees.histogram import BINS
from swaprank.trees.workspace import DOCUMENTS, HISTOGRAM, Workspace


@final
class WorkerSums:
    """The function that `sum_over_workers` calls, and the arrays that it adds up."""

    work: Workspace

    def __init__(self, collective: Collective, n_bins: Ints) -> None:
        self.collective = collective
        self.error: BaseException | None = None
        self.used = np.concatenate([f * BINS + np.arange(n + 1) for f, n in enumerate(n_bins.tolist())])
        """The bins that features have: others are never read, and not sent."""
        self._function = CFUNCTYPE(None, c_int64, c_int64)(self._call)
        self.address = int(cast(self._function, c_void_p).value or 0) if collective.size > 1 else 0

    def check(self) -> None:
        """Raise the error of a sum that failed."""
        if self.error is not None:
            raise self.error

    def _call(self, what: int, where: int) -> None:
        if self.error is not None:
            return
        try:
            self._add(what, where)
        except BaseException as error:
            self.error = error
            self.work.failed[0] = 1

    def _add(self, what: int, where: int) -> None:
        if what in (HISTOGRAM, DOCUMENTS):
            sums = self.work.histograms[where] if what == HISTOGRAM else self.work.thread_histograms[0]
            sent = sums[self.used]
            self.collective.add(sent)
            sums[self.used] = sent
        else:
            self.collective.add(self.work.left_rows)
