"""The HTTP service of examples/serve.py, in this process."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.conftest import PROJECT
from tests.exchange.fitted_models import NAMES, documents, fitted

testclient = pytest.importorskip("starlette.testclient", exc_type=ImportError)


@pytest.fixture(scope="module")
def serve() -> Any:
    spec = importlib.util.spec_from_file_location("serve", PROJECT / "examples" / "serve.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.swaprank"
    fitted("trees of categories").save(path)
    return path


@pytest.fixture
def client(serve: Any, path: Path) -> Iterator[Any]:
    with testclient.TestClient(serve.make_app(path)) as client:
        yield client


def expected(name: str, k: int) -> dict[str, Any]:
    scorer = sr.Scorer(fitted(name))
    rows = scorer.rows(documents(name))[:50]
    scores = scorer.predict(rows)
    places = np.argsort(-scores, kind="stable")[:k]
    return {"places": places.tolist(), "scores": scores[places].tolist()}


def test_rows_as_json_by_position_by_name_and_in_binary(client: Any) -> None:
    scorer = sr.Scorer(fitted("trees of categories"))
    rows = np.asarray(scorer.rows(documents("trees of categories"))[:50])
    lists = [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]
    texts = [[*row[:3], *(None if v is None else str(int(v)) for v in row[3:])] for row in lists]
    named = [dict(zip(NAMES, row, strict=True)) for row in texts]
    for asked in (lists, named):
        answer = client.post("/rank", json={"documents": asked, "k": 10})
        assert answer.status_code == 200
        assert answer.json() == expected("trees of categories", 10)
    binary = {"content": rows.astype("<f4").tobytes(), "headers": {"Content-Type": "application/octet-stream"}}
    assert client.post("/rank?k=10", **binary).json() == expected("trees of categories", 10)
    assert client.post("/rank", **binary).json() == expected("trees of categories", 50)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, "{", "the body is not JSON"),
        (400, "[" * 100_000, "the body is not JSON"),
        (400, b"\xff", "the body is not JSON"),
        (422, "[1]", 'expected {"documents"'),
        (422, "{}", 'expected {"documents"'),
        (422, '{"documents": []}', "at least one"),
        (422, '{"documents": [1, 2]}', "rows of numbers"),
        (422, '{"documents": [[1, 2], [3]]}', "equal length"),
        (422, '{"documents": [[1, 2, 3, 4, "x"]]}', "rows of numbers"),
        (422, '{"documents": [[1, 2, 3, 4, 5], {}]}', "rows of numbers"),
        (422, '{"documents": [[1, 2]]}', "each document has 2 features, but LambdaMART is expecting 5"),
        (422, '{"documents": [[1, 2, 1e99, 4, 5]]}', "document 0, feature 'age': inf is not finite"),
        (422, '{"documents": [[1, 2, 1' + "0" * 400 + ", 4, 5]]}", "rows of numbers"),
        (422, '{"documents": [{"age": 1' + "0" * 400 + "}]}", "feature 'age': inf is not finite"),
        (422, '{"documents": [[1, 2, 3, 99, 5]]}', "not the code of a category"),
        (422, '{"documents": [{"bm52": 1}]}', "did you mean 'bm25'"),
        (422, '{"documents": [{"bm25": "x"}]}', "feature 'bm25': 'x' is not a number"),
        (422, '{"documents": [[1, 2, 3, 4, 5]], "k": 0}', "k must be a whole number from 1; found 0"),
        (422, '{"documents": [[1, 2, 3, 4, 5]], "k": "3"}', "k must be a whole number"),
    ],
)
def test_a_bad_request_is_told_why(client: Any, status: int, body: Any, said: str) -> None:
    answer = client.post("/rank", content=body)
    assert answer.status_code == status
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(("query", "body"), [("", b""), ("", b"123"), ("", b"0" * 24), ("?k=x", b"\0" * 20)])
def test_a_bad_binary_request_is_told_why(client: Any, query: str, body: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    answer = client.post(f"/rank{query}", content=body, headers=headers)
    assert answer.status_code == 422
    assert ("k must be a whole number" if query else "are not rows of 5 float32 values") in answer.json()["error"]


def test_a_new_model_is_served_after_a_reload(client: Any, path: Path) -> None:
    before = client.get("/health").json()
    fitted("trees").save(path)
    assert client.get("/health").json() == before
    reloaded = client.post("/reload")
    assert reloaded.status_code == 200
    assert reloaded.json()["model"] == client.get("/health").json()["model"] != before["model"]
    binary = {"content": documents("trees")[:50].tobytes(), "headers": {"Content-Type": "application/octet-stream"}}
    assert client.post("/rank?k=7", **binary).json() == expected("trees", 7)


@pytest.mark.parametrize("broken", ["damaged", "missing"])
def test_a_broken_model_leaves_the_old_one_serving(client: Any, path: Path, broken: str) -> None:
    before = client.get("/health").json()
    if broken == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-100])
    answer = client.post("/reload")
    assert answer.status_code == 500
    assert "the old model stays: " in answer.json()["error"]
    assert answer.json()["model"] == before["model"]
    assert client.get("/health").json() == before
    assert client.post("/rank", json={"documents": [[1, 2, 3, 4, 5]]}).status_code == 200


def test_no_request_is_lost_while_models_are_reloaded(client: Any, path: Path) -> None:
    models = ("trees", "trees of missing values")
    body = documents("trees")[:50].tobytes()
    known = [sr.Scorer(fitted(name)).rank(np.frombuffer(body, "<f4").reshape(-1, 5), 10).tolist() for name in models]
    fitted(models[0]).save(path)
    client.post("/reload")
    lost: list[Any] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            answer = client.post("/rank?k=10", content=body, headers={"Content-Type": "application/octet-stream"})
            if answer.status_code != 200 or answer.json()["places"] not in known:
                lost.append(answer.text)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(6):
        fitted(models[turn % 2]).save(path)
        assert client.post("/reload").status_code == 200
    done.set()
    for thread in threads:
        thread.join()
    assert known[0] != known[1]
    assert lost == []
