"""Fingerprints of data sets: equal if two runs used the same data."""

import hashlib
import json
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Floats, Ints
from swaprank.collective import Collective, allgather_json
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import hash_places, mixed
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads


def data_digest(data: Dataset) -> str:
    """SHA-256 of the contents of a data set, independent of its file format and compression; bins have another one.

    >>> import swaprank as sr
    >>> from swaprank.data.fingerprints import data_digest
    >>> data, other = (sr.Dataset([[1.0], [x]], [0, 1], qid=[7, 7]) for x in (2.0, 3.0))
    >>> data_digest(data) == data_digest(data.subset([0])), data_digest(data) == data_digest(other)
    (True, False)
    """
    digest = hashlib.sha256()
    pairs = [] if data.pairs is None else list(data.pairs)
    columns = data.labels, data.indptr, data.order, data.sample_weight, data.base_score
    for array in (*data.stored.content(), *columns, *pairs):
        # Without this prefix, a missing array could be confused with the first bytes of the next one.
        digest.update(b"-" if array is None else str((array.dtype, array.shape)).encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    names: list[Any] = [
        None if ids is None else [str(each) for each in ids.tolist()] for ids in (data.qids, data.docid)
    ]
    names.append(list(data.feature_names))
    if data.columns:
        names.append({name: [str(each) for each in values.tolist()] for name, values in data.columns.items()})
    if data.categories:
        names.append({name: list(categories) for name, categories in data.categories.items()})
    for each in names:
        digest.update(json.dumps(each, sort_keys=True, separators=(",", ":")).encode())
    return digest.hexdigest()


def data_fingerprint(data: Dataset) -> dict[str, Any]:
    """Sizes and SHA-256 digest of a data set.

    >>> import swaprank as sr
    >>> from swaprank.data.fingerprints import data_fingerprint
    >>> found = data_fingerprint(sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7]))
    >>> found["documents"], found["queries"], found["features"], len(found["digest"])
    (2, 1, 1, 64)
    """
    return {
        "documents": len(data),
        "queries": data.n_queries,
        "features": data.n_features,
        "digest": data_digest(data),
    }


def shared_fingerprint(
    name: str, data: Dataset, bins: Bytes, start: Floats, collective: Collective, n_threads: int = 1
) -> dict[str, Any]:
    """Sizes of all workers' data, and a hash of each of its columns, for any division and order of the queries.

    A hash is the sum, modulo 2^64, of one hash for each document: of its place and its value.

    Args:
        name: The name of the data in the entries.
        data: The shard of this worker.
        bins: (n_blocks, n_rows, 16): the bins of its features, grouped by query.
        start: The scores that training starts from, grouped by query.
        collective: The workers.
        n_threads: The number of threads.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.collective import ALONE
    >>> from swaprank.data.fingerprints import shared_fingerprint
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7])
    >>> found = shared_fingerprint("train", data, data.binned().stored.blocks, np.zeros(2), ALONE)
    >>> found["documents of train"], found["queries of train"], len(found["labels of train"])
    (2, 1, 16)
    """
    places = np.empty(len(data), np.uint64)
    hash_places(data.places, 0, 0, len(data), places)
    rows = places.copy()
    words = bins.view(np.int64)
    run_in_threads(add_words, [(words, *chunk, rows) for chunk in row_chunks(len(rows), n_threads)])
    sums = {"features": _sum_of(rows), "scores at the start": _sum_of(places ^ _bits(start))}
    for column, values in _columns(data).items():
        sums[column] = _sum_of(places ^ _bits(data.by_query(values)))
    if data.pairs is not None:
        above, below, probability, weight = data.pairs
        given = data.as_given(places)
        sums["pairs"] = _sum_of(mixed(mixed(mixed(given[above]) ^ given[below]) ^ _bits(probability)) ^ _bits(weight))
    of_workers = allgather_json(collective, {"documents": len(data), "queries": data.n_queries, **sums})
    found = {column: sum(of_worker.get(column, 0) for of_worker in of_workers) for column in of_workers[0]}
    return {
        f"{column} of {name}": total if column in ("documents", "queries") else f"{total % 2**64:016x}"
        for column, total in found.items()
    }


def _columns(data: Dataset) -> dict[str, AnyArray]:
    """What models may depend on beside the bins of features; side columns of numbers may be labels of goals."""
    found: dict[str, AnyArray | None] = {"labels": data.labels, "sample_weight": data.sample_weight}
    found |= {f"categories '{data.feature_names[feature]}'": data.column(feature) for feature in data.categorical}
    found |= {f"column '{name}'": values for name, values in data.columns.items() if values.dtype.kind in "iufb"}
    return {name: values for name, values in found.items() if values is not None}


def _bits(values: AnyArray) -> AnyArray:
    """Numbers as 64 bits; those that are equal, and all that are missing, have the same."""
    numbers = values.astype(np.float64) + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def _sum_of(bits: AnyArray) -> int:
    return int(mixed(bits).sum(dtype=np.uint64))


@kernel
def add_words(words: Ints, start: int, stop: int, hashes: AnyArray) -> None:
    """Mix the words (n_blocks, n_rows, 2) of each row from start to stop into its hash, one after the other."""
    for block in words:
        for row in range(np.uint64(start), np.uint64(stop)):
            bits = hashes[row]
            for word in (0, 1):
                # A bijection of each word and of what was before: no word is lost, and their order counts.
                bits = (bits ^ np.uint64(block[row, word])) * np.uint64(0x9E3779B97F4A7C15)
                bits ^= bits >> np.uint64(32)
            hashes[row] = bits
