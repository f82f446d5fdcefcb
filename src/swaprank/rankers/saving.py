"""What is written when a model is saved.

    kind         of the ranker: "lambdamart"
    swaprank     the version that wrote it
    parameters   of the ranker; a metric of the user's own and an objective instance only by their names
    feature_names, history, rounds, interrupted, sigma
    categories   of each categorical feature; only if there are any
    missing_features     with missing values in the training data; only if known
    fitted       what was found beside the model, such as the regularization that was chosen
    model        the model's plain values; its arrays follow (models/model.py: to_parts)

model_files/container.py says how this becomes bytes, and registry.py reads it again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from swaprank.metrics.metric import OWN_SUFFIX, Metric
from swaprank.model_files.container import ModelContent, write_model
from swaprank.objectives.objective import Objective
from swaprank.version import __version__

if TYPE_CHECKING:
    from swaprank.rankers.fitted_ranker import FittedRanker

_NOT_SAVED = ("base_ranker", "members", "n_threads")
"""The model contains what the base ranker and the members have learned; the number of threads does not change it."""


def content_of(ranker: FittedRanker) -> ModelContent:
    """The content of a ranker's model file.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import content_of
    >>> (train,) = sr.datasets.random_net((20,), n_features=5, random_state=0)
    >>> content = content_of(sr.MART(n_trees=2).fit(train))
    >>> content.kind, content.meta["model"]["kind"]
    ('mart', 'forest')
    """
    model, arrays = ranker.model_.to_parts()
    meta = {
        "swaprank": __version__,
        "parameters": saved_parameters(ranker),
        "feature_names": [str(name) for name in ranker.feature_names_in_],
        "history": ranker.history_,
        "rounds": {"trained": ranker.n_rounds_, "kept": ranker.best_round_},
        "interrupted": ranker.interrupted_,
        "sigma": ranker.sigma_,
        "fitted": ranker._fitted_values(),
        "model": model,
    }
    if ranker.missing_features_ is not None:
        meta["missing_features"] = list(ranker.missing_features_)
    if ranker.categories_:
        meta["categories"] = {name: list(categories) for name, categories in ranker.categories_.items()}
    return ModelContent(ranker.kind, meta, arrays)


def saved_parameters(ranker: FittedRanker) -> dict[str, Any]:
    """The parameters of a ranker as plain values."""
    given = ranker.get_params(deep=False)
    if "random_state" in given:
        given["random_state"] = ranker.random_state_
    return {name: _saved(value) for name, value in given.items() if name not in _NOT_SAVED}


def save(ranker: FittedRanker, path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker to one file; on any error, nothing."""
    content = content_of(ranker)
    write_model(path, content.kind, content.meta, content.arrays)


def _saved(parameter: Any) -> Any:
    """A parameter as a plain value: own metrics and objective instances are code, which no model file holds."""
    if isinstance(parameter, Objective) or (isinstance(parameter, Metric) and parameter.is_own):
        return f"{parameter}{OWN_SUFFIX}"
    return str(parameter) if isinstance(parameter, Metric) else parameter
