"""Resuming an interrupted search: what its results depend on, and whether a saved search still matches."""

from collections.abc import Container
from typing import Any

from swaprank.data.dataset import Dataset
from swaprank.experiments.fingerprints import data_digest
from swaprank.experiments.ranker_parameters import training_parameters
from swaprank.metrics.metric import Metric
from swaprank.model_files.configurations import plain_values
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
