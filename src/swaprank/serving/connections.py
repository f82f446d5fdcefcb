"""Connections that may not stall: a client has a limited time to send the head of a request."""

import asyncio
from typing import Any, final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def timed_connections(seconds: float) -> type[HttpToolsProtocol]:
    """A protocol for uvicorn that closes connections whose next request does not arrive whole within so many seconds.

    uvicorn itself waits without end for the first request, and for the rest of one that has begun.
    """

    @final
    class TimedConnection(HttpToolsProtocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._stop_waiting()
            self._wait()

        def on_headers_complete(self) -> None:
            self._stop_waiting()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait(self) -> None:
            self._deadline = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

        def _stop_waiting(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return TimedConnection
