"""The description of the interface, OpenAPI 3.1, with the features of the models that are served."""

from typing import Any

from swaprank.serving.models import Models, Served
from swaprank.serving.request_bodies import ARROW, BINARY, JSON, LARGEST_K, LONGEST_ID, LONGEST_QUERY
from swaprank.serving.settings import Settings
from swaprank.version import __version__

_TOO_LARGE = 2.0**128 - 2.0**103
"""From here on, numbers are infinite in single precision."""
_REFUSALS = {
    400: "The body cannot be read.",
    404: "There is no such model.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The content type is not known.",
    422: "The request does not fit the model, or the limits of this server.",
    503: "Too many requests are under way.",
}
Schema = dict[str, Any]


def openapi(models: Models, settings: Settings) -> Schema:
    """The description as plain values."""
    paths: Schema = {
        f"/{route}": {"post": _operation(route, models.default, settings, "")} for route in ("rank", "score")
    }
    for served in models:
        for route in ("rank", "score"):
            paths[f"/models/{served.name}/{route}"] = {"post": _operation(route, served, settings, served.name)}
        paths[f"/models/{served.name}"] = {
            "get": _get(f"The model '{served.name}'", "models", _ref("Model"), f"describe_{served.name}")
        }
        paths[f"/models/{served.name}/reload"] = {"post": _reload(served.name)}
    paths |= {
        "/models": {"get": _get("All models", "models", {"type": "array", "items": _ref("Model")}, "list_models")},
        "/health": {"get": _get("Whether the process is alive", "operation", {"type": "object"}, "health")},
        "/ready": {"get": _get("Whether it takes requests", "operation", {"type": "object"}, "ready", (503,))},
        "/metrics": {"get": _get("Counters for Prometheus", "operation", None, "metrics", content="text/plain")},
        "/openapi.json": {"get": _get("This description", "operation", {"type": "object"}, "openapi")},
        "/docs": {"get": _get("This description as a page", "operation", None, "docs", content="text/html")},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "swaprank", "version": __version__, "description": "Documents in, the best of them out."},
        "paths": paths,
        "components": {
            "schemas": _schemas() | {f"Documents-{served.name}": _documents(served, settings) for served in models},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: str, served: Served, settings: Settings, name: str) -> Schema:
    """POST of documents."""
    whom = f" by '{name}'" if name else ""
    text = f"The best documents{whom}, best first" if route == "rank" else f"The scores of the documents{whom}"
    n_features = len(served.scorer.feature_names)
    rows = {"type": "string", "format": "binary", "description": f"Rows of {n_features} float32, little-endian."}
    table = {"type": "string", "format": "binary", "description": "An Arrow stream; columns are features by name."}
    body = {JSON: {"schema": _body(route, served, settings)}, BINARY: {"schema": rows}, ARROW: {"schema": table}}
    refusals = {status: text for status, text in _REFUSALS.items() if name or status != 404}
    return {
        "summary": text,
        "operationId": f"{route}_{name}" if name else route,
        "tags": ["ranking"],
        "parameters": [
            {"name": given, "in": "query", "required": False, "schema": schema}
            for given, schema in _parameters(route).items()
        ],
        "requestBody": {"required": True, "content": body},
        "responses": {"200": _answer(_ref("Page" if route == "rank" else "Scores"))} | _errors(*refusals),
    }


def _parameters(route: str) -> Schema:
    session: Schema = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
    if route == "score":
        return {"session": session}
    return {
        "k": {"type": "integer", "minimum": 1, "maximum": LARGEST_K},
        "session": session,
        "query": {"type": "string", "maxLength": LONGEST_QUERY},
    }


def _body(route: str, served: Served, settings: Settings) -> Schema:
    fields: Schema = {"documents": _ref(f"Documents-{served.name}")}
    fields |= {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in _parameters(route).items()}
    if route == "rank":
        ids = {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_ID},
            "uniqueItems": True,
            "description": "An id for each document, which the answer has in its order.",
        }
        fields["ids"] = {"anyOf": [ids, {"type": "null"}]}
    return {"type": "object", "properties": fields, "required": ["documents"], "additionalProperties": False}


