"""A model of some of the features: members of an ensemble may have other features, or the same in another order.

They may also have other categories of the same feature: the codes of the ensemble become those of the member.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints, read_only
from swaprank.data.categories import looked_up
from swaprank.errors import ModelFileError
from swaprank.models.model import Model, ModelParts


@final
@dataclass(frozen=True, eq=False)
class Selection(Model):
    """A model whose features are some columns of a larger matrix.

    >>> import numpy as np
    >>> from swaprank.models.linear import LinearModel
    >>> from swaprank.models.selection import Selection
    >>> model = LinearModel(np.array([1.0]), np.zeros(1, np.float32))
    >>> Selection(model, np.array([1]), n_features=2).score(np.array([[3.0, 5.0]], dtype=np.float32)).tolist()
    [5.0]
    """

    kind: ClassVar[str] = "selection"
    model: Model
    columns: Ints
    """The column of each feature of the model."""
    n_features: int
    codes: Mapping[int, Features] = field(default_factory=dict)
    """For features of the model with other categories: the model's code of each code in the matrix; NaN for none."""

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        selected = np.ascontiguousarray(features[:, self.columns])
        for f, codes in self.codes.items():
            selected[:, f] = looked_up(selected[:, f], codes)
        return self.model.score(read_only(selected), n_threads)

    def describe(self) -> str:
        """See `Model`."""
        return self.model.describe()

    def to_parts(self) -> ModelParts:
        """See `Model`."""
        meta, arrays = self.model.to_parts()
        return ModelParts(
            {"kind": self.kind, "n_features": self.n_features, "model": meta},
            {
                "columns": self.columns,
                **{f"codes/{f}": codes for f, codes in self.codes.items()},
                **{f"model/{name}": array for name, array in arrays.items()},
            },
        )

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        from swaprank.models.restoring import model_from_parts

        own = {name.removeprefix("model/"): each for name, each in arrays.items() if name.startswith("model/")}
        model, columns, n_features = model_from_parts(meta["model"], own), arrays["columns"], int(meta["n_features"])
        if columns.shape != (model.n_features,) or columns.dtype.kind not in "iu":
            raise ModelFileError(f"its selection needs a column for each of the {model.n_features} features.")
        if columns.min() < 0 or columns.max() >= n_features:
            raise ModelFileError(f"its selection has a column that is not among its {n_features} features.")
        if len(np.unique(columns)) < len(columns):
            raise ModelFileError("its selection has a column twice.")
        codes = {name.removeprefix("codes/"): each for name, each in arrays.items() if name.startswith("codes/")}
        for f, numbers in codes.items():
            if not (f.isdecimal() and int(f) < model.n_features):
                raise ModelFileError(f"its selection has codes of a feature {f}, which it does not have.")
            known = numbers[~np.isnan(numbers)] if numbers.dtype == np.float32 else None
            if known is None or numbers.ndim != 1 or (known < 0).any() or (known != np.round(known)).any():
                raise ModelFileError("its selection has codes of categories that are not whole numbers.")
        return cls(model, columns.astype(np.int64), n_features, {int(f): numbers for f, numbers in codes.items()})
