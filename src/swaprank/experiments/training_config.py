"""Training runs from configuration files; options override the file."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from swaprank.environment import versions
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.experiments.config_files import read_config
from swaprank.experiments.ranker_parameters import check_parameter_names, from_config_value, parse_settings
from swaprank.experiments.training_run import TrainingRun
from swaprank.registry import ranker_class

PATHS = ("train", "valid", "base_ranker", "output")
VALUES = {"ranker": str, "metric": str, "seed": int, "threads": int}
TABLES = ("columns", "parameters", "data", "versions", "result")
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("label", "qid", "docid", "sample_weight", "query_weight"), str),
    **dict.fromkeys(("features", "ignore", "categorical_features", "columns"), list),
}


def read_training_config(
    path: str | os.PathLike[str] | None, options: Mapping[str, Any], settings: Sequence[str] = ()
) -> TrainingRun:
    r"""Read the training run of a configuration file; options override the file.

    Args:
        path: TOML or YAML with train (a path, or a list of parts), valid, base_ranker, output, ranker, metric, seed,
            threads, and tables of columns and parameters. Paths are relative to the folder of the file. If None, the
            options alone define the run.
        options: Values for the same names except parameters; None means not given.
        settings: Parameters, such as "n_leaves=7".

    >>> import pathlib, tempfile
    >>> from swaprank.experiments.training_config import read_training_config
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.toml"
    >>> _ = path.write_text("train = '/data/train.txt'\nranker = 'mart'\n[parameters]\nn_leaves = 7\nl2 = 1.0\n")
    >>> run = read_training_config(path, {"output": "model.swaprank"}, ["l2=0.5"])
    >>> run.ranker, run.parameters
    ('mart', {'n_leaves': 7, 'l2': 0.5})
    """
    tables = {} if path is None else _check_config(read_config(path), path)
    options = {name: value for name, value in options.items() if value is not None}
    values = {name: value for name, value in tables.items() if name in PATHS or name in VALUES}
    kind = ranker_class(values.get("ranker", "lambdamart"))
    accepted = kind.accepted_names()
    parameters = {accepted.get(name, name): value for name, value in tables.get("parameters", {}).items()}
    overrides = parse_settings(options.get("ranker", values.get("ranker", "lambdamart")), settings)
    if parameters and options.get("ranker", values.get("ranker")) != values.get("ranker"):
        raise ParameterError(
            f"the parameters in {path} are for {values.get('ranker', 'lambdamart')}, but the ranker is "
            f"{options['ranker']}: write another configuration file for it."
        )
    if "random_state" in overrides:
        values.pop("seed", None)
    if "n_threads" in overrides:
        values.pop("threads", None)
    changed = {*options, *(("train", "valid") if options.get("columns") else ())}
    expected = {
        role: fingerprint["digest"]
        for role, fingerprint in tables.get("data", {}).items()
        if role not in changed and isinstance(fingerprint, dict) and "digest" in fingerprint
    }
    values = {**values, **options, "columns": {**tables.get("columns", {}), **options.get("columns", {})}}
    for name, meaning in (("train", "the training data"), ("output", "the model file to write")):
        if name not in values:
            raise ParameterError(f"{path} has no '{name}' ({meaning}): add it to the file, or give it as an option.")
    return TrainingRun(**values, parameters={**parameters, **overrides}, expected=expected)


def differing_versions(path: str | os.PathLike[str]) -> list[str]:
    """Packages whose version differs from the one in a training record: "numpy was 2.1.0, is now 2.2.0"."""
    then, now = read_config(path).get("versions", {}), versions()
    return [f"{name} was {then[name]}, is now {now[name]}" for name in now if then.get(name, now[name]) != now[name]]


def recorded_digest(path: str | os.PathLike[str]) -> str | None:
    """The digest of the model in a training record; None if it has none or training was interrupted."""
    result = read_config(path).get("result", {})
    return None if result.get("interrupted", True) else str(result.get("digest"))


def _check_config(tables: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    known = (*PATHS, *VALUES, *TABLES)
    for name, value in tables.items():
        if name not in known:
            ranker = str(tables.get("ranker", "lambdamart"))
            raise DataError(f"{path} has an unknown entry '{name}'; {_suggestion(name, known, ranker)}")
        kind = dict if name in TABLES else str if name in PATHS else VALUES[name]
        several = name == "train" and isinstance(value, list) and all(isinstance(file, str) for file in value)
        if not (isinstance(value, kind) or (several and value)) or isinstance(value, bool):
            expected = {dict: "a table", str: "text", int: "a whole number"}[kind]
            expected += " or a list of files" if name == "train" else ""
            raise DataError(f"{path}: {name} must be {expected}, found {value!r}.")
    for name, value in tables.get("columns", {}).items():
        if name not in COLUMNS:
            raise DataError(f"{path}: [columns] has an unknown entry '{name}'; {did_you_mean(name, COLUMNS)}")
        if not isinstance(value, COLUMNS[name]):
            expected = "a list of names" if COLUMNS[name] is list else "a name"
            raise DataError(f"{path}: [columns] {name} must be {expected}, found {value!r}.")
    folder = Path(path).parent
    paths = {name: tables[name] for name in PATHS if name in tables}
    checked = tables | {
        name: [folder / each for each in path] if isinstance(path, list) else folder / path
        for name, path in paths.items()
    }
    checked["parameters"] = {name: from_config_value(value) for name, value in tables.get("parameters", {}).items()}
    return checked


def _suggestion(name: str, known: tuple[str, ...], ranker: str) -> str:
    try:
        check_parameter_names(ranker, [name])
    except ParameterError:
        return did_you_mean(name, known)
    return f"it is a parameter of {ranker}: move it below [parameters]."
