r"""The format of model files and of files of bins: a kind, plain values and arrays. It contains no code.

    magic | version | bytes in the file | start and bytes of the header | SHA-256 of the header        little-endian
    the arrays, little-endian; each starts at a multiple of 64
    header: JSON with the kind, the values, and name, dtype, shape, start and SHA-256 of every array

The header comes last, because its digests are known last. It is checked whenever a file is read, and so are all numbers
that are used as sizes or positions: a damaged file gives an error and never a crash. A model file is read as a whole,
with all digests. A file of bins is memory-mapped, and the digests of its arrays are checked on demand.

The same content gives the same bytes: there are no dates or paths, and keys are sorted.
"""

import hashlib
import io
import math
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, final

import numpy as np

from swaprank.arrays import AnyArray, Bytes
from swaprank.errors import ModelFileError, SwaprankError
from swaprank.files import COMPRESSED, existing_file, replacing, writable_target
from swaprank.model_files.plain_json import from_json, to_json

FORMAT_VERSION = 3
MAGIC = b"swaprank model\r\n"
HEAD = struct.Struct("<16sIQQQ32s")
FIRST_ARRAY = 128
_ALIGNMENT = 64
_DTYPES = {
    "bool": "|b1", "uint8": "|u1", "int32": "<i4", "int64": "<i8", "uint32": "<u4", "float32": "<f4", "float64": "<f8",
}  # fmt: skip


class FileKind(NamedTuple):
    """A kind of file: its first 16 bytes, its name in error messages, and their class."""

    magic: bytes
    name: str
    error: type[SwaprankError]


MODEL = FileKind(MAGIC, "a swaprank model", ModelFileError)


