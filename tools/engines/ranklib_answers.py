"""RankLib's scores of the recorded rankers, in RankyMcRankFace: what Elasticsearch LTR scores model/ranklib with."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from engine import Engine
from tests.exchange.fitted_models import NAMES
from tests.exchange.recordings import Answer, Recording, documents, exported, file_name

from swaprank.arrays import Features

HELD = (
    "trees", "one leaf", "sum of trees", "random forest", "symmetric trees", "trees of missing values",
    "trees of tiny values", "linear", "smoothrank", "linear net", "sum of linear models",
)  # fmt: skip


def ranklib_answers(engine: Engine) -> Recording:
    """Every ranker with missing values as 0."""
    asked = [Answer("ranklib", name, {"missing": "zero", "features": list(NAMES)}) for name in HELD]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / file_name(name) for name in HELD]
        contents = [exported(answer, Path(folder)) for answer in asked]
        for file, name, content in zip(files, HELD, contents, strict=True):
            file.write_bytes(content)
            Path(f"{file}.txt").write_text(_lines(documents(name)))
        printed = engine.run("Score.java", *map(str, files))
    found: dict[str, list[tuple[int, float]]] = {str(file): [] for file in files}
    for line in printed.splitlines():
        if line.startswith("score\t"):
            _, file_of, row, score = line.split("\t")
            found[file_of].append((int(row), float(score)))
    answers = [
        answer.ranked(content, ranked) for answer, content, ranked in zip(asked, contents, found.values(), strict=True)
    ]
    return Recording("RankyMcRankFace, a fork of RankLib", engine.version, engine.artifacts, answers)


def _lines(X: Features) -> str:
    """LETOR's format; a missing value is left out. RankLib stops if a line ends before a feature that it asks for."""
    rows = (" ".join(f"{at + 1}:{value}" for at, value in enumerate(x) if not np.isnan(value)) for x in X)
    return "".join(f"0 qid:1 {values} {X.shape[1] + 1}:0 # {row}\n" for row, values in enumerate(rows))
