from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.reading import letor_writing
from swaprank.reading.letor import read_letor
from swaprank.reading.letor_writing import write_letor


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits, except that all NaN are equal."""
    both_nan = np.isnan(a) & np.isnan(b)
    return bool(((a.view(np.int32) == b.view(np.int32)) | both_nan).all())


def one_column(values: np.ndarray) -> Dataset:
    return Dataset(np.asarray(values, np.float32)[:, None], np.zeros(len(values)), qid=np.zeros(len(values), int))


def value_texts(values: np.ndarray, folder: Path) -> list[str]:
    path = folder / "column.txt"
    write_letor(one_column(values), path)
    data = read_letor(path)
    assert same_bits(data.features[:, 0].copy(), np.asarray(values, np.float32))
    return [line.rsplit("1:", 1)[1] for line in path.read_text().splitlines()]


def n_digits(text: str) -> int:
    return len(text.lower().split("e")[0].replace(".", "").strip("-0"))


@pytest.mark.slow
def test_numbers_are_as_short_as_they_can_be(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 0x7F800000, 20_000).astype(np.uint32)
    values = np.concatenate((
        bits.view(np.float32),
        rng.normal(size=20_000).astype(np.float32),
        np.exp2(np.arange(-149, 128)).astype(np.float32),
        np.round(rng.random(5000), 6).astype(np.float32),
        -np.arange(500, dtype=np.float32) / 8,
    ))  # fmt: skip
    fractions = values[(np.abs(values) < 1e15) & (values != np.floor(values))]
    for text, value in zip(value_texts(fractions, tmp_path), fractions, strict=True):
        assert n_digits(text) == n_digits(np.format_float_scientific(value, trim="-")), (text, value)
    value_texts(values, tmp_path)


def test_spelling(tmp_path: Path) -> None:
    values = np.array(
        [0, -0.0, 1, -2, 0.1, 0.25, 1e-3, 123456.79, 2e-9, 1e-10, 16777216, 1e14, 3e38, np.nan], np.float32
    )
    assert value_texts(values, tmp_path) == [
        "0", "-0", "1", "-2", "0.1", "0.25", "0.001", "123456.79", "0.000000002", "1e-10", "16777216",
        "100000000376832", "3e+38", "nan",
    ]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_round_trip(tmp_path: Path, data: st.DataObject) -> None:
    n_rows = data.draw(st.integers(1, 20))
    n_columns = data.draw(st.integers(1, 5))

    def column(values: st.SearchStrategy[object], size: int = n_rows) -> list[object]:
        return data.draw(st.lists(values, min_size=size, max_size=size))

    single = st.one_of(st.floats(width=32, allow_infinity=False), st.sampled_from([0.0, 1.0]))
    text_ids = st.text("abc-é0123456789", min_size=1, max_size=6).map(lambda text: "q" + text)
    given = Dataset(
        np.array(column(single, n_rows * n_columns), np.float32).reshape(n_rows, n_columns),
        column(st.one_of(st.integers(-3, 5), st.floats(allow_nan=False, allow_infinity=False))),
        qid=np.array(column(data.draw(st.sampled_from([st.integers(-9, 9), text_ids])))),
        docid=data.draw(st.one_of(st.none(), st.lists(text_ids, min_size=n_rows, max_size=n_rows))),
    )
    path = tmp_path / f"round{data.draw(st.sampled_from(['.txt', '.txt.gz', '.txt.xz', '.txt.zst']))}"
    sparse = data.draw(st.booleans())
    write_letor(given, path, sparse=sparse)
    back = read_letor(path, n_features=n_columns)
    # An omitted zero loses its sign.
    expected = np.where(given.features == 0, np.float32(0), given.features) if sparse else given.features
    assert same_bits(np.array(back.features), np.array(expected))
    np.testing.assert_array_equal(back.labels, given.labels)
    np.testing.assert_array_equal(back.qids, given.qids)
    np.testing.assert_array_equal(back.indptr, given.indptr)
    assert back.qids.dtype.kind == given.qids.dtype.kind
    if given.docid is None:
        assert back.docid is None
    else:
        np.testing.assert_array_equal(back.docid, given.docid)


def test_batches_and_threads_give_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    data = Dataset(rng.normal(size=(101, 7)), rng.integers(0, 5, 101), qid=rng.integers(0, 9, 101))
    write_letor(data, tmp_path / "whole.txt", n_threads=1)
    monkeypatch.setattr(letor_writing, "_BATCH_BYTES", 2000)
    for n_threads in (1, 2, 5):
        write_letor(data, tmp_path / "parts.txt", n_threads=n_threads)
        assert (tmp_path / "parts.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()


def test_document_ids_of_some_rows(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    write_letor(Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1], docid=["", "b"]), path)
    assert path.read_text() == "0 qid:1 1:1\n1 qid:1 1:2 #docid = b\n"


@pytest.mark.parametrize(
    ("qid", "docid", "complaint"),
    [
        ("a b", "d", "query id 'a b'"),
        ("a#", "d", "query id 'a#'"),
        ("", "d", "query id ''"),
        ("a", "d\te", "document id 'd\te'"),
    ],
)
def test_ids_that_cannot_be_written(tmp_path: Path, qid: str, docid: str, complaint: str) -> None:
    with pytest.raises(DataError, match=f"the {complaint} cannot be written"):
        write_letor(Dataset([[1.0]], [0], qid=[qid], docid=[docid]), tmp_path / "bad.txt")
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.txt.gz"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(letor_writing, "_write_batch", fail)
    with pytest.raises(KeyboardInterrupt):
        write_letor(Dataset([[1.0]], [0], qid=[1]), path)
    assert [p.name for p in tmp_path.iterdir()] == ["data.txt.gz"]
    assert path.read_bytes() == b"old"


def test_no_folder_to_write_in(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no folder"):
        write_letor(Dataset([[1.0]], [0], qid=[1]), tmp_path / "absent" / "data.txt")


def test_compressed_by_ending_and_reproducibly(tmp_path: Path) -> None:
    data = Dataset([[1.0]], [0], qid=[1])
    write_letor(data, tmp_path / "a.txt.gz")
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()) == b"0 qid:1 1:1\n"
    write_letor(data, tmp_path / "b.txt.gz")
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()


def test_the_file_is_named_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, path = Dataset([[1.0]], [0], qid=[1]), tmp_path / "data.txt"
    with pytest.raises(DataError, match="is a folder"):
        write_letor(data, tmp_path)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "some.part")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(DataError, match=f"^{path} cannot be written: Permission denied.$"):
        write_letor(data, path)


def test_ids_of_mixed_kinds(tmp_path: Path) -> None:
    path = tmp_path / "mixed.TXT.GZ"
    ids = np.array([2**70, "a", b"b"], dtype=object)
    write_letor(Dataset([[1.0]] * 3, [0, 0, 0], qid=ids, docid=ids), path)
    expected = b"".join(b"0 qid:%s 1:1 #docid = %s\n" % (text, text) for text in (b"%d" % 2**70, b"a", b"b"))
    assert gzip.decompress(path.read_bytes()) == expected
    assert read_letor(path).qids.tolist() == [str(2**70), "a", "b"]
