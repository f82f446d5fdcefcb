"""Rankers to model files and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from swaprank.errors import ModelFileError
from swaprank.metrics.metric import OWN_METRIC, Metric
from swaprank.model_files.container import ModelContent, read_model, write_model
from swaprank.objectives.objective import Objective
from swaprank.version import __version__

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker


def content_of(ranker: Ranker) -> ModelContent:
    """What a model file of the ranker holds: parameters, feature names, history and what was learned.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import content_of
    >>> (train,) = sr.datasets.random_net((20,), n_features=5, random_state=0)
    >>> content_of(sr.MART(n_trees=2).fit(train)).kind
    'mart'
    """
    parameters = ranker.get_params(deep=False)
    # A metric of the user's own is code, which no model file holds: its name says so, and reads as no other metric's.
    own = isinstance(parameters["metric"], Metric) and not parameters["metric"].names
    parameters["metric"] = f"{parameters['metric']}{OWN_METRIC}" if own else str(parameters["metric"])
    objective = parameters.get("objective")
    if isinstance(objective, Objective):
        # So is an objective; only its sigma is used after training.
        parameters["objective"] = f"{objective}{OWN_METRIC}"
        parameters["sigma"] = getattr(objective, "sigma", parameters["sigma"])
    # What the base ranker knew is in the model already; how many threads trained it is nobody's business.
    parameters["base_ranker"] = parameters["n_threads"] = None
    learned, arrays = ranker._saved()
    meta = {
        "swaprank": __version__,
        "parameters": parameters,
        "feature_names": [str(name) for name in ranker.feature_names_in_],
        "history": ranker.history_,
        "interrupted": ranker.interrupted_,
        **learned,
    }
    return ModelContent(ranker.kind, meta, arrays)


def ranker_of(content: ModelContent) -> Ranker:
    """The ranker that a model file holds; whatever is wrong with its content is a ModelFileError.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import content_of, ranker_of
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(train)
    >>> (ranker_of(content_of(ranker)).predict(test) == ranker.predict(test)).all()
    np.True_
    """
    from swaprank.registry import RANKERS

    if content.kind not in RANKERS:
        raise ModelFileError(f"it holds a '{content.kind}', which this version of swaprank does not know.")
    try:
        return _restored(content)
    except ModelFileError:
        raise
    except RecursionError:
        raise ModelFileError("its rankers are nested too deeply.") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"its parameters are not valid ({type(error).__name__}: {error}).") from None


def save(ranker: Ranker, path: str | os.PathLike[str]) -> None:
    """Parameters, feature names, history and what was learned, in one file."""
    write_model(path, *content_of(ranker))


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a ranker from its model file; every index in it is checked.

    >>> import tempfile, swaprank as sr
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=3).fit(train)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranker.save(f"{folder}/model.swaprank")
    ...     again = sr.load(f"{folder}/model.swaprank")
    >>> (again.predict(test) == ranker.predict(test)).all()
    np.True_
    """
    content = read_model(path)
    try:
        return ranker_of(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _restored(content: ModelContent) -> Ranker:
    from swaprank.registry import ranker_class

    meta = content.meta
    parameters = {key: tuple(value) if isinstance(value, list) else value for key, value in meta["parameters"].items()}
    ranker = ranker_class(content.kind)(**parameters)
    ranker._restore(meta, content.arrays)
    names = meta["feature_names"]
    if len(names) != ranker.n_features_in_ or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"it has {len(names)} feature names, but the model has {ranker.n_features_in_} features.")
    ranker.feature_names_in_ = np.array(names, dtype=object)
    ranker.history_ = {str(key): [float(value) for value in values] for key, values in meta["history"].items()}
    ranker.interrupted_ = bool(meta["interrupted"])
    return ranker
