r"""The format of a file of bins: a binned data set that is memory-mapped, so that it is there at once.

    "swaprank bins\r\n\0" | version | bytes in the file | start and bytes of the header | SHA-256 of the header
    the arrays, little-endian; each starts at a multiple of 64
    header: JSON with the names of features, their categories, and name, dtype, shape, start and SHA-256 of every array

The header comes last, because its digests are known last. It is checked whenever a file is opened, and so are all
numbers that are used as sizes or positions: a damaged file gives an error and never a crash. The digests of the arrays
are checked on demand, because this takes as long as reading the whole file.

A file is only ever replaced as a whole (files.py), which does not change what others have mapped. Truncating it in
place, as `truncate` does, would end the processes that have mapped it.
"""

import hashlib
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, final

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.binned_features import BinnedFeatures
from swaprank.data.bins_checks import checked_dataset
from swaprank.data.dataset import Dataset
from swaprank.data.ids import id_text
from swaprank.errors import DataError
from swaprank.files import COMPRESSED, existing_file, replacing, written_directly

FORMAT_VERSION = 1
MAGIC = b"swaprank bins\r\n\0"
HEAD = struct.Struct("<16sIQQQ32s")
_FIRST_ARRAY = 128
_ALIGNMENT = 64
_DTYPES = {"uint8": "|u1", "int64": "<i8", "float32": "<f4", "float64": "<f8"}


@final
class BinsWriter:
    """A file of bins that is being written: arrays are filled in place, and the header comes last."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._end = stream, _FIRST_ARRAY
        self._placed: dict[str, tuple[int, AnyArray]] = {}
        self._mapped: list[np.memmap[Any, Any]] = []

    def room(self, name: str, shape: tuple[int, ...], dtype: Any) -> AnyArray:
        """A new array of zeros in the file, to be filled."""
        start, size = self._end, math.prod(shape) * np.dtype(dtype).itemsize
        self._end += size + -size % _ALIGNMENT
        array: AnyArray = np.zeros(shape, dtype)
        if size:
            _reserve(self._stream, self._end)
            mapped = np.memmap(self._stream, dtype, "r+", start, shape)
            self._mapped.append(mapped)
            array = mapped.view(np.ndarray)
        self._placed[name] = start, array
        return array

    def add(self, name: str, array: AnyArray) -> None:
        """An array that is there already."""
        self.room(name, array.shape, array.dtype)[...] = array

    def finish(self, data: Dataset) -> None:
        """Write what the data set has besides its blocks and codes, and the header."""
        bins = _bins_of(data)
        for name, array in _small_arrays(data, bins).items():
            self.add(name, array)
        described = [
            {
                "name": name,
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "start": start,
                "sha256": hashlib.sha256(array.reshape(-1).data).hexdigest(),
            }
            for name, (start, array) in self._placed.items()
        ]
        header = {
            "feature_names": list(data.feature_names),
            "categories": {name: list(texts) for name, texts in data.categories.items()},
            "max_bins": bins.cuts.max_bins,
            "arrays": described,
        }
        text = json.dumps(header, separators=(",", ":")).encode("ascii")
        for mapped in self._mapped:
            mapped.flush()
        self._stream.seek(self._end)
        self._stream.write(text)
        self._stream.seek(0)
        total, digest = self._end + len(text), hashlib.sha256(text).digest()
        self._stream.write(HEAD.pack(MAGIC, FORMAT_VERSION, total, self._end, len(text), digest))


@contextmanager
def bins_writer(path: str | os.PathLike[str]) -> Iterator[BinsWriter]:
    """A new file of bins, which appears when it is complete."""
    if written_directly(path) or Path(path).suffix.lower() in COMPRESSED:
        raise DataError(f"{path}: bins are written to a file, which is not compressed, because it is memory-mapped.")
    with replacing(path) as stream:
        yield BinsWriter(stream)


def write_bins(data: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a binned data set."""
    bins = _bins_of(data)
    with bins_writer(path) as writer:
        writer.add("blocks", bins.blocks)
        writer.add("codes", bins.codes)
        writer.finish(data)


def read_bins(path: str | os.PathLike[str], *, check: bool = False) -> Dataset:
    """Open a file of bins; raises DataError if it is damaged.

    Args:
        path: The file.
        check: Read all of it and compare the digests of its arrays.
    """
    file = existing_file(path)
    try:
        header = _header(file)
        arrays = {each["name"]: _mapped(file, each) for each in _described(header, file.stat().st_size)}
        if check:
            _check_digests(header, arrays)
        data = checked_dataset(header, arrays)
    except DataError as error:
        raise DataError(f"{file}: ", error) from None
    return data


