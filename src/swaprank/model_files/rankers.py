"""Rankers to model files and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.errors import ModelFileError
from swaprank.metrics.metric import Metric
from swaprank.model_files.container import ModelContent, read_model, write_model
from swaprank.model_files.forests import forest_arrays, forest_from_arrays, forest_meta
from swaprank.version import __version__

if TYPE_CHECKING:
    from swaprank.rankers.tree_ranker import TreeRanker


def save_tree_ranker(ranker: TreeRanker, path: str | os.PathLike[str]) -> None:
    """Parameters, feature names, history and forest, in one file."""
    ranker._features_of(np.zeros((1, getattr(ranker, "n_features_in_", 1)), np.float32))
    parameters = ranker.get_params(deep=False)
    # A metric of the user's own is code, which no model file holds: its name says so, and reads as no other metric's.
    own = isinstance(parameters["metric"], Metric) and not parameters["metric"].names
    parameters["metric"] = f"{parameters['metric']} (own)" if own else str(parameters["metric"])
    # The base ranker's trees are in the forest already; how many threads trained it is nobody's business.
    parameters["base_ranker"] = parameters["n_threads"] = None
    meta = {
        "swaprank": __version__,
        "parameters": parameters,
        "feature_names": [str(name) for name in ranker.feature_names_in_],
        "history": ranker.history_,
        "best_n_trees": ranker.best_n_trees_,
        "interrupted": ranker.interrupted_,
        "forest": forest_meta(ranker.forest_),
    }
    write_model(path, ranker.kind, meta, forest_arrays(ranker.forest_))


def load(path: str | os.PathLike[str]) -> TreeRanker:
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
        return _tree_ranker(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path}: its parameters are not valid ({type(error).__name__}: {error}).") from None


def _tree_ranker(content: ModelContent) -> TreeRanker:
    from swaprank.rankers.lambdamart import LambdaMART
    from swaprank.rankers.mart import MART

    kinds: dict[str, type[Any]] = {LambdaMART.kind: LambdaMART, MART.kind: MART}
    if content.kind not in kinds:
        raise ModelFileError(f"it holds a '{content.kind}', which this version of swaprank does not know.")
    meta = content.meta
    ranker: TreeRanker = kinds[content.kind](**meta["parameters"])
    ranker.forest_ = forest_from_arrays(content.arrays, meta["forest"])
    names = meta["feature_names"]
    if len(names) != ranker.forest_.n_features or not all(isinstance(name, str) for name in names):
        raise ModelFileError(f"it has {len(names)} feature names, but the forest has {ranker.forest_.n_features}.")
    ranker.n_features_in_ = len(names)
    ranker.feature_names_in_ = np.array(names, dtype=object)
    ranker.history_ = {str(key): [float(value) for value in values] for key, values in meta["history"].items()}
    ranker.best_n_trees_ = int(meta["best_n_trees"])
    ranker.interrupted_ = bool(meta["interrupted"])
    return ranker
