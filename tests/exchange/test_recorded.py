"""Exports beside what the real engines answered: see recordings.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swaprank.arrays import Features, Floats
from tests.exchange import ltr_rules, ranklib_rules, solr_rules, vespa_rules
from tests.exchange.fitted_models import NAMES
from tests.exchange.orders import assert_same
from tests.exchange.recordings import FOLDER, Answer, as_served, digest, exported, own_scores, recording, recordings
from tests.exchange.test_vespa import RANK_FEATURES

PROJECT = Path(__file__).parents[2]
FROM_MAVEN = ("solr", "ranklib", "vespa")
ENGINES = (*FROM_MAVEN, "opensearch", "elasticsearch")


ANSWERS = [
    pytest.param(engine, answer, id=f"{name}-{answer.to}-{answer.ranker}-{answer.options['missing']}")
    for engine in ENGINES
    for name in recordings(engine)
    for answer in recording(name).answers
]


def by_rules(answer: Answer, content: bytes) -> Floats:
    X = as_served(answer)
    match answer.to:
        case "solr":
            return solr_rules.scores(content, list(NAMES), X)
        case "vespa":
            documents = [dict(zip(RANK_FEATURES, x, strict=True)) for x in X.tolist()]
            return vespa_rules.scores(content, documents, is_fast=False)
        case "ranklib":
            return ranklib_rules.scores(_definition(answer, content), _for_all_features(answer, X))
        case _:
            missing: ltr_rules.Missing = "zero" if answer.options["missing"] == "zero" else "by node"
            features = answer.options["features"]
            return ltr_rules.scores(_definition(answer, content), features, _for_all_features(answer, X), missing)


def _definition(answer: Answer, content: bytes) -> str:
    """The model without the request that creates it."""
    return (
        ltr_rules.created_model(content, f"model/{answer.to}")[1] if "request" in answer.options else content.decode()
    )


def _for_all_features(answer: Answer, X: Features) -> Features:
    """With columns for the features of the engine that the model does not have."""
    wide = np.full((len(X), len(answer.options["features"])), np.nan, np.float32)
    wide[:, [answer.options["features"].index(name) for name in NAMES]] = X
    return wide


@pytest.mark.parametrize("engine", [*FROM_MAVEN, "opensearch"])
def test_there_are_recordings(engine: str) -> None:
    assert recordings(engine)
    assert all(recording(name).version in name and recording(name).artifacts for name in recordings(engine))


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
def test_what_is_exported_today_is_what_the_engine_was_given(engine: str, answer: Answer, tmp_path: Path) -> None:
    content = exported(answer, tmp_path)
    assert digest(content) == answer.digest, "the exporter changed: run tools/engines/record.py again."


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
def test_the_scores_and_the_order_of_the_engine_are_ours(engine: str, answer: Answer) -> None:
    own = own_scores(answer)
    error = {"vespa": 1e-15}.get(engine, 1e-6)
    assert_same(np.array(answer.scores), own, tolerance=error)
    assert (np.diff(own[answer.order]) <= 2 * error * np.abs(own).max()).all()


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
def test_the_rules_that_other_tests_use_are_those_of_the_engine(engine: str, answer: Answer, tmp_path: Path) -> None:
    found = by_rules(answer, exported(answer, tmp_path))
    if "net" in answer.ranker:  # exp and tanh are not the same everywhere
        assert_same(found, np.array(answer.scores), tolerance=1e-7)
    else:
        dtype = np.float64 if engine == "vespa" else np.float32
        assert np.array_equal(found.astype(dtype), np.array(answer.scores, dtype))


def run(engine: str, tool: str, *options: Any) -> str:
    """What a tool prints, where Java and the artifacts of the engine are."""
    if shutil.which("java") is None or not list((PROJECT / "tools/engines" / engine / "target").glob("*.classpath")):
        pytest.skip(f"needs Java 17 and what this downloads: python tools/engines/record.py {engine}")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, PROJECT / "tools/engines" / tool, engine, *options]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("engine", FROM_MAVEN)
def test_the_engine_answers_as_recorded(engine: str, tmp_path: Path) -> None:
    run(engine, "record.py", "-o", tmp_path)
    (file,) = tmp_path.iterdir()
    assert recording(file.name.removesuffix(".json.gz"), tmp_path) == recording(file.name.removesuffix(".json.gz"))
    assert (FOLDER / file.name).exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["solr"])
def test_the_commands_of_the_page_run_and_the_engine_scores_as_swaprank(engine: str) -> None:
    printed = run(engine, "walk.py")
    assert float(printed.rpartition("largest difference: ")[2]) < 1e-5
