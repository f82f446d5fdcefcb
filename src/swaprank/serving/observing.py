"""What happens around every request: its id, its line in the log, its counters, and errors as JSON."""

import logging
import os
import re
import time
from collections.abc import Callable
from typing import Any, final

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swaprank.serving.metrics import Metrics
from swaprank.serving.structured_logs import LOGGER, log

_VALID_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_QUIET = ("health", "ready", "metrics")
"""Routes that are asked all the time, whose lines appear only for debugging."""
_LEFT = 499


@final
class Call:
    """What is known about one request."""

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.route, self.model, self.documents = "other", "", 0
        self.status = 0
        self.seconds: float | None = None
        self.at_end: Callable[[], None] | None = None
        """What is done when nothing of the request is left to do, however it ended."""


@final
class Draining:
    """Whether the server is about to end."""

    def __init__(self) -> None:
        self.is_on = False


@final
class Observed:
    """An application whose requests are logged and counted."""

    def __init__(self, app: ASGIApp, metrics: Metrics, draining: Draining) -> None:
        self._app, self._metrics, self._draining = app, metrics, draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        call = scope["swaprank"] = Call(_request_id(scope))
        start = time.perf_counter()

        async def observed(message: Message) -> None:
            if message["type"] == "http.response.start":
                call.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", call.request_id.encode())]
                if self._draining.is_on:
                    message["headers"] += [(b"connection", b"close")]
            elif not message.get("more_body"):
                call.seconds = time.perf_counter() - start
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except ClientDisconnect:
            call.status = _LEFT
        except Exception:
            self._metrics.add("swaprank_errors_total", "internal")
            LOGGER.exception("internal error", extra={"fields": {"request_id": call.request_id, "path": _path(scope)}})
            if not call.status:
                await _send_error(observed, call)
        finally:
            if call.at_end is not None:
                call.at_end()
        self._note(scope, call, time.perf_counter() - start if call.seconds is None else call.seconds)

    def _note(self, scope: Scope, call: Call, seconds: float) -> None:
        status = call.status or _LEFT
        self._metrics.add_request(call.route, call.model, status, seconds)
        if LOGGER.isEnabledFor(logging.DEBUG if call.route in _QUIET else logging.INFO):
            fields: dict[str, Any] = {"request_id": call.request_id, "method": scope["method"], "path": _path(scope)}
            if call.model:
                fields |= {"model": call.model, "documents": call.documents}
            client = scope.get("client")
            fields |= {"status": status, "ms": round(1e3 * seconds, 3), "client": client[0] if client else None}
            log(logging.DEBUG if call.route in _QUIET else logging.INFO, "request", **fields)


def _request_id(scope: Scope) -> str:
    """The id that the client gave, if it is one that a log can hold; else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _VALID_ID.fullmatch(value):
            return str(value, "ascii")
    return new_id()


def _path(scope: Scope) -> str:
    """The path as it was sent: characters that mean something to a terminal are escaped there."""
    return str(scope["raw_path"], "ascii", "backslashreplace")


def new_id() -> str:
    """An id that nobody else has."""
    return os.urandom(12).hex()


def error_content(message: str, request_id: str) -> bytes:
    """The body of every answer that is an error."""
    return msgspec.json.encode({"error": message, "request_id": request_id})


async def _send_error(send: Send, call: Call) -> None:
    body = error_content("internal error: the server's log has the reason under this request id.", call.request_id)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