class ModelContent(NamedTuple):
    """The content of a model file.

    >>> from swaprank.model_files.container import ModelContent
    >>> ModelContent(kind="linear", meta={"sigma": 1.0}, arrays={}).kind
    'linear'
    """

    kind: str
    meta: dict[str, Any]
    arrays: dict[str, AnyArray]


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
    ModelContent(kind='linear', meta={'sigma': 1.0}, arrays={'weight': array([0.5, 2. ])})
    """
    check_target(path)
    content = io.BytesIO()
    writer = ContainerWriter(content, MODEL)
    for name in sorted(arrays):
        writer.add(name, arrays[name])
    writer.finish(kind, meta)
    with replacing(path) as stream:
        stream.write(content.getbuffer())


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
    content = parse(np.frombuffer(data, np.uint8), MODEL, check=True)
    # A copy: an array over bytes is read-only, for which every kernel would be compiled once more.
    return content._replace(arrays={name: array.astype(array.dtype.name) for name, array in content.arrays.items()})


@final
class ContainerWriter:
    """A file that is being written: arrays first, which may be filled in place, and the header last."""

    def __init__(self, stream: IO[bytes], kind: FileKind) -> None:
        self._stream, self._kind, self._end = stream, kind, FIRST_ARRAY
        self._placed: dict[str, tuple[int, AnyArray]] = {}
        self._mapped: list[np.memmap[Any, Any]] = []

    def allocate(self, name: str, shape: tuple[int, ...], dtype: Any) -> AnyArray:
        """A new array of zeros in the file, to be filled."""
        start, array = self._end, np.zeros(shape, dtype) if 0 in shape else None
        self._end = _next_start(start, math.prod(shape) * np.dtype(dtype).itemsize)
        if array is None:
            _reserve(self._stream, self._end)
            mapped = np.memmap(self._stream, dtype, "r+", start, shape)
            self._mapped.append(mapped)
            array = mapped.view(np.ndarray)
        self._placed[name] = start, array
        return array

    def add(self, name: str, array: AnyArray) -> None:
        """Write an array that is there already."""
        if array.dtype.name not in _DTYPES:
            raise self._kind.error(
                f"{self._kind.name} cannot hold {name}: {array.dtype} is not one of {', '.join(_DTYPES)}."
            )
        content = np.asarray(array, _DTYPES[array.dtype.name], order="C")
        self._stream.seek(self._end)
        self._stream.write(content.reshape(-1).data)
        self._placed[name] = self._end, content
        self._end = _next_start(self._end, content.nbytes)

    def finish(self, kind: str, meta: Mapping[str, Any]) -> None:
        """Write the header."""
        described = [
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "start": start,
                "sha256": _digest(array),
            }
            for name, (start, array) in self._placed.items()
        ]
        text = to_json({"kind": kind, "meta": dict(meta), "arrays": described})
        for mapped in self._mapped:
            mapped.flush()
        self._stream.seek(self._end)
        self._stream.write(text)
        self._stream.seek(0)
        total, digest = self._end + len(text), hashlib.sha256(text).digest()
        self._stream.write(HEAD.pack(self._kind.magic, FORMAT_VERSION, total, self._end, len(text), digest))


def parse(data: Bytes, kind: FileKind, *, check: bool) -> ModelContent:
    """The content of a file, given its bytes, of which the arrays are views.

    Args:
        data: All bytes, in memory or mapped.
        kind: What the file should be.
        check: Compare the digests of the arrays; then no changed byte remains unnoticed.
    """
    start = _header_start(data, kind)
    try:
        header = from_json(data[start:].tobytes())
    except ValueError as error:
        raise kind.error(f"its header is not valid: {error}.") from None
    match header:
        case {"kind": str(name), "meta": dict(meta), "arrays": list(described)} if len(header) == 3:
            return ModelContent(name, meta, _arrays(described, data[:start], kind, check=check))
    raise kind.error("its header is not valid: expected kind, meta and arrays.")


def _header_start(data: Bytes, kind: FileKind) -> int:
    """Check magic, version, length and the checksum of the header."""
    head = data[: HEAD.size].tobytes()
    if not head or head[: len(kind.magic)] != kind.magic[: len(head)]:
        raise kind.error(f"this is not {kind.name}.")
    if len(head) < HEAD.size:
        raise kind.error(f"it is truncated: it has only {len(head)} bytes.")
    _, version, total, start, n_bytes, digest = HEAD.unpack(head)
    if version > FORMAT_VERSION:
        raise kind.error(
            f"it was written by a newer swaprank: it has format {version}, and this version reads {FORMAT_VERSION}; "
            "update swaprank."
        )
    if version < FORMAT_VERSION:
        raise kind.error(
            f"it has format {version}, and this version of swaprank reads {FORMAT_VERSION}: make it again."
        )
    if len(data) < total:
        raise kind.error(f"it is truncated: it has {len(data):,} of {total:,} bytes.")
    if len(data) > total:
        raise kind.error(f"it is damaged: it should end after {total:,} bytes, but has {len(data):,}.")
    if start < FIRST_ARRAY or start + n_bytes != total:
        raise kind.error("its header is not valid: its place or size is out of range.")
    if hashlib.sha256(data[start:].data).digest() != digest:
        raise kind.error("it is damaged: the checksum of its header does not match.")
    return int(start)


def _arrays(described: list[Any], data: Bytes, kind: FileKind, *, check: bool) -> dict[str, AnyArray]:
    arrays: dict[str, AnyArray] = {}
    end, padding = HEAD.size, [data[HEAD.size : FIRST_ARRAY]]
    for each in described:
        match each:
            case {"name": str(name), "dtype": str(dtype), "shape": list(shape), "start": int(start), "sha256": str()}:
                pass
            case _:
                raise kind.error("its header is not valid: an array needs name, dtype, shape, start and sha256.")
        if name in arrays or dtype not in _DTYPES:
            raise kind.error(f"its array {name!r} appears twice or is {dtype!r}, not one of {', '.join(_DTYPES)}.")
        if len(shape) > 4 or not all(type(side) is int and side >= 0 for side in shape):
            raise kind.error(f"its array {name!r} has an invalid shape.")
        size = math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize
        if start != _next_start(end, 0) or start + size > len(data):
            raise kind.error(f"its array {name!r} does not lie within the file, after the one before it.")
        end = start + size
        padding.append(data[end : _next_start(end, 0)])
        arrays[name] = _view(data[start:end], name, dtype, shape, kind)
        if check and _digest(arrays[name]) != each["sha256"]:
            raise kind.error(f"it is damaged: the checksum of its {name} does not match.")
    if _next_start(end, 0) != len(data):
        raise kind.error(f"its arrays end after {end:,} bytes, but its header starts at {len(data):,}.")
    if check and any(each.any() for each in padding):
        raise kind.error("it is damaged: there are bytes between its arrays.")
    return arrays


def _view(data: Bytes, name: str, dtype: str, shape: list[int], kind: FileKind) -> AnyArray:
    if dtype == "bool" and (data > 1).any():
        raise kind.error(f"its array {name!r} has boolean values that are neither 0 nor 1.")
    try:
        return data.view(_DTYPES[dtype]).reshape(shape)
    except (ValueError, OverflowError):
        # If one side is 0, the size does not limit the others.
        raise kind.error(f"its array {name!r} has an invalid shape.") from None


def _next_start(start: int, size: int) -> int:
    """The first multiple of the alignment after an array."""
    return max(FIRST_ARRAY, start + size + -(start + size) % _ALIGNMENT)


def _digest(array: AnyArray) -> str:
    return hashlib.sha256(array.reshape(-1).data).hexdigest()


def _reserve(stream: IO[bytes], size: int) -> None:
    """Make a file as long as this; on a full disk, an error now instead of a crash when its pages are written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), 0, size)
    else:
        stream.truncate(size)
