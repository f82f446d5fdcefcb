"""Where rankers are listed: by the names that model files, the command line and configuration files use.

A new ranker is one line in RANKERS.
"""

import ast
import os
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError, ParameterError, SwaprankError, did_you_mean
from swaprank.metrics.metric import is_own
from swaprank.model_files.container import ModelContent, read_model
from swaprank.model_files.format_1 import upgrade
from swaprank.models.restoring import model_from_parts
from swaprank.peer_names import PARAMETERS
from swaprank.rankers.parameter_checks import BOUNDS, Bounds, check_parameter, check_parameters
from swaprank.rankers.ranker import Ranker

RANKERS = {
    "adarank": "swaprank.baselines.adarank.AdaRank",
    "combination": "swaprank.ensembles.combination.Combination",
    "coordinate_ascent": "swaprank.baselines.coordinate_ascent.CoordinateAscent",
    "frank": "swaprank.baselines.frank.FRank",
    "lambdamart": "swaprank.rankers.lambdamart.LambdaMART",
    "lambdarank": "swaprank.rankers.lambdarank.LambdaRank",
    "linear_regression": "swaprank.rankers.linear_regression.LinearRegressionRanker",
    "listnet": "swaprank.baselines.listnet.ListNet",
    "mart": "swaprank.rankers.mart.MART",
    "oap_bpm": "swaprank.baselines.oap_bpm.OAPBPM",
    "imported": "swaprank.rankers.imported.ImportedRanker",
    "prank": "swaprank.baselines.prank.PRank",
    "random_forest": "swaprank.baselines.random_forest.RandomForest",
    "rankboost": "swaprank.baselines.rankboost.RankBoost",
    "ranknet": "swaprank.rankers.ranknet.RankNet",
    "rankprop": "swaprank.baselines.rankprop.RankProp",
    "ranksvm": "swaprank.baselines.ranksvm.RankSVM",
    "smoothrank": "swaprank.rankers.smoothrank.SmoothRank",
    "softrank": "swaprank.baselines.softrank.SoftRank",
    "stacked": "swaprank.ensembles.stacked.Stacked",
    "svmmap": "swaprank.baselines.svm_map.SVMMAP",
}
"""The class of each kind of ranker; only the one that is asked for is imported."""


def ranker_class(name: str) -> type[Ranker]:
    """The class of a kind of ranker.

    >>> from swaprank.registry import ranker_class
    >>> ranker_class("mart").__name__
    'MART'
    """
    if name not in RANKERS:
        raise ParameterError(f"there is no ranker '{name}'; {did_you_mean(name, RANKERS)}")
    module, _, class_name = RANKERS[name].rpartition(".")
    found: type[Ranker] = getattr(import_module(module), class_name)
    return found


def make_ranker(name: str, settings: Iterable[str] = ()) -> Ranker:
    """A ranker from its name and settings such as "n_leaves=31".

    >>> from swaprank.registry import make_ranker
    >>> make_ranker("lambdamart", ["n_leaves=15", "metric=map"])
    LambdaMART(metric='map', n_leaves=15)
    """
    kind = ranker_class(name)
    known = kind._get_param_names()
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise ParameterError(f"write a setting as name=value, found '{setting}'.")
        if key not in known:
            raise ParameterError(f"{name} has no parameter '{key}'; {did_you_mean(PARAMETERS.get(key, key), known)}")
        parameters[key] = _value(value)
    return kind(**parameters)


def _value(text: str) -> Any:
    """Numbers, tuples, lists, mappings, true, false and none as what they mean; anything else is text."""
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, int | float | tuple | dict) else text


