"""Configuration files: reads TOML and YAML, writes TOML."""

import os
import tomllib
from collections.abc import Mapping
from typing import Any

import tomli_w

from swaprank.errors import DataError, ParameterError, import_extra
from swaprank.files import existing_file

NONE = "none"
"""Stands for None, which TOML cannot express. --set on the command line uses the same word."""


def read_config(path: str | os.PathLike[str]) -> dict[str, Any]:
    r"""Read a .toml, .yaml or .yml file into a dictionary.

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
        raise DataError(f"{file}: a configuration file must end in .toml, .yaml or .yml; found '{ending}'.")
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8 text: {error}.") from None
    try:
        return _parse_yaml(text, str(file)) if ending != ".toml" else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{file} is not valid TOML: {error}.") from None
    except RecursionError:
        raise DataError(f"{file} is nested too deeply for a configuration.") from None


def _parse_yaml(text: str, file: str) -> dict[str, Any]:
    yaml = import_extra("yaml", f"{file}: PyYAML is not installed: pip install PyYAML, or use TOML.")
    try:
        tables: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise DataError(f"{file} is not valid YAML: {' '.join(str(error).split())}.") from None
    if not isinstance(tables, dict) or not all(isinstance(key, str) for key in tables):
        raise DataError(f"{file}: expected names with values, such as 'ranker: lambdamart'.")
    return tables


def toml_text(tables: Mapping[str, Any]) -> str:
    """Values and tables as TOML; None is written as "none".

    >>> from swaprank.experiments.config_files import toml_text
    >>> print(toml_text({"ranker": "mart", "parameters": {"max_depth": None, "hidden": (10,), "l2": 0.5}}))
    ranker = "mart"
    <BLANKLINE>
    [parameters]
    max_depth = "none"
    hidden = [
        10,
    ]
    l2 = 0.5
    """
    return tomli_w.dumps(_toml_values(tables, "")).strip("\n")


def _toml_values(value: Any, name: str) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    match value:
        case None:
            return NONE
        case bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [_toml_values(item, name) for item in value]
        case Mapping():
            return {key: _toml_values(item, key) for key, item in value.items()}
    raise ParameterError(
        f"{name}: a configuration file cannot store {value!r}; it takes numbers, text, lists and tables."
    )
