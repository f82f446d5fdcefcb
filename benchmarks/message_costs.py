"""The messages of workers, counted, and what they take on other networks: steps, sends and bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Ints
from swaprank.collective import Collective

ADD, OWN, GATHER, GLANCE = "add", "own", "gather", "glance"
"""Kinds of messages: sums for all, sums for the owner of a range, rows of all workers, and the largest of these rows:
the gradients of some documents."""
AT_ONCE = 2**18
"""Bytes that a worker of the sockets sends to all others together before it takes a second step."""


class Message(NamedTuple):
    """A call of a collective."""

    kind: str
    n_bytes: int
    """Of the values of one worker."""


class Network(NamedTuple):
    """The network that connects workers."""

    latency: float
    """Seconds of a step: what somebody sends then, he could not send before the step before."""
    bandwidth: float
    """Bytes a second, of one worker."""
    send: float
    """Seconds of work to send something to another worker, and to receive from it."""


class Cost(NamedTuple):
    """What messages take: of one worker, if all have the same work."""

    steps: float
    sends: float
    """Messages to single other workers."""
    bytes: float
    """That are sent."""

    def seconds(self, network: Network) -> float:
        """Steps, work and bytes take turns."""
        return self.steps * network.latency + self.sends * network.send + self.bytes / network.bandwidth


def by_sockets(message: Message, size: int) -> Cost:
    """See `SocketCollective`: every two workers are connected."""
    others, n_bytes = size - 1, message.n_bytes
    if message.kind == OWN:
        return Cost(1, others, n_bytes * others / size)
    if message.kind != ADD or size == 2 or n_bytes * others <= AT_ONCE:
        return Cost(1, others, n_bytes * others)
    return Cost(2, 2 * others, 2 * n_bytes * others / size)


def by_mpi(message: Message, size: int) -> Cost:
    """Recursive doubling, and for long sums halving and doubling [Thakur2005]."""
    steps, others, n_bytes = math.log2(size), size - 1, message.n_bytes
    if message.kind == OWN:
        return Cost(steps, steps, n_bytes * others / size)
    if message.kind != ADD:
        return Cost(steps, steps, n_bytes * others)
    if n_bytes <= 2048:
        return Cost(steps, steps, n_bytes * steps)
    return Cost(2 * steps, 2 * steps, 2 * n_bytes * others / size)


ENGINES = {"sockets": by_sockets, "MPI": by_mpi}


@final
class Counting(Collective):
    """Another collective, whose messages are noted."""

    def __init__(self, inner: Collective, glance_bytes: int = 0) -> None:
        self.inner, self.rank, self.size = inner, inner.rank, inner.size
        self.messages, self.glance_bytes = list[Message](), glance_bytes

    def add(self, values: Ints) -> None:
        """See `Collective`."""
        self.messages.append(Message(ADD, values.nbytes))
        self.inner.add(values)

    def add_own(self, values: Ints, ends: Ints) -> None:
        """See `Collective`."""
        self.messages.append(Message(OWN, values.nbytes))
        self.inner.add_own(values, ends)

    def gather(self, values: Ints) -> Ints:
        """See `Collective`."""
        is_glance = 0 < self.glance_bytes < values.nbytes
        self.messages.append(Message(GLANCE if is_glance else GATHER, values.nbytes))
        return self.inner.gather(values)


def cost_of(messages: Sequence[Message], size: int, engine: str) -> Cost:
    """Of all messages."""
    costs = [ENGINES[engine](message, size) for message in messages]
    return Cost(*np.sum(np.array(costs), axis=0).tolist())
