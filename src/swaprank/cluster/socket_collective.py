"""Sums over workers by sockets: every two of them are connected, and send each other what is needed, in one step.

    add, short     each sends all of its values to each other                                  1 step
    add, long      each sends every owner its range, adds up its own, and sends that around    2 steps
    add_own        the first half of that                                                      1 step
    gather         each sends its row to each other                                            1 step

Nobody else takes part: there is no server, and no process beside the workers. A process that ends closes its
connections, and all others notice at once; one that is stopped or cut off sends no heartbeats. Both end the group with
a ClusterError that names the worker. How long somebody computes never matters.
"""

import selectors
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, final

import numpy as np

from swaprank.arrays import Ints, row_blocks
from swaprank.cluster import heartbeats
from swaprank.cluster.formation import DATA, HEARTBEATS, Address, Formation, Listener
from swaprank.collective import Collective
from swaprank.errors import ClusterError

SILENCE_SECONDS = 60.0
_SHORT = 2**18
"""Bytes that a worker sends to all others together before a second step is worth it."""
_PIECE = 2**17
"""Values that are added up at once: while they are added, the next ones travel."""

_Selector: Any = getattr(selectors, "PollSelector", selectors.SelectSelector)


@final
class SocketCollective(Collective):
    """A worker of a group. Join it first; close it at the end, or abandon it after an error.

    Args:
        listener: The open port of this worker. It is closed when the group has formed.
        members: The addresses of all workers by rank, from their listeners.
        rank: The number of this worker.
        secret: Random bytes that only the workers of this training know.
        silence: A worker without a heartbeat for so many seconds is taken for lost.
    """

    def __init__(
        self,
        listener: Listener,
        members: Sequence[Address],
        rank: int,
        secret: bytes,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        self.rank, self.size = rank, len(members)
        self.lost: int | None = None
        """The rank of the worker that this one has lost first."""
        self.is_silent = False
        """True if that worker may still run, but says nothing."""
        self._listener, self._members, self._silence = listener, members, silence
        self._formation = Formation(listener, members, rank, secret, silence)
        self._lock = Lock()
        self._reason: str | None = None
        self._leaving = False
        self._sockets: Mapping[int, socket.socket] = {}
        self._heartbeats: heartbeats.Heartbeats | None = None
        self._waits: dict[int, Any] = {}
        self._room = np.empty(0, np.int64)

    def join(self) -> None:
        """Connect with all others."""
        heartbeats.load()
        connections, error = self._formation.connected()
        self._listener.close()
        with self._lock:
            self._sockets = {peer.rank: each for peer, each in connections.items() if peer.channel == DATA}
            beats = {peer.rank: each for peer, each in connections.items() if peer.channel == HEARTBEATS}
            abandoned = self._reason is not None
            if error is None and not abandoned:
                self._heartbeats = heartbeats.Heartbeats(beats, self._silence, self._report)
        if error is not None or abandoned:
            for connection in connections.values():
                connection.close()
            lost, text, silent = error or (None, "", False)
            self.abandon(text if lost is None else self._named(lost, text), lost, silent)
        self._check()
        for peer, connection in self._sockets.items():
            self._waits[peer] = _Selector()
            self._waits[peer].register(connection, selectors.EVENT_READ)

    def add(self, values: Ints) -> None:
        """See `Collective`."""
        flat = values.reshape(-1)
        for piece in row_blocks(flat.size, _PIECE):
            part = flat[piece]
            if self.size == 2 or part.nbytes * (self.size - 1) <= _SHORT:
                self._add_from(part, dict.fromkeys(self._sockets, part))
            else:
                ends = np.arange(1, self.size + 1) * part.size // self.size
                self.add_own(part, ends)
                ranges = _ranges(part, ends)
                own = dict.fromkeys(self._sockets, ranges[self.rank])
                self._exchange(own, {peer: ranges[peer] for peer in self._sockets})

    def add_own(self, values: Ints, ends: Ints) -> None:
        """See `Collective`."""
        ranges = _ranges(values.reshape(-1), ends)
        self._add_from(ranges[self.rank], {peer: ranges[peer] for peer in self._sockets})

    def gather(self, values: Ints) -> Ints:
        """See `Collective`."""
        rows = np.empty((self.size, values.size), np.int64)
        rows[self.rank] = values.reshape(-1)
        self._exchange(dict.fromkeys(self._sockets, rows[self.rank]), {peer: rows[peer] for peer in self._sockets})
        return rows

    def close(self) -> None:
        """Leave the group, when all others do."""
        # From here on, whoever has heard of all others may be gone.
        self._leaving = True
        self.gather(np.zeros(1, np.int64))
        self._disconnect()

    def abandon(self, reason: str, lost: int | None = None, silent: bool = False) -> None:
        """End whatever waits for the others with a ClusterError; from any thread, more than once."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason, self.lost, self.is_silent = reason, lost, silent
            for connection in self._sockets.values():
                # Not closed: another thread may use it.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._formation.abandon(reason)

    def leave(self) -> None:
        """Close all connections; after an error, in the thread that adds up."""
        self.abandon("this worker has left the group.")
        self._disconnect()

    def _disconnect(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.stop()
            self._heartbeats = None
        for connection in self._sockets.values():
            connection.close()

    def _report(self, peer: int, ended: bool) -> None:
        """What the heartbeats say of another worker; called in their thread."""
        if ended and self._leaving:
            return
        self.abandon(self._named(peer, "has ended" if ended else self._silent()), peer, not ended)

    def _silent(self) -> str:
        return f"has sent no heartbeat for {self._silence:g} s: it is stopped, or its machine or network is gone"

    def _named(self, peer: int, text: str) -> str:
        return f"worker {peer} of {self.size} ({self._members[peer].name}) {text}."

    def _check(self) -> None:
        if self._reason is not None:
            raise ClusterError(self._reason)

    def _add_from(self, own: Ints, outgoing: Mapping[int, Ints]) -> None:
        """Send each other worker what it is to have, and add what they send to this worker's own values."""
        self._check()
        n_others = self.size - 1
        if self._room.size < n_others * own.size:
            self._room = np.empty(n_others * own.size, np.int64)
        rows = self._room[: n_others * own.size].reshape(n_others, own.size)
        self._exchange(outgoing, dict(zip(self._sockets, rows, strict=True)))
        for row in rows:
            np.add(own, row, out=own)

    def _exchange(self, outgoing: Mapping[int, Ints], incoming: Mapping[int, Ints]) -> None:
        """Send and receive at once: whoever only sends may wait for one who only sends, too."""
        self._check()
        unsent = {}
        for peer, values in outgoing.items():
            rest = self._send(peer, _bytes(values))
            if rest:
                unsent[peer] = rest
        missing = {peer: _bytes(values) for peer, values in incoming.items() if values.size}
        if unsent:
            self._in_any_order(unsent, missing)
            return
        for peer, room in missing.items():
            while room := self._receive(peer, room):
                self._waits[peer].select()

    def _in_any_order(self, unsent: dict[int, memoryview], missing: dict[int, memoryview]) -> None:
        with _Selector() as waits:
            for peer in {*unsent, *missing}:
                waits.register(self._sockets[peer], _events(peer in unsent, peer in missing), peer)
            while unsent or missing:
                for key, events in waits.select():
                    peer = key.data
                    if events & selectors.EVENT_READ and not (rest := self._receive(peer, missing.pop(peer))):
                        pass
                    elif events & selectors.EVENT_READ:
                        missing[peer] = rest
                    if events & selectors.EVENT_WRITE and (rest := self._send(peer, unsent.pop(peer))):
                        unsent[peer] = rest
                    if peer in unsent or peer in missing:
                        waits.modify(key.fileobj, _events(peer in unsent, peer in missing), peer)
                    else:
                        waits.unregister(key.fileobj)

    def _send(self, peer: int, content: memoryview) -> memoryview:
        """Send what can be sent now; returns the rest."""
        try:
            while content:
                content = content[self._sockets[peer].send(content) :]
        except BlockingIOError:
            pass
        except OSError as error:
            self._lose(peer, error)
        return content

    def _receive(self, peer: int, room: memoryview) -> memoryview:
        """Receive what is there now; returns the room that is left."""
        try:
            while room:
                n_bytes = self._sockets[peer].recv_into(room)
                if not n_bytes:
                    self._lose(peer, None)
                room = room[n_bytes:]
        except BlockingIOError:
            pass
        except OSError as error:
            self._lose(peer, error)
        return room

    def _lose(self, peer: int, error: OSError | None) -> None:
        self.abandon(self._named(peer, "has ended"), peer)
        raise ClusterError(str(self._reason)) from error


def _bytes(values: Ints) -> memoryview:
    return values.data.cast("B") if values.size else memoryview(b"")


def _events(sends: bool, receives: bool) -> int:
    return (selectors.EVENT_WRITE if sends else 0) | (selectors.EVENT_READ if receives else 0)


def _ranges(values: Ints, ends: Ints) -> list[Ints]:
    return [values[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
