"""Requests that cannot be answered."""

from typing import final


@final
class RequestError(Exception):
    """The status and the sentence of an answer that says why a request cannot be answered.

    Args:
        status: The HTTP status.
        message: What was found, and what to do.
        headers: More headers of the answer.
        closes: True if the rest of the request is not worth reading.
    """

    def __init__(
        self, status: int, message: str, headers: dict[str, str] | None = None, *, closes: bool = False
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.closes = status, message, closes
        self.headers = headers or {}
