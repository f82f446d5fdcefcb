"""Damaged files of bins, for fuzz.py: with wrong and with right checksums, read and trained on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from damage import Rng, damaged, pick, rewritten

import swaprank as sr
from swaprank.data.bins_file import read_bins


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
    content = damaged(content, rng) if rng.random() < 0.2 else rewritten(content, rng, with_digests=False)
    file = folder / "damaged.bins"
    file.write_bytes(content)
    try:
        data = read_bins(file, check=bool(rng.random() < 0.1))
    except sr.errors.SwaprankError:
        return "refused"
    use(data, sr.load(valid.with_suffix(".model")), folder / "again.bins")
    return "read"


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
