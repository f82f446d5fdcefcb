"""Damaged files of bins, for fuzz.py: with wrong and with right checksums, read and trained on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from damage import ODD_ENTRIES, Rng, damaged, pick, replace_value

import swaprank as sr
from swaprank.data.bins_file import HEAD, MAGIC, read_bins


def make_bins_files(folder: Path) -> None:
    """Files with everything that a data set may have, and their models."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 18)).astype(np.float32)
    X[:, 2] = rng.integers(0, 50, 80)
    X[rng.random(X.shape) < 0.1] = np.nan
    options: dict[str, dict[str, Any]] = {
        "plain": {"qid": np.arange(80) // 8},
        "text": {"qid": [f"q{k // 8}" for k in range(80)], "docid": [f"d{k}" for k in range(80)]},
        "scattered": {"qid": np.arange(80) % 9, "sample_weight": rng.random(80), "base_score": rng.normal(size=80)},
        "pairs": {"qid": np.arange(80) // 8, "pairs": [(0, 1, 0.5), (9, 8, 1)]},
    }
    for name, given in options.items():
        for categorical in ([], [2]):
            data = sr.Dataset(X, rng.integers(0, 3, 80), categorical_features=categorical, **given).binned()
            data.save_bins(folder / f"{name}{len(categorical)}.bins")
            sr.MART(n_trees=2, n_leaves=4, min_docs_in_leaf=3).fit(data).save(
                folder / f"{name}{len(categorical)}.model"
            )


def bins_case(rng: Rng, folder: Path) -> str:
    """Write a damaged file of bins, read it, train on it and score it; returns what came back."""
    valid = pick(rng, sorted((folder / "bins").glob("*.bins")))
    content = valid.read_bytes()
    content = damaged(content, rng) if rng.random() < 0.2 else rewritten(content, rng)
    file = folder / "damaged.bins"
    file.write_bytes(content)
    try:
        data = read_bins(file, check=bool(rng.random() < 0.1))
    except sr.errors.SwaprankError:
        return "refused"
    use(data, sr.load(valid.with_suffix(".model")), folder / "again.bins")
    return "read"


def rewritten(content: bytes, rng: Rng) -> bytes:
    """Some values of the header or entries of the arrays are replaced; the checksum of the header is right."""
    _, version, _, start, _, _ = HEAD.unpack(content[: HEAD.size])
    header, data = json.loads(content[start:]), bytearray(content[:start])
    for _ in range(int(rng.integers(1, 3))):
        if rng.random() < 0.5:
            described = {"meta": {key: header[key] for key in header if key != "arrays"}, **header}
            replace_value(described, rng)
            meta = described.get("meta")
            header = {"arrays": described.get("arrays"), **(meta if isinstance(meta, dict) else {})}
        else:
            replace_entry(header, data, rng)
    text = json.dumps(header).encode()
    head = HEAD.pack(MAGIC, version, start + len(text), start, len(text), hashlib.sha256(text).digest())
    return head + bytes(data[HEAD.size :]) + text


def replace_entry(header: Any, data: bytearray, rng: Rng) -> None:
    arrays = [
        each for each in header.get("arrays") or [] if isinstance(each, dict) and isinstance(each.get("start"), int)
    ]
    if not arrays:
        return
    each = pick(rng, arrays)
    try:
        dtype, n = np.dtype(each["dtype"]), int(np.prod(each["shape"]))
    except (TypeError, KeyError, ValueError, OverflowError):
        return
    at = each["start"] + dtype.itemsize * int(rng.integers(n)) if n > 0 else -1
    if not 128 <= at <= len(data) - dtype.itemsize:
        return
    with np.errstate(all="ignore"):
        entry = np.array([pick(rng, ODD_ENTRIES)]).astype(dtype).tobytes()
    data[at : at + dtype.itemsize] = entry


def use(data: sr.Dataset, ranker: sr.Ranker, file: Path) -> None:
    """Everything that is done with bins; a SwaprankError is an answer."""
    verbs: list[Callable[[], Any]] = [
        lambda: sr.MART(n_trees=2, n_leaves=4, min_docs_in_leaf=3, n_threads=1).fit(data, valid=data).predict(data),
        lambda: sr.LambdaMART(n_trees=2, n_leaves=4, n_threads=1).fit(data).predict(data),
        lambda: ranker.predict(data),
        lambda: np.zeros(len(repr(data)) + len(sr.data.summarize(data).to_text())),
        lambda: data.subset([0]).labels,
    ]
    for verb in verbs:
        try:
            assert np.isfinite(verb()).all(), "not finite"
        except sr.errors.SwaprankError:
            continue
    data.save_bins(file)
    assert repr(sr.read(file)) == repr(data), "another data set after saving"
