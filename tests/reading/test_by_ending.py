from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from swaprank.dataset import Dataset
from swaprank.errors import DataError, MissingExtraError
from swaprank.reading.by_ending import read
from swaprank.reading.letor_writing import write_letor

TABLE = pl.DataFrame({"qid": ["a", "a", "b"], "label": [1, 0, 2], "x": [0.5, None, 2.0], "doc": ["u", "v", "w"]})


@pytest.mark.parametrize("ending", [".txt", ".letor", ".svm", ".dat", ".TXT"])
@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst"])
def test_text(tmp_path: Path, ending: str, packed: str) -> None:
    path = tmp_path / f"fold.1{ending}{packed}"
    write_letor(Dataset([[0.5], [1.0]], [1, 0], qid=[3, 4]), path)
    assert read(path).features.tolist() == [[0.5], [1.0]]
    assert read(str(path)).qids.tolist() == [3, 4]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table{ending}"
    if ending == ".parquet":
        TABLE.write_parquet(path)
    else:
        TABLE.write_csv(path, separator="\t" if ending == ".tsv" else ",")
    data = read(path, docid="doc")
    assert data.feature_names == ("x",)
    assert data.qids.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="there is no column 'relevance'"):
        read(path, label="relevance", docid="doc")


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_damaged_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table{ending}"
    path.write_bytes(b"")
    with pytest.raises(DataError, match="cannot be read"):
        read(path)


def test_side_file_makes_any_ending_text(tmp_path: Path) -> None:
    path = tmp_path / "rank.train"
    path.write_text("1 1:0.5\n0 1:1\n")
    with pytest.raises(DataError, match=r"the ending '\.train' is unknown; known are \.txt, .*read_letor"):
        read(path)
    (tmp_path / "rank.train.group").write_text("2\n")
    assert read(path).qids.tolist() == [1]


def test_text_has_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 qid:1 1:1\n")
    with pytest.raises(DataError, match="label, docid cannot be given"):
        read(path, label="y", docid="d")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read(tmp_path / "absent.csv")


def test_tables_without_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    path = tmp_path / "table.csv"
    path.write_text("qid,label,x\n1,1,1\n")
    with pytest.raises(MissingExtraError, match=r"pip install 'swaprank\[frames\]'"):
        read(path)


def test_heavy_packages_wait_until_needed() -> None:
    ours = "swaprank.reading.by_ending, swaprank.reading.trec, swaprank.reading.letor_writing"
    code = f"import sys, {ours}; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numba", "polars", "pandas", "zstandard", "narwhals", "pyarrow"} & set(modules)
