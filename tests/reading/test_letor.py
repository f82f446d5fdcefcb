from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading import letor_block, text_files
from swaprank.reading.letor import read_letor
from tests.reading.naive_letor import naive_letor


def written(folder: Path, text: str | bytes, name: str = "data.txt") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def given_qids(data: Dataset) -> list[str]:
    return [str(qid) for qid in data.as_given(np.repeat(data.qids, np.diff(data.indptr)))]


def agree(data: Dataset, twin: dict[str, object]) -> None:
    np.testing.assert_array_equal(data.features, twin["features"])
    np.testing.assert_array_equal(data.labels, twin["labels"])
    assert given_qids(data) == twin["qids"]
    docids = [""] * len(data) if data.docid is None else data.docid.tolist()
    assert docids == twin["docids"]


blanks = st.text(" \t", min_size=1, max_size=3)
values = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(-1e6, 1e6, width=32).map(repr),
    st.sampled_from(["0", "NULL", "nan", "1e-3"]),
)
ids = st.text("abcxyz0123456789-_é", min_size=1, max_size=9)


@st.composite
def lines(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", "  ", "# a comment", " \t# 1:2 qid:3", "\r"]))
    indices = draw(st.lists(st.integers(draw(st.integers(0, 1)), 30), unique=True, max_size=12))
    if draw(st.booleans()):
        indices.sort()
    words = [draw(values.filter(lambda v: v not in ("NULL", "nan"))), f"qid:{draw(ids)}"]
    words += [f"{index}:{draw(values)}" for index in indices]
    text = draw(st.sampled_from(["", " "])) + words[0]
    for word in words[1:]:
        text += draw(blanks) + word
    comment = draw(st.sampled_from(["", " ", " # plain 7:8", f" #docid = {draw(ids)} inc = 1", f"#docid={draw(ids)}"]))
    return text + comment + draw(st.sampled_from(["", "\r"]))


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(lines(), min_size=1, max_size=30), st.booleans(), st.sampled_from([0.0, np.nan, -1.0]))
def test_kernel_reads_as_the_naive_reader(tmp_path: Path, parts: list[str], final_newline: bool, absent: float) -> None:
    text = "\n".join(["3 qid:1 7:0.5", *parts]) + "\n" * final_newline
    agree(read_letor(written(tmp_path, text), absent=absent), naive_letor(text, absent))


def test_threads_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letor_block, "_LEAST_CHUNK", 1)
    rng = np.random.default_rng(3)
    text = "".join(
        f"{rng.integers(5)} qid:{rng.integers(4)} {rng.integers(1, 9)}:{rng.random():.5f} #docid = d{k}\n\n#\n"
        for k in range(50)
    )
    twin = naive_letor(text)
    for n_threads in (1, 2, 3, 7, 64):
        agree(read_letor(written(tmp_path, text), n_threads=n_threads), twin)


