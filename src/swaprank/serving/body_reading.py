"""Bodies of requests, read within limits of size and time."""

import asyncio
from typing import final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from swaprank.serving.request_errors import RequestError
from swaprank.serving.settings import Limits

_LINGER_SECONDS = 2.0


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body of a request; RequestError if it is too large, which is noticed while it arrives, or too slow."""
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RequestError(415, "compressed bodies are not read: send it as it is.", closes=True)
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.body_bytes:
        raise _too_large(limits)
    chunks, n_bytes = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for chunk in request.stream():
                chunks.append(chunk)
                n_bytes += len(chunk)
                if n_bytes > limits.body_bytes:
                    raise _too_large(limits)
    except TimeoutError:
        raise RequestError(
            408, f"the body did not arrive within {limits.body_seconds:g} seconds.", {"Connection": "close"}
        ) from None
    return b"".join(chunks)


def _too_large(limits: Limits) -> RequestError:
    return RequestError(413, f"the body is larger than {limits.body_bytes:,} bytes: ask in parts.", closes=True)


@final
class LastResponse(Response):
    """The last answer on a connection whose client still sends a body.

    A connection that is closed while data arrives is reset, and the client may never read its answer. So the answer is
    sent at once, and what arrives in the next moments is thrown away.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, then wait for the client to stop."""
        self.headers["Connection"] = "close"
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        try:
            async with asyncio.timeout(_LINGER_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect" or not message.get("more_body"):
                        break
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})
