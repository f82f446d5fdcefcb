"""The requests that create a model in Elasticsearch LTR and OpenSearch LTR."""

import json
from typing import Any

from swaprank.exchange.export import Export


def ltr_content(export: Export, model_type: str, definition: str) -> bytes:
    r"""The definition of a model alone, or the body of the request that creates it.

    With the definitions of the features, this is the body of `PUT _ltr/_model/<name>`, which holds the feature set too.
    Without, that of `POST _ltr/_featureset/<set>/_createmodel`, which takes the features from a stored feature set.

    >>> from swaprank.exchange.export import Export
    >>> from swaprank.exchange.ltr_requests import ltr_content
    >>> ltr_content(Export("ranklib", None, ("bm25",), {}, "shop", "refuse", True, None), "model/ranklib", "…")
    b'{"model": {"name": "shop", "model": {"type": "model/ranklib", "definition": "\\u2026"}}}\n'
    """
    if not export.request:
        return definition.encode()
    model: dict[str, Any] = {"name": export.name}
    if export.feature_set is not None and export.feature_set.definitions is not None:
        features = list(export.feature_set.definitions)
        model["feature_set"] = {"name": export.feature_set.name or export.name, "features": features}
    model["model"] = {"type": model_type, "definition": definition}
    return (json.dumps({"model": model}) + "\n").encode()