@pytest.mark.parametrize("n_bytes", [1, 7, 64, 300])
def test_pieces_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    """Also if a line is longer than a piece, and if pieces have no document, other ids or other features."""
    monkeypatch.setattr(letor_block, "_LEAST_CHUNK", 500)
    monkeypatch.setattr(text_files, "_PIECE_BYTES", n_bytes)
    monkeypatch.setattr(text_files, "_TAIL_BYTES", max(1, n_bytes // 3))
    documents = [
        f"{k % 3} qid:{'long' * (k % 7)}{k // 4} {k % 11}:{k / 7:.3f} 12:1e-{k}"
        f"{' #docid = d' if k % 2 else ' # '}{'x' * k}\n"
        for k in range(60)
    ]
    text = "# comment\n" * 50 + "\n".join(documents) + " \n" * 70 + "1 qid:z 2:5"
    for n_threads in (1, 3):
        agree(read_letor(written(tmp_path, text), n_threads=n_threads), naive_letor(text))


def test_byte_order_mark_crlf_and_missing_final_newline(tmp_path: Path) -> None:
    data = read_letor(written(tmp_path, b"\xef\xbb\xbf1 qid:5 1:2 \r\n0\tqid:5  2:3\t\r\n2 qid:5 1:7\r"))
    assert data.features.tolist() == [[2, 0], [0, 3], [7, 0]]
    assert data.labels.tolist() == [1, 0, 2]


def test_query_ids_are_integers_only_if_nothing_is_lost(tmp_path: Path) -> None:
    def qids(*texts: str) -> np.ndarray:
        return read_letor(written(tmp_path, "".join(f"0 qid:{text} 1:1\n" for text in texts))).qids

    assert qids("3", "-7", "9223372036854775807").tolist() == [3, -7, 9223372036854775807]
    assert qids("3", "-7").dtype == np.int64
    for text in ("007", "9223372036854775808", "1_000", "+5", "q1", "1.0", "-0", "é"):
        assert qids("3", text).tolist() == ["3", text]


def test_features_numbered_from_zero(tmp_path: Path) -> None:
    data = read_letor(written(tmp_path, "0 qid:1 1:5 2:6\n0 qid:1 2:8 0:7\n"))
    assert data.features.tolist() == [[0, 5, 6], [7, 0, 8]]
    assert data.feature_names == ("0", "1", "2")
    path = written(tmp_path, "0 qid:1 1:5\n")
    assert read_letor(path, zero_based=True).features.tolist() == [[0, 5]]
    assert read_letor(path, zero_based=True, n_features=3).features.tolist() == [[0, 5, 0]]
    assert read_letor(path, n_features=3).features.tolist() == [[5, 0, 0]]


def test_a_document_may_have_no_features(tmp_path: Path) -> None:
    assert read_letor(written(tmp_path, "1 qid:1\n0 qid:1 1:4\n0 qid:1 # x\n")).features.tolist() == [[0], [4], [0]]


def test_rows_of_one_query_may_be_scattered(tmp_path: Path) -> None:
    data = read_letor(written(tmp_path, "1 qid:b 1:1\n2 qid:a 1:2\n3 qid:b 1:3\n"))
    assert data.qids.tolist() == ["b", "a"]
    assert data.rows(0).tolist() == [0, 2]


def test_document_ids_of_some_rows(tmp_path: Path) -> None:
    data = read_letor(written(tmp_path, "1 qid:1 1:1 #docid = a inc = 1\n1 qid:1 1:1\n1 qid:1 1:1 # docid=b\n"))
    assert data.docid is not None
    assert data.docid.tolist() == ["a", "", "b"]
    assert read_letor(written(tmp_path, "1 qid:1 1:1 # nothing\n")).docid is None


def test_group_sizes_beside_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "0 1:1\n1 2:1\n0\n", "rank.train")
    written(tmp_path, "2\n1\n", "rank.train.query")
    data = read_letor(path)
    assert (data.qids.tolist(), data.indptr.tolist()) == ([1, 2], [0, 2, 3])


def test_group_sizes_beside_query_ids_must_agree(tmp_path: Path) -> None:
    path = written(tmp_path, "0 qid:9 1:1\n1 qid:9 1:1\n0 qid:7 1:1\n", "rank.train")
    written(tmp_path, "2\n1\n", "rank.train.group")
    assert read_letor(path).qids.tolist() == [9, 7]
    written(tmp_path, "1\n2\n", "rank.train.group")
    with pytest.raises(
        DataError, match="documents 1 and 2 belong to one query by their ids, but not by the group sizes"
    ):
        read_letor(path)
    written(tmp_path, "5\n", "rank.train.group")
    with pytest.raises(DataError, match=r"sum to 5, but .* has 3 documents"):
        read_letor(path)


def test_agrees_with_scikit_learn(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    text = ""
    for row in range(200):
        pairs = [
            f"{k}:{float(rng.normal() * 10.0 ** rng.integers(-8, 8))!r}" for k in range(1, 40) if rng.random() < 0.6
        ]
        text += f"{rng.integers(5)} qid:{row // 9} {' '.join(pairs)}\n"
    path = written(tmp_path, text)
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    data = read_letor(path)
    np.testing.assert_array_equal(data.features, X.toarray().astype(np.float32))
    np.testing.assert_array_equal(data.labels, y)
    assert given_qids(data) == qid.astype(str).tolist()


def test_wide_sparse_lines(tmp_path: Path) -> None:
    data = read_letor(written(tmp_path, "0 qid:1 5000:2 1:3\n1 qid:1 4097:1 4098:2 4099:3\n"))
    assert data.n_features == 5000
    assert np.flatnonzero(data.features[0]).tolist() == [0, 4999]
    assert data.features[1, 4096:4099].tolist() == [1, 2, 3]
