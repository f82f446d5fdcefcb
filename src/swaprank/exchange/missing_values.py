"""What becomes of missing values where a target reads them as 0: an error or a warning, never silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from warnings import warn

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.data.precision import frames_within
from swaprank.errors import ExportError, ExportWarning
from swaprank.exchange.served_models import FeedForward, KernelSum, Mixture, ServedModel, Trees, WeightedSum

if TYPE_CHECKING:
    from swaprank.exchange.export import Export


def check_missing_as_zero(export: Export, target: str, instead: str = "") -> None:
    """Raise ExportError, or warn, if the target reads a missing value as 0 and the model does something else with it.

    Trees that have learned where to send the missing values of a feature are refused. Missing values that may all have
    gone right, and means that linear models and nets take, are warned about, unless the training data had none.

    >>> import numpy as np
    >>> from swaprank.exchange.export import Export
    >>> from swaprank.exchange.missing_values import check_missing_as_zero
    >>> from swaprank.exchange.served_models import Trees
    >>> from swaprank.exchange.tree_building import PeerTree, build_forest
    >>> stump = PeerTree([0], [-0.5], [True], [~0], [~1], leaf_value=[-1.0, 1.0])
    >>> model = Trees(build_forest([stump], n_features=1))
    >>> check_missing_as_zero(Export("solr", model, ("price",), {}, "m", "refuse", False, None), "Solr")
    Traceback (most recent call last):
    ...
    swaprank.errors.ExportError: the trees have learned where to send missing values of 'price', but Solr reads them as
    0. Train with 0 in their place; or, if documents always have it, export with missing="zero".
    """
    if export.missing == "zero":
        return
    learned, assumed = features_unlike_zero(export)
    if learned.any():
        raise ExportError(
            f"the trees have learned where to send missing values of {named(export.feature_names, learned)}, but "
            f"{target} reads them as 0. Train with 0 in their place; or, if documents always have it, export with "
            f'missing="zero".{instead}'
        )
    if assumed.any():
        warn(
            f"{target} reads a missing value as 0, which is not what the model does with it for "
            f"{named(export.feature_names, assumed)}: send a value with every document. "
            'missing="zero" accepts this without a warning.',
            ExportWarning,
            stacklevel=frames_within(),
        )


def features_unlike_zero(export: Export) -> tuple[AnyArray, AnyArray]:
    """The features whose missing values the model does not take for 0: those it has learned about, and the others.

    Features that were never missing in training do not count.
    """
    learned, assumed = _unlike_zero(export.model, len(export.feature_names))
    may_be_missing = True if export.may_be_missing is None else export.may_be_missing
    return learned, assumed & may_be_missing


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


def named(names: Sequence[str], chosen: AnyArray) -> str:
    """The first feature, and how many more."""
    at = np.flatnonzero(chosen)
    return f"'{names[at[0]]}'" + (f" and {len(at) - 1} more" if len(at) > 1 else "")
