"""The port of a server."""

import errno
import os
import socket

from swaprank.errors import Hint, ParameterError


def listener(host: str, port: int) -> socket.socket:
    """A socket that is bound to an address; ParameterError if that is not possible. Port 0 stands for a free one.

    >>> from swaprank.serving.listening import listener
    >>> with listener("127.0.0.1", 0) as first:
    ...     first.listen()
    ...     try:
    ...         listener("127.0.0.1", first.getsockname()[1])
    ...     except Exception as error:
    ...         print(str(error).partition(" is ")[2])
    in use: choose another port, or end what listens there.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ParameterError(Hint("host"), f": '{host}' is not an address of this machine ({error}).") from None
    bound = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise ParameterError(
                f"port {port} of {host} is in use: choose another ", Hint("port", option="--port"),
                ", or end what listens there.",
            ) from None  # fmt: skip
        if error.errno in (errno.EACCES, errno.EPERM):
            raise ParameterError(f"port {port} of {host} is not for this user: choose one from 1024.") from None
        raise ParameterError(f"{host}, port {port}: {error.strerror or error}.") from None
    bound.set_inheritable(True)
    return bound


def address_of(bound: socket.socket) -> str:
    """The address of a listening socket as a browser takes it."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
