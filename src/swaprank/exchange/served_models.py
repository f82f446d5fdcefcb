"""The kinds of models that formats tell apart, and any model of ours as one of them.

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
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast, final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Features, Floats
from swaprank.exchange.other_columns import forest_on_columns, spread_columns
from swaprank.models.forest import Forest, join_forests
from swaprank.models.layers import layer_weights
from swaprank.models.model import Model


@final
@dataclass(frozen=True, eq=False)
class Trees:
    """Trees whose leaf values are added to the base score; the arrays are those of `models.forest`."""

    forest: Forest


@final
@dataclass(frozen=True, eq=False)
class WeightedSum:
    """bias + the sum of weight x value, where a missing value is replaced by `missing`."""

    weights: Floats
    missing: Features
    bias: float


@final
@dataclass(frozen=True, eq=False)
class FeedForward:
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


@final
@dataclass(frozen=True, eq=False)
class KernelSum:
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


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """A model of other models' scores: top((score - center) / spread)."""

    members: tuple[ServedModel, ...]
    center: Floats
    spread: Floats
    top: WeightedSum | FeedForward


ServedModel: TypeAlias = Trees | WeightedSum | FeedForward | KernelSum | Mixture


def served_model(model: Model) -> ServedModel:
    """A model in the terms of formats. Weighted sums of forests become one forest, and of linear models one of these.

    >>> import numpy as np
    >>> from swaprank.exchange.served_models import served_model
    >>> from swaprank.models.ensemble import Ensemble, ScoreScale
    >>> from swaprank.models.linear import LinearModel
    >>> a, b = (LinearModel(np.array([w]), np.zeros(1, np.float32)) for w in (1.0, 4.0))
    >>> top = LinearModel(np.array([0.5, 0.25]), np.zeros(2, np.float32))
    >>> one = served_model(Ensemble((a, b), ScoreScale(np.array([0.0, 2.0]), np.array([1.0, 4.0])), top))
    >>> one.weights.tolist(), one.bias
    ([0.75], -0.125)
    """
    convert = {
        "forest": lambda model: Trees(model),
        "linear": _linear,
        "net": _net,
        "kernel": _kernel_machine,
        "ensemble": _ensemble,
        "selection": _selection,
    }[model.kind]
    return cast(ServedModel, convert(model))


def _linear(model: Any) -> WeightedSum:
    return WeightedSum(model.weights, model.missing, 0.0)


def _net(model: Any) -> WeightedSum | FeedForward:
    scaling = model.scaling
    if model.hidden or scaling.logged.any():
        matrices = layer_weights(model.layers, model.weights)
        layers = tuple((matrix, biases if len(biases) else np.zeros(1, np.float32)) for matrix, biases in matrices)
        return FeedForward(**scaling._asdict(), layers=layers, activation=model.activation)
    mean, factor, missing = (array.astype(np.float64) for array in scaling[1:])
    weights = model.weights * factor
    # A constant feature has factor 0, and its missing value does not count; the others are scaled back.
    filled = np.divide(missing, factor, out=np.zeros_like(factor), where=factor != 0) + mean
    return WeightedSum(weights, filled.astype(np.float32), -float(np.sum(weights * mean)))


def _kernel_machine(model: Any) -> KernelSum:
    mapping = model.map
    coefficients = np.sum(mapping.projection * model.weights, axis=1)
    kernel, gamma, degree, (factor, missing) = mapping.kernel, mapping.gamma, mapping.degree, mapping.units
    return KernelSum(kernel, gamma, degree, factor, missing, mapping.landmarks, coefficients)


def _ensemble(model: Any) -> ServedModel:
    members = tuple(served_model(member) for member in model.members)
    top = cast(WeightedSum | FeedForward, served_model(model.top))
    center, spread = model.scale
    if isinstance(top, WeightedSum):
        weights = top.weights / spread
        bias = top.bias - float(np.sum(weights * center))
        if all(isinstance(member, Trees) for member in members):
            return _sum_of_trees([member.forest for member in members if isinstance(member, Trees)], weights, bias)
        if all(isinstance(member, WeightedSum) for member in members):
            one = _sum_of_sums([member for member in members if isinstance(member, WeightedSum)], weights, bias)
            if one is not None:
                return one
    return Mixture(members, center, spread, top)


def _sum_of_trees(forests: list[Forest], weights: Floats, bias: float) -> Trees:
    weighted = [replace(forest, leaf_value=forest.leaf_value * w) for forest, w in zip(forests, weights, strict=True)]
    total = weighted[0]
    for forest in weighted[1:]:
        total = join_forests(total, forest)
    bases = np.array([forest.base_score for forest in forests])
    return Trees(replace(total, base_score=bias + float(np.sum(weights * bases))))


def _sum_of_sums(members: list[WeightedSum], weights: Floats, bias: float) -> WeightedSum | None:
    """One weighted sum; None if members replace missing values differently, which one value cannot say exactly."""
    missing = members[0].missing
    if any((member.missing != missing).any() for member in members[1:]):
        return None
    total = np.sum(np.array([member.weights for member in members]) * weights[:, None], axis=0)
    biases = np.array([member.bias for member in members])
    return WeightedSum(total, missing, bias + float(np.sum(weights * biases)))


def _selection(model: Any) -> ServedModel:
    return on_columns(served_model(model.model), model.columns, model.n_features, model.codes)


def on_columns(served: ServedModel, columns: AnyArray, n_features: int, codes: Mapping[int, Features]) -> ServedModel:
    """The model of some columns as a model of all; features that it does not have get weight 0."""

    def wide(array: AnyArray) -> AnyArray:
        return spread_columns(array, columns, n_features)

    match served:
        case Trees(forest):
            return Trees(forest_on_columns(forest, columns, n_features, codes))
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
