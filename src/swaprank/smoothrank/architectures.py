"""What SmoothRank's parameters are: weights of the features, of a kernel map of them, or of a net."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.kernel_map import KernelMap
from swaprank.models.layers import Layers, count_weights, random_weights, weight_generator
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.net import Net
from swaprank.models.scaling import Scaling, Units, fill
from swaprank.smoothrank.scorers import LinearScorer, NetScorer, Scorer


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

    def model(self, parameters: Floats) -> KernelMachine:
        """See `Architecture`."""
        return KernelMachine(self.map, parameters)


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


def rows_by_query(data: Dataset, missing: Features) -> Features:
    """A data set's features query after query, missing values filled in; copied only if that is needed."""
    features = data.features if data.order is None else data.features[data.order]
    return fill(features, missing)
