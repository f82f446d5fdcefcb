"""What a run was made from, told so shortly that two runs can be compared."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.model_files.plain_json import to_json


def data_digest(data: Dataset) -> str:
    """SHA-256 of all that a data set holds, whatever file and compression it came from.

    >>> import swaprank as sr
    >>> from swaprank.experiments.fingerprints import data_digest
    >>> data, other = (sr.Dataset([[1.0], [x]], [0, 1], qid=[7, 7]) for x in (2.0, 3.0))
    >>> data_digest(data) == data_digest(data.subset([0])), data_digest(data) == data_digest(other)
    (True, False)
    """
    digest = hashlib.sha256()
    pairs = [] if data.pairs is None else list(data.pairs)
    for array in (data.features, data.labels, data.indptr, data.order, data.sample_weight, data.base_score, *pairs):
        # An absent array must not look like the next one's first bytes.
        digest.update(b"-" if array is None else str((array.dtype, array.shape)).encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    for ids in (data.qids, data.docid):
        digest.update(to_json(None if ids is None else [str(each) for each in ids.tolist()]))
    digest.update(to_json(list(data.feature_names)))
    return digest.hexdigest()


def data_facts(data: Dataset) -> dict[str, Any]:
    """Sizes and digest of a data set.

    >>> import swaprank as sr
    >>> from swaprank.experiments.fingerprints import data_facts
    >>> facts = data_facts(sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7]))
    >>> facts["documents"], facts["queries"], facts["features"], len(facts["digest"])
    (2, 1, 1, 64)
    """
    return {
        "documents": len(data),
        "queries": data.n_queries,
        "features": data.n_features,
        "digest": data_digest(data),
    }


def versions() -> dict[str, str]:
    """Of everything that the numbers depend on.

    >>> from swaprank.experiments.fingerprints import versions
    >>> list(versions())
    ['swaprank', 'python', 'numpy', 'numba', 'scipy']
    """
    import platform
    from importlib.metadata import version

    from swaprank.version import __version__

    others = {name: version(name) for name in ("numpy", "numba", "scipy")}
    return {"swaprank": __version__, "python": platform.python_version(), **others}
