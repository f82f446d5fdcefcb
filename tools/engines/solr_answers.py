"""Solr's scores of the recorded rankers."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from ask_solr import Solr, definitions, logged, solr
from engine import Engine
from tests.exchange.fitted_models import NAMES
from tests.exchange.recordings import Answer, Recording, documents, exported, file_name

from swaprank.arrays import Features

HELD = (
    "trees", "one leaf", "sum of trees", "random forest", "symmetric trees", "trees of missing values",
    "trees of tiny values", "linear", "smoothrank", "linear net", "sum of linear models", "net", "sigmoid net",
    "relu net",
)  # fmt: skip
LEARNED_MISSING = ("symmetric trees", "trees of missing values", "trees of tiny values")


def solr_answers(engine: Engine, url: str | None) -> Recording:
    """Every ranker with missing values as 0; from Solr 9.2 on, also trees that have learned about them."""
    with solr(engine) if url is None else nullcontext(url) as address:
        server = Solr(address)
        version = server.version()
        tells_missing = tuple(map(int, version.split(".")[:2])) >= (9, 2)
        asked = [(name, "zero") for name in HELD]
        asked += [(name, "refuse") for name in LEARNED_MISSING if tells_missing]
        server.enable_ranking()
        server.empty()
        for missing in sorted({missing for _, missing in asked}):
            server.define(_features(missing)[1])
        for name in HELD:
            server.index(name, documents(name))
        answers = [_answer(server, name, missing) for name, missing in asked]
    ran = engine.artifacts if url is None else [f"a server of Solr {version}"]
    return Recording("Apache Solr", version, ran, answers)


def _features(missing: str) -> tuple[str, list[dict[str, Any]]]:
    """The name of a feature store, and its features."""
    store = f"values_{missing}"
    return store, definitions(list(NAMES), store, "NaN" if missing == "refuse" else None)


def _answer(server: Solr, name: str, missing: str) -> Answer:
    store, features = _features(missing)
    model = f"{file_name(name)}_{missing}"
    answer = Answer("solr", name, {"missing": missing, "features": features, "name": model, "request": True})
    with tempfile.TemporaryDirectory() as folder:
        content = exported(answer, Path(folder))
    server.put_model(content)
    X = documents(name)
    found = server.rerank(name, model, store, len(X))
    rows = [int(each["id"].rpartition(" ")[2]) for each in found]
    _check_logged(np.array([logged(each, list(NAMES)) for each in found], np.float32), X[rows], missing)
    return answer.ranked(content, list(zip(rows, (float(each["score"]) for each in found), strict=True)))


def _check_logged(logged: Features, sent: Features, missing: str) -> None:
    """Solr logs the values that it was sent: those that are 0 it leaves out."""
    if missing == "zero":
        logged, sent = (np.where(np.isnan(values), np.float32(0), values) for values in (logged, sent))
    same = (logged == sent) | (np.isnan(logged) & np.isnan(sent))
    if not same.all():
        found = list(zip(logged[~same][:5], sent[~same][:5], strict=True))
        raise SystemExit(f"Solr logged {(~same).sum()} other values than it was sent ({missing}): {found}")
