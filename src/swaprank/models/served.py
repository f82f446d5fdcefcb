"""Models as other systems can serve them: five kinds, which `Model.for_export` gives.

    forest, a weighted sum of forests              ─►  Trees
    weights, a net without hidden layers, sums     ─►  WeightedSum
    net                                            ─►  FeedForward
    kernel machine                                 ─►  KernelSum
    other ensembles                                ─►  Mixture

All of them take the whole feature matrix: a member of an ensemble that has other features, or the same in another
order, is rewritten for the columns of the ensemble.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features, Floats
from swaprank.data.categories import looked_up
from swaprank.models.category_sets import node_sets, set_members, set_words

if TYPE_CHECKING:
    from swaprank.models.forest import Forest


class Trees(NamedTuple):
    """Trees whose leaf values are added to the base score; the arrays are those of `models.forest`."""

    forest: Forest


class WeightedSum(NamedTuple):
    """bias + the sum of weight x value, where a missing value is replaced by `missing`."""

    weights: Floats
    missing: Features
    bias: float


class FeedForward(NamedTuple):
    """Scaled features through layers; the last layer has one unit, and all others are activated.

    scaled = (x - mean) * factor, of sign(x) log(1 + |x|) if `logged`; then clipped to ±1e9 (`scaling.MAX_SCALED`). A
    missing value becomes `missing`, which is a scaled value. All arrays are float32.
    """

    logged: Bools
    mean: Features
    factor: Features
    missing: Features
    layers: tuple[tuple[Features, Features], ...]
    """Matrix (units x inputs) and biases of each layer; the bias of the last layer is 0."""
    activation: str
    """tanh, sigmoid or relu."""


class KernelSum(NamedTuple):
    """The sum of coefficient x kernel(z, landmark), where z = (x - missing) * factor, and 0 for a missing x.

    rbf: exp(-gamma |z - landmark|²). polynomial: (gamma z'landmark + 1)^degree. All arrays but `missing` are float64.
    """

    kernel: str
    gamma: float
    degree: int
    factor: Floats
    missing: Features
    landmarks: Floats
    coefficients: Floats


class Mixture(NamedTuple):
    """A model of other models' scores: top((score - center) / spread)."""

    members: tuple[ServedModel, ...]
    center: Floats
    spread: Floats
    top: WeightedSum | FeedForward


ServedModel: TypeAlias = Trees | WeightedSum | FeedForward | KernelSum | Mixture


def on_columns(served: ServedModel, columns: AnyArray, n_features: int, codes: Mapping[int, Features]) -> ServedModel:
    """The model of some columns as a model of all; features that it does not have get weight 0.

    Args:
        served: The model on its own features.
        columns: The column of each feature.
        n_features: The number of columns.
        codes: By feature: the model's code of each code in the column, NaN if it does not have the category.
    """

    def wide(array: AnyArray) -> AnyArray:
        return spread_columns(array, columns, n_features)

    match served:
        case Trees(forest):
            return Trees(_forest_on_columns(forest, columns, n_features, codes))
        case WeightedSum(weights, missing, bias):
            return WeightedSum(wide(weights), wide(missing), bias)
        case FeedForward(logged, mean, factor, missing, layers, activation):
            (matrix, biases), *others = layers
            inputs = (wide(logged), wide(mean), wide(factor), wide(missing))
            return FeedForward(*inputs, ((wide(matrix), biases), *others), activation)
        case KernelSum(kernel, gamma, degree, factor, missing, landmarks, coefficients):
            return KernelSum(kernel, gamma, degree, wide(factor), wide(missing), wide(landmarks), coefficients)
        case Mixture(members, center, spread, top):
            moved = tuple(on_columns(member, columns, n_features, codes) for member in members)
            return Mixture(moved, center, spread, top)


def spread_columns(array: AnyArray, columns: AnyArray, n_features: int) -> AnyArray:
    """The last axis, one entry per feature of a model, as one entry per column; 0 for other columns.

    >>> import numpy as np
    >>> from swaprank.models.served import spread_columns
    >>> spread_columns(np.array([0.5, 2.0]), np.array([2, 0]), 4).tolist()
    [2.0, 0.0, 0.5, 0.0]
    """
    wide = np.zeros((*array.shape[:-1], n_features), array.dtype)
    wide[..., columns] = array
    return wide


def _forest_on_columns(forest: Forest, columns: AnyArray, n_features: int, codes: Mapping[int, Features]) -> Forest:
    moved = replace(forest, n_features=n_features, feature=columns[forest.feature].astype(np.int32))
    n_words, words = forest.n_words.copy(), []
    for node, own in node_sets(forest):
        if (feature := int(forest.feature[node])) in codes:
            own = _recoded_set(own, codes[feature], bool(forest.missing_left[node]))
        n_words[node] = len(own)
        words.append(own)
    return replace(moved, n_words=n_words, words=np.concatenate(words)) if words else moved


def _recoded_set(words: AnyArray, codes: Features, missing_left: bool) -> AnyArray:
    """The set for the codes of the column; those without a code of the forest go where missing values go."""
    members = set_members(words)
    inner = looked_up(np.arange(len(codes), dtype=np.float32), codes)
    known = inner < len(members)  # False for NaN
    goes_left = np.full(len(codes), missing_left)
    goes_left[known] = members[inner[known].astype(np.int64)]
    return set_words(goes_left, missing_left)
