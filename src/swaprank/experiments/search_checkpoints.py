"""Resuming an interrupted search: what its results depend on, and whether a saved search still matches."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.experiments.fingerprints import data_digest
from swaprank.experiments.ranker_parameters import training_parameters
from swaprank.metrics.metric import Metric
from swaprank.model_files.plain_json import from_json, to_json
from swaprank.rankers.ranker import Ranker
from swaprank.version import __version__


def search_configuration(
    ranker: Ranker, searched: Container[str], metric: Metric, train: Dataset, valid: Dataset
) -> dict[str, Any]:
    """Everything that the result of one trial depends on, except the searched parameters, as plain JSON values.

    >>> import swaprank as sr
    >>> from swaprank.experiments.search_checkpoints import search_configuration
    >>> (data,) = sr.datasets.random_net((5,), n_features=2, random_state=0)
    >>> configuration = search_configuration(sr.MART(n_trees=9), ["n_leaves"], sr.metric("map"), data, data)
    >>> configuration["n_trees"], configuration["validation_metric"], "n_leaves" in configuration
    (9, 'map', False)
    """
    configuration = {
        "ranker": ranker.kind,
        "metric": str(ranker.metric),
        **training_parameters(ranker),
        "validation_metric": str(metric),
        "train": data_digest(train),
        "valid": data_digest(valid),
        "swaprank": __version__,
    }
    return plain_values({name: value for name, value in configuration.items() if name not in searched})


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values as they are after writing and reading JSON: tuples become lists."""
    plain: dict[str, Any] = from_json(to_json(dict(values)))
    return plain


def check_configuration(
    file: str | os.PathLike[str] | None, saved: Mapping[str, Any], current: Mapping[str, Any]
) -> None:
    """Raise DataError if a saved search was run with another configuration; the message lists what changed.

    >>> from swaprank.experiments.search_checkpoints import check_configuration
    >>> check_configuration("mart.json", {"n_trees": 4, "l2": 0.0}, {"n_trees": 5, "l2": 0.0})
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: mart.json was saved with another configuration: n_trees was 4, is now 5. Restore these \
values to resume, or choose another output, or delete this file to start over.
    """
    changes = [
        f"{name} was {format_value(saved.get(name))}, is now {format_value(current.get(name))}"
        for name in {**saved, **current}
        if saved.get(name) != current.get(name)
    ]
    if changes:
        raise DataError(
            f"{file} was saved with another configuration: {'; '.join(changes)}. Restore these values to resume, or "
            "choose another output, or delete this file to start over."
        )


def format_parameters(parameters: Mapping[str, Any]) -> str:
    """Parameters as the command line takes them.

    >>> from swaprank.experiments.search_checkpoints import format_parameters
    >>> format_parameters({"n_leaves": 7, "hidden": (10, 5)})
    'n_leaves=7 hidden=(10,5)'
    """
    return " ".join(f"{name}={format_value(value)}" for name, value in parameters.items())


def format_value(value: Any) -> str:
    """A short text for one value."""
    if isinstance(value, float) and len(repr(value)) > 8:
        return f"{value:.4g}"
    text = str(value).replace(" ", "").replace("'", "")
    return text if len(text) <= 40 else f"{text[:37]}…"
