"""A group forms: each worker opens a port, is told the addresses of all, and is connected with each other one.

Every two workers have two connections: one for data, one for heartbeats. The worker with the higher rank connects. Both
prove that they know the secret of the training, and say their rank and version; whoever cannot is dropped.

    accepts                                        connects
    16 random bytes                      ─►
                                         ◄─        16 random bytes, ranks, channel, version, HMAC of all this
    version, HMAC of all this            ─►
"""

import hashlib
import hmac
import secrets
import socket
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Condition, Thread
from typing import NamedTuple, final

from swaprank.errors import ClusterError
from swaprank.version import __version__

DATA, HEARTBEATS = 0, 1
_CHANNELS = (DATA, HEARTBEATS)
_VERSION = f"{__version__}, {sys.byteorder}-endian".encode()[:48].ljust(48, b"\0")
_HELLO, _WELCOME = struct.Struct("!16sIIB48s"), struct.Struct("!48s")
_NONCE, _MAC = 16, 32
_CHECK_SECONDS = 0.2


class Address(NamedTuple):
    """Where the others find a worker."""

    host: str
    port: int
    name: str
    """What users call the worker, such as its address on the Dask cluster; it is in errors."""


class Missing(NamedTuple):
    """Why a group has not formed."""

    rank: int | None
    """Who is missing; None if nobody is, and trying again does not help."""
    why: str
    silent: bool = False
    """True if the worker may still run, but says nothing."""


class Peer(NamedTuple):
    """One end of a connection: whose it is, and for what."""

    rank: int
    channel: int


@final
class Listener:
    """An open port of this worker, on one of its addresses.

    >>> from swaprank.cluster.formation import Listener
    >>> with Listener("127.0.0.1", "my laptop") as listener:
    ...     listener.address.host, listener.address.port > 0
    ('127.0.0.1', True)
    """

    def __init__(self, host: str, name: str = "") -> None:
        try:
            family, *_, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
            self.socket = socket.create_server(place[:2], family=family, backlog=4096)
        except OSError as error:
            raise ClusterError(f"cannot listen at {host}: {error}.") from error
        self.address = Address(host, int(self.socket.getsockname()[1]), name or host)

    def close(self) -> None:
        """Nobody else is expected."""
        self.socket.close()

    def __enter__(self) -> "Listener":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@final
class Formation:
    """The connections of one worker while they are made. `abandon` ends it from another thread."""

    def __init__(self, listener: Listener, members: Sequence[Address], rank: int, secret: bytes, seconds: float):
        self._listener, self._members, self._rank, self._secret = listener, members, rank, secret
        self._seconds, self._version = seconds, _VERSION
        self._changed = Condition()
        self._sockets: dict[Peer, socket.socket] = {}
        self._error: Missing | None = None

    def connected(self) -> tuple[Mapping[Peer, socket.socket], Missing | None]:
        """All connections; or those that there are, with who is missing and why."""
        Thread(target=self._accept_all, daemon=True, name="swaprank-accept").start()
        for peer in range(self._rank):
            Thread(target=self._connect, args=(peer,), daemon=True, name="swaprank-connect").start()
        with self._changed:
            # Nobody computes yet: whoever is not there after this time does not come.
            while self._error is None and self._missing() is not None:
                missing, n_there = self._missing(), len(self._sockets)
                self._changed.wait(self._seconds)
                if self._error is None and self._missing() == missing and len(self._sockets) == n_there:
                    self._error = Missing(missing, f"has not connected within {self._seconds:g} s", silent=True)
            done = self._error
            self._error = done or Missing(None, "the group has formed")
        return self._sockets, done

    def abandon(self, reason: str) -> None:
        """End `connected`."""
        self._fail(Missing(None, reason))

    def _missing(self) -> int | None:
        there = {peer.rank for peer in self._sockets if Peer(peer.rank, 1 - peer.channel) in self._sockets}
        return next((peer for peer in range(len(self._members)) if peer not in there and peer != self._rank), None)

    def _fail(self, missing: Missing) -> None:
        with self._changed:
            self._error = self._error or missing
            self._changed.notify_all()

    def _add(self, peer: Peer, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        with self._changed:
            if self._error is not None or peer in self._sockets:
                connection.close()
            else:
                self._sockets[peer] = connection
                self._changed.notify_all()

    def _connect(self, peer: int) -> None:
        """Connect with a worker of a lower rank."""
        host, port, _ = self._members[peer]
        try:
            for channel in _CHANNELS:
                connection = socket.create_connection((host, port), self._seconds)
                with _closed_on_error(connection):
                    self._check_version(peer, self._introduce(connection, Peer(peer, channel)))
                self._add(Peer(peer, channel), connection)
        except OSError as error:
            why = f"cannot be reached at {host}:{port}: {error or type(error).__name__}"
            self._fail(Missing(peer, why, silent=isinstance(error, TimeoutError)))

    def _accept_all(self) -> None:
        while self._error is None:
            try:
                self._listener.socket.settimeout(_CHECK_SECONDS)
                connection, _ = self._listener.socket.accept()
            except TimeoutError:
                continue
            except OSError as error:
                self._fail(Missing(None, f"worker {self._rank} cannot listen any more: {error}"))
                return
            # A stranger who says nothing must not keep the others waiting.
            Thread(target=self._welcome, args=(connection,), daemon=True, name="swaprank-welcome").start()

    def _introduce(self, connection: socket.socket, peer: Peer) -> bytes:
        """Prove to the worker that accepts who this is; returns its version."""
        asked, own = _received(connection, _NONCE), secrets.token_bytes(_NONCE)
        hello = _HELLO.pack(own, self._rank, peer.rank, peer.channel, self._version)
        connection.sendall(hello + self._mac(b"connects", asked, hello))
        answer, mac = _received(connection, _WELCOME.size), _received(connection, _MAC)
        if not hmac.compare_digest(mac, self._mac(b"accepts", asked, hello, answer)):
            raise ConnectionError("another program answers there")
        return answer

    def _welcome(self, connection: socket.socket) -> None:
        """Check who has connected; strangers are dropped."""
        with suppress(OSError), _closed_on_error(connection):
            connection.settimeout(self._seconds)
            asked = secrets.token_bytes(_NONCE)
            connection.sendall(asked)
            hello, mac = _received(connection, _HELLO.size), _received(connection, _MAC)
            _, rank, to, channel, version = _HELLO.unpack(hello)
            known = hmac.compare_digest(mac, self._mac(b"connects", asked, hello))
            if not (known and to == self._rank < rank < len(self._members)):
                raise ConnectionError("a stranger")
            answer = _WELCOME.pack(self._version)
            connection.sendall(answer + self._mac(b"accepts", asked, hello, answer))
            self._check_version(rank, version)
            self._add(Peer(rank, channel), connection)

    def _mac(self, *content: bytes) -> bytes:
        return hmac.digest(self._secret, b"".join(content), hashlib.sha256)

    def _check_version(self, peer: int, version: bytes) -> None:
        if version != self._version:
            other, own = (each.rstrip(b"\0").decode(errors="replace") for each in (version, self._version))
            name = self._members[peer].name
            why = f"worker {peer} ({name}) has swaprank {other}, but worker {self._rank} has {own}"
            self._fail(Missing(None, f"{why}: all must have the same."))


@contextmanager
def _closed_on_error(connection: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _received(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = connection.recv(size - len(content))
        if not piece:
            raise ConnectionError("the connection was closed")
        content += piece
    return content
