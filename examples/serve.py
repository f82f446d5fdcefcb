"""Serve a ranker over HTTP: JSON or binary rows in, the best documents out, and new models without a lost request.

    python examples/serve.py model.swaprank [--port 8000]      # Ctrl-C ends it
    python examples/serve.py --quick                           # train a small model, serve it, ask one question

    curl localhost:8000/rank -d '{"documents": [[0.1, 3, null], [0.7, 1, 2]], "k": 10}'
    curl localhost:8000/rank -d '{"documents": [{"bm25": 0.1, "brand": "nike"}, {"bm25": 0.7}], "k": 10}'
    curl "localhost:8000/rank?k=10" --data-binary @rows.bin -H 'Content-Type: application/octet-stream'
    curl localhost:8000/health
    curl -X POST localhost:8000/reload                         # after a new model was saved to the same path

Rows in binary are float32, little-endian, one after the other; NaN is a missing value. They need no parsing, which
takes longer than the ranking if the list is JSON. Requests are ranked in threads: kernels release the GIL.

Needs `pip install "swaprank[serve]"`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import swaprank as sr


class RequestError(Exception):
    """A request that cannot be answered, and the status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Served(NamedTuple):
    """A scorer, and the digest of its model file."""

    scorer: sr.Scorer
    digest: str


def read_model(path: Path) -> Served:
    """Load and warm a model; again, if its file was replaced meanwhile."""
    while True:
        digest, scorer = sha256(path.read_bytes()).hexdigest(), sr.Scorer(path)
        if sha256(path.read_bytes()).hexdigest() == digest:
            return Served(scorer, digest)


def documents_and_k(scorer: sr.Scorer, content_type: str, body: bytes, k: Any) -> tuple[Any, Any]:
    """The rows of features of a request, and the number of results that it wants."""
    if content_type.startswith("application/octet-stream"):
        n_features = len(scorer.feature_names)
        if len(body) == 0 or len(body) % (4 * n_features):
            raise RequestError(422, f"{len(body)} bytes are not rows of {n_features} float32 values.")
        return np.frombuffer(body, "<f4").reshape(-1, n_features), k
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(400, f"the body is not JSON: {error}.") from None
    documents = request.get("documents") if isinstance(request, dict) else None
    if not isinstance(documents, list) or not documents:
        raise RequestError(422, 'expected {"documents": [...], "k": ...} with at least one document.')
    if all(isinstance(document, dict) for document in documents):
        return scorer.rows(documents), request.get("k", k)
    try:
        with np.errstate(over="ignore"):  # The scorer reports infinite values.
            rows = np.array(documents, np.float32)
    except (TypeError, ValueError, OverflowError):
        rows = np.empty(0, np.float32)
    if rows.ndim != 2:
        raise RequestError(422, "documents must be rows of numbers of equal length, or objects: name and value.")
    return rows, request.get("k", k)


def answer(scorer: sr.Scorer, content_type: str, body: bytes, k: Any) -> dict[str, Any]:
    """The places of the best documents in the request, best first, and their scores."""
    rows, wanted = documents_and_k(scorer, content_type, body, k)
    scores = np.empty(len(rows))
    places = scorer.rank(rows, wanted, out=scores)
    return {"places": places.tolist(), "scores": scores[places].tolist()}


def make_app(path: Path) -> Starlette:
    """The service of one model file."""
    served, reloading = read_model(path), threading.Lock()

    async def rank(request: Request) -> Response:
        # One reference: a request keeps the scorer that it began with.
        scorer, body, given = served.scorer, await request.body(), request.query_params.get("k")
        try:
            k = int(given) if given and given.isdecimal() else given
            found = await run_in_threadpool(answer, scorer, request.headers.get("content-type", ""), body, k)
        except RequestError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except ValueError as error:  # all errors of swaprank about data and parameters
            return JSONResponse({"error": str(error)}, 422)
        return JSONResponse(found)

    async def health(request: Request) -> Response:
        ranker = served.scorer.ranker
        return JSONResponse({"model": served.digest, "ranker": ranker.kind, "size": ranker.size_})

    def reload() -> Served:
        nonlocal served
        with reloading:  # one at a time; requests go on with the old model until the new one is ready
            served = read_model(path)
            return served

    async def reload_model(request: Request) -> Response:
        try:
            new = await run_in_threadpool(reload)
        except (sr.errors.SwaprankError, OSError) as error:
            return JSONResponse({"error": f"the old model stays: {error}", "model": served.digest}, 500)
        return JSONResponse({"model": new.digest})

    return Starlette(
        routes=[
            Route("/rank", rank, methods=["POST"]),
            Route("/health", health),
            Route("/reload", reload_model, methods=["POST"]),
        ]
    )


def ask_once(app: Starlette, documents: list[list[float]]) -> None:
    """Serve on a free port in this process, ask one question, and end."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    body = json.dumps({"documents": documents, "k": 3}).encode()
    with urlopen(HttpRequest(f"http://127.0.0.1:{port}/rank", body)) as response:
        print(f"the best 3 of {len(documents)}: {response.read().decode()}")
    server.should_exit = True
    thread.join()


def main() -> None:
    """Read the options, and serve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", help="a model file")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--quick", action="store_true", help="train a small model, serve it, ask one question, and end")
    options = parser.parse_args()
    if options.quick:
        train, test = sr.datasets.random_search((50, 1), n_documents=20, random_state=0)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.swaprank"
            sr.LambdaMART(n_trees=20).fit(train).save(path)
            ask_once(make_app(path), test.features.tolist())
    elif options.model is None:
        parser.error("name a model file, or give --quick")
    else:
        uvicorn.run(
            make_app(options.model), host=options.host, port=options.port, access_log=False, log_level="warning"
        )


if __name__ == "__main__":
    main()
