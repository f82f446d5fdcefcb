"""Scores of the recorded rankers by OpenSearch's or Elasticsearch's Learning to Rank, in both formats."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from ask_ltr import Ltr, definitions, logged
from ranklib_answers import HELD as RANKLIB_HELD
from tests.exchange.fitted_models import NAMES
from tests.exchange.recordings import Answer, Recording, documents, exported, file_name

TREES = tuple(name for name in RANKLIB_HELD if "trees" in name or name in ("one leaf", "random forest"))


def ltr_answers(engine: str, url: str) -> Recording:
    """Every ranker with missing values as 0; where model/xgboost+json knows missing values, also those that learned."""
    server = Ltr(url)
    version = server.version()
    first_with_missing = {"opensearch": (3, 8), "elasticsearch": (8, 12)}[engine]
    asked = [("ranklib", name, "zero") for name in RANKLIB_HELD] + [("xgboost+json", name, "zero") for name in TREES]
    if tuple(map(int, version.split(".")[:2])) >= first_with_missing:
        asked += [("xgboost+json", name, "refuse") for name in TREES]
    server.begin(list(NAMES))
    for name in RANKLIB_HELD:
        server.index(name, documents(name))
    answers = [_answer(server, *each) for each in asked]
    return Recording(engine, version, [f"a server of {engine} {version} with its Learning to Rank plugin"], answers)


def _answer(server: Ltr, to: str, name: str, missing: str) -> Answer:
    features = [each["name"] for each in definitions(list(NAMES))]
    model = f"{file_name(name)}_{to.partition('+')[0]}_{missing}"
    answer = Answer(to, name, {"missing": missing, "features": features, "name": model, "request": True})
    with tempfile.TemporaryDirectory() as folder:
        content = exported(answer, Path(folder))
    server.create_model(content)
    X = documents(name)
    found = server.rescore(name, model, len(X))
    rows = [int(hit["_source"]["row"]) for hit in found]
    seen = np.array([logged(hit, list(NAMES)) for hit in found], np.float32)
    differs = (seen != X[rows]) & ~np.isnan(X[rows])
    if differs.any():
        raise SystemExit(f"{differs.sum()} features were logged otherwise: {seen[differs][:5]} {X[rows][differs][:5]}")
    return answer.ranked(content, [(row, float(hit["_score"])) for row, hit in zip(rows, found, strict=True)])
