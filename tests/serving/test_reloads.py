"""New models while the server runs."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import swaprank as sr
from tests.exchange.fitted_models import documents, fitted
from tests.serving.running import BINARY, Running, running, saved, until

TOKEN = "a token of tests"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}


def rank(server: Running, k: int = 7) -> Any:
    content = np.asarray(documents("trees"))[:50].tobytes()
    return server.client.post(f"/rank?k={k}", content=content, headers=BINARY).json()["places"]


def expected(name: str, k: int = 7) -> Any:
    return sr.Scorer(fitted(name)).rank(np.asarray(documents("trees"))[:50], k).tolist()


def version(server: Running) -> str:
    return str(server.client.get("/ready").json()["models"]["only"])


def test_a_changed_file_is_served_soon(tmp_path: Path) -> None:
    files = saved(tmp_path, only="trees")
    with running(files, watch_seconds=0.02) as server:
        before = version(server)
        assert rank(server) == expected("trees")
        fitted("trees of missing values").save(files["only"])
        until(lambda: version(server) != before)
        assert rank(server) == expected("trees of missing values")
        assert server.sample("swaprank_reloads_total", model="only", outcome="ok") == 1
        assert server.sample("swaprank_model_info", version=version(server)) == 1


def broken(file: Path, how: str) -> None:
    """Replace a model file as a whole, so that nobody reads a half of it."""
    new = file.with_name("new.swaprank")
    if how == "damaged":
        new.write_bytes(file.read_bytes()[:-100])
    elif how == "something else":
        new.write_text("something else")
    else:
        (train,) = sr.datasets.random_net((20,), n_features=2, random_state=0)
        sr.MART(n_trees=2).fit(train).save(new)
    new.replace(file)


@pytest.mark.parametrize("how", ["damaged", "something else", "other features"])
def test_a_bad_file_never_replaces_a_good_model(tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture) -> None:
    files = saved(tmp_path, only="trees")
    with running(files, watch_seconds=0.02) as server, caplog.at_level(logging.ERROR, "swaprank.serving"):
        before = version(server)
        broken(files["only"], how)
        until(lambda: server.sample("swaprank_reloads_total", model="only", outcome="failed"))
        assert (rank(server), version(server)) == (expected("trees"), before)
        # It is tried once, not again and again.
        for _ in range(5):
            assert server.sample("swaprank_reloads_total", model="only", outcome="failed") == 1
        assert [record.getMessage() for record in caplog.records] == ["reload failed"]
        fitted("trees of missing values").save(files["only"])
        until(lambda: version(server) != before)
        assert rank(server) == expected("trees of missing values")


def test_a_file_that_is_gone_leaves_the_model(tmp_path: Path) -> None:
    files = saved(tmp_path, only="trees")
    with running(files, watch_seconds=0.02, token=TOKEN) as server:
        files["only"].unlink()
        answer = server.client.post("/models/only/reload", headers=ADMIN)
        assert answer.status_code == 500
        assert "the old model stays: there is no file" in answer.json()["error"]
        assert rank(server) == expected("trees")


def test_administrators_reload_with_a_token(tmp_path: Path) -> None:
    files = saved(tmp_path, only="trees")
    with running(files, token=TOKEN) as server:
        fitted("trees of missing values").save(files["only"])
        for wrong in (
            {},
            {"Authorization": "Bearer no"},
            {"Authorization": TOKEN},
            {"Authorization": "Basic " + TOKEN},
        ):
            answer = server.client.post("/models/only/reload", headers=wrong)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
        assert rank(server) == expected("trees")
        done = server.client.post("/models/only/reload", headers=ADMIN).json()
        assert done == {"model": "only", "outcome": "reloaded", "version": version(server)}
        assert rank(server) == expected("trees of missing values")
        assert server.client.post("/models/only/reload", headers=ADMIN).json()["outcome"] == "unchanged"
        assert server.client.post("/models/other/reload", headers=ADMIN).status_code == 404
        assert server.client.post("/models/other/reload").status_code == 401


def test_without_a_token_nobody_reloads(tmp_path: Path) -> None:
    with running(saved(tmp_path, only="trees")) as server:
        answer = server.client.post("/models/only/reload", headers={"Authorization": "Bearer None"})
        assert answer.status_code == 403
        assert "start the server with a token" in answer.json()["error"]


def test_no_request_is_lost_while_models_are_reloaded(tmp_path: Path) -> None:
    models = ("trees", "trees of missing values")
    known = [expected(name) for name in models]
    files, lost, done = saved(tmp_path, only=models[0]), list[Any](), threading.Event()
    content = np.asarray(documents("trees"))[:50].tobytes()
    with running(files, token=TOKEN) as server:

        def ask() -> None:
            with httpx.Client(base_url=server.client.base_url, timeout=60) as client:
                while not done.is_set():
                    answer = client.post("/rank?k=7", content=content, headers=BINARY)
                    if answer.status_code != 200 or answer.json()["places"] not in known:
                        lost.append(answer.text)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for turn in range(1, 7):
            fitted(models[turn % 2]).save(files["only"])
            assert server.client.post("/models/only/reload", headers=ADMIN).json()["outcome"] == "reloaded"
        done.set()
        for thread in threads:
            thread.join()
    assert known[0] != known[1]
    assert lost == []
