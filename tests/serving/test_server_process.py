"""The process of `swaprank serve`: its start, signals, workers, and end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.command_line import swaprank
from tests.exchange.fitted_models import fitted
from tests.serving.running import BINARY, saved, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals and forks are another matter on this system"),
]
BODY = np.zeros((20, 5), "<f4").tobytes()


class Process(NamedTuple):
    """A running command."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, BINARY | headers)
            response = connection.getresponse()
            content = response.read().decode()
            is_json = response.headers["content-type"] == "application/json"
            return response.status, json.loads(content) if is_json else content
        finally:
            connection.close()

    def events(self, name: str) -> list[Any]:
        lines = [line for line in self.log.read_text().splitlines() if line.endswith("}")]
        return [line for line in map(json.loads, lines) if line["event"] == name]

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def serving(folder: Path, *options: str, **environment: str) -> Iterator[Process]:
    """`swaprank serve` in a process of its own."""
    code = "from swaprank.__main__ import main; main()"
    log = folder / "log.jsonl"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", *options, "--port", "0"],
            cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, **environment},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://127.0.0.1:"), log.read_text()
            yield Process(process, int(address.rpartition(":")[2].partition("/")[0]), log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_and_ends_with_0(tmp_path: Path, workers: str, number: signal.Signals) -> None:
    saved(tmp_path, only="trees")
    with serving(tmp_path, "only.swaprank", "--workers", workers, "--drain", "0") as server:
        assert server.ask("POST", "/rank?k=3", BODY)[1]["places"] == [0, 1, 2]
        assert server.end(number) == 0
        assert "Traceback" not in server.log.read_text()
        (request,) = server.events("request")
        assert request | {"path": "/rank", "status": 200, "documents": 20, "model": "only"} == request
        assert set(request) >= {"time", "level", "request_id", "ms", "client"}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_no_request_on_an_open_connection_is_lost_when_it_ends(tmp_path: Path, workers: str) -> None:
    saved(tmp_path, only="trees")
    lost, answers, told = list[str](), [0] * 4, threading.Event()
    with serving(tmp_path, "only.swaprank", "--workers", workers, "--drain", "0.5") as server:

        def ask(client: int) -> None:
            with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
                ask_until_it_ends(connection, client)

        def ask_until_it_ends(connection: http.client.HTTPConnection, client: int) -> None:
            """Keep one connection; open another when the server closes it, until there is no server any more."""
            while True:
                is_new = connection.sock is None
                try:
                    connection.request("POST", "/rank", BODY, BINARY)
                    response = connection.getresponse()
                    response.read()
                except OSError as error:
                    if not (is_new and told.is_set()):
                        lost.append(repr(error))
                    return
                if response.status != 200:
                    lost.append(str(response.status))
                answers[client] += 1

        threads = [threading.Thread(target=ask, args=[client]) for client in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: min(answers) > 20)
        told.set()
        assert server.end() == 0
        for thread in threads:
            thread.join()
    assert lost == []


def test_a_request_under_way_is_answered_while_new_ones_are_refused(tmp_path: Path) -> None:
    saved(tmp_path, only="trees")
    with serving(tmp_path, "only.swaprank", "--drain", "0.2") as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
            slow.sendall(b"POST /rank HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\n")
            slow.sendall(f"Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY[:10])
            until(lambda: "swaprank_requests_in_progress 1" in server.ask("GET", "/metrics")[1])
            server.process.send_signal(signal.SIGTERM)
            until(lambda: not is_listening(server.port))
            slow.sendall(BODY[10:])
            answer = slow.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200 OK")
            assert b"connection: close" in answer.lower()
        assert server.process.wait(60) == 0


def is_listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionError:
        return False
    return True


def test_a_server_that_is_about_to_end_is_not_ready(tmp_path: Path) -> None:
    saved(tmp_path, only="trees")
    with serving(tmp_path, "only.swaprank", "--drain", "30") as server:
        assert server.ask("GET", "/ready")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.ask("GET", "/ready")[0] == 503)
        assert server.ask("POST", "/rank", BODY)[0] == 200
        server.process.send_signal(signal.SIGINT)  # at once
        assert server.process.wait(60) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sighup_reloads_in_every_worker(tmp_path: Path, workers: str) -> None:
    files = saved(tmp_path, only="trees")
    with serving(tmp_path, "only.swaprank", "--workers", workers, "--watch", "0") as server:
        server.ask("GET", "/health")
        fitted("trees of missing values").save(files["only"])
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(server.events("reloaded")) == int(workers))
        files["only"].write_text("broken")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: len(server.events("reload failed")) == int(workers))
        assert server.ask("POST", "/rank", BODY)[0] == 200
        assert server.end() == 0


def test_a_call_reloads_in_every_worker(tmp_path: Path) -> None:
    files = saved(tmp_path, only="trees")
    token = "a-token-of-the-tests"
    options = ("only.swaprank", "--workers", "2", "--watch", "0")
    with serving(tmp_path, *options, SWAPRANK_TOKEN=token) as server:
        fitted("trees of missing values").save(files["only"])
        until(lambda: len(server.events("reloaded")) == 0)
        assert server.ask("POST", "/models/only/reload", Authorization=f"Bearer {token}")[0] == 200
        until(lambda: len(server.events("reloaded")) == 2)
        assert 'reloads_total{model="only",outcome="ok"} 2' in server.ask("GET", "/metrics")[1]
        assert server.end() == 0


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    saved(tmp_path, only="trees")
    with serving(tmp_path, "only.swaprank", "--workers", "2", "--drain", "0") as server:
        server.ask("POST", "/rank", BODY)
        counted = 'route="rank",model="only",status="200"} 1'
        until(lambda: counted in server.ask("GET", "/metrics")[1])
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        if not children.exists():
            pytest.skip("this system has no /proc")
        before = children.read_text().split()
        os.kill(int(before[0]), signal.SIGKILL)
        until(lambda: len(set(children.read_text().split()) - set(before)) == 1)
        (ended,) = server.events("worker ended")
        assert ended["code"] == -signal.SIGKILL
        assert counted in server.ask("GET", "/metrics")[1]
        assert server.end() == 0


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    saved(tmp_path, only="trees")
    with serving(tmp_path, "only.swaprank", "--workers", "2", "--drain", "0") as server:
        server.ask("GET", "/health")
        server.process.kill()
        until(lambda: not is_listening(server.port))


def test_a_port_in_use(tmp_path: Path) -> None:
    saved(tmp_path, only="trees")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = swaprank("serve", "only.swaprank", "--port", taken.getsockname()[1], folder=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith("error: port ")
    assert "is in use: choose another --port, or end what listens there." in ended.err


def test_the_extra_is_not_installed(tmp_path: Path) -> None:
    saved(tmp_path, only="trees")
    ended = swaprank("serve", "only.swaprank", folder=tmp_path, before="import sys; sys.modules['msgspec'] = None")
    assert ended.code == 2
    assert ended.err == 'error: a server needs msgspec: pip install "swaprank[serve]".\n'
