"""The kinds of models that SmoothRank fits: linear, kernel machine, or net."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.linear.score_functions import LinearScoreFunction, NetScoreFunction, ScoreFunction
from swaprank.models.kernel_machine import KernelMachine, KernelMap
from swaprank.models.layers import Layers, count_weights, random_weights, weight_generator
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.net import Net
from swaprank.models.scaling import Scaling, Units, fill_missing


class Architecture(ABC):
    """A kind of model whose parameters are not fitted yet."""

    @property
    @abstractmethod
    def n_parameters(self) -> int:
        """The number of parameters."""

    @abstractmethod
    def score_function(self, data: Dataset) -> ScoreFunction:
        """Return the scores of a data set's documents as a function of the parameters; base scores are included."""

    @abstractmethod
    def model(self, parameters: Floats) -> Model:
        """Return the model with these parameters."""

    def initial_parameters(self, random_state: int) -> Floats:
        """Return the parameters at which the fit of the start begins."""
        return np.zeros(self.n_parameters)


@final
@dataclass(frozen=True, eq=False)
class LinearArchitecture(Architecture):
    """One weight per standardized feature."""

    units: Units

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return len(self.units.factor)

    def score_function(self, data: Dataset) -> LinearScoreFunction:
        """See `Architecture`."""
        return LinearScoreFunction(rows_by_query(data, self.units.missing), self.units.factor, base_scores(data))

    def model(self, parameters: Floats) -> LinearModel:
        """See `Architecture`."""
        return LinearModel(parameters * self.units.factor, self.units.missing)


@final
@dataclass(frozen=True, eq=False)
class KernelArchitecture(Architecture):
    """One weight per output of a kernel map."""

    map: KernelMap

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return int(self.map.projection.shape[1])

    def score_function(self, data: Dataset) -> ScoreFunction:
        """See `Architecture`."""
        mapped = self.map(data.by_query(data.features))
        return LinearScoreFunction(mapped, np.ones(self.n_parameters), base_scores(data))

    def model(self, parameters: Floats) -> KernelMachine:
        """See `Architecture`."""
        return KernelMachine(self.map, parameters)


@final
@dataclass(frozen=True, eq=False)
class NetArchitecture(Architecture):
    """The weights of a net."""

    layers: Layers
    scaling: Scaling

    @property
    def n_parameters(self) -> int:
        """See `Architecture`."""
        return count_weights(self.layers)

    def score_function(self, data: Dataset) -> ScoreFunction:
        """See `Architecture`."""
        rows = np.arange(len(data)) if data.order is None else np.array(data.order)
        return NetScoreFunction(self.layers, self.scaling, data.features, rows, base_scores(data))

    def model(self, parameters: Floats) -> Net:
        """See `Architecture`; nets score in single precision."""
        return Net(self.layers, self.scaling, parameters.astype(np.float32))

    def initial_parameters(self, random_state: int) -> Floats:
        """See `Architecture`; the weights are random, because units with equal weights stay equal."""
        return random_weights(self.layers, weight_generator(random_state)).astype(np.float64)


def base_scores(data: Dataset) -> Floats | float:
    """Return the base scores of a data set, grouped by query; 0 if it has none."""
    return 0.0 if data.base_score is None else np.array(data.by_query(data.base_score))


def rows_by_query(data: Dataset, missing: Features) -> Features:
    """Return the features grouped by query, with missing values filled in; a copy only if one is needed."""
    features = data.features if data.order is None else data.features[data.order]
    return fill_missing(features, missing)
