"""Each bad file gets one clear error that names the file, the line, what was found and what was expected."""

from __future__ import annotations

import gzip
import lzma
import os
import threading
from pathlib import Path

import pytest
import zstandard

from swaprank.errors import DataError
from swaprank.reading import letor_block
from swaprank.reading.letor import read_letor
from swaprank.reading.read import read

GOOD = "1 qid:1 1:0.5 2:3\n"


def error_of(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_letor(path, **options)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("x qid:1 1:1", "expected a finite number as the label, found 'x'"),
        ("nan qid:1 1:1", "expected a finite number as the label, found 'nan'"),
        ("1e999 qid:1 1:1", "expected a finite number as the label, found '1e999'"),
        ("1:2 qid:1 1:1", "expected a finite number as the label, found '1:2'"),
        ("1 12:0.4", "expected 'qid:<id>' after the label, found '12:0.4'"),
        ("1", "expected 'qid:<id>' after the label, found the end of the line"),
        ("1 qid: 1:1", "expected 'qid:<id>' after the label, found 'qid:'"),
        ("1 qid:1 1:", "expected a number after '1:', found nothing"),
        ("1 qid:1 1: 5", "expected a number after '1:', found nothing"),
        ("1 qid:1 1:0.5x 2:3", "expected a number after '1:', found '0.5x'"),
        ("1 qid:1 1:1.2.3", "expected a number after '1:', found '1.2.3'"),
        ("1 qid:1 1:-", "expected a number after '1:', found '-'"),
        ("1 qid:1 1:1e", "expected a number after '1:', found '1e'"),
        ("1 qid:1 1:1_0", "expected a number after '1:', found '1_0'"),
        ("1 qid:1 1:0x10", "expected a number after '1:', found '0x10'"),
        ("1 qid:1 1:inf", "feature 1 is 'inf'; a value must be finite, or nan if it is missing"),
        ("1 qid:1 1:-Infinity", "feature 1 is '-Infinity'; a value must be finite, or nan if it is missing"),
        ("1 qid:1 a:1", "expected '<feature number>:<value>', found 'a:1'"),
        ("1 qid:1 -3:1", "expected '<feature number>:<value>', found '-3:1'"),
        ("1 qid:1 1.5:1", "expected '<feature number>:<value>', found '1.5:1'"),
        ("1 qid:1 :1", "expected '<feature number>:<value>', found ':1'"),
        ("1 qid:1 7", "expected '<feature number>:<value>', found '7'"),
        ("1 qid:1 1:1 qid:2", "expected '<feature number>:<value>', found 'qid:2'"),
        (
            "1 qid:1 99999999999999999999999:1",
            "feature number 99999999999999999999999 is larger than the limit, 10,000,000",
        ),
        ("1 qid:1 1:1 2:2 1:3", "feature 1 is given twice"),
        ("1 qid:1 2:1 1:2 2:3", "feature 2 is given twice"),
        ("1 qid:1 9:1 9:1", "feature 9 is given twice"),
        ("1 qid:1 1:1\x002", "expected text, found a NUL byte"),
    ],
)
@pytest.mark.parametrize("after", [GOOD * 5, "bad again\n" + GOOD, ""])
def test_bad_line_is_named(tmp_path: Path, line: str, complaint: str, after: str) -> None:
    path = tmp_path / "train.txt"
    # Enough text before the NUL byte that it is not found in the head of the file.
    path.write_text("# header\n\n" + GOOD * 300 + line + "\n" + after)
    assert error_of(path).startswith(f"{path}, line 303: {complaint}")


def test_first_bad_line_is_named_whatever_the_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letor_block, "_LEAST_CHUNK", 1)
    lines = [GOOD] * 40
    lines[11], lines[12], lines[35] = "1 qid:1 3:q\n", "1 qid:1 8:1 8:2\n", "oops\n"
    path = tmp_path / "train.txt"
    path.write_text("".join(lines))
    for n_threads in (1, 2, 5, 40):
        assert "line 12: expected a number after '3:', found 'q'" in error_of(path, n_threads=n_threads)


def test_bad_line_in_a_later_block_of_a_compressed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swaprank.reading.text_files._BLOCK_BYTES", 100)
    monkeypatch.setattr("swaprank.reading.text_files._PACKED_BYTES", 20)
    path = tmp_path / "train.txt.gz"
    lines = [f"1 qid:{k} 1:{k * 7919 % 1000} 2:3\n" for k in range(3000)]
    lines[2500] = "1 qid:1 1:?\n"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    assert "line 2501: expected a number after '1:', found '?'" in error_of(path)


def test_feature_zero_in_a_later_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("swaprank.reading.text_files._BLOCK_BYTES", 50)
    monkeypatch.setattr("swaprank.reading.text_files._PACKED_BYTES", 20)
    path = tmp_path / "train.txt.gz"
    lines = [f"1 qid:{k} 1:{k * 7919 % 1000} #docid = {k}\n" for k in range(500)]
    lines[400] = "1 qid:400 0:5 2:1\n"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    data = read_letor(path, n_features=3, absent=-1)
    assert data.feature_names == ("0", "1", "2")
    assert data.features[[399, 400]].tolist() == [[-1, 399 * 7919 % 1000, -1], [5, -1, 1]]
    assert read_letor(path).features.shape == (500, 3)
    assert data.docid is not None
    assert data.docid[399:402].tolist() == ["399", "", "401"]
    assert "line 401: found feature 2, but n_features is 2" in error_of(path, n_features=2)


