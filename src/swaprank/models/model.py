"""The interface of all models, which hold what has been learned.

    ranker.fit(data)  ─►  ranker.model_: one of the final classes of this package
                              score       features ─► one score per row
                              describe    how large it is, in words
                              to_parts    plain values and arrays, for model files
                              for_export  one of five kinds of models that other systems can serve
                              perturb     the scores when the parameters move along directions
                              importances, contributions, feature_weights, staged_scores     for some kinds of models
                              has_contributions     whether it is one of those kinds

Instruments, reports and files use this interface and never ask for the class of a model. Rankers ask only whether they
can start from it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints
from swaprank.errors import ModelFileError, ParameterError
from swaprank.models.value_limits import first_outside

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset
    from swaprank.models.perturbation import Perturbation
    from swaprank.models.served import ServedModel


class ModelParts(NamedTuple):
    """A model as it is saved: plain values, which include its kind, and arrays by name."""

    meta: dict[str, Any]
    arrays: dict[str, AnyArray]


def array_part(
    whose: str, arrays: Mapping[str, AnyArray], name: str, dtype: type[np.generic], shape: tuple[int | None, ...]
) -> AnyArray:
    """A copy of an array from a model file; ModelFileError if it is missing, of another type or shape, or not finite.

    >>> import numpy as np
    >>> from swaprank.models.model import array_part
    >>> array_part("its net", {"mean": np.zeros(2)}, "mean", np.float64, (3,))
    Traceback (most recent call last):
    ...
    swaprank.errors.ModelFileError: its net needs 3 values of mean in float64; found float64 of shape (2,).
    """
    found = arrays.get(name)
    if found is None:
        raise ModelFileError(f"{whose} has no {name}.")
    fits = found.ndim == len(shape) and all(n in (None, size) for n, size in zip(shape, found.shape, strict=True))
    if not fits or found.dtype != dtype:
        wanted = " x ".join("any" if n is None else f"{n:,}" for n in shape)
        raise ModelFileError(
            f"{whose} needs {wanted} values of {name} in {np.dtype(dtype)}; found {found.dtype} of shape {found.shape}."
        )
    if not np.isfinite(found).all():
        raise ModelFileError(f"{whose} has a value of {name} that is not finite.")
    return np.array(found, order="C")


class Importances(NamedTuple):
    """One value per feature, and what the values mean."""

    values: Floats
    unit: str
    meaning: str


class Model(ABC):
    """Scores documents. It is immutable: training makes a new one."""

    kind: ClassVar[str]
    """Its name in model files."""

    if TYPE_CHECKING:  # Subclasses may have a field of this name, which an abstract property would not allow.

        @property
        def n_features(self) -> int:
            """The number of features of a document."""

    @property
    def n_stages(self) -> int:
        """The number of terms if scores are a sum of terms, such as trees; else 0."""
        return 0

    @abstractmethod
    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """One score per row. It does not depend on other rows or on the number of threads."""

    def prepared(self, limits: Features) -> Callable[[Features, Floats], int]:
        """A function that writes one score per row to an array, on the calling thread, with little work around it.

        It returns the position of the first value beyond the limits (`first_outside`), or -1.
        """

        def score(X: Features, scores: Floats) -> int:
            outside = first_outside(X, limits)
            if outside < 0:
                scores[:] = self.score(X, n_threads=1)
            return outside

        return score

    def by_rows(self, data: "Dataset", compute: Callable[[Features], AnyArray], n_threads: int | None) -> AnyArray:
        """The values of `compute` for the features of all rows, one per row."""
        return compute(data.features)

    @abstractmethod
    def describe(self) -> str:
        """The size of the model in words, such as "300 trees"."""

    @abstractmethod
    def for_export(self) -> "ServedModel":
        """The model as other systems can serve it."""

    @abstractmethod
    def to_parts(self) -> ModelParts:
        """The model as plain values and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """The inverse of `to_parts`. All parts are checked; raises ModelFileError, or KeyError if one is missing."""

    def perturb(self, features: Features, rows: Ints, base: Floats) -> "Perturbation":
        """The scores of some rows as functions of the parameters; `base`, one value per entry of `rows`, is added."""
        raise ParameterError(f"{self.describe()}: the parameters of such a model cannot be perturbed.")

    def feature_weights(self) -> Floats:
        """The weight of each feature, for a model whose score is a weighted sum of the features."""
        raise ParameterError(f"the model is not linear in the features, but {self.describe()}.")

    def importances(self, features: Features | None = None) -> Importances | None:
        """The importance of each feature, on these rows if given; None if the model alone does not tell."""
        return None

    @property
    def has_contributions(self) -> bool:
        """Whether `contributions` exist: for trees, linear models, and weighted sums of them."""
        return False

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """The exact share of each feature in each score; the last column is the expected score."""
        raise ParameterError(f"{self.describe()}: exact contributions exist only for trees and linear models.")

    def staged_scores(self, features: Features, stages: Sequence[int] | Ints, n_threads: int | None = None) -> Floats:
        """Scores after each of these numbers of terms, in ascending order: stages x rows."""
        raise ParameterError(f"{self.describe()}: staged scores exist only for trees.")
