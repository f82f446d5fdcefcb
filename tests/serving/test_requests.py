"""Requests to rank and to score, over HTTP."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.serving.structured_logs import JsonLines
from tests.exchange.fitted_models import NAMES, documents, fitted
from tests.serving.running import BINARY, Running, running, saved, until

MODEL = "trees of categories"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(saved(tmp_path_factory.mktemp("models"), only=MODEL)) as found:
        yield found


@pytest.fixture(scope="module")
def rows() -> Any:
    return np.asarray(sr.Scorer(fitted(MODEL)).rows(documents(MODEL))[:50])


def by_position(rows: Any) -> list[list[float | None]]:
    return [[None if np.isnan(value) else value for value in row] for row in rows.tolist()]


def by_name(rows: Any) -> list[dict[str, Any]]:
    texts = [[*row[:3], *(None if v is None else str(int(v)) for v in row[3:])] for row in by_position(rows)]
    return [dict(zip(NAMES, row, strict=True)) for row in texts]


def expected(rows: Any, k: int) -> dict[str, Any]:
    scores = sr.Scorer(fitted(MODEL)).predict(rows)
    places = np.argsort(-scores, kind="stable")[:k]
    return {"model": "only", "places": places.tolist(), "scores": scores[places].tolist()}


def test_documents_by_position_by_name_and_in_binary_are_ranked_alike(server: Running, rows: Any) -> None:
    for asked in (by_position(rows), by_name(rows)):
        answer = server.client.post("/rank", json={"documents": asked, "k": 10})
        assert answer.status_code == 200
        assert answer.json() == expected(rows, 10)
    content = rows.astype("<f4").tobytes()
    assert server.client.post("/rank?k=10", content=content, headers=BINARY).json() == expected(rows, 10)
    assert server.client.post("/models/only/rank", content=content, headers=BINARY).json() == expected(rows, 50)


def test_an_arrow_stream_is_ranked_alike(server: Running, rows: Any) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {name: [each[name] for each in by_name(rows)] for name in reversed(NAMES)}
    table = pyarrow.table({**columns, "docid": [f"d{at}" for at in range(len(rows))]})
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = server.client.post("/rank?k=10", content=sink.getvalue(), headers=headers).json()
    ids = answer.pop("ids")
    assert answer == expected(rows, 10)
    assert ids == [f"d{place}" for place in answer["places"]]
    for broken in (b"", b"ARROW1", sink.getvalue()[:200]):
        assert server.client.post("/rank", content=broken, headers=headers).status_code in (400, 422)


def test_scores_are_those_of_predict_in_the_order_of_the_documents(server: Running, rows: Any) -> None:
    scores = fitted(MODEL).predict(documents(MODEL))[:50].tolist()
    for path in ("/score", "/models/only/score"):
        answer = server.client.post(path, json={"documents": by_name(rows)})
        assert answer.json() == {"model": "only", "scores": scores}


def test_ids_come_back_in_the_order_of_the_ranking(server: Running, rows: Any) -> None:
    ids = [f"doc {at}" for at in range(50)]
    answer = server.client.post("/rank", json={"documents": by_position(rows), "ids": ids, "k": 5}).json()
    assert answer["ids"] == [ids[place] for place in expected(rows, 5)["places"]]


def test_curl_needs_no_content_type(server: Running) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert server.client.post("/rank", content='{"documents": [{}]}', headers=headers).status_code == 200


ROW = "[1, 2, 3, 4, 5]"


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (400, "{", "the body is not JSON"),
        (400, b"\xff", "the body is not JSON"),
        (400, '{"documents": [[NaN, 2, 3, 4, 5]]}', "the body is not JSON"),
        (400, '{"documents": [[Infinity, 2, 3, 4, 5]]}', "the body is not JSON"),
        (422, "[" * 100_000, "Expected object, got array"),
        (422, "[1]", "Expected object, got array"),
        (422, "{}", "missing required field documents"),
        (422, f'{{"documents": [{ROW}], "K": 3}}', "unknown field K"),
        (422, '{"documents": []}', "length >= 1"),
        (422, '{"documents": [1, 2]}', "got int, at documents[0]"),
        (422, '{"documents": [[1, 2], [3]]}', "equal length"),
        (422, '{"documents": [[1, 2, 3, 4, "x"]]}', "got str, at documents[0][4]"),
        (422, '{"documents": [[1, 2, 3, 4, "1"]]}', "got str, at documents[0][4]"),
        (422, '{"documents": [[1, 2, true, 4, 5]]}', "got bool, at documents[0][2]"),
        (422, '{"documents": [{"age": true}]}', "got bool, at documents[0]"),
        (422, f'{{"documents": [{ROW}, {{}}]}}', "all of them objects"),
        (422, '{"documents": [[1, 2]]}', "each document has 2 features, but LambdaMART is expecting 5"),
        (422, '{"documents": [[1, 2, 1e39, 4, 5]]}', "document 0, feature 'age': inf is not finite"),
        (422, '{"documents": [[1, 2, 1e999, 4, 5]]}', "out of range"),
        (422, '{"documents": [[1, 2, 1' + "0" * 400 + ", 4, 5]]}", "out of range"),
        (422, '{"documents": [{"age": 1' + "0" * 400 + "}]}", "feature 'age': inf is not finite"),
        (422, '{"documents": [[1, 2, 3, 99, 5]]}', "not the code of a category"),
        (422, '{"documents": [{"bm52": 1}]}', "did you mean 'bm25'"),
        (422, '{"documents": [{"bm25": "1"}]}', "feature 'bm25': '1' is not a number"),
        (422, f'{{"documents": [{ROW}], "k": 0}}', ">= 1, at k"),
        (422, f'{{"documents": [{ROW}], "k": "3"}}', "got str, at k"),
        (422, f'{{"documents": [{ROW}], "ids": ["a", "b"]}}', "1 different ids"),
        (422, f'{{"documents": [{ROW}, {ROW}], "ids": ["a", "a"]}}', "2 different ids"),
    ],
)
def test_a_bad_request_is_told_why(server: Running, status: int, body: Any, said: str) -> None:
    answer = server.client.post("/rank", content=body)
    assert answer.status_code == status
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]
    assert set(answer.json()) == {"error", "request_id"}


@pytest.mark.parametrize(
    ("query", "body", "said"),
    [
        ("", b"", "0 bytes are not rows of 5 float32 values"),
        ("", b"0" * 24, "24 bytes are not rows of 5 float32 values"),
        ("?k=x", b"\0" * 20, "k must be a whole number from 1; found 'x'"),
        ("?k=0", b"\0" * 20, ">= 1, at k"),
        ("?K=3", b"\0" * 20, "no parameter 'K'"),
        ("?session=" + "s" * 300, b"\0" * 20, "length <= 256, at session"),
        ("", np.array([1, 2, np.inf, 4, 5], "<f4").tobytes(), "inf is not finite"),
        ("", np.array([1, 2, 3, 4.5, 5], "<f4").tobytes()[:-1], "not rows"),
    ],
)
def test_a_bad_binary_request_is_told_why(server: Running, query: str, body: bytes, said: str) -> None:
    answer = server.client.post(f"/rank{query}", content=body, headers=BINARY)
    assert answer.status_code == 422
    assert said in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("POST", "/models/other/rank", 404),
        ("GET", "/models/other", 404),
        ("GET", "/rank", 405),
        ("DELETE", "/models", 405),
        ("POST", "/models/only/reload", 403),
        ("GET", "/rank/", 404),
    ],
)
def test_addresses_and_methods_that_do_not_exist(server: Running, method: str, path: str, status: int) -> None:
    answer = server.client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "request_id"}
    assert ("allow" in answer.headers) == (status == 405)


def test_other_contents_are_refused(server: Running) -> None:
    for headers in ({"Content-Type": "text/csv"}, {"Content-Encoding": "gzip"}):
        answer = server.client.post("/rank", content="{}", headers=headers)
        assert answer.status_code == 415


def test_request_ids_are_taken_if_a_log_can_hold_them(server: Running) -> None:
    assert server.client.get("/health", headers={"X-Request-ID": "abc-1.2:3"}).headers["x-request-id"] == "abc-1.2:3"
    made = [
        server.client.get("/health", headers={"X-Request-ID": given}).headers["x-request-id"]
        for given in ("", "a b", 'x"y', "a" * 65, "-x")
    ]
    assert len(set(made)) == 5
    assert all(each.isalnum() and len(each) == 24 for each in made)


def test_the_models_describe_themselves(server: Running) -> None:
    (model,) = server.client.get("/models").json()
    assert model["features"] == list(NAMES)
    assert model["categories"] == {name: list(texts) for name, texts in fitted(MODEL).categories_.items()}
    assert (model["name"], model["share"], model["shadow"]) == ("only", 1.0, False)
    assert model["digest"].startswith(model["version"])
    one = server.client.get("/models/only").json()
    assert one == {key: value for key, value in model.items() if key not in ("share", "shadow")}
    assert server.client.get("/health").json() == {"status": "alive"}
    assert server.client.get("/ready").json() == {"status": "ready", "models": {"only": model["version"]}}


def test_lines_of_the_log_are_json_that_no_terminal_obeys(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "swaprank.serving"):
        server.client.get("/%1b]0;%C2%9B", headers={"X-Request-ID": "the-id"})
        server.client.post("/rank", json={"documents": [{}]})
        until(lambda: len(caplog.records) == 2)
    lines = [JsonLines().format(record) for record in caplog.records]
    assert all(line.isascii() and line.isprintable() for line in lines)
    first, second = map(json.loads, lines)
    assert (first["event"], first["request_id"], first["status"]) == ("request", "the-id", 404)
    assert (second["model"], second["documents"], second["status"], second["level"]) == ("only", 1, 200, "info")
