"""Read a file of bins (bins_writing.py) as a data set; everything that is used as a number of something is checked.

A file is only ever replaced as a whole (files.py), which does not change what others have mapped. Truncating it in
place, as `truncate` does, would end the processes that have mapped it.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Ints
from swaprank.data.binned_features import BLOCK, BinnedFeatures, extreme_bins, n_blocks
from swaprank.data.bins_writing import BINS
from swaprank.data.categories import Categories
from swaprank.data.cuts import LARGEST_BIN, Cuts
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import Grouping, first_appearance_codes
from swaprank.data.matching import checked_names
from swaprank.errors import DataError
from swaprank.files import existing_file
from swaprank.model_files.container import parse


def read_bins(path: str | os.PathLike[str], *, check: bool = False) -> Dataset:
    """Open a file of bins; raises DataError if it is damaged.

    Args:
        path: The file.
        check: Read all of it and compare the digests of its arrays.
    """
    file = existing_file(path)
    try:
        content = parse(_mapped(file), BINS, check=check)
        return _dataset(content.meta, content.arrays)
    except DataError as error:
        raise DataError(f"{file}: ", error) from None


def _mapped(file: Path) -> Bytes:
    if file.stat().st_size == 0:
        return np.empty(0, np.uint8)
    try:
        return np.memmap(file, np.uint8, "r").view(np.ndarray)
    except (OSError, ValueError) as error:
        raise DataError(f"it cannot be mapped: {error}.") from None


def _dataset(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Dataset:
    names, categories = _names(meta), _categories(meta)
    labels = _array(arrays, "labels", "float64")
    n_rows, n_features = len(labels), len(names)
    if n_rows == 0 or n_features == 0:
        raise DataError("it has no documents or no features.")
    indptr = _indptr(_array(arrays, "indptr", "int64"), n_rows)
    qids = _ids(arrays, "qids", len(indptr) - 1)
    if int(first_appearance_codes(qids).max()) + 1 < len(qids):
        raise DataError("it is damaged: a query id occurs twice.")
    order = _order(_array(arrays, "order", "int64"), n_rows) if "order" in arrays else None
    if set(categories) - set(names):
        raise DataError("its header has categories of features that it does not have.")
    bins = _bins(meta, arrays, n_rows, names, {name: categories[name] for name in names if name in categories})
    data = Dataset(
        bins,
        labels,
        qid=Grouping(qids, indptr, order),
        base_score=arrays.get("base_score"),
        docid=_ids(arrays, "docid", n_rows) if {"docid", "docid_text"} & {*arrays} else None,
        pairs=_pairs(arrays) if "pairs_above" in arrays else None,
        columns=_columns(meta, arrays, n_rows),
    )
    return data.replace(sample_weight=arrays.get("sample_weight"))


def _names(meta: Mapping[str, Any]) -> tuple[str, ...]:
    names = meta.get("feature_names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DataError("its header has no feature names.")
    return checked_names(names, len(names))


def _categories(meta: Mapping[str, Any]) -> dict[str, Categories]:
    found = meta.get("categories")
    if not isinstance(found, dict):
        raise DataError("its header has no categories.")
    for name, texts in found.items():
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise DataError(f"the categories of '{name}' in its header must be a list of text.")
        if len(set(texts)) < len(texts):
            raise DataError(f"the categories of '{name}' in its header are not different.")
    return {name: tuple(texts) for name, texts in found.items()}


def _array(arrays: Mapping[str, AnyArray], name: str, dtype: str, shape: tuple[int, ...] | None = None) -> AnyArray:
    if name not in arrays:
        raise DataError(f"it is damaged: its array {name!r} is missing.")
    array = arrays[name]
    if array.dtype.name != dtype or (array.shape != shape if shape is not None else array.ndim != 1):
        raise DataError(f"it is damaged: its array {name!r} is {array.dtype} of shape {array.shape}.")
    return array


def _indptr(indptr: Ints, n_rows: int) -> Ints:
    bounds = np.array(indptr)
    if len(bounds) < 2 or bounds[0] != 0 or bounds[-1] != n_rows or (bounds[1:] <= bounds[:-1]).any():
        raise DataError("it is damaged: the bounds of its queries are not ascending.")
    return bounds


def _order(order: Ints, n_rows: int) -> Ints:
    rows = np.array(order)
    if len(rows) != n_rows or rows.min() != 0 or rows.max() != n_rows - 1 or (np.bincount(rows) != 1).any():
        raise DataError("it is damaged: the order of its rows is none.")
    return rows


def _ids(arrays: Mapping[str, AnyArray], name: str, n: int) -> AnyArray:
    if name in arrays:
        return np.array(_array(arrays, name, "int64", (n,)))
    ends = _array(arrays, f"{name}_ends", "int64", (n,))
    content = _array(arrays, f"{name}_text", "uint8").tobytes()
    starts = np.concatenate(([0], ends[:-1]))
    if (ends < starts).any() or starts.min() < 0 or ends[-1] != len(content):
        raise DataError(f"it is damaged: the ends of its {name} are not ascending.")
    try:
        texts = [content[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    except UnicodeDecodeError:
        raise DataError(f"it is damaged: its {name} are not UTF-8.") from None
    return np.array(texts, np.str_)


def _columns(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray], n_rows: int) -> dict[str, AnyArray]:
    # Files of versions without side columns.
    found = meta.get("columns", {})
    if not isinstance(found, dict) or not all(isinstance(kind, str) for kind in found.values()):
        raise DataError("the side columns in its header must be names with the units of dates.")
    columns = {}
    for number, (name, unit) in enumerate(sorted(found.items())):
        array = f"column_{number}"
        is_float = array in arrays and arrays[array].dtype.kind == "f"
        values = _array(arrays, array, "float64", (n_rows,)) if is_float else _ids(arrays, array, n_rows)
        columns[name] = _dates(values, unit) if unit else values
    return columns


def _dates(values: AnyArray, unit: str) -> AnyArray:
    if unit[1:4] != "M8[" or values.dtype.kind != "i":
        raise DataError(f"it is damaged: '{unit}' is no unit of dates.")
    try:
        return values.view(np.dtype(unit))
    except TypeError:
        raise DataError(f"it is damaged: '{unit}' is no unit of dates.") from None


def _pairs(arrays: Mapping[str, AnyArray]) -> AnyArray:
    above, below = _array(arrays, "pairs_above", "int64"), _array(arrays, "pairs_below", "int64")
    probability = _array(arrays, "pairs_probability", "float64")
    # Files of versions whose pairs had no weights.
    weight = _array(arrays, "pairs_weight", "float64") if "pairs_weight" in arrays else np.ones(len(above))
    if not len(above) == len(below) == len(probability) == len(weight):
        raise DataError("it is damaged: its pairs have different lengths.")
    return np.column_stack((above, below, probability, weight))


def _bins(
    meta: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
    n_rows: int,
    names: tuple[str, ...],
    categories: Mapping[str, Categories],
) -> BinnedFeatures:
    n_features, max_bins = len(names), meta.get("max_bins")
    if type(max_bins) is not int or not 2 <= max_bins <= LARGEST_BIN:
        raise DataError("its header has no valid max_bins.")
    cuts = np.array(_array(arrays, "cuts", "float32", (n_features, LARGEST_BIN)))
    n_bins = np.array(_array(arrays, "n_bins", "int64", (n_features,)))
    if n_bins.min() < 1 or n_bins.max() > max_bins:
        raise DataError(f"it is damaged: a feature has no bins, or more than {max_bins}.")
    padding = np.arange(LARGEST_BIN) >= n_bins[:, None] - 1
    ascending = (cuts[:, 1:] > cuts[:, :-1]) | padding[:, 1:]
    if not ascending.all() or not (np.isinf(cuts) == padding).all() or (cuts[padding] < 0).any():
        raise DataError("it is damaged: the cuts of a feature are not ascending numbers.")
    has_missing = np.array(_array(arrays, "has_missing", "int64", (n_features,)))
    if not np.isin(has_missing, (0, 1)).all():
        raise DataError("it is damaged: has_missing has other values than 0 and 1.")
    blocks = _array(arrays, "blocks", "uint8", (n_blocks(n_features), n_rows, BLOCK))
    # Trees and histograms rely on it.
    above = np.flatnonzero(extreme_bins(blocks, n_features, lowest=False) > n_bins)
    if len(above):
        raise DataError(f"it is damaged: feature '{names[above[0]]}' has bins beyond its last cut.")
    codes = _array(arrays, "codes", "float32", (len(categories), n_rows))
    for column, (name, texts) in zip(codes, categories.items(), strict=True):
        known = column[~np.isnan(column)]
        if len(known) and not ((known >= 0) & (known < len(texts)) & (known == np.floor(known))).all():
            raise DataError(f"it is damaged: feature '{name}' has unknown categories.")
    return BinnedFeatures(names, categories, blocks, Cuts(cuts, n_bins, max_bins), has_missing, codes)
