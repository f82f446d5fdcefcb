"""Claim: examples/serve.py ranks 200 candidates with 500 trees in 2 ms, and reloads its model without a lost request.

    python benchmarks/serving.py [--seconds 10] [--clients 1 4] [--trees 500] [--leaves 64] [--candidates 200]

Starts the example's server as a process of its own, and clients in another: one keep-alive connection per thread, each
sending its next request when the answer to the last one is there, as JSON and as binary rows. Twice during each load, a
new model is saved to the same file and reloaded. An answer is lost if it does not come, is an error, or is not what one
of the two models says. Server and clients share the machine's cores.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import numpy as np
from measuring import fastest, machine

import swaprank as sr
from swaprank.arrays import Features

EXAMPLE = Path(__file__).parent.parent / "examples" / "serve.py"
N_FEATURES = 136
K = 10
JSON, BINARY = "application/json", "application/octet-stream"


def generated(rng: np.random.Generator, n: int) -> Features:
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    X[:, 1::3] = rng.gamma(1.0, 1.0, X[:, 1::3].shape)
    X[:, 2::3] = rng.poisson(3.0, X[:, 2::3].shape)
    X[:, ::4][rng.random(X[:, ::4].shape) < 0.2] = np.nan
    return X


def trained(rng: np.random.Generator, n_trees: int, n_leaves: int) -> Any:
    X = generated(rng, 20_000)
    known = np.nan_to_num(X)
    relevance = np.tanh(known @ rng.normal(size=N_FEATURES) / 8) + rng.normal(size=len(X))
    labels = np.digitize(relevance, np.quantile(relevance, [0.5, 0.75, 0.9]))
    ranker = sr.LambdaMART(n_trees=n_trees, n_leaves=n_leaves, min_docs_in_leaf=20)
    return ranker.fit(X, labels, qid=np.arange(len(X)) // 100)


def as_json(X: Features) -> bytes:
    rows = [[None if value != value else round(value, 5) for value in row] for row in X.tolist()]
    return json.dumps({"documents": rows, "k": K}).encode()


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: bytes = b"", kind: str = JSON) -> Any:
    connection.request(method, path, body, {"Content-Type": kind})
    response = connection.getresponse()
    return response.status, response.read()


def run_clients(port: int, n_clients: int, seconds: float, kind: str, folder: Path) -> None:
    """The process of the clients: print the seconds of each request, and how many were lost."""
    body = (folder / ("body.json" if kind == JSON else "body.bin")).read_bytes()
    known = json.loads((folder / "places.json").read_text())
    took: list[float] = []
    lost: list[str] = []
    end = time.perf_counter() + seconds

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        while (start := time.perf_counter()) < end:
            try:
                status, answer = ask(connection, "POST", f"/rank?k={K}", body, kind)
                if status != 200 or json.loads(answer)["places"] not in known:
                    lost.append(f"{status} {answer[:100]!r}")
            except (OSError, http.client.HTTPException, ValueError) as error:
                lost.append(repr(error))
                connection.close()
            took.append(time.perf_counter() - start)

    threads = [Thread(target=work) for _ in range(n_clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"took": took, "lost": lost}))


@contextmanager
def server(model: Path) -> Iterator[int]:
    """The port of the example's server, which ends with the block."""
    with http.client.socket.socket() as free:  # type: ignore[attr-defined]
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(EXAMPLE), str(model), "--port", str(port)])
    try:
        for _ in range(600):
            try:
                ask(http.client.HTTPConnection("127.0.0.1", port), "GET", "/health")
                break
            except ConnectionRefusedError:
                assert process.poll() is None, "the server ended"
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def load(port: int, n_clients: int, seconds: float, kind: str, folder: Path) -> str:
    command = [sys.executable, __file__, "--client", str(port), str(n_clients), str(seconds), kind, str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    admin = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for name in ("second", "first"):
        time.sleep(seconds / 3)
        (folder / "new").write_bytes((folder / name).read_bytes())
        (folder / "new").replace(folder / "model.swaprank")
        status, answer = ask(admin, "POST", "/reload")
        assert status == 200, answer
    printed, _ = process.communicate(timeout=seconds + 120)
    found = json.loads(printed)
    took = 1e3 * np.array(found["took"])
    p50, p99 = np.percentile(took, [50, 99])
    for message in found["lost"][:3]:
        print("lost:", message)
    rate = len(took) / seconds
    return f"{p50:.1f} | {p99:.1f} | {rate:.0f} | {len(took):,} | {len(found['lost'])}"


def print_parts(scorer: sr.Scorer, port: int, folder: Path) -> None:
    """Print the time of each part of a request."""
    text, binary = (folder / "body.json").read_bytes(), (folder / "body.bin").read_bytes()
    rows = np.frombuffer(binary, "<f4").reshape(-1, N_FEATURES)
    numbers, connection = json.loads(text)["documents"], http.client.HTTPConnection("127.0.0.1", port)
    parts: dict[str, Callable[[], object]] = {
        f"JSON ({len(text) / 1e3:.0f} KB) to numbers": lambda: json.loads(text),
        "numbers to an array": lambda: np.array(numbers, np.float32),
        f"binary ({len(binary) / 1e3:.0f} KB) to an array": lambda: np.frombuffer(binary, "<f4"),
        "scores and top 10": lambda: scorer.rank(rows, K),
        "HTTP without work (GET /health)": lambda: ask(connection, "GET", "/health"),
    }
    print("\n| part | ms |\n|---|---:|")
    for name, work in parts.items():
        print(f"| {name} | {1e3 * fastest(work, 30):.2f} |")


def print_head(options: argparse.Namespace, scorer: sr.Scorer) -> None:
    print(
        f"{options.candidates} candidates, {N_FEATURES} features, {scorer.ranker.size_}; loads of {options.seconds:g} "
        f"s with two reloads. {machine('starlette', 'uvicorn')}.\n"
    )
    print("| body | connections | p50 ms | p99 ms | requests/s | requests | lost |")
    print("|---|---:|---:|---:|---:|---:|---:|", flush=True)


def main() -> None:
    if sys.argv[1:2] == ["--client"]:
        of_server, n_clients, seconds, kind, place = sys.argv[2:]
        run_clients(int(of_server), int(n_clients), float(seconds), kind, Path(place))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each load")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=64)
    parser.add_argument("--candidates", type=int, default=200)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    ranker = trained(rng, options.trees, options.leaves)
    X = generated(rng, options.candidates)
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "body.json").write_bytes(as_json(X))
        # Binary rows of the same numbers, which JSON has with five digits.
        rows = np.array(json.loads((folder / "body.json").read_bytes())["documents"], np.float32)
        (folder / "body.bin").write_bytes(rows.astype("<f4").tobytes())
        first = sr.Scorer(ranker)
        places = [first.rank(rows, K).tolist()]
        ranker.save(folder / "first")
        # The same trees with the opposite values: as much work, and another answer.
        model = replace(ranker.model_, leaf_value=-ranker.model_.leaf_value)
        ranker.learned_ = replace(ranker.learned_, model=model)
        places.append(sr.Scorer(ranker).rank(rows, K).tolist())
        assert places[0] != places[1]
        ranker.save(folder / "second")
        (folder / "places.json").write_text(json.dumps(places))
        (folder / "model.swaprank").write_bytes((folder / "first").read_bytes())
        print_head(options, first)
        with server(folder / "model.swaprank") as port:
            for (name, kind), n in product((("JSON", JSON), ("binary", BINARY)), options.clients):
                print(f"| {name} | {n} | {load(port, n, options.seconds, kind, folder)} |", flush=True)
            print_parts(first, port, folder)


if __name__ == "__main__":
    main()
