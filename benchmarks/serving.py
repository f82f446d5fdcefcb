"""Claim: `swaprank serve` answers faster than ONNX Runtime behind the same server, and loses no request.

    python benchmarks/serving.py [--seconds 5] [--rounds 5] [--connections 4] [--trees 500] [--leaves 64]
        [--documents 100] [--memory-requests 100000]

Needs `wrk`. Starts two servers: ours, and ours with a scorer that calls ONNX Runtime with the same trees (one thread
per request, as ours has). Loads take turns; medians over rounds are printed. Servers and wrk share the machine's cores.
Then ours alone answers binary lists, while its model is replaced every two seconds, and its memory is read.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from measuring import machine

import swaprank as sr
from swaprank.arrays import Features

N_FEATURES = 136
K = 10
CONTENT = {"JSON": "application/json", "binary": "application/octet-stream"}
LUA = """
wrk.method = "POST"
wrk.path = "/rank?k=%d"
wrk.headers["Content-Type"] = "%s"
local file = io.open("%s", "rb")
wrk.body = file:read("*all")
done = function(summary, latency)
    local e = summary.errors
    io.write(string.format('\\n{"p50": %%f, "p99": %%f, "requests": %%d, "us": %%d, "lost": %%d}\\n',
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, summary.requests, summary.duration,
        e.connect + e.read + e.write + e.status + e.timeout))
