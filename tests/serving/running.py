"""A server in a thread of this process, on a free port of the loopback, and a client of it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from tests.exchange.fitted_models import fitted

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from swaprank.serving.app import Service
from swaprank.serving.listening import listener
from swaprank.serving.models import Models
from swaprank.serving.server import Server
from swaprank.serving.settings import Limits, Settings

__all__ = ["BINARY", "Limits", "Running", "running", "saved", "until"]
BINARY = {"Content-Type": "application/octet-stream"}


class Running(NamedTuple):
    """A running server."""

    client: httpx.Client
    service: Service
    server: Server
    port: int

    def sample(self, name: str, **labels: str) -> float:
        """The value of a counter as Prometheus reads it; 0 if it is not there."""
        for line in self.client.get("/metrics").text.splitlines():
            found, _, number = line.rpartition(" ")
            if found.partition("{")[0] == name and all(f'{key}="{value}"' in found for key, value in labels.items()):
                return float(number)
        return 0.0

    def connected(self) -> socket.socket:
        """A connection of its own."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)


def saved(folder: Path, **models: str) -> dict[str, Path]:
    """Files of models of tests/exchange/fitted_models.py by name."""
    files = {name: folder / f"{name}.swaprank" for name in models}
    for name, kind in models.items():
        fitted(kind).save(files[name])
    return files


@contextmanager
def running(files: dict[str, Path], **settings: Any) -> Iterator[Running]:
    """A server of model files."""
    service = Service(Models(files), Settings(**{"watch_seconds": 0, "drain_seconds": 0, "threads": 2} | settings))
    bound = listener("127.0.0.1", 0)
    port = bound.getsockname()[1]
    server = Server(service)
    thread = threading.Thread(target=server.run_on, args=[bound])
    thread.start()
    until(lambda: server.started)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield Running(client, service, server, port)
    finally:
        server.end()
        thread.join()


def until(condition: Any, seconds: float = 60.0) -> Any:
    """Wait for a condition that will come true; a test that waits in vain fails."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)
    return found
