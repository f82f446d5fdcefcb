"""Training runs from configuration files, with what the command line says instead."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.experiments.config_files import read_config
from swaprank.experiments.ranker_parameters import check_names, from_plain
from swaprank.experiments.training_run import TrainingRun

PATHS = ("train", "valid", "base", "output")
VALUES = {"ranker": str, "metric": str, "seed": int, "threads": int}
TABLES = ("parameters", "data", "versions", "result")


def read_run(path: str | os.PathLike[str] | None, given: Mapping[str, Any]) -> TrainingRun:
    r"""The run of a configuration file, if there is one; what is given otherwise goes before it.

    Args:
        path: TOML or YAML with train, valid, base, output, ranker, metric, seed, threads and a table of parameters;
            paths count from its folder.
        given: The same, by name; None is as if not given.

    >>> import pathlib, tempfile
    >>> from swaprank.experiments.run_configs import read_run
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.toml"
    >>> _ = path.write_text("train = '/data/train.txt'\nranker = 'mart'\n[parameters]\nn_leaves = 7\nl2 = 1.0\n")
    >>> run = read_run(path, {"output": "model.swaprank", "parameters": {"l2": 0.5}})
    >>> run.ranker, run.parameters
    ('mart', {'n_leaves': 7, 'l2': 0.5})
    """
    tables = {} if path is None else _checked(read_config(path), path)
    given = {name: value for name, value in given.items() if value is not None}
    values = {name: value for name, value in tables.items() if name in PATHS or name in VALUES}
    parameters = dict(tables.get("parameters", {}))
    told = given.pop("parameters", {})
    if parameters and given.get("ranker", values.get("ranker")) != values.get("ranker"):
        raise ParameterError(
            f"the parameters in {path} are those of {values.get('ranker', 'lambdamart')}: {given['ranker']} needs a "
            "configuration of its own."
        )
    if "random_state" in told:
        values.pop("seed", None)
    if "n_threads" in told:
        values.pop("threads", None)
    expected = {
        role: facts["digest"]
        for role, facts in tables.get("data", {}).items()
        if role not in given and isinstance(facts, dict) and "digest" in facts
    }
    values = {**values, **given}
    for name, words in (("train", "what to learn from"), ("output", "where to write the model")):
        if name not in values:
            raise ParameterError(f"{path} has no '{name}', and it was not given otherwise: {words}.")
    return TrainingRun(**values, parameters={**parameters, **told}, expected=expected)


def differing_versions(path: str | os.PathLike[str]) -> list[str]:
    """What was another version when a record was written: "numpy 2.1.0 then, 2.2.0 now"."""
    from swaprank.experiments.fingerprints import versions

    then, now = read_config(path).get("versions", {}), versions()
    return [f"{name} {then[name]} then, {now[name]} now" for name in now if then.get(name, now[name]) != now[name]]


def recorded_digest(path: str | os.PathLike[str]) -> str | None:
    """The digest of the model that a record tells of; None if it tells of none, or of an interrupted run."""
    result = read_config(path).get("result", {})
    return None if result.get("interrupted", True) else str(result.get("digest"))


def _checked(tables: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    known = (*PATHS, *VALUES, *TABLES)
    for name, value in tables.items():
        if name not in known:
            ranker = str(tables.get("ranker", "lambdamart"))
            raise DataError(f"{path} has an unknown '{name}'; {_advice(name, known, ranker)}")
        kind = dict if name in TABLES else str if name in PATHS else VALUES[name]
        if not isinstance(value, kind) or isinstance(value, bool):
            words = {dict: "a table", str: "text", int: "a whole number"}[kind]
            raise DataError(f"{path}: {name} must be {words}, found {value!r}.")
    folder = Path(path).parent
    checked = {**tables, **{name: folder / tables[name] for name in PATHS if name in tables}}
    checked["parameters"] = {name: from_plain(value) for name, value in tables.get("parameters", {}).items()}
    return checked


def _advice(name: str, known: tuple[str, ...], ranker: str) -> str:
    try:
        check_names(ranker, [name])
    except ParameterError:
        return did_you_mean(name, known)
    return f"it is a parameter of {ranker}, and belongs below [parameters]."
