"""A linear model: one weight a feature, checked when it comes from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats
from swaprank.errors import ModelFileError
from swaprank.models.projection import project
from swaprank.models.units import fill


@final
@dataclass(frozen=True, eq=False)
class LinearModel:
    """Scores are weighted sums of the features as they are.

    >>> import numpy as np
    >>> from swaprank.models.linear import LinearModel
    >>> model = LinearModel(np.array([2.0, -1.0]), missing=np.array([0.5, 0.5], dtype=np.float32))
    >>> model.scores(np.array([[1.0, 3.0], [np.nan, 1.0]], dtype=np.float32)).tolist()
    [-1.0, 0.0]
    """

    weights: Floats
    missing: Features
    """What stands for a missing value of each feature."""

    def scores(self, features: Features, n_threads: int | None = None) -> Floats:
        """One score a row; it does not depend on the other rows."""
        return project(fill(features, self.missing), self.weights, n_threads)

    def arrays(self) -> dict[str, AnyArray]:
        """Its arrays by name."""
        return {"weights": self.weights, "missing": self.missing}


def linear_model_from_arrays(arrays: Mapping[str, AnyArray]) -> LinearModel:
    """The model again, every part of it checked."""
    for name in ("weights", "missing"):
        if name not in arrays or arrays[name].ndim != 1 or not np.isfinite(arrays[name]).all():
            raise ModelFileError(f"its linear model has no {name}, or one that is not finite.")
    weights, missing = arrays["weights"], arrays["missing"]
    if len(weights) != len(missing) or len(weights) == 0:
        raise ModelFileError(f"its linear model has {len(weights)} weights for {len(missing)} features.")
    return LinearModel(np.array(weights, dtype=np.float64), np.array(missing, dtype=np.float32))
