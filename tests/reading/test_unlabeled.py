"""Documents without labels, and columns that are left out."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr

TEXT = "# candidates\n2 qid:7 1:0.5 3:1 #docid = a\n\n0 qid:7 2:4 # qid: x\n-1.5 qid:b 1:1e-3\n"


def without_labels(text: str) -> str:
    return "".join(
        line if line.startswith("#") or not line.strip() else f"\t{line.partition(' ')[2]}"
        for line in text.splitlines(keepends=True)
    )


def same(first: sr.Dataset, second: sr.Dataset) -> None:
    np.testing.assert_array_equal(first.features, second.features)
    assert first.qids.tolist() == second.qids.tolist()
    assert (first.docid is None) == (second.docid is None)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_may_start_with_the_query_id(tmp_path: Path, mark: str) -> None:
    (tmp_path / "labeled.txt").write_text(TEXT, "utf-8")
    (tmp_path / "new.txt").write_text(mark + without_labels(TEXT), "utf-8")
    (tmp_path / "new.txt.gz").write_bytes(gzip.compress((mark + without_labels(TEXT)).encode()))
    labeled = sr.read(tmp_path / "labeled.txt")
    for name in ("labeled.txt", "new.txt", "new.txt.gz"):
        read = sr.read(tmp_path / name, unlabeled=True)
        same(read, labeled)
        assert read.labels.tolist() == [0, 0, 0]
    with pytest.raises(
        sr.errors.DataError, match=r"new\.txt, line 2: expected a finite number as the label, found 'qid:7'"
    ):
        sr.read(tmp_path / "new.txt")


def test_errors_name_the_right_line(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("qid:7 1:0.5\nqid:7 1:x\n")
    with pytest.raises(sr.errors.DataError, match=r"bad\.txt, line 2: expected a number after '1:', found 'x'"):
        sr.read(tmp_path / "bad.txt", unlabeled=True)


def test_lines_of_features_alone_have_group_sizes(tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("1:0.5 2:1\n2:3\n1:2\n")
    (tmp_path / "new.txt.query").write_text("2\n1\n")
    read = sr.read(tmp_path / "new.txt", unlabeled=True)
    assert read.features.tolist() == [[0.5, 1], [0, 3], [2, 0]]
    assert read.indptr.tolist() == [0, 2, 3]


def test_tables_need_no_labels_and_columns_can_be_ignored(tmp_path: Path) -> None:
    pytest.importorskip("polars", reason="Polars is not installed")
    (tmp_path / "new.csv").write_text("qid,title,a,b\n7,Shoe,1,2\n7,Boot,3,\n")
    read = sr.read(tmp_path / "new.csv", unlabeled=True, ignore=["title"])
    np.testing.assert_array_equal(read.features, [[1, 2], [3, np.nan]])
    assert (read.feature_names, read.labels.tolist()) == (("a", "b"), [0, 0])
    with pytest.raises(sr.errors.DataError, match="there is no column 'label': choose one by label=…; known are"):
        sr.read(tmp_path / "new.csv", ignore=["title"])
    with pytest.raises(sr.errors.DataError, match="there is no column 'tilte' to ignore; did you mean 'title'"):
        sr.read(tmp_path / "new.csv", unlabeled=True, ignore=["tilte"])
    with pytest.raises(sr.errors.DataError, match=r"there is no column '1'; known are a, b, qid, title\.$"):
        sr.read(tmp_path / "new.csv", unlabeled=True, features=["1"])
    (tmp_path / "odd.csv").write_text("qid,label,a\n7,,1\n7,good,3\n")
    assert sr.read(tmp_path / "odd.csv", unlabeled=True).labels.tolist() == [0, 0]
