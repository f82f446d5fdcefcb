"""What real engines answered, recorded by tools/engines/record.py: rankers, documents, and a file for each engine."""

from __future__ import annotations

import gzip
import hashlib
import json
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swaprank as sr
from swaprank.arrays import Features, Floats

FOLDER = Path(__file__).parent / "recorded"


class Answer(NamedTuple):
    """The scores that an engine gave to the documents of a ranker."""

    to: str
    """The format."""
    ranker: str
    options: dict[str, Any]
    """How the ranker was exported."""
    digest: str = ""
    """SHA-256 of the exported file."""
    scores: Sequence[float] = ()
    """One per document, in their order."""
    order: Sequence[int] = ()
    """The documents as the engine ranked them."""

    def ranked(self, content: bytes, found: Sequence[tuple[int, float]]) -> Answer:
        """With the exported file, and rows and scores in the order of the engine."""
        order = [row for row, _ in found]
        assert sorted(order) == list(range(len(documents(self.ranker))))
        scores = [score for _, score in sorted(found)]
        return self._replace(digest=digest(content), scores=scores, order=order)


class Recording(NamedTuple):
    """All answers of an engine."""

    engine: str
    version: str
    artifacts: list[str]
    """What was run: coordinates of Maven, or in words."""
    answers: list[Answer]

    def as_json(self) -> dict[str, Any]:
        return self._asdict() | {"answers": [each._asdict() for each in self.answers]}


@cache
def ranker(name: str) -> sr.Ranker:
    return sr.load(FOLDER / "rankers" / f"{file_name(name)}.swaprank")


def file_name(ranker: str) -> str:
    return ranker.replace(" ", "_")


@cache
def documents(name: str) -> Features:
    """A missing value is null in the file."""
    rows = json.loads(gzip.decompress((FOLDER / "documents.json.gz").read_bytes()))[name]
    return np.array([[np.nan if value is None else value for value in row] for row in rows], np.float32)


def recordings(engine: str) -> list[str]:
    """The names of the recordings of an engine, one for each version."""
    return sorted(file.name.removesuffix(".json.gz") for file in FOLDER.glob(f"{engine}-*.json.gz"))


@cache
def recording(name: str, folder: Path = FOLDER) -> Recording:
    found = json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes()))
    return Recording(**found | {"answers": [Answer(**each) for each in found["answers"]]})


def exported(answer: Answer, folder: Path) -> bytes:
    """What is exported today, as it was for the answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sr.errors.ExportWarning)
        ranker(answer.ranker).export(folder / "model", answer.to, **answer.options)
    return (folder / "model").read_bytes()


def as_served(answer: Answer) -> Features:
    """The documents as the model is to score them."""
    X = documents(answer.ranker)
    return np.where(np.isnan(X), np.float32(0), X) if answer.options["missing"] == "zero" else X


def own_scores(answer: Answer) -> Floats:
    return ranker(answer.ranker).predict(as_served(answer))


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
