"""Exports beside what the real engines answered: see recordings.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from swaprank.arrays import Features, Floats
from tests.exchange import ranklib_rules, solr_rules
from tests.exchange.fitted_models import NAMES
from tests.exchange.orders import assert_same
from tests.exchange.recordings import (
    FOLDER,
    Answer,
    digest,
    documents,
    exported,
    ranker,
    recording,
    recordings,
    scores_of,
)

PROJECT = Path(__file__).parents[2]
ENGINES = {"solr": "solr", "ranklib": "ranklib"}
"""The format of each engine."""


ANSWERS = [
    pytest.param(engine, answer, id=f"{name}-{answer.ranker}-{answer.options['missing']}")
    for engine in ENGINES
    for name in recordings(engine)
    for answer in recording(name).answers
]


def as_served(answer: Answer) -> Features:
    """The documents as the model is to score them."""
    X = documents(answer.ranker)
    return np.where(np.isnan(X), np.float32(0), X) if answer.options["missing"] == "zero" else X


def by_rules(engine: str, content: bytes, X: Features) -> Floats:
    match engine:
        case "solr":
            return solr_rules.scores(content, list(NAMES), X)
        case _:
            return ranklib_rules.scores(content.decode(), X)


@pytest.mark.parametrize("engine", ENGINES)
def test_there_are_recordings(engine: str) -> None:
    assert recordings(engine)
    assert all(recording(name).version in name and recording(name).artifacts for name in recordings(engine))


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
def test_what_is_exported_today_is_what_the_engine_was_given(engine: str, answer: Answer, tmp_path: Path) -> None:
    content = exported(answer, tmp_path, ENGINES[engine])
    assert digest(content) == answer.digest, "the exporter changed: run tools/engines/record.py again."


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
def test_the_scores_and_the_order_of_the_engine_are_ours(engine: str, answer: Answer) -> None:
    own = ranker(answer.ranker).predict(as_served(answer))
    assert_same(scores_of(answer), own)
    assert (np.diff(own[answer.order]) <= 2e-6 * np.abs(own).max()).all()


@pytest.mark.parametrize(("engine", "answer"), ANSWERS)
def test_the_rules_that_other_tests_use_are_those_of_the_engine(engine: str, answer: Answer, tmp_path: Path) -> None:
    found = by_rules(engine, exported(answer, tmp_path, ENGINES[engine]), as_served(answer))
    assert_same(found, scores_of(answer), tolerance=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_answers_as_recorded(engine: str, tmp_path: Path) -> None:
    if shutil.which("java") is None or not list((PROJECT / "tools/engines" / engine / "target").glob("*.classpath")):
        pytest.skip(f"needs Java 17 and its artifacts: python tools/engines/record.py {engine}")
    path = os.pathsep.join(entry for entry in sys.path if entry)
    subprocess.run(
        [sys.executable, PROJECT / "tools/engines/record.py", engine, "-o", tmp_path],
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    (file,) = tmp_path.iterdir()
    assert recording(file.name.removesuffix(".json.gz"), tmp_path) == recording(file.name.removesuffix(".json.gz"))
    assert (FOLDER / file.name).exists()
