"""Configuration files: TOML read and written, YAML read."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from swaprank.errors import DataError, MissingExtraError, ParameterError
from swaprank.files import existing_file

_BARE = re.compile(r"[A-Za-z0-9_-]+")
NONE = "none"
"""How TOML, which has no word for it, says None; the command line's --set says it likewise."""


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    r"""The tables of a .toml, .yaml or .yml file.

    >>> import pathlib, tempfile
    >>> from swaprank.experiments.config_files import read_config
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.toml"
    >>> _ = path.write_text("ranker = 'mart'\n[parameters]\nn_leaves = 7\n")
    >>> read_config(path)
    {'ranker': 'mart', 'parameters': {'n_leaves': 7}}
    """
    file = existing_file(path)
    ending = file.suffix.lower()
    if ending not in (".toml", ".yaml", ".yml"):
        raise DataError(f"{file}: a configuration ends in .toml, .yaml or .yml, found '{ending}'.")
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text: {error}.") from None
    if ending != ".toml":
        return _yaml_tables(text, str(file))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{file} is not valid TOML: {error}.") from None


def _yaml_tables(text: str, file: str) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError(f"{file}: PyYAML is not installed: pip install PyYAML, or write TOML.") from None
    try:
        tables = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"{file} is not valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(tables, dict) or not all(isinstance(key, str) for key in tables):
        raise DataError(f"{file}: expected names with values, such as 'ranker: lambdamart'.")
    return tables


def toml_text(tables: Mapping[str, Any]) -> str:
    """Values and tables as TOML, values first; None is written as "none".

    >>> from swaprank.experiments.config_files import toml_text
    >>> print(toml_text({"ranker": "mart", "parameters": {"max_depth": None, "hidden": (10, 5), "l2": 0.5}}))
    ranker = "mart"
    <BLANKLINE>
    [parameters]
    max_depth = "none"
    hidden = [10, 5]
    l2 = 0.5
    """
    return "\n".join(_lines(tables, ())).strip("\n")


def _lines(tables: Mapping[str, Any], place: tuple[str, ...]) -> list[str]:
    values = {name: value for name, value in tables.items() if not isinstance(value, Mapping)}
    inner = {name: value for name, value in tables.items() if isinstance(value, Mapping)}
    lines = ["", f"[{'.'.join(map(_key, place))}]"] if place and values else []
    lines += [f"{_key(name)} = {_value(value, name)}" for name, value in values.items()]
    for name, value in inner.items():
        lines += _lines(value, (*place, name))
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any, name: str) -> str:
    if hasattr(value, "item"):
        value = value.item()
    match value:
        case None:
            return f'"{NONE}"'
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(_value(item, name) for item in value)}]"
    raise ParameterError(f"{name}: a configuration cannot hold {value!r}: only numbers, text and lists of them.")


def _text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped) + '"'
