"""What SmoothRank's parameters are: weights of the features, of a kernel map of them, or of a net."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import ModelFileError
from swaprank.models.kernel_map import KernelMap, kernel_map_from_arrays
from swaprank.models.layers import Layers, count_weights, random_weights, weight_generator
from swaprank.models.linear import LinearModel, linear_model_from_arrays
from swaprank.models.net import Net, net_arrays, net_from_arrays, net_meta, score
from swaprank.models.projection import project
from swaprank.models.scaling import Scaling
from swaprank.models.units import Units, rows_by_query
from swaprank.smoothrank.scorers import LinearScorer, NetScorer, Scorer


@final
@dataclass(frozen=True, eq=False)
class KernelModel:
    """A linear model of a kernel map."""

    map: KernelMap
    weights: Floats

    def scores(self, features: Features, n_threads: int | None = None) -> Floats:
        """One score a row."""
        return project(self.map(features), self.weights, n_threads)


Model = LinearModel | KernelModel | Net


class Architecture(ABC):
    """How scores come from parameters, before these are known."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """How many parameters there are."""

    @abstractmethod
    def scorer(self, data: Dataset) -> Scorer:
        """The scores of a data set's documents, query after query, its base scores included."""

    @abstractmethod
    def model(self, parameters: Floats) -> Model:
        """What scores documents, when the parameters are known."""

    def first_parameters(self, random_state: int) -> Floats:
        """Where a fit of a start begins."""
        return np.zeros(self.n_parameters)


@final
@dataclass(frozen=True, eq=False)
class Linear(Architecture):
    """One weight a feature, in units of its deviation."""

    units: Units

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return len(self.units.factor)

    def scorer(self, data: Dataset) -> Scorer:
        """See `Architecture`."""
        return LinearScorer(rows_by_query(data, self.units.missing), self.units.factor, base_of(data))

    def model(self, parameters: Floats) -> LinearModel:
        """See `Architecture`."""
        return LinearModel(parameters * self.units.factor, self.units.missing)


@final
@dataclass(frozen=True, eq=False)
class Kernelised(Architecture):
    """One weight for everything that a kernel map gives."""

    map: KernelMap

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return int(self.map.projection.shape[1])

    def scorer(self, data: Dataset) -> Scorer:
        """See `Architecture`."""
        mapped = self.map(data.by_query(data.features))
        return LinearScorer(mapped, np.ones(self.n_parameters), base_of(data))

    def model(self, parameters: Floats) -> KernelModel:
        """See `Architecture`."""
        return KernelModel(self.map, parameters)


@final
@dataclass(frozen=True, eq=False)
class Layered(Architecture):
    """The weights of a net."""

    layers: Layers
    scaling: Scaling

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return count_weights(self.layers)

    def scorer(self, data: Dataset) -> Scorer:
        """See `Architecture`."""
        rows = np.arange(len(data)) if data.order is None else np.array(data.order)
        return NetScorer(self.layers, self.scaling, data.features, rows, base_of(data))

    def model(self, parameters: Floats) -> Net:
        """See `Architecture`; nets score in single precision."""
        return Net(self.layers, self.scaling, parameters.astype(np.float32))

    def first_parameters(self, random_state: int) -> Floats:
        """See `Architecture`: equal units would stay equal."""
        return random_weights(self.layers, weight_generator(random_state)).astype(np.float64)


def base_of(data: Dataset) -> Floats | float:
    """The scores that a data set brings along, query after query; 0 if it brings none."""
    return 0.0 if data.base_score is None else np.array(data.by_query(data.base_score))


def model_scores(model: Model, features: Features, n_threads: int | None) -> Floats:
    """One score a row."""
    return score(model, features, n_threads) if isinstance(model, Net) else model.scores(features, n_threads)


def model_parts(model: Model) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """What a model file holds of it: plain values, and arrays."""
    if isinstance(model, LinearModel):
        return {"kind": "linear"}, model.arrays()
    if isinstance(model, KernelModel):
        return {"kind": "kernel", **model.map.meta()}, {"weights": model.weights, **model.map.arrays()}
    return {"kind": "net", **net_meta(model)}, net_arrays(model)


def model_from_parts(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Model:
    """The model again, every part of it checked."""
    if meta["kind"] == "linear":
        return linear_model_from_arrays(arrays)
    if meta["kind"] == "net":
        return net_from_arrays(arrays, meta)
    if meta["kind"] != "kernel":
        raise ModelFileError(f"it holds a model of the kind {meta['kind']!r}, which this version does not know.")
    mapping = kernel_map_from_arrays(arrays, meta)
    if "weights" not in arrays or arrays["weights"].shape != mapping.projection.shape[1:]:
        raise ModelFileError(f"it needs {mapping.projection.shape[1]} weights for its kernel map.")
    if not np.isfinite(arrays["weights"]).all():
        raise ModelFileError("it has a weight that is not finite.")
    return KernelModel(mapping, np.array(arrays["weights"], dtype=np.float64))


def features_of(model: Model) -> int:
    """How many features a document must have."""
    if isinstance(model, LinearModel):
        return len(model.weights)
    return model.n_features if isinstance(model, Net) else len(model.map.units.factor)
