"""The process of a server: it answers until a signal ends it, and then answers what is under way."""

import logging
import os
import signal
import socket
import time
from asyncio import Task, create_task, to_thread
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import final

import uvicorn

from swaprank.serving.app import Service
from swaprank.serving.connections import timed_connections
from swaprank.serving.structured_logs import log

_KEEP_ALIVE = 75
_BACKLOG = 2048
_LAST_SECONDS = 30
"""Time for requests that are under way when the port is closed."""


@final
class Server(uvicorn.Server):
    """A server that stops in two steps.

    First it says that it is not ready, answers on, and closes every connection after its answer; so no client sends a
    request into a connection that is being closed. Then it closes the port, and ends when nothing is under way.
    """

    def __init__(self, service: Service) -> None:
        settings = service.settings
        super().__init__(
            uvicorn.Config(
                service.app(), http=timed_connections(settings.limits.body_seconds), ws="none", lifespan="on",
                log_config=None, access_log=False, server_header=False, timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=_LAST_SECONDS, backlog=_BACKLOG,
            )
        )  # fmt: skip
        self._service = service
        self._ends_at: float | None = None
        self._parent: int | None = None
        # Handlers of signals only leave a note: they may interrupt anything, such as the writing of a log line.
        self._end_wanted = self._reload_wanted = False
        self._reloading: Task[None] | None = None

    def end(self) -> None:
        """Begin to stop."""
        if self._ends_at is None:
            self._service.draining.is_on = True
            self._ends_at = time.monotonic() + self._service.settings.drain_seconds
            log(logging.INFO, "ending", process=os.getpid())

    def run_on(self, listener: socket.socket, parent: int | None = None) -> None:
        """Answer until a signal comes, or until the parent process ends.

        SIGTERM and Ctrl-C end it, a second Ctrl-C at once; SIGHUP reloads all models.
        """
        self._parent = parent
        self.run([listener])

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Those of uvicorn are not captured: see `handle_signals`."""
        yield

    def handle_signals(self) -> None:
        """Handle signals of this process from now on."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._interrupted)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._hung_up)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self._end_wanted:
            self.should_exit = self.force_exit = True
        self._end_wanted = True

    def _hung_up(self, number: int, frame: FrameType | None) -> None:
        self._reload_wanted = True

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether to stop."""
        if self._reload_wanted and (self._reloading is None or self._reloading.done()):
            self._reload_wanted = False
            self._reloading = create_task(to_thread(self._service.reloader.reload_all))
        if self._end_wanted or (self._parent is not None and os.getppid() != self._parent):
            self.end()
        if self._ends_at is not None:
            left = self._ends_at - time.monotonic()
            self.should_exit = self.should_exit or left <= 0
        return await super().on_tick(counter)
