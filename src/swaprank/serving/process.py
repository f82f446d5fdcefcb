"""One server from its models to its end: the port, the log, and one process or several."""

import os
from collections.abc import Callable
from functools import partial
from socket import socket

from swaprank.serving.app import Service
from swaprank.serving.listening import address_of
from swaprank.serving.server import Server
from swaprank.serving.workers import Workers, unblock_signals


def serve(service: Service, bound: socket, started: Callable[[str], None]) -> None:
    """Answer requests until a signal ends the server.

    Args:
        service: What is served.
        bound: The socket.
        started: Called with the address, when requests are taken.
    """
    bound.listen()
    n_workers = service.settings.workers
    if n_workers == 1:
        server = Server(service)
        server.handle_signals()
        started(address_of(bound))
        server.run_on(bound)
        return
    work = partial(_work, service, bound, os.getpid())
    # Without the port here, new clients are refused as soon as the last worker takes none.
    workers = Workers(n_workers, work, service.reloader.ask_all, ending=bound.close)
    started(address_of(bound))
    workers.run()


def _work(service: Service, bound: socket, parent: int, worker: int) -> None:
    service.metrics.start_worker(worker)
    server = Server(service)
    server.handle_signals()
    unblock_signals()
    server.run_on(bound, parent)
