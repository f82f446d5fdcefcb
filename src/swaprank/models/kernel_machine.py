"""A kernel machine: a linear model of the outputs of a kernel map."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.errors import ModelFileError
from swaprank.models.kernel_map import KernelMap, kernel_map_from_arrays
from swaprank.models.linear import check_weights
from swaprank.models.model import Model, ModelParts
from swaprank.models.perturbation import LinearPerturbation, Perturbation, weight_slopes
from swaprank.models.projection import project


@final
@dataclass(frozen=True, eq=False)
class KernelMachine(Model):
    """Weighted sums of kernel values."""

    kind: ClassVar[str] = "kernel"
    map: KernelMap
    weights: Floats

    @property
    def n_features(self) -> int:
        """See `Model`."""
        return len(self.map.units.factor)

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        return project(self.map(features), self.weights, n_threads)

    def describe(self) -> str:
        """See `Model`."""
        return f"a kernel machine of {len(self.weights):,} weights"

    def perturb(self, features: Features, rows: Ints, base: Floats) -> Perturbation:
        """See `Model`."""
        return LinearPerturbation(
            f"{len(self.weights):,} weights",
            len(self.weights),
            self.score(features)[rows] + base,
            moved=lambda change: replace(self, weights=self.weights + change),
            slopes=weight_slopes(lambda chosen: self.map(features[chosen]), rows),
        )

    def to_parts(self) -> ModelParts:
        """See `Model`."""
        return ModelParts({"kind": self.kind, **self.map.meta()}, {"weights": self.weights, **self.map.arrays()})

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        mapping = kernel_map_from_arrays(arrays, meta)
        if "weights" not in arrays or arrays["weights"].shape != mapping.projection.shape[1:]:
            raise ModelFileError(f"its kernel map needs {mapping.projection.shape[1]} weights.")
        check_weights(arrays["weights"])
        return cls(mapping, np.array(arrays["weights"], dtype=np.float64))
