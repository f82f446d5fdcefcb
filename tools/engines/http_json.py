"""JSON over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any


def send(method: str, address: str, body: Any = None) -> Any:
    """The answer to a request; the body is bytes as they are, or an object."""
    given = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    header = {"Content-type": "application/json"}
    request = urllib.request.Request(address, given, header, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise SystemExit(f"refused: {method} {address}\n{error.read().decode()[:2000]}") from None
