"""Model files: the same content gives the same bytes, and a damaged file a clear error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swaprank.errors import DataError, ModelFileError
from swaprank.model_files import container
from swaprank.model_files.container import FIRST_ARRAY, FORMAT_VERSION, HEAD, MAGIC, read_model, write_model
from swaprank.model_files.plain_json import to_json

META = {"metric": "ndcg@10", "rate": 0.1, "best": float("inf"), "names": ["ä", "b"]}
ARRAYS = {
    "weight": np.array([[1.5, -0.0], [np.nan, np.inf]]),
    "feature": np.array([1, 2, 3], np.int32),
    "empty": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False, True]),
    "scalar": np.array(7),
}


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("models") / "model.swaprank"
    write_model(path, "test", META, ARRAYS)
    return path.read_bytes()


@pytest.fixture(scope="module")
def reading(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], container.ModelContent]:
    path = tmp_path_factory.mktemp("read") / "some.swaprank"

    def read(data: bytes) -> container.ModelContent:
        path.write_bytes(data)
        return read_model(path)

    return read


Reading = Callable[[bytes], container.ModelContent]


def packed(header: bytes, data: bytes = b"", version: int = FORMAT_VERSION, header_bytes: int | None = None) -> bytes:
    """A file with a correct checksum and length, whatever its content."""
    data += bytes(-len(data) % 64)
    start, n_bytes = FIRST_ARRAY + len(data), len(header) if header_bytes is None else header_bytes
    head = HEAD.pack(MAGIC, version, start + len(header), start, n_bytes, hashlib.sha256(header).digest())
    return head + bytes(FIRST_ARRAY - len(head)) + data + header


def described(name: str = "a", dtype: Any = "float64", shape: Any = (1,), start: int = FIRST_ARRAY) -> dict[str, Any]:
    digest = hashlib.sha256(bytes(8)).hexdigest()
    return {"name": name, "dtype": dtype, "shape": shape, "start": start, "sha256": digest}


def with_arrays(*arrays: Any, data: bytes = bytes(8)) -> bytes:
    return packed(to_json({"kind": "test", "meta": {}, "arrays": arrays}), data)


def test_content_comes_back(content: bytes, reading: Reading) -> None:
    found = reading(content)
    assert found.kind == "test"
    assert found.meta == META
    assert set(found.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].flags.writeable
        np.testing.assert_array_equal(found.arrays[name], array, strict=True)
    assert np.signbit(found.arrays["weight"][0, 1])


def test_the_same_content_gives_the_same_bytes(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "again.swaprank"
    arrays = {name: ARRAYS[name].copy(order="F") for name in reversed(ARRAYS)}
    arrays["feature"] = arrays["feature"].astype(">i4")
    write_model(path, "test", dict(reversed(META.items())), arrays)
    assert path.read_bytes() == content


@pytest.mark.slow
@settings(max_examples=300)
@given(data=st.data())
def test_any_flipped_byte_is_found(content: bytes, reading: Reading, data: st.DataObject) -> None:
    damaged = bytearray(content)
    for at in data.draw(st.sets(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        damaged[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ModelFileError, match=r"some.swaprank: "):
        reading(bytes(damaged))


def test_any_truncated_file_is_found(content: bytes, reading: Reading) -> None:
    for length in range(1, len(content)):
        with pytest.raises(ModelFileError, match=r"some.swaprank: it is truncated"):
            reading(content[:length])
    with pytest.raises(ModelFileError, match="should end after"):
        reading(content + b"x")


@given(data=st.binary(max_size=200))
def test_other_files_are_not_models(reading: Reading, data: bytes) -> None:
    with pytest.raises(ModelFileError, match=r"some.swaprank: "):
        reading(data)


@pytest.mark.slow
@settings(max_examples=300)
@given(header=st.binary(max_size=80), data=st.binary(max_size=40), header_bytes=st.none() | st.integers(0, 2**64 - 1))
def test_invalid_content_with_a_correct_checksum_is_found(
    reading: Reading, header: bytes, data: bytes, header_bytes: int | None
) -> None:
    with pytest.raises(ModelFileError, match="its header is not valid"):
        reading(packed(header, data, header_bytes=header_bytes))


def test_a_newer_format_is_named(reading: Reading) -> None:
    with pytest.raises(ModelFileError, match="written by a newer swaprank: it has format 4, and this version reads 3"):
        reading(packed(b"whatever comes", version=4))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a swaprank model"),
        (packed(b"{}", version=0), "it has format 0, and this version of swaprank reads 3"),
        (packed(b"{}", header_bytes=2**63), "place or size is out of range"),
        (packed(b"{}"), "expected kind, meta and arrays"),
        (packed(b'{"kind":"a","meta":{},"arrays":[],"more":1}'), "expected kind, meta and arrays"),
        (packed(b'{"kind":"a","meta":{"x":NaN},"arrays":[]}'), "NaN is not JSON"),
        (packed(b"[" * 50_000), "nested too deeply|is not valid"),  # from Python 3.14 on, the end is missing
        (with_arrays("a"), "name, dtype, shape, start and sha256"),
        (with_arrays({"name": "a"}), "name, dtype, shape, start and sha256"),
        (with_arrays(described(dtype="object")), "'object'"),
        (with_arrays(described(dtype="O")), "'O'"),
        (with_arrays(described(dtype="complex128")), "'complex128'"),
        (with_arrays(described(), described(start=192), data=bytes(72)), "appears twice"),
        (with_arrays(described(shape=[-1])), "invalid shape"),
        (with_arrays(described(shape=[1.0])), "invalid shape"),
        (with_arrays(described(shape=[True])), "invalid shape"),
        (with_arrays(described(shape=[1] * 100)), "invalid shape"),
        (with_arrays(described(shape=[0, 2**62, 2**62]), data=b""), "invalid shape"),
        (with_arrays(described(shape=[0, 10**30]), data=b""), "invalid shape"),
        (with_arrays(described(shape=[2**60])), "does not lie within the file"),
        (with_arrays(described(shape=[2**32, 2**32])), "does not lie within the file"),
        (with_arrays(described(shape=[9])), "does not lie within the file"),
        (with_arrays(described(start=0)), "does not lie within the file"),
        (with_arrays(described(start=192), data=bytes(72)), "after the one before it"),
        (with_arrays(data=bytes(8)), "its header starts at 192"),
        (with_arrays(described(shape=[2])), "the checksum of its a does not match"),
        (with_arrays(described(), data=bytes(8) + b"x"), "there are bytes between its arrays"),
        (with_arrays(described(dtype="bool"), data=b"\2" + bytes(7)), "neither 0 nor 1"),
        (with_arrays(described(), data=bytes(72)), "its arrays end after 136 bytes, but its header starts at 256"),
    ],
)
def test_each_fault_has_its_message(data: bytes, message: str, reading: Reading) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        reading(data)
    assert "some.swaprank: " in str(caught.value)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_model(tmp_path / "none.swaprank")
    with pytest.raises(DataError, match="is a folder"):
        read_model(tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "model.swaprank"
    write_model(path, "test", {}, {})
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="cannot hold a: complex128"):
        write_model(path, "test", {}, {"a": np.zeros(1, complex)})
    with pytest.raises(ModelFileError, match="cannot hold"):
        write_model(path, "test", {"a": object()}, {})
    with pytest.raises(ModelFileError, match=r"name it model\.swaprank"):
        write_model(tmp_path / "model.swaprank.gz", "test", {}, {})
    assert [file.name for file in tmp_path.iterdir()] == ["model.swaprank"]
    assert path.read_bytes() == before
