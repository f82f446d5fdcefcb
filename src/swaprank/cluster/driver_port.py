"""A port of the driver, for engines whose tasks cannot talk to it: workers send messages, and the driver calls them.

Both sides prove that they know the secret of the training before anything else is read. A connection that ends without
an outcome is a worker that is gone; for the worker, it is a driver that does not wait any more.
"""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, NamedTuple, final

from swaprank.cluster.launcher import Gone, Outcome
from swaprank.cluster.worker_task import Broken, Message
from swaprank.errors import ClusterError

_CHECK_SECONDS = 0.5


class _Hello(NamedTuple):
    """The first words of a worker."""

    rank: int
    host: str


class _Answer(NamedTuple):
    """The result of a call."""

    call: int
    value: Any


class _Ended(NamedTuple):
    """What became of a worker."""

    rank: int
    outcome: Outcome


@final
class DriverPort:
    """The driver's side.

    Args:
        host: The address to listen at; empty for all of this machine.
        secret: What the workers know.
        size: The number of workers.
    """

    def __init__(self, host: str, secret: bytes, size: int) -> None:
        try:
            self._listener = Listener((host, 0), backlog=4096)
        except OSError as error:
            raise ClusterError(f"cannot listen at {host or 'any address'}: {error}.") from error
        self._secret, self._open, self._anyone_ended = secret, True, False
        self._connections: dict[int, Connection] = {}
        self._outcomes: list[Outcome | None] = [None] * size
        self._answers: dict[int, SimpleQueue[Any]] = {}
        self._numbers = count()
        self._arrived: SimpleQueue[Message | _Ended | None] = SimpleQueue()
        self._lock = Lock()
        Thread(target=self._accept, daemon=True, name="swaprank-port").start()

    @property
    def number(self) -> int:
        """The number of the port."""
        return int(self._listener.address[1])

    def wake(self) -> None:
        """End `wait`."""
        self._arrived.put(None)

    def wait(self, seconds: float) -> list[Message]:
        """See `Team`."""
        messages = list[Message]()
        with suppress(Empty):
            each = self._arrived.get(timeout=seconds)
            while True:
                if isinstance(each, Message):
                    messages.append(each)
                elif each is not None and self._outcomes[each.rank] is None:
                    self._outcomes[each.rank] = self._after_others(each)
                each = self._arrived.get_nowait()
        return messages

    def outcomes(self) -> list[Outcome | None]:
        """See `Team`; after the last messages of a worker, and None for one that has not connected yet."""
        return list(self._outcomes)

    def has_met(self, rank: int) -> bool:
        """True if the worker has connected: its outcome is known, or comes."""
        return rank in self._connections

    def _after_others(self, ended: _Ended) -> Outcome:
        """The outcome of a worker; engines end the other tasks when one has ended, which is not their fault."""
        if not isinstance(ended.outcome, Gone):
            return ended.outcome
        lost = next((rank for rank, each in enumerate(self._outcomes) if isinstance(each, Gone)), None)
        if lost is None:
            return ended.outcome
        return Broken("another task has ended.", lost, silent=False, checkpoint=b"")

    def tell(self, rank: int, function: Callable[..., object], arguments: tuple[Any, ...]) -> SimpleQueue[Any]:
        """Call a function on a worker; what it returns comes into the queue, unless the worker ends before."""
        answers: SimpleQueue[Any] = SimpleQueue()
        with suppress(OSError, KeyError), self._lock:
            number = next(self._numbers)
            self._answers[number] = answers
            self._connections[rank].send((number, function, arguments))
        return answers

    def ask(self, rank: int, function: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> Any:
        """What a function on a worker returns; None if there is nothing for so many seconds, or a worker ends."""
        answers, end = self.tell(rank, function, arguments), monotonic() + seconds
        while monotonic() < end:
            ended = self._anyone_ended
            with suppress(Empty):
                return answers.get(timeout=_CHECK_SECONDS)
            if ended:
                break
        return None

    def close(self) -> None:
        """Leave all workers: they stop."""
        self._open = False
        with suppress(OSError):
            # It ends `accept`, which closing would not.
            Client(self._listener.address).close()
        for connection in list(self._connections.values()):
            # Not closed: a thread waits for the worker, and until it is woken the worker would not hear of it.
            with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as same:
                same.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while self._open:
            with suppress(OSError):
                connection = self._listener.accept()
                # A stranger who says nothing must not keep the others waiting.
                Thread(target=self._serve, args=(connection,), daemon=True, name="swaprank-worker").start()
        self._listener.close()

    def _serve(self, connection: Connection) -> None:
        """Receive what one worker sends until it ends."""
        rank, host = -1, ""
        with suppress(Exception):
            deliver_challenge(connection, self._secret)
            answer_challenge(connection, self._secret)
            rank, host = connection.recv()
            with self._lock:
                self._connections[rank] = connection
            while True:
                self._take(rank, connection.recv())
        connection.close()
        if rank >= 0:
            self._anyone_ended = True
            self._arrived.put(_Ended(rank, Gone(f"has ended on {host}")))

    def _take(self, rank: int, received: Any) -> None:
        if isinstance(received, Message):
            self._arrived.put(received)
        elif isinstance(received, _Answer):
            self._answers.pop(received.call).put(received.value)
        else:
            self._anyone_ended = True
            self._arrived.put(_Ended(rank, received))


@final
class DriverConnection:
    """The side of a worker: it sends, and calls what the driver asks for in a thread."""

    def __init__(self, address: tuple[str, int], secret: bytes, rank: int, host: str) -> None:
        self._connection = Client(address)
        answer_challenge(self._connection, secret)
        deliver_challenge(self._connection, secret)
        self._lock = Lock()
        self._ended = Event()
        self.send(_Hello(rank, host))
        Thread(target=self._serve, daemon=True, name="swaprank-driver").start()

    def send(self, value: Message | Outcome | _Hello | _Answer) -> None:
        """Send a message or the outcome."""
        with self._lock, suppress(OSError):
            self._connection.send(value)

    def finish(self, outcome: Outcome) -> None:
        """Send the outcome; an error that cannot be sent as it is becomes a text."""
        try:
            self.send(outcome)
        except Exception:
            self.send(ClusterError(f"{type(outcome).__name__}: {outcome}"))

    def ended(self) -> bool:
        """True if the driver does not wait any more."""
        return self._ended.is_set()

    def _serve(self) -> None:
        with suppress(Exception):
            while True:
                number, function, arguments = self._connection.recv()
                self.send(_Answer(number, function(*arguments)))
        self._ended.set()
