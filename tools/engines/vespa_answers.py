"""Vespa's scores of the recorded rankers: its importer makes expressions of them, which its Java library evaluates."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from engine import Engine
from tests.exchange.recordings import Answer, Recording, documents, exported, file_name
from tests.exchange.test_vespa import RANK_FEATURES, RENAMED

HELD = (
    "trees", "one leaf", "sum of trees", "random forest", "symmetric trees", "trees of missing values",
    "trees of tiny values", "trees of categories",
)  # fmt: skip


def vespa_answers(engine: Engine) -> Recording:
    """Every ranker with missing values where the model sends them, and some with missing values as 0."""
    asked = [Answer("vespa", name, {"missing": "refuse", "rename": RENAMED}) for name in HELD]
    asked += [Answer("vespa", name, {"missing": "zero", "rename": RENAMED}) for name in HELD if "values" in name]
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{file_name(each.ranker)}_{each.options['missing']}.json" for each in asked]
        contents = [exported(answer, Path(folder)) for answer in asked]
        for file, answer, content in zip(files, asked, contents, strict=True):
            file.write_bytes(content)
            Path(f"{file}.tsv").write_text(_table(answer.ranker))
        printed = engine.run("Score.java", *map(str, files))
    found: dict[str, list[tuple[int, float]]] = {str(file): [] for file in files}
    for line in printed.splitlines():
        if line.startswith("score\t"):
            _, file_of, row, score = line.split("\t")
            found[file_of].append((int(row), float(score)))
    answers = [
        answer.ranked(content, sorted(rows, key=lambda pair: -pair[1]))
        for answer, content, rows in zip(asked, contents, found.values(), strict=True)
    ]
    return Recording("Vespa's importer and evaluation of expressions", engine.version, engine.artifacts, answers)


def _table(name: str) -> str:
    rows = ["\t".join(RANK_FEATURES)]
    rows += ["\t".join("NaN" if np.isnan(value) else str(float(value)) for value in x) for x in documents(name)]
    return "\n".join(rows) + "\n"
