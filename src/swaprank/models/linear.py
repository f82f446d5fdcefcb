"""A linear model: one weight per feature."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.data.row_values import LARGEST_SCORE
from swaprank.errors import ModelFileError
from swaprank.lanes import dot
from swaprank.models.model import Importances, Model, ModelParts, array_part
from swaprank.models.perturbation import LinearPerturbation, Perturbation, weight_slopes
from swaprank.models.products import project
from swaprank.models.scaling import column_statistics, fill_missing, fit_scaling, scaled_rows
from swaprank.models.served import WeightedSum


def check_weights(weights: AnyArray) -> None:
    """Raise ModelFileError if weights from a model file are so large that a score might overflow."""
    with np.errstate(over="ignore"):
        if not np.sum(np.abs(weights)) * float(np.finfo(np.float32).max) <= LARGEST_SCORE:
            raise ModelFileError("its weights are so large that scores might be infinite.")


@final
@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """Scores are weighted sums of the features.

    >>> import numpy as np
    >>> from swaprank.models.linear import LinearModel
    >>> model = LinearModel(np.array([2.0, -1.0]), missing=np.array([0.5, 0.5], dtype=np.float32))
    >>> X = np.array([[1.0, 3.0], [np.nan, 1.0]], dtype=np.float32)
    >>> model.score(X).tolist(), model.contributions(X).tolist()
    ([-1.0, 0.0], [[1.0, -2.5, 0.5], [0.0, -0.5, 0.5]])
    """

    kind: ClassVar[str] = "linear"
    weights: Floats
    missing: Features
    """Replaces a missing value of each feature: its mean over the training data."""
    bias: float = 0.0
    """Added to every score; models that are trained here need none."""

    @property
    def n_features(self) -> int:
        """See `Model`."""
        return len(self.weights)

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        scores = project(fill_missing(features, self.missing), self.weights, n_threads)
        return scores + self.bias if self.bias else scores

    def describe(self) -> str:
        """See `Model`."""
        return f"{len(self.weights):,} weights"

    def feature_weights(self) -> Floats:
        """See `Model`."""
        return self.weights

    def importances(self, features: Features | None = None) -> Importances | None:
        """See `Model`."""
        if features is None:
            return None
        std = column_statistics(features, np.zeros(self.n_features, np.bool_)).std
        meaning = "The change of a score when the feature rises by one standard deviation of its values on this data."
        return Importances(self.weights * std, "weight × standard deviation", meaning)

    @property
    def has_contributions(self) -> bool:
        """See `Model`."""
        return True

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`; the average document has the mean value of every feature."""
        shares = np.empty((len(features), self.n_features + 1))
        shares[:, :-1] = (fill_missing(features, self.missing) - self.missing.astype(np.float64)) * self.weights
        shares[:, -1] = dot(self.missing, self.weights) + self.bias
        return shares

    def perturb(self, features: Features, rows: Ints, base: Floats) -> Perturbation:
        """See `Model`; weights move in units of each feature's standard deviation on this data."""
        scaling = fit_scaling(features, np.zeros(self.n_features, np.bool_), standardize=True)
        scaling = scaling._replace(missing=(self.missing - scaling.mean) * scaling.factor)
        return LinearPerturbation(
            self.describe(),
            self.n_features,
            self.score(features)[rows] + base,
            move=lambda change: replace(self, weights=self.weights + change * scaling.factor),
            slopes=weight_slopes(lambda chosen: scaled_rows(features, chosen, scaling), rows),
        )

    def for_export(self) -> WeightedSum:
        """See `Model`."""
        return WeightedSum(self.weights, self.missing, self.bias)

    def to_parts(self) -> ModelParts:
        """See `Model`."""
        meta = {"kind": self.kind} | ({"bias": self.bias} if self.bias else {})
        return ModelParts(meta, {"weights": self.weights, "missing": self.missing})

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        missing = array_part("its linear model", arrays, "missing", np.float32, (None,))
        weights = array_part("its linear model", arrays, "weights", np.float64, missing.shape)
        if len(weights) == 0:
            raise ModelFileError("its linear model has no weights.")
        check_weights(weights)
        bias = meta.get("bias", 0.0)
        if not isinstance(bias, float) or not abs(bias) <= LARGEST_SCORE:
            raise ModelFileError(f"the bias of its linear model must be a finite number; found {bias!r}.")
        return cls(weights, missing, bias)
