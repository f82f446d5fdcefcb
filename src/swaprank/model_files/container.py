r"""The format of a model file: a kind, plain values and arrays. It contains no code, and everything is checked.

    "swaprank model\r\n" | version | bytes in the file | bytes in the header     16 + 4 + 8 + 8 bytes, little-endian
    header: JSON with the kind, the parameters, and name, dtype and shape of every array, sorted by name
    the bytes of the arrays, little-endian; each array starts at a multiple of 8
    SHA-256 of everything before

The same content gives the same bytes: there are no dates or paths, and keys are sorted.
"""

import hashlib
import math
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.errors import ModelFileError
from swaprank.files import COMPRESSED, existing_file, replacing, writable_target
from swaprank.model_files.plain_json import from_json, to_json

FORMAT_VERSION = 2
MAGIC = b"swaprank model\r\n"
_SIZES = struct.Struct("<IQQ")
_HEAD_BYTES = len(MAGIC) + _SIZES.size
_DIGEST_BYTES = 32
_ALIGNMENT = 8
_DTYPES = {"bool": "|b1", "int32": "<i4", "int64": "<i8", "uint32": "<u4", "float32": "<f4", "float64": "<f8"}


class ModelContent(NamedTuple):
    """The content of a model file.

    >>> from swaprank.model_files.container import ModelContent
    >>> ModelContent(kind="linear", meta={"sigma": 1.0}, arrays={}).kind
    'linear'
    """

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, AnyArray]
    version: int = FORMAT_VERSION
    """The version of the format that it was written in."""


def check_target(path: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str] | None] = ()) -> None:
    """Raise an error if a model file cannot be written there, or if it is one of the inputs. Call it before training.

    >>> from swaprank.model_files.container import check_target
    >>> check_target("model.swaprank")
    """
    if Path(path).suffix.lower() in COMPRESSED:
        raise ModelFileError(
            f"{path}: model files are not compressed; name it {Path(path).stem} and compress it afterwards."
        )
    writable_target(path, inputs)


def write_model(
    path: str | os.PathLike[str], kind: str, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]
) -> None:
    """Write a model file. If an error occurs, an existing file stays as it is.

    >>> import numpy as np, tempfile
    >>> from swaprank.model_files.container import read_model, write_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/model.swaprank", "linear", {"sigma": 1.0}, {"weight": np.array([0.5, 2.0])})
    ...     read_model(f"{folder}/model.swaprank")
    ModelContent(kind='linear', meta={'sigma': 1.0}, arrays={'weight': array([0.5, 2. ])}, version=2)
    """
    check_target(path)
    described, parts = [], []
    for name in sorted(arrays):
        array = arrays[name]
        if array.dtype.name not in _DTYPES:
            raise ModelFileError(f"a model file cannot hold {name}: {array.dtype} is not one of {', '.join(_DTYPES)}.")
        described.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape)})
        content = np.asarray(array, _DTYPES[array.dtype.name]).tobytes()
        parts.append(content + bytes(-len(content) % _ALIGNMENT))
    header = to_json({"kind": kind, "meta": dict(meta), "arrays": described})
    header += b" " * (-(_HEAD_BYTES + len(header)) % _ALIGNMENT)
    total = _HEAD_BYTES + len(header) + sum(map(len, parts)) + _DIGEST_BYTES
    content = b"".join((MAGIC, _SIZES.pack(FORMAT_VERSION, total, len(header)), header, *parts))
    with replacing(path) as stream:
        stream.write(content)
        stream.write(hashlib.sha256(content).digest())


def read_model(path: str | os.PathLike[str]) -> ModelContent:
    """Read a model file; if it is damaged, raise a ModelFileError that names the file.

    >>> import tempfile
    >>> from swaprank.model_files.container import read_model, write_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(f"{folder}/empty.swaprank", "nothing", {}, {})
    ...     read_model(f"{folder}/empty.swaprank").kind
    'nothing'
    """
    file = existing_file(path)
    try:
        return parse_model(file.read_bytes())
    except ModelFileError as error:
        raise ModelFileError(f"{file}: ", error) from None


def parse_model(data: bytes) -> ModelContent:
    """The content of a model file, given its bytes."""
    version, header_stop = _checked_sizes(data)
    try:
        header = from_json(data[_HEAD_BYTES:header_stop])
    except ValueError as error:
        raise ModelFileError(f"its header is not valid: {error}.") from None
    match header:
        case {"kind": str(kind), "meta": dict(meta), "arrays": list(described)} if len(header) == 3:
            return ModelContent(kind, meta, _arrays(described, data[header_stop:-_DIGEST_BYTES]), version)
    raise ModelFileError("its header is not valid: expected kind, meta and arrays.")


def _checked_sizes(data: bytes) -> tuple[int, int]:
    """Check magic, version, length and checksum; return the format version and the end of the header."""
    if not data or data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise ModelFileError("this is not a swaprank model.")
    if len(data) < _HEAD_BYTES + _DIGEST_BYTES:
        raise ModelFileError(f"it is truncated: it has only {len(data)} bytes.")
    version, total, header_bytes = _SIZES.unpack_from(data, len(MAGIC))
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"it was written by a newer swaprank: it has format {version}, and this version reads up to "
            f"{FORMAT_VERSION}; update swaprank."
        )
    if len(data) < total:
        raise ModelFileError(f"it is truncated: it has {len(data):,} of {total:,} bytes.")
    if len(data) > total:
        raise ModelFileError(f"it is damaged: it should end after {total:,} bytes, but has {len(data):,}.")
    if hashlib.sha256(data[:-_DIGEST_BYTES]).digest() != data[-_DIGEST_BYTES:]:
        raise ModelFileError("it is damaged: its checksum does not match.")
    if version < 1 or header_bytes > len(data) - _HEAD_BYTES - _DIGEST_BYTES:
        raise ModelFileError("its header is not valid: version or size is out of range.")
    return int(version), int(_HEAD_BYTES + header_bytes)


def _arrays(described: list[Any], data: bytes) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = {}
    start = 0
    for description in described:
        match description:
            case {"name": str(name), "dtype": str(dtype), "shape": list(shape)} if len(description) == 3:
                pass
            case _:
                raise ModelFileError("its header is not valid: an array needs name, dtype and shape.")
        if name in arrays or dtype not in _DTYPES:
            raise ModelFileError(f"its array {name!r} appears twice or is {dtype!r}, not one of {', '.join(_DTYPES)}.")
        if len(shape) > 4 or not all(type(side) is int and side >= 0 for side in shape):
            raise ModelFileError(f"its array {name!r} has an invalid shape.")
        size = math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize
        if size > len(data) - start:
            raise ModelFileError(f"its array {name!r} is larger than the file.")
        arrays[name] = _array(name, dtype, shape, data[start : start + size])
        start += size + -size % _ALIGNMENT
    if start != len(data):
        raise ModelFileError(f"its arrays take {start:,} bytes, but {len(data):,} follow the header.")
    return arrays


def _array(name: str, dtype: str, shape: list[int], data: bytes) -> AnyArray:
    if dtype == "bool" and data.strip(b"\0\1"):
        raise ModelFileError(f"its array {name!r} has boolean values that are neither 0 nor 1.")
    try:
        # A copy: an array over bytes is read-only, for which every kernel would be compiled once more.
        return np.frombuffer(data, _DTYPES[dtype]).astype(dtype).reshape(shape)
    except (ValueError, OverflowError):
        # If one side is 0, the size does not limit the others.
        raise ModelFileError(f"its array {name!r} has an invalid shape.") from None
