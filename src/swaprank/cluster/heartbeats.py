"""Heartbeats between workers, sent by a thread that needs no GIL and shares no work.

Once a second, each worker sends every other one a byte. Who computes for hours, reads with the GIL held, or gets little
of a busy machine still sends them; who is stopped, or whose machine or network is gone, does not. Silence is counted in
the seconds of the one who listens, by its own turns: after a pause of its own, as of a laptop that slept, it listens
for the whole time again.

The loop is a kernel that calls the C library. It sleeps by waiting for a socket that only `stop` closes.
"""

import signal
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from threading import Thread
from time import sleep
from typing import Any, final

import numpy as np
from numba import types

from swaprank.arrays import Bytes, Ints
from swaprank.kernels import kernel

TURNS = 60
"""How many turns at least make the longest silence."""
_STOPPED = -1
_FLAGS = getattr(socket, "MSG_NOSIGNAL", 0)

_c_call = types.int64(types.intp, types.voidptr, types.uintp, types.int32)
_send: Any = types.ExternalFunction("send", _c_call)
_recv: Any = types.ExternalFunction("recv", _c_call)


@kernel
def watch(alarm: int, sockets: Ints, most_turns: int, flags: int, room: Bytes) -> tuple[int, bool]:
    """Send and receive heartbeats until somebody ended (True) or is silent (False): their number, -1 if stopped."""
    silent = np.zeros(len(sockets), np.int64)
    room[:] = 1
    while True:
        for at in range(len(sockets)):
            _send(sockets[at], room.ctypes, 1, flags)
            silent[at] += 1
            while True:
                n_bytes = _recv(sockets[at], room.ctypes, len(room), 0)
                if n_bytes == 0:
                    return at, True
                # An error is followed by the end of the connection in the next turn.
                if n_bytes < 0:
                    break
                silent[at] = 0
            if silent[at] > most_turns:
                return at, False
        if _recv(alarm, room.ctypes, 1, 0) == 0:
            return _STOPPED, False


@final
class Heartbeats:
    """The heartbeats of one worker.

    Args:
        sockets: A connection with each other worker, by rank; they do not block.
        seconds: The longest silence.
        report: Called once at most, with the rank of a worker that has ended (True) or is silent (False).
    """

    def __init__(
        self, sockets: Mapping[int, socket.socket], seconds: float, report: Callable[[int, bool], None]
    ) -> None:
        self._sockets, self._report = dict(sockets), report
        turn = min(1.0, seconds / TURNS)
        self._most_turns = round(seconds / turn)
        self._room = np.zeros(64, np.uint8)
        self._alarm, self._bell = socket.socketpair()
        _set_timeout(self._alarm, turn)
        # A daemon: the process may end.
        self._thread = Thread(target=self._watch, daemon=True, name="swaprank-heartbeats")
        self._thread.start()
        while self._thread.is_alive() and not self._room[0]:
            # From then on it needs no GIL.
            sleep(0.0005)

    def stop(self) -> None:
        """End the thread, and close its connections."""
        self._bell.close()
        self._thread.join()
        for each in (self._alarm, *self._sockets.values()):
            each.close()

    def _watch(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            # A signal, such as a profiler's, would end the sleep.
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        ranks = list(self._sockets)
        handles = np.array([self._sockets[rank].fileno() for rank in ranks], np.int64)
        at, ended = watch(self._alarm.fileno(), handles, self._most_turns, _FLAGS, self._room)
        if at != _STOPPED:
            self._report(ranks[at], ended)


def load() -> None:
    """Load the kernel; before the group forms, so that nobody waits for heartbeats of one who still compiles."""
    alarm, bell = socket.socketpair()
    bell.close()
    watch(alarm.fileno(), np.empty(0, np.int64), 1, _FLAGS, np.empty(1, np.uint8))
    alarm.close()


def _set_timeout(alarm: socket.socket, seconds: float) -> None:
    """Let the C library's `recv` end after this time; Python's own time limits are not of the socket."""
    if sys.platform == "win32":
        value = struct.pack("@L", max(1, round(seconds * 1000)))
    else:
        value = struct.pack("@ll", int(seconds), max(1, round(seconds % 1 * 1e6)))
    alarm.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