def test_wrong_width_and_base(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(GOOD + "1 qid:1 3:1\n")
    assert "line 2: found feature 3, but n_features is 2" in error_of(path, n_features=2)
    assert "n_features must be 1 to" in error_of(path, n_features=0)
    assert "absent must be finite" in error_of(path, absent=float("inf"))
    path.write_text(GOOD + "1 qid:1 0:1\n")
    assert "line 2: found feature 0, but with zero_based=False" in error_of(path, zero_based=False)
    assert "line 1: found feature 2, but n_features is 2" in error_of(path, n_features=2)


def test_absurd_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 qid:1 9999999:1\n" * 30_000)
    assert "more memory than there is; 9,999,999 is the largest feature number" in error_of(path)


def test_long_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(GOOD + f"1 qid:{'x' * 5000} 1:1\n")
    assert "line 2: an id of more than 4,096 bytes" in error_of(path)


@pytest.mark.parametrize("content", ["\n \n\r\n", "# only\n# comments", "\ufeff"])
def test_no_documents(tmp_path: Path, content: str) -> None:
    path = tmp_path / "train.txt"
    path.write_text(content)
    assert "has no documents" in error_of(path)


def test_no_features(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("1 qid:1\n")
    assert "has no features" in error_of(path)


def test_missing_folder_and_empty(tmp_path: Path) -> None:
    assert "there is no file" in error_of(tmp_path / "absent.txt")
    assert "is a folder" in error_of(tmp_path)
    (tmp_path / "empty.txt").touch()
    assert "is empty" in error_of(tmp_path / "empty.txt")
    (tmp_path / "empty.txt.gz").touch()
    assert "is empty" in error_of(tmp_path / "empty.txt.gz")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (gzip.compress(GOOD.encode(), mtime=0), "is gzip-compressed: rename it to end in .gz"),
        (lzma.compress(GOOD.encode()), "is xz-compressed: rename it to end in .xz"),
        (zstandard.compress(GOOD.encode()), "is zstd-compressed: rename it to end in .zst"),
        (b"PAR1\x15\x04", "is a Parquet file: rename it to end in .parquet"),
        (b"1 qid:1 1:\x00\x01", "is binary, not text"),
        (GOOD.encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
    ],
)
def test_binary_files(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(content)
    assert complaint in error_of(path)


def pack(suffix: str, text: bytes) -> bytes:
    if suffix == ".gz":
        return gzip.compress(text)
    return lzma.compress(text) if suffix == ".xz" else zstandard.compress(text)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_damaged_compressed_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train.txt{suffix}"
    text = "".join(f"1 qid:{k} 1:{k * 7919 % 1000}\n" for k in range(20_000)).encode()
    whole = pack(suffix, text)
    for cut in (3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert "is truncated" in error_of(path), cut
    path.write_bytes(b"1 qid:1 1:1\n" * 50)
    assert "is damaged, or not" in error_of(path)
    path.write_bytes(whole + b"rubbish, and more of it")
    assert "is damaged, or not" in error_of(path)
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 64]) + whole[middle + 64 :])
    with pytest.raises(DataError):
        read_letor(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_several_streams_in_one_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train.txt{suffix}"
    path.write_bytes(b"".join(pack(suffix, part) for part in (b"1 qid:1 1:1\n0 q", b"", b"id:1 2:2\n2 qid:3 1", b":5")))
    data = read(path)
    assert (data.labels.tolist(), data.features.tolist()) == ([1, 0, 2], [[1, 0], [0, 2], [5, 0]])


@pytest.mark.parametrize(
    ("sizes", "complaint"),
    [("2\n2\n", "sum to 4, but"), ("2\nx\n", "line 2: expected the size of a group, found 'x'"), ("3\n-1\n1", "'-1'")],
)
def test_bad_group_sizes(tmp_path: Path, sizes: str, complaint: str) -> None:
    path = tmp_path / "rank.train"
    path.write_text("0 1:1\n1 2:1\n0 1:1\n")
    (tmp_path / "rank.train.query").write_text(sizes)
    assert complaint in error_of(path)


@pytest.mark.parametrize("line", [b"1 qid:caf\xe9 1:1", b"1 qid:1 1:1 #docid = caf\xe9"])
def test_ids_that_are_not_utf8(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "train.txt"
    path.write_bytes(GOOD.encode() + b"# \xe9 in a comment\n" + line + b"\n")
    assert "line 3: the id 'caf\\xe9' is not UTF-8" in error_of(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_zeros_between_and_after_streams(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train.txt{suffix}"
    packed = [pack(suffix, part) for part in (b"1 qid:1 1:1\n", b"0 qid:1 1:2\n")]
    path.write_bytes(packed[0] + bytes(40_000) + packed[1] + bytes(20_000))
    assert read(path).features.tolist() == [[1], [2]]


@pytest.mark.parametrize("name", ["pipe", "pipe.txt", "pipe.gz"])
def test_pipes(tmp_path: Path, name: str) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    text = b"1 qid:1 1:1\n0 qid:1 0:2\n"
    writer = threading.Thread(target=lambda: pipe.write_bytes(gzip.compress(text) if name.endswith("gz") else text))
    writer.start()
    data = read(pipe)
    writer.join()
    assert data.features.tolist() == [[0, 1], [2, 0]]


def test_a_panic_of_polars_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some damaged Parquet files make Polars panic, which is not an Exception."""
    polars = pytest.importorskip("polars")

    class PanicException(BaseException):
        pass

    def panic(source: bytes) -> None:
        raise PanicException("assertion failed")

    def interrupt(source: bytes) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "data.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr(polars, "read_parquet", panic)
    with pytest.raises(DataError, match="cannot be read: it is damaged"):
        read(path)
    monkeypatch.setattr(polars, "read_parquet", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read(path)
