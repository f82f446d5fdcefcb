"""The description of the interface as a page that needs nothing from elsewhere."""

import json
from html import escape
from typing import Any

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
code, pre { font: 14px/1.4 ui-monospace, monospace; background: #f4f4f4; border-radius: 4px }
code { padding: .1em .3em } pre { padding: .7em; overflow: auto; max-height: 24rem }
details { border: 1px solid #ddd; border-radius: 6px; margin: .5rem 0; padding: .5rem .8rem }
summary { cursor: pointer } summary b { display: inline-block; width: 3.2rem; color: #1f5fa8 }
table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1b; color: #ddd } code, pre { background: #2a2a2a } details { border-color: #444 }
  summary b, a { color: #8ab8f0 } }
"""


def api_page(description: dict[str, Any]) -> str:
    """HTML of an OpenAPI description.

    >>> from swaprank.serving.api_page import api_page
    >>> operation = {"summary": "Alive?", "responses": {"200": {"description": "Yes."}}}
    >>> page = api_page({"info": {"title": "t", "version": "1"}, "paths": {"/health": {"get": operation}}})
    >>> "<summary><b>GET</b> <code>/health</code> Alive?</summary>" in page
    True
    """
    info, schemas = description["info"], description.get("components", {}).get("schemas", {})
    title = f"{escape(info['title'])} {escape(info['version'])}"
    operations = "".join(
        _operation(method, path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    )
    shapes = "".join(
        f"<details id='{escape(name)}'><summary>{escape(name)}</summary>{_code(schema)}</details>"
        for name, schema in schemas.items()
    )
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style>"
        f"<h1>{title}</h1><p>{escape(info.get('description', ''))} As <a href='openapi.json'>OpenAPI 3.1</a>.</p>"
        f"<h2>Requests</h2>{operations}<h2>Shapes</h2>{shapes}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parameters = "".join(
        f"<tr><td><code>?{escape(each['name'])}=</code><td><code>{escape(json.dumps(each['schema']))}</code>"
        for each in operation.get("parameters", ())
    )
    bodies = "".join(
        f"<p>Body: <code>{escape(kind)}</code>{_code(body['schema'])}"
        for kind, body in operation.get("requestBody", {}).get("content", {}).items()
    )
    answers = "".join(
        f"<tr><td><code>{status}</code><td>{escape(answer['description'])}"
        for status, answer in operation["responses"].items()
    )
    example = f"<pre>curl localhost:8000{escape(path)}{_data(method, bodies)}</pre>"
    summary = f"<b>{method.upper()}</b> <code>{escape(path)}</code> {escape(operation['summary'])}"
    return (
        f"<details><summary>{summary}</summary>"
        f"{example}{f'<table>{parameters}</table>' if parameters else ''}{bodies}<table>{answers}</table></details>"
    )


def _data(method: str, bodies: str) -> str:
    if method == "get":
        return ""
    data = """ -H "Content-Type: application/json" -d '{"documents": [...]}'"""
    return escape(data if bodies else ' -X POST -H "Authorization: Bearer $SWAPRANK_TOKEN"')


def _code(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=1, ensure_ascii=False))}</pre>"
