"""A model for the features of a target, as formats are given it, and what formats share about it.

Missing values, where a target reads them as 0, become an error or a warning, never silence.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Bools
from swaprank.data.categories import Categories
from swaprank.errors import ExportError, ExportWarning, Hint, warn_user
from swaprank.exchange.feature_sets import FeatureSet
from swaprank.models.calibration import Calibration
from swaprank.models.served import FeedForward, KernelSum, Mixture, ServedModel, Trees, WeightedSum

MISSING_AS_ZERO = Hint("missing", "zero")
NEEDS_ONNX = "ONNX files need the package onnx: pip install 'swaprank[onnx]'."


class Export(NamedTuple):
    """A model for all features of a target, and how to write it."""

    to: str
    """The name of the format, for messages."""
    model: ServedModel
    feature_names: tuple[str, ...]
    categories: Mapping[str, Categories]
    """The categories of each categorical feature; their positions are the numbers that the model takes."""
    name: str
    """The name of the model where it is served."""
    missing: Literal["refuse", "zero"]
    """The choice for missing values that the model treats otherwise than a target that reads them as 0."""
    request: bool
    """Write the whole body of the request that uploads the model, instead of the model alone."""
    feature_set: FeatureSet | None
    """The features of the target as they were given, with their definitions if these were given."""
    may_be_missing: Bools | None = None
    """True for features with missing values in training; None if that is not known."""
    calibration: Calibration | None = None
    """How scores become probabilities or labels, if the ranker is calibrated."""

    def unlike_zero(self) -> tuple[AnyArray, AnyArray]:
        """The features whose missing values the model does not take for 0: those it has learned about, and the others.

        Features that were never missing in training do not count.
        """
        learned, assumed = _unlike_zero(self.model, len(self.feature_names))
        return learned, assumed & (True if self.may_be_missing is None else self.may_be_missing)

    def named(self, chosen: AnyArray) -> str:
        """The first of the chosen features, and how many more."""
        at = np.flatnonzero(chosen)
        return f"'{self.feature_names[at[0]]}'" + (f" and {len(at) - 1} more" if len(at) > 1 else "")


def refuse_kind(export: Export, holds: str, instead: str) -> ExportError:
    """The error for a model of a kind that the format cannot hold; `holds` says what it can.

    >>> import numpy as np
    >>> from swaprank.exchange.exported import Export, refuse_kind
    >>> from swaprank.models.served import WeightedSum
    >>> model = WeightedSum(np.ones(2), np.zeros(2, np.float32), 0.0)
    >>> refuse_kind(Export("lightgbm", model, ("a", "b"), {}, "m", "refuse", False, None), "trees", "onnx or c")
    ExportError('lightgbm holds only trees; found a linear model. Use onnx or c.')
    """
    return ExportError(f"{export.to} holds only {holds}; found {describe(export.model)}. Use {instead}.")


def describe(model: ServedModel) -> str:
    """A kind of model in words."""
    match model:
        case Trees():
            return "trees"
        case WeightedSum():
            return "a linear model"
        case FeedForward(layers=layers):
            hidden = len(layers) - 1
            return f"a net of {hidden} hidden layer{'s' if hidden != 1 else ''}"
        case KernelSum():
            return "a kernel machine"
        case Mixture(members=members):
            return f"an ensemble of {' and '.join(describe(member) for member in members)}"


def check_missing_as_zero(export: Export, target: str, instead: str = "") -> None:
    """Raise ExportError, or warn, if the target reads a missing value as 0 and the model does something else with it.

    Trees that have learned where to send the missing values of a feature are refused. Missing values that may all have
    gone right, and means that linear models and nets take, are warned about, unless the training data had none.

    >>> import numpy as np
    >>> from swaprank.exchange.exported import Export, check_missing_as_zero
    >>> from swaprank.models.served import Trees
    >>> from swaprank.exchange.tree_building import PeerTree, build_forest
    >>> stump = PeerTree([0], [-0.5], [True], [~0], [~1], leaf_value=[-1.0, 1.0])
    >>> model = Trees(build_forest([stump], n_features=1))
    >>> check_missing_as_zero(Export("solr", model, ("price",), {}, "m", "refuse", False, None), "Solr")
    Traceback (most recent call last):
    ...
    swaprank.errors.ExportError: the trees have learned where to send missing values of 'price', but Solr reads them as
    0. Train with 0 in their place; or, if documents always have it, export with missing='zero'.
    """
    if export.missing == "zero":
        return
    learned, assumed = export.unlike_zero()
    if learned.any():
        raise ExportError(
            f"the trees have learned where to send missing values of {export.named(learned)}, but "
            f"{target} reads them as 0. Train with 0 in their place; or, if documents always have it, export with ",
            MISSING_AS_ZERO,
            f".{instead}",
        )
    if assumed.any():
        warn_of_export(
            f"{target} reads a missing value as 0, which is not what the model does with it for "
            f"{export.named(assumed)}: send a value with every document. ",
            MISSING_AS_ZERO,
            " accepts this without a warning.",
        )


def warn_of_export(*parts: str | Hint) -> None:
    """Warn about scores that may differ where the model is served."""
    warn_user(ExportWarning(*parts))


def _unlike_zero(model: ServedModel, n_features: int) -> tuple[AnyArray, AnyArray]:
    learned, assumed = np.zeros((2, n_features), np.bool_)
    match model:
        case Trees(forest):
            zero_left = forest.threshold >= 0
            differs = (forest.n_words == 0) & (zero_left != forest.missing_left)
            unlike_zero = np.bincount(forest.feature[differs], minlength=n_features) > 0
            # Nodes that saw no missing value send them right.
            went_left = np.bincount(forest.feature[forest.missing_left], minlength=n_features) > 0
            learned, assumed = unlike_zero & went_left, unlike_zero & ~went_left
        case WeightedSum(weights, missing):
            assumed = weights * missing != 0
        case FeedForward(mean=mean, factor=factor, missing=missing, layers=layers):
            assumed = (layers[0][0] != 0).any(axis=0) & (-mean * factor != missing)
        case KernelSum(factor=factor, missing=missing):
            assumed = factor * missing != 0
        case Mixture(members):
            found = [_unlike_zero(member, n_features) for member in members]
            learned, assumed = (np.any(each, axis=0) for each in zip(*found, strict=True))
    return learned, assumed


def ltr_content(export: Export, model_type: str, definition: str) -> bytes:
    r"""The definition of a model alone, or the body of the request that creates it in Elasticsearch or OpenSearch LTR.

    With the definitions of the features, this is the body of `PUT _ltr/_model/<name>`, which holds the feature set too.
    Without, that of `POST _ltr/_featureset/<set>/_createmodel`, which takes the features from a stored feature set.

    >>> from swaprank.exchange.exported import Export, ltr_content
    >>> ltr_content(Export("ranklib", None, ("bm25",), {}, "shop", "refuse", True, None), "model/ranklib", "…")
    b'{"model": {"name": "shop", "model": {"type": "model/ranklib", "definition": "\\u2026"}}}\n'
    """
    if not export.request:
        return definition.encode()
    model: dict[str, Any] = {"name": export.name}
    if export.feature_set is not None and export.feature_set.definitions is not None:
        features = list(export.feature_set.definitions)
        model["feature_set"] = {"name": export.feature_set.name or export.name, "features": features}
    model["model"] = {"type": model_type, "definition": definition}
    return (json.dumps({"model": model}) + "\n").encode()