def _documents(served: Served, settings: Settings) -> Schema:
    """Rows by position, or objects by name."""
    number = {"type": ["number", "null"], "exclusiveMinimum": -_TOO_LARGE, "exclusiveMaximum": _TOO_LARGE}
    names, categories = served.scorer.feature_names, served.scorer.ranker.categories_
    n = len(names)
    row: Schema = {"type": "array", "minItems": n, "maxItems": n, "items": number}
    if categories:
        code = {"type": ["integer", "null"], "minimum": 0}
        codes = {name: {**code, "maximum": len(texts) - 1} for name, texts in categories.items()}
        row = {**row, "items": False, "prefixItems": [codes.get(name, number) for name in names]}
    category = {"type": ["string", "integer", "null"]}
    named = {name: category if name in categories else number for name in names}
    kinds = (row, {"type": "object", "properties": named, "additionalProperties": False})
    return {
        "anyOf": [
            {"type": "array", "items": kind, "minItems": 1, "maxItems": settings.limits.documents} for kind in kinds
        ]
    }


def _reload(name: str) -> Schema:
    done = {
        "type": "object",
        "properties": {
            "model": {"type": "string"},
            "outcome": {"enum": ["reloaded", "unchanged"]},
            "version": {"type": "string"},
        },
        "required": ["model", "outcome", "version"],
    }
    return {
        "summary": f"Read the file of '{name}' again",
        "operationId": f"reload_{name}",
        "tags": ["operation"],
        "security": [{"token": []}],
        "responses": {"200": _answer(done)} | _errors(401, 403, 500),
    }


def _get(
    summary: str, tag: str, schema: Schema | None, name: str, errors: tuple[int, ...] = (), content: str = JSON
) -> Schema:
    answer = _answer(schema or {"type": "string"}, content)
    responses = {"200": answer} | _errors(*errors)
    return {"summary": summary, "operationId": name, "tags": [tag], "responses": responses}


def _answer(schema: Schema, content: str = JSON) -> Schema:
    return {"description": "The answer.", "content": {content: {"schema": schema}}}


def _errors(*statuses: int) -> Schema:
    texts = {401: "The token is missing or wrong.", 403: "It is switched off.", 500: "The old model stays."} | _REFUSALS
    return {
        str(status): {"description": texts[status], "content": {JSON: {"schema": _ref("Error")}}} for status in statuses
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _schemas() -> Schema:
    texts = {"type": "array", "items": {"type": "string"}}
    numbers = {"type": "array", "items": {"type": "number"}}
    places = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    page = {
        "model": {"type": "string", "description": "The model that ranked."},
        "places": {**places, "description": "The places of the documents in the request, best first."},
        "scores": {**numbers, "description": "Their scores."},
        "ids": {**texts, "description": "Their ids, if the request has any."},
        "query_id": {"type": "string", "description": "The id of the page, if it is logged: events need it."},
    }
    model = {
        "name": {"type": "string"}, "version": {"type": "string"}, "digest": {"type": "string"},
        "loaded": {"type": "string", "format": "date-time"}, "ranker": {"type": "string"}, "size": {"type": "string"},
        "features": texts, "categories": {"type": "object", "additionalProperties": texts},
        "share": {"type": "number"}, "shadow": {"type": "boolean"},
    }  # fmt: skip
    error = {"error": {"type": "string"}, "request_id": {"type": "string"}}
    optional = {"Page": ("ids", "query_id"), "Model": ("share", "shadow")}
    scores = {"model": {"type": "string"}, "scores": numbers}
    return {
        name: {
            "type": "object",
            "properties": fields,
            "required": [field for field in fields if field not in optional.get(name, ())],
            "additionalProperties": False,
        }
        for name, fields in (("Page", page), ("Scores", scores), ("Model", model), ("Error", error))
    }
