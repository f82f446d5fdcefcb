"""What Prometheus reads."""

from __future__ import annotations

import multiprocessing
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from tests.exchange.fitted_models import data_with_categories, fitted
from tests.serving.running import BINARY, running, saved, until

MODEL = "trees of categories"
LINE = re.compile(r'[a-z_]+(\{[a-z]+="([^"\\\n]|\\.)*"(,[a-z]+="([^"\\\n]|\\.)*")*\})? -?[0-9.e+-]+')


def rows(n: int = 4) -> Any:
    return np.zeros((n, 5), "<f4")


def test_answers_documents_and_times_are_counted(tmp_path: Path) -> None:
    with running(saved(tmp_path, only="trees")) as server:
        for n in (1, 4, 40):
            server.client.post("/rank", content=rows(n).tobytes(), headers=BINARY)
        server.client.post("/rank", content=b"1", headers=BINARY)
        server.client.get("/nothing")
        until(lambda: server.sample("swaprank_documents_total", model="only") == 45)
        assert server.sample("swaprank_requests_total", route="rank", model="only", status="200") == 3
        assert server.sample("swaprank_requests_total", route="rank", model="", status="422") == 1
        assert server.sample("swaprank_requests_total", route="other", status="404") == 1
        assert server.sample("swaprank_request_seconds_count", route="rank", model="only") == 3
        limits = ("0.0005", "1.0", "+Inf")
        bounds = [server.sample("swaprank_request_seconds_bucket", route="rank", le=le) for le in limits]
        assert bounds == sorted(bounds)
        assert bounds[-1] == 3
        digest = server.client.get("/models/only").json()["digest"]
        assert server.sample("swaprank_model_info", model="only", digest=digest) == 1


def test_the_text_is_that_of_the_format(tmp_path: Path) -> None:
    with running(saved(tmp_path, only=MODEL), drift_share=1.0) as server:
        server.client.post("/rank", content=rows().tobytes(), headers=BINARY)
        answer = server.client.get("/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        kinds: dict[str, str] = {}
        for line in answer.text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                assert name not in kinds
                kinds[name] = kind
            elif not line.startswith("# HELP "):
                assert LINE.fullmatch(line), line
                assert re.sub("_(bucket|sum|count)$", "", line.partition("{")[0].partition(" ")[0]) in kinds


def test_values_unlike_those_of_training_are_counted(tmp_path: Path) -> None:
    train = data_with_categories()[0]
    seen = fitted(MODEL).learned_.seen
    assert seen is not None
    low, high = seen.features[0].low, seen.features[0].high
    assert low is not None
    assert high is not None
    documents = [
        {"bm25": float(np.nextafter(np.float32(low), np.float32(np.inf))), "clicks": "0"},  # seen
        {"bm25": low, "clicks": "new"},
        {"bm25": high + 1, "clicks": None},
        {},
    ]
    with running(saved(tmp_path, only=MODEL), drift_share=1.0) as server:
        assert server.client.post("/rank", json={"documents": documents}).status_code == 200
        until(lambda: server.sample("swaprank_sampled_documents_total", model="only") == 4)
        found = {
            (feature, kind): server.sample("swaprank_feature_values_total", feature=feature, kind=kind)
            for feature in ("bm25", "clicks", "age")
            for kind in ("missing", "outside", "new")
        }
        assert found == {
            ("bm25", "missing"): 1, ("bm25", "outside"): 2, ("bm25", "new"): 0,
            ("clicks", "missing"): 2, ("clicks", "outside"): 0, ("clicks", "new"): 1,
            ("age", "missing"): 4, ("age", "outside"): 0, ("age", "new"): 0,
        }  # fmt: skip
        # The shares in training stand beside them.
        column = train.column(0)
        outside = np.mean((column <= np.float32(low)) | (column > np.float32(high)))
        assert server.sample("swaprank_training_share", feature="bm25", kind="outside") == pytest.approx(outside)
        missing = np.isnan(train.column(3)).mean()
        assert server.sample("swaprank_training_share", feature="clicks", kind="missing") == pytest.approx(missing)


def test_rows_that_do_not_fit_are_refused_in_a_sampled_request(tmp_path: Path) -> None:
    with running(saved(tmp_path, only=MODEL), drift_share=1.0) as server:
        for documents in ([[1, 2]], [[1, 2, 3, 4, 5, 6]]):
            assert server.client.post("/rank", json={"documents": documents}).status_code == 422
        assert server.sample("swaprank_errors_total", kind="internal") == 0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_only_a_share_of_the_requests_is_compared(tmp_path: Path, share: float) -> None:
    with running(saved(tmp_path, only="trees"), drift_share=share) as server:
        for _ in range(10):
            server.client.post("/rank", content=rows(2).tobytes(), headers=BINARY)
        until(lambda: server.sample("swaprank_documents_total", model="only") == 20)
        assert server.sample("swaprank_sampled_documents_total", model="only") == 20 * share


def test_a_model_without_counts_is_served(tmp_path: Path) -> None:
    ranker = sr.load(saved(tmp_path, only="trees")["only"])
    ranker.learned_ = replace(ranker.learned_, seen=None)
    ranker.save(tmp_path / "only.swaprank")
    with running({"only": tmp_path / "only.swaprank"}, drift_share=1.0) as server:
        assert server.client.post("/rank", content=rows().tobytes(), headers=BINARY).status_code == 200
        assert server.sample("swaprank_sampled_documents_total") == 0


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
def test_workers_count_together(tmp_path: Path) -> None:
    from swaprank.serving.metrics import Metrics
    from swaprank.serving.models import Models

    metrics = Metrics(Models(saved(tmp_path, only="trees")), n_workers=3)

    def work(worker: int) -> None:
        metrics.start_worker(worker)
        for _ in range(100):
            metrics.add_request("rank", "only", 200, 0.001)

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=work, args=[worker]) for worker in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert 'swaprank_requests_total{route="rank",model="only",status="200"} 300\n' in metrics.text()
    assert 'swaprank_request_seconds_bucket{route="rank",model="only",le="0.001"} 300\n' in metrics.text()
