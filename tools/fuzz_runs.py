"""Damaged click logs, files of trials and configurations, for fuzz.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from damage import ODD_VALUES, Rng, damaged, pick

import swaprank as sr
from swaprank.experiments.training_config import differing_versions, read_training_config, recorded_digest


def rows_log(rng: Rng, separator: str = ",") -> bytes:
    """One row for each document that was shown."""
    rows = [["session", "qid", "docid", "position", "click", "propensity", "device", "f"]]
    for page, at in np.ndindex(12, 4):
        shown = [f"s{page}", f"q{page % 3}", f"d{at}", str(at + 1)]
        rows.append([*shown, str(rng.integers(2)), "0.5", "web", f"{rng.random():.3f}"])
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def wide_log(rng: Rng) -> bytes:
    """One row for each page."""
    pages = [f"q{page % 3},a b c d,{pick(rng, ['a', 'b d', '', '2'])}" for page in range(12)]
    return "\n".join(["qid,documents,clicks", *pages, ""]).encode()


def ubi_log(rng: Rng) -> bytes:
    """Queries and events."""
    lines: list[dict[str, Any]] = []
    for page in range(8):
        lines.append({"query_id": f"p{page}", "user_query": f"q{page % 3}", "query_response_hit_ids": ["a", "b", "c"]})
        clicked = {"object": {"object_id": pick(rng, ["a", "b"])}, "position": {"ordinal": 1}}
        lines.append({"query_id": f"p{page}", "action_name": "click", "event_attributes": clicked})
    if rng.random() < 0.5:
        lines[int(rng.integers(len(lines)))] |= {pick(rng, list(lines[1])): pick(rng, ODD_VALUES)}
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


LOGS: dict[str, tuple[Callable[[Rng], bytes], dict[str, Any]]] = {
    "log.csv": (rows_log, {"propensity": "propensity", "context": ["device"]}),
    "log.tsv": (lambda rng: rows_log(rng, "\t"), {"context": ["device", "propensity"]}),
    "wide.csv": (wide_log, {"schema": "wide"}),
    "ubi.jsonl": (ubi_log, {"schema": "ubi"}),
}


def clicks_case(rng: Rng, folder: Path) -> str:
    """Write a damaged click log, read it and count its clicks; returns what came back."""
    name = pick(rng, list(LOGS))
    write, options = LOGS[name]
    file = folder / name
    file.write_bytes(damaged(write(rng), rng))
    try:
        log = sr.clicks.read_clicks(file, **options)
        assert np.isfinite(log.click).all()
        assert log.position.min() >= 1
        assert len(str(log.summarize()))
        sr.clicks.count_clicks(log)
    except sr.errors.SwaprankError:
        return "refused"
    return "read"


def make_trials(folder: Path) -> None:
    """The file of a short search."""
    _search(folder / "valid.trials", 3)


def trials_case(rng: Rng, folder: Path) -> str:
    """Damage a file of trials, and go on with the search; returns what came back."""
    content = (folder / "valid.trials").read_bytes()
    file = folder / "damaged.trials"
    file.write_bytes(damaged(content, rng) if rng.random() < 0.4 else _rewritten(content, rng))
    try:
        tuning = _search(file, 4)
    except sr.errors.SwaprankError:
        return "refused"
    assert len(str(tuning))
    assert len(tuning.to_json())
    return "resumed"


def _rewritten(content: bytes, rng: Rng) -> bytes:
    """A line is lost or moved, or one of its values or keys is another."""
    lines = [json.loads(line) for line in content.splitlines()]
    at = int(rng.integers(len(lines)))
    kind = rng.integers(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(int(rng.integers(len(lines))), lines[at])
    else:
        inner = lines[at]
        name = pick(rng, list(inner))
        while isinstance(inner[name], dict) and inner[name] and rng.random() < 0.7:
            inner, name = inner[name], pick(rng, list(inner[name]))
        if kind == 2:
            inner[f"{name}x"] = inner.pop(name)
        else:
            inner[name] = pick(rng, ODD_VALUES)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _search(file: Path, n_trials: int) -> Any:
    train, valid = sr.datasets.random_net((10, 8), n_features=3, n_documents=6, levels=3, random_state=0)
    ranges = {"n_leaves": (3, 9), "learning_rate": (0.05, 0.5), "objective": ["squared", "logistic"]}
    return sr.tune(train, valid, sr.MART(n_trees=2), ranges=ranges, n_trials=n_trials, storage=file)


CONFIG = """
train = "train.txt"
valid = "vali.txt"
output = "model.swaprank"
ranker = "lambdamart"
metric = "ndcg@10"
seed = 3
threads = 2

[columns]
label = "clicked"
ignore = ["title", "url"]

[parameters]
n_leaves = 7
learning_rate = 0.1
max_depth = "none"
horizon = 30

[data.train]
documents = 100
digest = "e3b0c442"

[versions]
numpy = "2.0.0"

[result]
digest = "77aa"
interrupted = false
"""
_DATES = ["1979-05-27", "1979-05-27T07:32:00Z", "07:32:00"]
_VALUES = [*_DATES, "[1, 'a']", "{a = 1}", "nan", "-inf", "true", "''", "9" * 20]


def config_case(rng: Rng, folder: Path) -> str:
    """Damage a configuration and read all that is read of it; returns what came back."""
    content = CONFIG.encode()
    if rng.random() < 0.6:
        lines = CONFIG.splitlines()
        at = pick(rng, [number for number, line in enumerate(lines) if "=" in line])
        lines[at] = f"{lines[at].partition('=')[0]}= {pick(rng, _VALUES)}"
        if rng.random() < 0.3:
            del lines[int(rng.integers(len(lines)))]
        content = "\n".join(lines).encode()
    else:
        content = damaged(content, rng)
    ending = pick(rng, [".toml", ".toml", ".yaml"])
    if ending == ".yaml":
        content = content.replace(b" = ", b": ").replace(b"[", b"").replace(b"]", b":")
    file = folder / f"run{ending}"
    file.write_bytes(content)
    try:
        run = read_training_config(file, {})
        differing_versions(file)
        recorded_digest(file)
        run.make_ranker()
        [Path(each).exists() for each in run.train_files]
    except sr.errors.SwaprankError:
        return "refused"
    return "read"
