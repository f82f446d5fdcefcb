"""What every model is: what has been learned, and how it scores, explains itself, moves and goes to a file.

    ranker.fit(data)  ─►  ranker.model_: one of the final classes of this package
                              score       features ─► one score per row
                              describe    how large it is, in words
                              to_parts    plain values and arrays: what a model file or another system gets
                              perturb     its parameters, ready to be moved along directions
                              importances, contributions, feature_weights, staged_scores     where it has them

Rankers, instruments, reports and files ask the model; nobody asks which class it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.errors import ParameterError

if TYPE_CHECKING:
    from swaprank.models.perturbation import Perturbation


class ModelParts(NamedTuple):
    """A model as a file holds it: plain values, among them its kind, and arrays by name."""

    meta: dict[str, Any]
    arrays: dict[str, AnyArray]


class Importances(NamedTuple):
    """One number per feature, and what the numbers mean."""

    values: Floats
    unit: str
    meaning: str


class Model(ABC):
    """Something that scores documents and is never changed: training makes new ones."""

    kind: ClassVar[str]
    """What model files call it."""

    if TYPE_CHECKING:  # A field or a property: an abstract property would forbid the field.

        @property
        def n_features(self) -> int:
            """How many features a document has."""

    @property
    def n_stages(self) -> int:
        """How many parts its score is the sum of, such as trees; 0 if it is not such a sum."""
        return 0

    @abstractmethod
    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """One score per row; it does not depend on the other rows, nor on the number of threads."""

    @abstractmethod
    def describe(self) -> str:
        """How large the model is, in words."""

    @abstractmethod
    def to_parts(self) -> ModelParts:
        """The model as plain values and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """The model again, with every part checked; ModelFileError if something is wrong."""

    def perturb(self, features: Features, rows: Ints, base: Floats) -> Perturbation:
        """Its parameters on some rows (scores start from `base`), ready to be moved."""
        raise ParameterError(f"{self.describe()}: such a model has no parameters that can be moved.")

    def feature_weights(self) -> Floats:
        """The weight of each feature, if the score is a weighted sum of the features as they are given."""
        raise ParameterError(f"the model is not linear in the features, but {self.describe()}.")

    def importances(self, features: Features) -> Importances | None:
        """How much each feature matters to the model on these rows, or None if the model itself does not tell."""
        return None

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """Each feature's share in each score, exactly, and in the last column the score of an average document."""
        raise ParameterError(f"{self.describe()}: exact contributions exist for trees and linear models.")

    def staged_scores(self, features: Features, stages: Sequence[int] | Ints, n_threads: int | None = None) -> Floats:
        """Scores after the first parts of the sum: stages x rows."""
        raise ParameterError(f"{self.describe()}: only a model of trees has stages.")