def load(path: str | os.PathLike[str]) -> Ranker:
    """Read a ranker from its model file; everything in it is checked.

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


def ranker_of(content: ModelContent) -> Ranker:
    """The ranker that a model file holds; ModelFileError if something is wrong with its content.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import content_of
    >>> from swaprank.registry import ranker_of
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(train)
    >>> (ranker_of(content_of(ranker)).predict(test) == ranker.predict(test)).all()
    np.True_
    """
    if content.kind == "checkpoint":
        raise ModelFileError("it is a checkpoint of a training. To finish it: fit(…, checkpoint=…) with the same data.")
    if content.kind not in RANKERS:
        raise ModelFileError(f"it holds a '{content.kind}', which this version of swaprank does not know.")
    try:
        return _restored(upgrade(content) if content.version == 1 else content)
    except ModelFileError:
        raise
    except SwaprankError as error:
        raise ModelFileError(f"its parameters are not valid: {error}") from None
    except RecursionError:
        raise ModelFileError("its models are nested too deeply.") from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"its parameters are not valid ({type(error).__name__}: {error}).") from None


def _restored(content: ModelContent) -> Ranker:
    meta = content.meta
    parameters = {key: tuple(value) if isinstance(value, list) else value for key, value in meta["parameters"].items()}
    ranker = ranker_class(content.kind)(**present_parameters(parameters))
    _check_restored(ranker)
    ranker.model_ = model_from_parts(meta["model"], content.arrays)
    if not isinstance(ranker.model_, ranker.model_classes):
        raise ModelFileError(f"it holds {ranker.model_.describe()}, which is no model of a {ranker.kind}.")
    ranker.n_features_in_ = ranker.model_.n_features
    ranker.feature_names_in_ = np.array(_feature_names(meta["feature_names"], ranker.n_features_in_), dtype=object)
    ranker.categories_ = _categories(meta.get("categories", {}), ranker)
    ranker.missing_features_ = _missing_features(meta.get("missing_features"), meta["feature_names"])
    ranker.history_ = {
        name: {metric: [_number("history", value) for value in values] for metric, values in of_set.items()}
        for name, of_set in meta["history"].items()
    }
    if hasattr(ranker, "random_state"):
        ranker.random_state_ = int(meta["parameters"].get("random_state", 0))
    rounds = meta["rounds"]
    for name in ("trained", "kept"):
        check_parameter(f"rounds {name}", rounds[name], Bounds(True, 0, 2**62))
    ranker.n_rounds_, ranker.best_round_ = rounds["trained"], rounds["kept"]
    if not isinstance(meta["interrupted"], bool):
        raise ModelFileError(f"interrupted must be true or false; found {meta['interrupted']!r}.")
    check_parameter("sigma", meta["sigma"], BOUNDS["sigma"])
    ranker.interrupted_, ranker.sigma_ = meta["interrupted"], float(meta["sigma"])
    ranker._restore_values(meta["fitted"])
    return ranker


def present_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of models of earlier versions under their present names.

    >>> from swaprank.registry import present_parameters
    >>> present_parameters({"truncation": 5, "query_fraction": None})
    {'query_fraction': 1.0, 'horizon': 5}
    """
    present = dict(parameters)
    if "truncation" in present:
        present["horizon"] = present.pop("truncation")
    if present.get("query_fraction", 1.0) is None:
        present["query_fraction"] = 1.0
    return present


def _check_restored(ranker: Ranker) -> None:
    """Check the parameters as `fit` does, so that a file with wrong ones is refused here and not when they are used."""
    check_parameters(ranker)
    ranker._check_words()
    # Metrics and objectives of the user's own are saved by name only.
    if not is_own(ranker.metric):
        ranker.training_metric()
        if not is_own(getattr(ranker, "objective", None)):
            getattr(ranker, "_objective", lambda: None)()


def _feature_names(names: Any, n_features: int) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ModelFileError("its feature names are not a list of text.")
    if len(names) != n_features:
        raise ModelFileError(f"it has {len(names)} feature names, but the model has {n_features} features.")
    if len(set(names)) < n_features:
        raise ModelFileError("it has a feature name twice.")
    return names


def _missing_features(missing: Any, names: list[str]) -> tuple[str, ...] | None:
    if missing is None:
        return None
    if not isinstance(missing, list) or not all(isinstance(name, str) for name in missing) or set(missing) - set(names):
        raise ModelFileError("its features with missing values are not a list of its features.")
    return tuple(missing)


def _categories(categories: Any, ranker: Ranker) -> dict[str, Categories]:
    if not isinstance(categories, dict) or (categories and not ranker.takes_categories):
        raise ModelFileError(f"its categories are not those of the features of a {ranker.kind}.")
    for name, values in categories.items():
        if name not in ranker.feature_names_in_:
            raise ModelFileError(f"it has categories of a feature '{name}', which it does not have.")
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise ModelFileError(f"its categories of '{name}' are not a list of text.")
        if len(set(values)) < len(values):
            raise ModelFileError(f"it has a category of '{name}' twice.")
    return {name: tuple(values) for name, values in categories.items()}


def _number(what: str, value: Any) -> float:
    """A number, which may be NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelFileError(f"its {what} has {value!r} where a number is expected.")
    return float(value)
