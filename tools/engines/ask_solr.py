"""Solr's Learning to Rank: documents are indexed, features and a model uploaded, and all documents reranked."""

from __future__ import annotations

import shutil
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from engine import HERE, Engine
from http_json import send

from swaprank.arrays import Features

CORE = "products"


@contextmanager
def solr(engine: Engine) -> Iterator[str]:
    """A Solr with an empty core, from Maven's artifacts: the address of the core."""
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder) / CORE
        shutil.copytree(HERE / "solr" / "conf", core / "conf")
        (core / "core.properties").touch()
        with engine.started("StartSolr.java", Path(folder)) as address:
            yield f"{address}/{CORE}"


def definitions(names: list[str], store: str, default: str | None) -> list[dict[str, Any]]:
    """Features that are the values of fields f0_f, f1_f, … and, if a document has none, the default value."""
    given = {} if default is None else {"defaultValue": default}
    return [
        {
            "store": store,
            "name": name,
            "class": "org.apache.solr.ltr.feature.FieldValueFeature",
            "params": {"field": f"f{at}_f", **given},
        }
        for at, name in enumerate(names)
    ]


class Solr:
    """Requests to a core."""

    def __init__(self, address: str) -> None:
        self.address = address

    def version(self) -> str:
        """The version that the server says."""
        found = self._send("GET", "../admin/info/system?wt=json")
        return str(found["lucene"]["solr-spec-version"])

    def enable_ranking(self) -> None:
        """Add the query parser and the transformer of features to a core that has neither."""
        package = "org.apache.solr.ltr"
        parser = {"name": "ltr", "class": f"{package}.search.LTRQParserPlugin"}
        transformer = {"name": "features", "class": f"{package}.response.transform.LTRFeatureLoggerTransformerFactory"}
        if "queryParser" not in self._send("GET", "config/overlay")["overlay"]:
            commands = {"add-queryparser": parser, "add-transformer": transformer | {"fvCacheName": "QUERY_DOC_FV"}}
            self._send("POST", "config", commands)

    def empty(self) -> None:
        """Delete all documents, features and models."""
        self._send("POST", "update?commit=true", {"delete": {"query": "*:*"}})
        for kind in ("model", "feature"):
            for store in self._send("GET", f"schema/{kind}-store")[f"{kind}Stores" if kind == "feature" else "models"]:
                name = store if kind == "feature" else store["name"]
                self._send("DELETE", f"schema/{kind}-store/{name}")

    def index(self, kind: str, X: Features) -> None:
        """Documents of a kind; a missing value is a field that a document does not have."""
        rows = [
            {"id": f"{kind} {row}", "kind_s": kind}
            | {f"f{at}_f": float(str(value)) for at, value in enumerate(x) if not np.isnan(value)}
            for row, x in enumerate(X)
        ]
        self._send("POST", "update?commit=true", rows)

    def define(self, features: list[dict[str, Any]]) -> None:
        """Upload features, which a store must not have yet."""
        self._send("PUT", "schema/feature-store", features)

    def put_model(self, content: bytes) -> None:
        """Upload a model as it was exported."""
        self._send("PUT", "schema/model-store", content)

    def rerank(self, kind: str, model: str, store: str, n: int) -> list[dict[str, Any]]:
        """All documents of a kind as Solr ranks them, with scores and features."""
        asked = {
            "q": "*:*",
            "fq": f"{{!term f=kind_s}}{kind}",
            "rq": f"{{!ltr model={model} reRankDocs={n}}}",
            "fl": f"id,score,[features store={store} logAll=true]",
            "rows": str(n),
        }
        found = self._send("GET", f"query?{urllib.parse.urlencode(asked)}")
        return list(found["response"]["docs"])

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        return send(method, f"{self.address}/{path}", body)


def logged(document: dict[str, Any], names: list[str]) -> list[float]:
    """The features of a document as Solr logged them."""
    values = dict(pair.rsplit("=", 1) for pair in document["[features]"].split(","))
    return [float(values.get(name, "nan")) for name in names]
