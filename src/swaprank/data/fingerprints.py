"""Fingerprints of data sets: equal if two runs used the same data."""

import hashlib
import json
from typing import Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.collective import Collective
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import hash_places


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


def _is_number(values: AnyArray) -> bool:
    return values.dtype.kind in "iufb"


def shared_fingerprint(name: str, data: Dataset, collective: Collective) -> dict[str, Any]:
    """Sizes and a hash of the labels and weights of all workers' data, in any order of the queries.

    >>> import swaprank as sr
    >>> from swaprank.collective import ALONE
    >>> from swaprank.data.fingerprints import shared_fingerprint
    >>> found = shared_fingerprint("train", sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7]), ALONE)
    >>> found["documents of train"], found["queries of train"], len(found["labels of train"])
    (2, 1, 16)
    """
    hashes = np.empty(len(data), np.uint64)
    hash_places(data.places, 0, 0, len(data), hashes)
    mixed = np.zeros(len(data), np.uint64)
    # Side columns of numbers may be labels of goals.
    side = [data.columns[name].astype(np.float64) for name in sorted(data.columns) if _is_number(data.columns[name])]
    for number, values in enumerate((data.labels, data.sample_weight, data.base_score, *side)):
        if values is not None:
            bits = np.ascontiguousarray(data.by_query(values)).view(np.uint64)
            # An odd factor for each column: two that changed places differ.
            mixed += (hashes ^ bits) * np.uint64(0x9E3779B97F4A7C15 ^ (max(0, number - 2) << 20))
    sums = np.array([len(data), data.n_queries, mixed.sum().view(np.int64)])
    collective.add(sums)
    n_documents, n_queries, mixture = sums.tolist()
    return {
        f"documents of {name}": n_documents,
        f"queries of {name}": n_queries,
        f"labels of {name}": f"{mixture % 2**64:016x}",
    }
