"""Write a binned data set to a file (model_files/container.py) that is memory-mapped, so that it is there at once."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.binned_features import BinnedFeatures
from swaprank.data.ids import id_text
from swaprank.errors import DataError
from swaprank.files import COMPRESSED, replacing, written_directly
from swaprank.model_files.container import ContainerWriter, FileKind

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset

BINS = FileKind(b"swaprank bins\r\n\0", "a file of bins, which `swaprank bin` writes", DataError)


@contextmanager
def bins_writer(path: str | os.PathLike[str]) -> Iterator[ContainerWriter]:
    """A new file of bins, which appears when it is complete."""
    if written_directly(path) or Path(path).suffix.lower() in COMPRESSED:
        raise DataError(f"{path}: bins are written to a file, which is not compressed, because it is memory-mapped.")
    with replacing(path) as stream:
        yield ContainerWriter(stream, BINS)


def write_bins(data: "Dataset", path: str | os.PathLike[str]) -> None:
    """Write a binned data set."""
    bins = _bins_of(data)
    with bins_writer(path) as writer:
        writer.add("blocks", bins.blocks)
        writer.add("codes", bins.codes)
        finish_bins(writer, data)


def finish_bins(writer: ContainerWriter, data: "Dataset") -> None:
    """Write everything that the data set has besides its blocks and codes."""
    bins = _bins_of(data)
    for name, array in _small_arrays(data, bins).items():
        writer.add(name, array)
    categories = {name: list(texts) for name, texts in data.categories.items()}
    meta = {
        "feature_names": list(data.feature_names),
        "categories": categories,
        "max_bins": bins.cuts.max_bins,
        # A name may be any text, so that its array has the number of the name. Dates are numbers with a unit.
        "columns": {
            name: values.dtype.str if values.dtype.kind == "M" else "" for name, values in data.columns.items()
        },
    }
    writer.finish("bins", meta)


def _bins_of(data: "Dataset") -> BinnedFeatures:
    if not isinstance(data.stored, BinnedFeatures):
        raise DataError("the data set is not binned: call binned() first, as in data.binned().save_bins(path).")
    return data.stored


def _small_arrays(data: "Dataset", bins: BinnedFeatures) -> dict[str, AnyArray]:
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
    for number, name in enumerate(sorted(data.columns)):
        found |= _column_arrays(f"column_{number}", data.columns[name])
    if data.pairs is not None:
        found |= {f"pairs_{name}": array for name, array in data.pairs._asdict().items()}
    return {name: array for name, array in found.items() if array is not None}


def _column_arrays(name: str, values: AnyArray) -> dict[str, AnyArray]:
    """Numbers in double precision, text as ids are written, dates as integers."""
    if values.dtype.kind == "f":
        return {name: values.astype(np.float64)}
    return _id_arrays(name, values.astype(np.int64) if values.dtype.kind == "M" else values)


def _id_arrays(name: str, ids: AnyArray) -> dict[str, AnyArray]:
    """Integers as they are; text as UTF-8, one after the other, and where each ends."""
    if ids.dtype.kind in "iub" and np.can_cast(ids.dtype, np.int64):
        return {name: ids.astype(np.int64)}
    texts = [id_text(each).encode() for each in ids.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    return {f"{name}_text": np.frombuffer(b"".join(texts), np.uint8), f"{name}_ends": ends}
