from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, MissingExtraError
from swaprank.files import replacing
from swaprank.reading.letor_writing import write_letor
from swaprank.reading.read import read

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


@pytest.mark.parametrize(("ending", "message"), [(".csv", "it has no documents"), (".parquet", "cannot be read")])
def test_empty_tables(tmp_path: Path, ending: str, message: str) -> None:
    path = tmp_path / f"table{ending}"
    path.write_bytes(b"")
    with pytest.raises(DataError, match=message):
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
    ours = "swaprank.reading.read, swaprank.reading.trec, swaprank.reading.letor_writing"
    code = f"import sys, {ours}; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numba", "polars", "pandas", "zstandard", "narwhals", "pyarrow"} & set(modules)


def table(folder: Path, text: str, **options: Any) -> Dataset:
    path = folder / "table.csv"
    path.write_text(text)
    return read(path, **options)


def test_query_ids_of_csv_are_those_of_text(tmp_path: Path) -> None:
    for qids in (["7", "12"], ["007", "7"], ["null", "NA"], [str(2**127), "1"], ["1.0", "1"]):
        (tmp_path / "twin.txt").write_text("".join(f"0 qid:{qid} 1:1\n" for qid in qids))
        data = table(tmp_path, "qid,label,x\n" + "".join(f"{qid},0,1\n" for qid in qids))
        assert data.qids.tolist() == read(tmp_path / "twin.txt").qids.tolist()
    data = table(tmp_path, "qid,label,x,d\n1,0,1,007\n", docid="d")
    assert data.docid is not None
    assert data.docid.tolist() == ["007"]


def test_missing_and_huge_numbers_in_csv(tmp_path: Path) -> None:
    huge = "9" * 60
    data = table(tmp_path, f"qid,label,a,b,c,d\n1,0,nan,NA,1.797E+308,{huge}\n1,1, null ,2.5,1,\n1,2,,N/A,-4e40,3\n")
    nan = np.nan
    np.testing.assert_array_equal(data.features, [[nan, nan, nan, nan], [nan, 2.5, 1, nan], [nan, nan, nan, 3]])
    pl.DataFrame({"qid": [1], "label": [1], "x": [1e300]}).write_parquet(tmp_path / "huge.parquet")
    assert np.isnan(read(tmp_path / "huge.parquet").features).all()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("qid,label,x\n1,0,3\n1,0,abc\n", "column 'x', line 3: 'abc' is not a number: give features="),
        ("qid,label,x\n1,good,3\n", "column 'label', line 2: 'good' is not a number"),
        ("qid,label,x\n1,NA,3\n2,1,1\n", "column 'label', line 2: the value is missing"),
        ("qid,label,x\n1,0,inf\n", "row 0, column 'x': inf is not finite"),
        ("qid,label,x\n", "has no documents"),
        ("qid;label;x\n1;0;3\n", "has one column, 'qid;label;x': it seems to be separated by ';', not ','"),
        ("qid,label,x\n1,0,3,4,5\n", "line 2: expected 3 values, one for each column; found 5"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(DataError, match="table.csv.*" + complaint):
        table(tmp_path, text)


@pytest.mark.parametrize("ending", [".csv.gz", ".CSV.XZ", ".tsv.zst"])
def test_compressed_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table{ending}"
    with replacing(path) as stream:
        stream.write(TABLE.write_csv(separator="\t" if "tsv" in ending else ",").encode())
    assert read(path, docid="doc").qids.tolist() == ["a", "b"]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match="truncated"):
        read(path, docid="doc")


def test_options_of_text_go_through(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 qid:1 1:5\n")
    data = read(path, zero_based=True, n_features=3, absent=-1.0, n_threads=1)
    assert data.features.tolist() == [[-1, 5, -1]]
    with pytest.raises(DataError, match="is a table: zero_based cannot be given"):
        table(tmp_path, "qid,label,x\n1,1,1\n", zero_based=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qid,label,x,x\n1,0,2,3\n", "line 1: two columns have the name 'x'"),
        ("qid,label,x\n1,0,2\n1,1\n", "line 3: expected 3 values, one for each column; found 2"),
        ("qid,label,x\n1,0,2\n1,1,3,4\n", "line 3: expected 3 values, one for each column; found 4"),
        ('qid,label,x\n"1\n2",0,2\n3,1\n', "line 4: expected 3 values"),
        ("qid,label,x\n1,0,2\n\n1,1,3\n", "line 3 is empty"),
        ("qid,label,x\n1,0,2\n,1,3\n", "column 'qid', line 3: the value is missing"),
        ("qid,label,x\n1,0,2\n1,1,red\n", "column 'x', line 3: 'red' is not a number"),
    ],
)
def test_errors_about_csv_name_the_line_as_in_an_editor(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "data.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=message):
        read(file)
    file.write_text(text.replace("\n", "\r\n"))
    with pytest.raises(DataError, match=message):
        read(file)


def test_a_missing_value_at_the_end_of_a_row_is_no_short_row(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").write_text('qid\tlabel\tx\n1\t0\t2\n1\t1\t\n"1"\t1\t"3"\n')
    np.testing.assert_array_equal(read(tmp_path / "data.tsv").features[:, 0], [2, np.nan, 3])
