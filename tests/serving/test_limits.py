"""What clients may not do: send too much, too slowly, too many at once; and clients that go away."""

from __future__ import annotations

import json
import logging
import socket
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.serving.running import BINARY, Limits, Running, running, saved, until

HEAD = "POST /rank HTTP/1.1\r\nHost: here\r\nContent-Type: application/octet-stream\r\n"
ROW = np.zeros(5, "<f4").tobytes()


def received(connection: socket.socket) -> tuple[int, Any]:
    """The status and the JSON of an answer, after which the server has closed the connection."""
    answer = b""
    while chunk := connection.recv(65_536):
        answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\nconnection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)


def still_works(server: Running) -> bool:
    return server.client.post("/rank", content=ROW, headers=BINARY).status_code == 200


def test_a_large_body_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    with running(saved(tmp_path, only="trees"), limits=Limits(body_bytes=1000)) as server:
        with server.connected() as connection:
            connection.sendall(f"{HEAD}Content-Length: 184000000\r\n\r\n".encode())
            status, said = received(connection)
        assert (status, said["error"]) == (413, "the body is larger than 1,000 bytes: ask in parts.")
        # A client that sends all of it before it reads gets the answer, too.
        answer = server.client.post("/rank", content=bytes(5_000_000), headers=BINARY)
        assert answer.status_code == 413
        assert still_works(server)


def test_a_body_without_a_length_is_refused_while_it_arrives(tmp_path: Path) -> None:
    with running(saved(tmp_path, only="trees"), limits=Limits(body_bytes=1000)) as server:
        with server.connected() as connection:
            connection.sendall(f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode())
            for _ in range(3):  # and never the end
                connection.sendall(b"190\r\n" + bytes(0x190) + b"\r\n")
            connection.shutdown(socket.SHUT_WR)
            assert received(connection)[0] == 413
        assert still_works(server)


@pytest.mark.parametrize(
    ("sent", "status"), [(f"{HEAD}Content-Length: 20\r\n\r\n12345", 408), (HEAD, None), ("", None), ("GET /he", None)]
)
def test_clients_that_stall_are_sent_away(tmp_path: Path, sent: str, status: int | None) -> None:
    with running(saved(tmp_path, only="trees"), limits=Limits(body_seconds=0.2)) as server:
        with server.connected() as connection:
            connection.sendall(sent.encode())
            if status is None:
                assert connection.recv(1000) == b""
            else:
                assert received(connection)[0] == status
        # A connection that is kept alive may wait for longer than a request.
        assert still_works(server)
        threading.Event().wait(0.5)
        assert still_works(server)


def test_more_documents_than_allowed(tmp_path: Path) -> None:
    with running(saved(tmp_path, only="trees"), limits=Limits(documents=3)) as server:
        assert server.client.post("/rank", content=ROW * 3, headers=BINARY).status_code == 200
        bodies: list[dict[str, Any]] = [
            {"content": ROW * 4, "headers": BINARY},
            {"json": {"documents": [{}] * 4}},
        ]
        for many in bodies:
            answer = server.client.post("/score", **many)
            assert answer.status_code == 422
            assert answer.json()["error"] == "4 documents are more than this server ranks at once: 3."


def test_more_requests_than_allowed_are_told_to_try_again(tmp_path: Path) -> None:
    with running(saved(tmp_path, only="trees"), limits=Limits(requests=1)) as server:
        with server.connected() as connection:
            connection.sendall(f"{HEAD}Content-Length: 20\r\n\r\n12345".encode())
            until(lambda: server.sample("swaprank_requests_in_progress") == 1)
            answer = server.client.post("/rank", content=ROW, headers=BINARY)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert server.client.get("/health").status_code == 200
            connection.sendall(bytes(15))
            assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
        until(lambda: still_works(server))


def test_clients_that_go_away_leave_no_traceback(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(saved(tmp_path, only="trees")) as server, caplog.at_level(logging.WARNING):
        for sent in (f"{HEAD}Content-Length: 20\r\n\r\n12345", f"{HEAD}Content-Length: 20\r\n\r\n" + "1" * 20):
            for _ in range(5):
                with server.connected() as connection:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
                    connection.sendall(sent.encode())
        until(lambda: server.sample("swaprank_requests_total", status="499") >= 5)
        until(lambda: server.sample("swaprank_requests_in_progress") == 0)
        assert still_works(server)
        assert server.sample("swaprank_errors_total", kind="internal") == 0
    assert caplog.records == []