end
"""


class OnnxScorer:
    """What a server needs of a scorer, from ONNX Runtime."""

    def __init__(self, path: Path, scorer: sr.Scorer) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.input = self.session.get_inputs()[0].name
        self.feature_names, self.ranker = scorer.feature_names, scorer.ranker

    def rank(self, rows: Features, k: int | None, out: Any) -> Any:  # noqa: D102
        from swaprank.serving.scorer import top_places

        out[:] = self.session.run(None, {self.input: rows})[0].ravel()
        return top_places(out, k or len(out))


def serve_onnx(model: Path, port: int) -> None:
    """The process of the other server: ours, with another scorer."""
    from swaprank.serving.app import Service
    from swaprank.serving.listening import listener
    from swaprank.serving.models import Models
    from swaprank.serving.process import serve
    from swaprank.serving.settings import Settings

    models = Models({"model": model})
    served = models.default
    scorer: Any = OnnxScorer(model.with_suffix(".onnx"), served.scorer)
    models._served["model"] = replace(served, scorer=scorer)
    settings = Settings(threads=os.cpu_count() or 1, watch_seconds=0)
    with listener("127.0.0.1", port) as bound:
        serve(Service(models, settings), bound, lambda address: None)


class Server(NamedTuple):
    """A process, and its port."""

    process: subprocess.Popen[bytes]
    port: int

    def memory(self) -> float:
        """Resident memory in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024

    def ask(self, body: bytes, kind: str) -> Any:
        """The answer to one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", f"/rank?k={K}", body, {"Content-Type": CONTENT[kind]})
        return json.loads(connection.getresponse().read())


@contextmanager
def server(command: list[str], port: int) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, *command])
    found = Server(process, port)
    try:
        for _ in range(1200):
            try:
                http.client.HTTPConnection("127.0.0.1", port).connect()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, "the server ended"
                time.sleep(0.1)
        yield found
    finally:
        process.terminate()
        assert process.wait(60) == 0


def free_port() -> int:
    with http.client.socket.socket() as free:  # type: ignore[attr-defined]
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def load(port: int, script: Path, connections: int, seconds: float) -> dict[str, float]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency", "-s", str(script)]
    done = subprocess.run([*command, f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


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


def write_bodies(folder: Path, X: Features) -> dict[str, Path]:
    """The scripts of wrk for both forms of the same documents."""
    rows = [[None if value != value else round(value, 5) for value in row] for row in X.tolist()]
    contents = {
        "JSON": json.dumps({"documents": rows}).encode(),
        "binary": np.array(rows, np.float32).astype("<f4").tobytes(),
    }
    scripts = {}
    for kind, content in contents.items():
        body, scripts[kind] = folder / f"body.{kind}", folder / f"{kind}.lua"
        body.write_bytes(content)
        scripts[kind].write_text(LUA % (K, CONTENT[kind], body))
    return scripts


def print_latency(servers: dict[str, Server], scripts: dict[str, Path], options: argparse.Namespace) -> None:
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for kind, script in scripts.items():
        for each in servers.values():
            load(each.port, script, options.connections, 1)
        for _ in range(options.rounds):
            for name, each in servers.items():
                run = load(each.port, script, options.connections, options.seconds)
                found.setdefault((kind, name), []).append(run)
    print("| body | scorer | p50 ms | p99 ms | requests/s | relative | lost |\n|---|---|---:|---:|---:|---:|---:|")
    for (kind, name), runs in found.items():
        rates = [1e6 * run["requests"] / run["us"] for run in runs]
        ours = [1e6 * run["requests"] / run["us"] for run in found[kind, next(iter(servers))]]
        relative = median(a / b for a, b in zip(rates, ours, strict=True))
        p50, p99 = (median(run[name] for run in runs) for name in ("p50", "p99"))
        lost = sum(run["lost"] for run in runs)
        print(
            f"| {kind} | {name} | {p50:.1f} | {p99:.1f} | {median(rates):.0f} | {relative:.2f} | {lost} |", flush=True
        )


def print_memory(ours: Server, folder: Path, script: Path, options: argparse.Namespace) -> None:
    """Memory while requests are answered and the model file is replaced."""
    first, second = (folder / name for name in ("first", "second"))
    n_requests = n_lost = n_models = 0
    while n_requests < 5_000:
        n_requests += int(load(ours.port, script, options.connections, 2)["requests"])
    before, n_requests = ours.memory(), 0
    while n_requests < options.memory_requests:
        shutil.copy(second if n_models % 2 == 0 else first, folder / "new")
        (folder / "new").replace(folder / "model.swaprank")
        n_models += 1
        run = load(ours.port, script, options.connections, 2)
        n_requests, n_lost = n_requests + int(run["requests"]), n_lost + int(run["lost"])
    print(
        f"\n{n_requests:,} requests, {n_models} new models: {n_lost} lost, {before:.0f} MB resident before, "
        f"{ours.memory():.0f} MB after."
    )


def main() -> None:
    if sys.argv[1:2] == ["--serve-onnx"]:
        serve_onnx(Path(sys.argv[2]), int(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--leaves", type=int, default=64)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--memory-requests", type=int, default=100_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    ranker = trained(rng, options.trees, options.leaves)
    with TemporaryDirectory() as place:
        folder = Path(place)
        model = folder / "model.swaprank"
        scripts = write_bodies(folder, generated(rng, options.documents))
        ranker.save(model)
        ranker.export(model.with_suffix(".onnx"), to="onnx")
        shutil.copy(model, folder / "first")
        opposite = replace(ranker.model_, leaf_value=-ranker.model_.leaf_value)
        ranker.learned_ = replace(ranker.learned_, model=opposite)
        ranker.save(folder / "second")
        packages = machine("starlette", "uvicorn", "msgspec", "onnxruntime")
        print(
            f"{options.documents} documents, {N_FEATURES} features, {ranker.size_} of up to {options.leaves} leaves, "
            f"{options.connections} connections; medians of {options.rounds} loads of {options.seconds:g} s. "
            f"{packages}.\n",
            flush=True,
        )
        ours, theirs = free_port(), free_port()
        command = ["-m", "swaprank", "serve", str(model), "--port", str(ours), "--quiet", "--watch", "0.5"]
        with (
            server(command, ours) as with_ours,
            server([__file__, "--serve-onnx", str(model), str(theirs)], theirs) as with_onnx,
        ):
            body = (folder / "body.binary").read_bytes()
            assert with_ours.ask(body, "binary")["places"] == with_onnx.ask(body, "binary")["places"]
            print_latency({"Scorer": with_ours, "ONNX Runtime": with_onnx}, scripts, options)
            if options.memory_requests:
                print_memory(with_ours, folder, scripts["binary"], options)


if __name__ == "__main__":
    main()
