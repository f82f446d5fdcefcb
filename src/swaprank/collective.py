"""Sums of integers over the workers that train one model together.

Whatever is summed over documents goes through `Collective.add`: alone it is a plain sum, on a cluster the same call
adds up all workers'. Only integers are added, so that the result does not depend on the number of workers, nor on the
order in which they are added. The other functions here are made of it.
"""

import json
from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints


class Collective(ABC):
    """The workers of one training. All of them make the same calls, in the same order."""

    rank: int
    """The number of this worker, from 0."""
    size: int
    """The number of workers."""

    @abstractmethod
    def add(self, values: Ints) -> None:
        """Replace each value by its sum over all workers; called by one thread at a time, which may change.

        Raises ClusterError if a worker is gone.
        """

    def add_own(self, values: Ints, ends: Ints) -> None:
        """Like `add`, for a worker that needs its own range of the values only; the others may hold anything then.

        Ranges follow each other in the order of ranks: that of a worker ends at ends[rank], and may be empty.
        """
        self.add(values)

    def gather(self, values: Ints) -> Ints:
        """The values of all workers, a row for each; all of them have the same number of values."""
        rows = np.zeros((self.size, values.size), np.int64)
        rows[self.rank] = values.reshape(-1)
        self.add(rows)
        return rows


@final
class Alone(Collective):
    """One process that has all data."""

    rank, size = 0, 1

    def add(self, values: Ints) -> None:
        """See `Collective`: the sums are there already."""


ALONE = Alone()


def total(collective: Collective, count: int) -> int:
    """The sum of one number over all workers."""
    counts = np.array([count], np.int64)
    collective.add(counts)
    return int(counts[0])


def allgather(collective: Collective, values: AnyArray) -> AnyArray:
    """The rows of all workers' arrays, which differ in their number of rows only, in the order of ranks."""
    if collective.size == 1:
        return values
    counts = np.zeros(collective.size, np.int64)
    counts[collective.rank] = len(values)
    collective.add(counts)
    row_bytes = values.dtype.itemsize * int(np.prod(values.shape[1:], dtype=np.int64))
    ends = np.cumsum(counts) * row_bytes
    # Everyone adds zeros in the places of the others.
    content = np.zeros(-(-int(ends[-1]) // 8) * 8, np.uint8)
    mine = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    content[ends[collective.rank] - len(mine) : ends[collective.rank]] = mine
    collective.add(content.view(np.int64))
    rows: AnyArray = content[: ends[-1]].view(values.dtype).reshape(-1, *values.shape[1:])
    return rows


def allgather_json(collective: Collective, value: Any) -> list[Any]:
    """The values of all workers in the order of ranks: values that JSON can hold.

    >>> from swaprank.collective import ALONE, allgather_json
    >>> allgather_json(ALONE, {"part": "a.parquet"})
    [{'part': 'a.parquet'}]
    """
    text = np.frombuffer(json.dumps(value).encode(), np.uint8)
    lengths = allgather(collective, np.array([len(text)], np.int64))
    content = allgather(collective, text).tobytes()
    ends = np.cumsum(lengths).tolist()
    return [json.loads(content[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def add_with_largest(collective: Collective, counts: Ints, values: Floats) -> tuple[Ints, Floats]:
    """The sums of the counts and the largest of each of the values over all workers, in one message."""
    if collective.size == 1:
        return counts, values
    slots = np.zeros((collective.size, len(values)))
    slots[collective.rank] = values
    message = np.concatenate((counts, slots.reshape(-1).view(np.int64)))
    collective.add(message)
    slots = message[len(counts) :].view(np.float64).reshape(slots.shape)
    return message[: len(counts)], slots.max(axis=0)
