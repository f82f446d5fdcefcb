"""Fingerprints of data and software versions, to check whether two runs used the same inputs."""

import hashlib
from typing import Any

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.model_files.plain_json import to_json


def data_digest(data: Dataset) -> str:
    """SHA-256 of the contents of a data set, independent of its file format and compression; bins have another one.

    >>> import swaprank as sr
    >>> from swaprank.experiments.fingerprints import data_digest
    >>> data, other = (sr.Dataset([[1.0], [x]], [0, 1], qid=[7, 7]) for x in (2.0, 3.0))
    >>> data_digest(data) == data_digest(data.subset([0])), data_digest(data) == data_digest(other)
    (True, False)
    """
    digest = hashlib.sha256()
    pairs = [] if data.pairs is None else list(data.pairs)
    bins = data.bins
    features = [data.features] if bins is None else [bins.blocks, bins.cuts.values, bins.codes]
    for array in (*features, data.labels, data.indptr, data.order, data.sample_weight, data.base_score, *pairs):
        # Without this prefix, a missing array could be confused with the first bytes of the next one.
        digest.update(b"-" if array is None else str((array.dtype, array.shape)).encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    for ids in (data.qids, data.docid):
        digest.update(to_json(None if ids is None else [str(each) for each in ids.tolist()]))
    digest.update(to_json(list(data.feature_names)))
    if data.categories:
        digest.update(to_json({name: list(categories) for name, categories in data.categories.items()}))
    return digest.hexdigest()


def data_fingerprint(data: Dataset) -> dict[str, Any]:
    """Sizes and SHA-256 digest of a data set.

    >>> import swaprank as sr
    >>> from swaprank.experiments.fingerprints import data_fingerprint
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


def versions() -> dict[str, str]:
    """Versions of the packages that results depend on.

    >>> from swaprank.experiments.fingerprints import versions
    >>> list(versions())
    ['swaprank', 'python', 'numpy', 'numba', 'scipy']
    """
    import platform
    from importlib.metadata import version

    from swaprank.version import __version__

    others = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"swaprank": __version__, "python": platform.python_version(), **others}
