"""The sample of rows that cuts are computed from, while rows come in blocks, from files and on workers."""

from typing import TYPE_CHECKING, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Ints, read_only
from swaprank.collective import ALONE, Collective, allgather
from swaprank.data import cuts
from swaprank.data.cuts import Cuts
from swaprank.data.document_places import sampled_places

if TYPE_CHECKING:
    from swaprank.data.blocks import Block

_FEATURES_AT_ONCE = 16
_LARGEST = np.uint64(2**64 - 1)


@final
class CutSample:
    """The rows whose places have the smallest hashes, with their features."""

    def __init__(self, n_threads: int, last: np.uint64 = _LARGEST) -> None:
        self.n_threads = n_threads
        self.last = last
        """No row with a larger hash is in the sample."""
        self.n_rows = 0
        self._hashes: list[AnyArray] = []
        self._values: list[Features] = []

    def add(self, block: "Block", offset: int) -> None:
        """Add the rows of a block; `offset` documents of its first query were in the blocks before."""
        hashes = cuts.sample_hashes(sampled_places(block.data, offset), self.n_threads)
        chosen = np.flatnonzero(hashes <= self.last)
        rows = chosen if block.data.order is None else block.data.order[chosen]
        self._keep([hashes[chosen]], [block.features_of(rows)])

    def merge(self, other: Self) -> None:
        """Add the rows of another sample."""
        self._keep(other._hashes, other._values)

    def widen(self, width: int, fill: float) -> None:
        """Give all rows so many features; those of narrow blocks have the fill value where they had none."""
        for at, values in enumerate(self._values):
            if values.shape[1] < width:
                self._values[at] = np.full((len(values), width), fill, np.float32)
                self._values[at][:, : values.shape[1]] = values

    def cuts(self, width: int, categorical: Ints, max_bins: int, collective: Collective = ALONE) -> Cuts:
        """The cuts of so many features from the sample of all workers; afterwards, the sample is empty."""
        hashes, values = self._taken(width)
        everywhere = allgather(collective, hashes)
        if collective.size > 1 and len(everywhere) > cuts.CUT_SAMPLE:
            values = values[hashes <= np.partition(everywhere, cuts.CUT_SAMPLE - 1)[cuts.CUT_SAMPLE - 1]]
        found = []
        # The rows of all workers are here for a few features at a time.
        for first in range(0, width, _FEATURES_AT_ONCE):
            features = np.arange(first, min(first + _FEATURES_AT_ONCE, width))
            rows = allgather(collective, values[:, features])
            of_few = np.flatnonzero(np.isin(features, categorical))
            found.append(cuts.cuts_of_sample(rows, of_few, max_bins, self.n_threads))
        return Cuts(
            read_only(np.concatenate([each.values for each in found])),
            read_only(np.concatenate([each.n_bins for each in found])),
            max_bins,
        )

    def _taken(self, width: int) -> tuple[AnyArray, Features]:
        """The hashes and features of the rows, which are dropped from the sample meanwhile."""
        self._drop()
        hashes, parts = np.concatenate([np.empty(0, np.uint64), *self._hashes]), self._values
        self._hashes, self._values, self.n_rows = [], [], 0
        values, stop = np.empty((len(hashes), width), np.float32), len(hashes)
        while parts:
            part = parts.pop()
            values[stop - len(part) : stop] = part
            stop -= len(part)
        return hashes, values

    def _keep(self, hashes: list[AnyArray], values: list[Features]) -> None:
        self._hashes += hashes
        self._values += values
        self.n_rows += sum(map(len, hashes))
        if 4 * self.n_rows > 5 * cuts.CUT_SAMPLE:
            self._drop()

    def _drop(self) -> None:
        if self.n_rows <= cuts.CUT_SAMPLE:
            return
        self.last = np.partition(np.concatenate(self._hashes), cuts.CUT_SAMPLE - 1)[cuts.CUT_SAMPLE - 1]
        for k, hashes in enumerate(self._hashes):
            kept = hashes <= self.last
            self._hashes[k], self._values[k] = hashes[kept], self._values[k][kept]
        self.n_rows = sum(map(len, self._hashes))
