"""Learning to Rank of OpenSearch and Elasticsearch: documents are indexed, features and a model uploaded, and rescored.

The engines allow no negative scores, so the values of a feature are two fields, of which one is 0; a derived feature is
their difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from http_json import send

from swaprank.arrays import Features

INDEX = "swaprank"


def _part(sign: str, at: int) -> dict[str, Any]:
    field = f"{sign}{at}"
    value = {"query": {"exists": {"field": field}}, "field_value_factor": {"field": field}, "boost_mode": "replace"}
    return {"name": field, "params": [], "template_language": "mustache", "template": {"function_score": value}}


def definitions(names: list[str]) -> list[dict[str, Any]]:
    """Features that are values of documents: three for each, the last of which has the name."""
    derived = [
        {"name": name, "params": [], "template_language": "derived_expression", "template": f"above{at} - below{at}"}
        for at, name in enumerate(names)
    ]
    return [_part(sign, at) for at in range(len(names)) for sign in ("above", "below")] + derived


class Ltr:
    """Requests to a server."""

    def __init__(self, address: str) -> None:
        self.address = address

    def version(self) -> str:
        """The version of the first node."""
        nodes = self._send("GET", "_nodes/http")["nodes"]
        return str(next(iter(nodes.values()))["version"])

    def begin(self, names: list[str]) -> None:
        """An empty index and an empty store, with a set of features."""
        for index in (INDEX, ".ltrstore"):
            self._send("DELETE", f"{index}?ignore_unavailable=true")
        fields = {f"{sign}{at}": {"type": "float"} for at in range(len(names)) for sign in ("above", "below")}
        fields |= {"kind": {"type": "keyword"}, "row": {"type": "integer"}}
        settings = {"number_of_shards": 1, "number_of_replicas": 0}
        self._send("PUT", INDEX, {"settings": settings, "mappings": {"properties": fields}})
        self._send("PUT", "_ltr")
        self._send("PUT", "_ltr/_featureset/values", {"featureset": {"name": "values", "features": definitions(names)}})

    def index(self, kind: str, X: Features) -> None:
        """Documents of a kind; a missing value is a field that a document does not have."""
        for row, x in enumerate(X):
            parts = {"above": np.maximum(x, 0), "below": np.maximum(-x, 0)}
            fields = {
                f"{sign}{at}": float(str(value))
                for sign, values in parts.items()
                for at, value in enumerate(values)
                if not np.isnan(value)
            }
            self._send("PUT", f"{INDEX}/_doc/{kind.replace(' ', '_')}_{row}", {"kind": kind, "row": row} | fields)
        self._send("POST", f"{INDEX}/_refresh")

    def create_model(self, content: bytes) -> None:
        """Upload a model with the stored set of features."""
        self._send("POST", "_ltr/_featureset/values/_createmodel", content)

    def rescore(self, kind: str, model: str, n: int) -> list[dict[str, Any]]:
        """All documents of a kind as the engine ranks them, with scores and features."""
        asked = {
            "size": n,
            "query": {
                "bool": {
                    "filter": [
                        {"term": {"kind": kind}},
                        {"sltr": {"_name": "logged", "featureset": "values", "params": {}}},
                    ]
                }
            },
            "rescore": {
                "window_size": n,
                "query": {
                    "rescore_query": {"sltr": {"model": model, "params": {}}},
                    "query_weight": 0,
                    "rescore_query_weight": 1,
                },
            },
            "ext": {"ltr_log": {"log_specs": {"name": "features", "named_query": "logged"}}},
        }
        return list(self._send("POST", f"{INDEX}/_search", asked)["hits"]["hits"])

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        return send(method, f"{self.address}/{path}", body)


def logged(hit: dict[str, Any], names: list[str]) -> list[float]:
    """The features of a document as the engine logged them: a value that is missing is left out."""
    values = {each["name"]: each.get("value", "nan") for each in hit["fields"]["_ltrlog"][0]["features"]}
    return [float(values[name]) for name in names]