def _bins_of(data: Dataset) -> BinnedFeatures:
    if not isinstance(data.stored, BinnedFeatures):
        raise DataError("the data set is not binned: call binned() first, as in data.binned().save_bins(path).")
    return data.stored


def _reserve(stream: IO[bytes], size: int) -> None:
    """Make a file as long as this; on a full disk, an error now instead of a crash when its pages are written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(stream.fileno(), 0, size)
    else:
        stream.truncate(size)


def _small_arrays(data: Dataset, bins: BinnedFeatures) -> dict[str, AnyArray]:
    found: dict[str, AnyArray | None] = {
        "cuts": bins.cuts.values,
        "n_bins": bins.cuts.n_bins,
        "has_missing": bins.has_missing,
        "labels": data.labels,
        "indptr": data.indptr,
        "order": data.order,
        "sample_weight": data.sample_weight,
        "base_score": data.base_score,
        **_id_arrays("qids", data.qids),
    }
    if data.docid is not None:
        found |= _id_arrays("docid", data.docid)
    if data.pairs is not None:
        found |= {f"pairs_{name}": array for name, array in data.pairs._asdict().items()}
    return {name: array for name, array in found.items() if array is not None}


def _id_arrays(name: str, ids: AnyArray) -> dict[str, AnyArray]:
    """Integers as they are; text as UTF-8, one after the other, and where each ends."""
    if ids.dtype.kind in "iub" and np.can_cast(ids.dtype, np.int64):
        return {name: ids.astype(np.int64)}
    texts = [id_text(each).encode() for each in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {f"{name}_text": np.frombuffer(b"".join(texts), np.uint8), f"{name}_ends": ends}


def _header(file: Path) -> dict[str, Any]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        head = stream.read(HEAD.size)
        if not head or head[: len(MAGIC)] != MAGIC[: len(head)]:
            raise DataError("this is not a file of bins, which `swaprank bin` writes.")
        if len(head) < HEAD.size:
            raise DataError(f"it is truncated: it has only {len(head)} bytes.")
        _, version, total, start, n_bytes, digest = HEAD.unpack(head)
        if version != FORMAT_VERSION:
            raise DataError(
                f"it has format {version}, and this version of swaprank reads {FORMAT_VERSION}: bin the data again, or "
                "update swaprank."
            )
        if size != total or start + n_bytes != total:
            raise DataError(f"it is truncated or damaged: it has {size:,} of {total:,} bytes.")
        stream.seek(start)
        text = stream.read(n_bytes)
    if hashlib.sha256(text).digest() != digest:
        raise DataError("it is damaged: the checksum of its header does not match.")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"its header is not valid: {error}.") from None
    if not isinstance(header, dict):
        raise DataError("its header is not valid.")
    return header


def _described(header: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    """What the header says about each array, checked to lie within the file."""
    arrays = header.get("arrays")
    if not isinstance(arrays, list):
        raise DataError("its header is not valid: it has no arrays.")
    names = set()
    for each in arrays:
        match each:
            case {"name": str(name), "dtype": str(dtype), "shape": list(shape), "start": int(start), "sha256": str()}:
                pass
            case _:
                raise DataError("its header is not valid: an array needs name, dtype, shape, start and sha256.")
        if name in names or dtype not in _DTYPES:
            raise DataError(f"its array {name!r} appears twice or is {dtype!r}, not one of {', '.join(_DTYPES)}.")
        names.add(name)
        if len(shape) > 3 or not all(type(side) is int and 0 <= side < 2**48 for side in shape):
            raise DataError(f"its array {name!r} has an invalid shape.")
        n_bytes = math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize
        if start < _FIRST_ARRAY or start % _ALIGNMENT or start + n_bytes > size:
            raise DataError(f"its array {name!r} does not lie within the file.")
    return arrays


def _mapped(file: Path, each: Mapping[str, Any]) -> AnyArray:
    shape, dtype = tuple(each["shape"]), np.dtype(_DTYPES[each["dtype"]])
    if not math.prod(shape):
        return np.empty(shape, dtype)
    try:
        return np.memmap(file, dtype, "r", each["start"], shape).view(np.ndarray)
    except (OSError, ValueError, OverflowError) as error:
        raise DataError(f"its array {each['name']!r} cannot be mapped: {error}.") from None


def _check_digests(header: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> None:
    for each in header["arrays"]:
        if hashlib.sha256(arrays[each["name"]].reshape(-1).data).hexdigest() != each["sha256"]:
            raise DataError(f"it is damaged: the checksum of its {each['name']} does not match.")
