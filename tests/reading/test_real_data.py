"""Tests on the public data sets, if they are next to the project."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from swaprank.reading.letor import read_letor
from swaprank.reading.letor_writing import write_letor
from swaprank.reading.read import read


@pytest.mark.parametrize(
    ("name", "files", "documents", "queries", "features", "with_docid"),
    [
        ("ohsumed", [f"S{k}.txt.xz" for k in range(1, 6)], 16_140, 106, 45, True),
        ("mq2008", [f"S{k}.txt.xz" for k in range(1, 6)], 15_211, 784, 46, True),
        ("mslr-sample", ["train.txt.xz", "test.txt.xz"], 10_000, 86, 136, False),
        ("lightgbm-example", ["rank.train.xz"], 3_005, 201, 300, False),
        ("lightgbm-example", ["rank.test.xz"], 768, 50, 300, False),
    ],
)
def test_counts(
    shared_data: Path, name: str, files: list[str], documents: int, queries: int, features: int, with_docid: bool
) -> None:
    parts = [read(shared_data / name / file) for file in files]
    assert sum(len(part) for part in parts) == documents
    assert sum(part.n_queries for part in parts) == queries
    assert {part.n_features for part in parts} == {features}
    assert {part.docid is not None for part in parts} == {with_docid}
    assert all(part.order is None for part in parts)


@pytest.mark.parametrize("file", ["mq2008/S1.txt.xz", "mslr-sample/test.txt.xz"])
def test_round_trip(shared_data: Path, tmp_path: Path, file: str) -> None:
    data = read(shared_data / file)
    write_letor(data, tmp_path / "copy.txt")
    copy = read_letor(tmp_path / "copy.txt")
    np.testing.assert_array_equal(copy.features, data.features)
    np.testing.assert_array_equal(copy.labels, data.labels)
    np.testing.assert_array_equal(copy.qids, data.qids)
    if data.docid is not None:
        np.testing.assert_array_equal(copy.docid, data.docid)
