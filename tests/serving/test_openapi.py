"""The description of the interface: complete, consistent, and what the server does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.exchange.fitted_models import NAMES, fitted
from tests.serving.running import Running, running, saved

MODEL = "trees of categories"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    files = saved(tmp_path_factory.mktemp("models"), old="trees", new=MODEL)
    with running(files, token="a token of tests") as found:
        yield found


@pytest.fixture(scope="module")
def description(server: Running) -> Any:
    return server.client.get("/openapi.json").json()


def fits(value: Any, schema: Any, description: Any) -> bool:
    """Whether a value fits a schema: the part of JSON Schema that the description uses."""
    if schema is False:
        return False
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        return fits(value, description["components"]["schemas"][name], description)
    if "anyOf" in schema:
        return any(fits(value, each, description) for each in schema["anyOf"])
    if "enum" in schema:
        return bool(value in schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    is_kind = {
        "null": value is None,
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    if not any(is_kind[kind] for kind in kinds):
        return False
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        rest = schema.get("items", {"type": list(is_kind)})
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)) and all(
            fits(each, first[at] if at < len(first) else rest, description) for at, each in enumerate(value)
        )
    if isinstance(value, dict):
        fields, more = schema.get("properties", {}), schema.get("additionalProperties", {"type": list(is_kind)})
        return set(schema.get("required", ())) <= set(value) and all(
            fits(each, fields.get(name, more), description) for name, each in value.items()
        )
    if isinstance(value, str):
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)))
    if value is None:
        return True
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    inside = schema.get("exclusiveMinimum", -1e300) < value < schema.get("exclusiveMaximum", 1e300)
    return bool(low <= value <= high) and inside


def routes_of(server: Running) -> list[Any]:
    return list(server.service.app().routes)


def test_every_route_is_described_and_every_description_is_a_route(server: Running, description: Any) -> None:
    routes = {
        (route.path.replace("{name}", name), method.lower())
        for route in routes_of(server)
        for method in route.methods - {"HEAD"}
        for name in ("old", "new")
    }
    described = {(path, method) for path, methods in description["paths"].items() for method in methods}
    assert described == routes
    operations = [each["operationId"] for methods in description["paths"].values() for each in methods.values()]
    assert len(set(operations)) == len(operations)


def test_references_lead_somewhere_and_names_are_allowed(description: Any) -> None:
    assert description["openapi"] == "3.1.0"
    schemas = description["components"]["schemas"]
    for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(description)):
        assert name in schemas
    assert all(re.fullmatch(r"[\w.-]+", name) for name in schemas)


ROW = [0.5, 1, None, 0, None]
BODIES: list[tuple[bool, Any]] = [
    (True, {"documents": [ROW]}),
    (True, {"documents": [{}, {"bm25": 0.5, "clicks": "3"}]}),
    (True, {"documents": [ROW, ROW], "ids": ["a", "b"], "k": 1, "session": "s", "query": ""}),
    (True, {"documents": [[3.4e38, -3.4e38, 3.402823466e38, 0, 0]], "k": None}),
    (False, {"documents": []}),
    (False, {"documents": [ROW[:4]]}),
    (False, {"documents": [[*ROW, 1]]}),
    (False, {"documents": [["1", *ROW[1:]]]}),
    (False, {"documents": [[True, *ROW[1:]]]}),
    (False, {"documents": [[3.5e38, *ROW[1:]]]}),
    (False, {"documents": [[*ROW[:3], 99, 0]]}),
    (False, {"documents": [[*ROW[:3], -1, 0]]}),
    (False, {"documents": [{"bm52": 1}]}),
    (False, {"documents": [{"bm25": "1"}]}),
    (False, {"documents": [{"clicks": True}]}),
    (False, {"documents": [ROW], "k": 0}),
    (False, {"documents": [ROW], "k": "1"}),
    (False, {"documents": [ROW], "session": ""}),
    (False, {"documents": [ROW], "extra": 1}),
    (False, {}),
    (False, [ROW]),
]


@pytest.mark.parametrize(("right", "body"), BODIES)
def test_the_server_takes_what_the_description_says(server: Running, description: Any, right: bool, body: Any) -> None:
    operation = description["paths"]["/models/new/rank"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert fits(body, schema, description) == right
    answer = server.client.post("/models/new/rank", json=body)
    assert answer.status_code == (200 if right else 422)
    answered = operation["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    assert fits(answer.json(), answered, description)


@pytest.mark.parametrize("path", ["/models", "/models/new", "/health", "/ready", "/openapi.json"])
def test_answers_are_as_described(server: Running, description: Any, path: str) -> None:
    answered = description["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert fits(server.client.get(path).json(), answered, description)


def test_features_and_categories_of_each_model_are_described(description: Any) -> None:
    rows, objects = description["components"]["schemas"]["Documents-new"]["anyOf"]
    assert list(objects["items"]["properties"]) == list(NAMES)
    codes = [item["maximum"] + 1 for item in rows["items"]["prefixItems"] if "maximum" in item]
    assert codes == [len(texts) for texts in fitted(MODEL).categories_.values()]
    assert rows["maxItems"] == 10_000


class Outside(HTMLParser):
    """Addresses that a page loads or leads to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{value}" for name, value in attrs if name in ("src", "href")]


def test_the_page_needs_nothing_from_elsewhere(server: Running, description: Any) -> None:
    answer = server.client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    page = Outside()
    page.feed(answer.text)
    assert page.found == ["openapi.json"]
    assert "url(" not in answer.text
    for path in description["paths"]:
        assert f"<code>{path}</code>" in answer.text
