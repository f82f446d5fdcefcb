"""Models that are made of other models, and models of any kind from their parts.

    features ─► members ─► scores ─► (score - center) / spread ─► top ─► score

The top is a linear model or a net. A member may have other features than the ensemble, the same in another order, or
other categories of the same feature: then it is a `Selection`. Trees that were added to another model are an ensemble,
too: the plain sum of both, see `sum_of`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints, read_only
from swaprank.data.categories import looked_up
from swaprank.errors import ModelFileError
from swaprank.models.forest import Forest, join_forests
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model, ModelParts, array_part
from swaprank.models.net import Net
from swaprank.models.perturbation import Perturbation
from swaprank.models.served import Mixture, ServedModel, Trees, WeightedSum, on_columns, spread_columns


class ScoreScale(NamedTuple):
    """The scaling of each member's scores.

    >>> import numpy as np
    >>> from swaprank.models.ensemble import ScoreScale
    >>> ScoreScale(np.array([1.0, 0.0]), np.array([2.0, 1.0])).apply(np.array([[3.0, 5.0], [1.0, 0.0]])).tolist()
    [[1.0, 2.0], [1.0, 0.0]]
    """

    center: Floats
    """Subtracted from the scores: their mean."""
    spread: Floats
    """Divides the scores: their standard deviation within queries."""

    def apply(self, scores: Floats) -> Floats:
        """The scaled scores, members x documents."""
        scaled: Floats = (scores - self.center[:, None]) / self.spread[:, None]
        return scaled


def member_scores(members: Sequence[Model], features: Features, n_threads: int | None = None) -> Floats:
    """The scores of each member, members x documents."""
    return np.stack([member.score(features, n_threads) for member in members])


@final
@dataclass(frozen=True, eq=False)
class Ensemble(Model):
    """Models whose scaled scores are the features of another model.

    >>> import numpy as np
    >>> from swaprank.models.ensemble import Ensemble, ScoreScale
    >>> from swaprank.models.linear import LinearModel
    >>> a, b = (LinearModel(np.array([w]), np.zeros(1, np.float32)) for w in (1.0, 4.0))
    >>> top = LinearModel(np.array([0.5, 0.5]), np.zeros(2, np.float32))
    >>> both = Ensemble((a, b), ScoreScale(np.zeros(2), np.array([1.0, 4.0])), top)
    >>> both.score(np.array([[3.0]], dtype=np.float32)).tolist(), both.describe()
    ([3.0], '2 weights over 1 weights and 1 weights')
    """

    kind: ClassVar[str] = "ensemble"
    members: tuple[Model, ...]
    scale: ScoreScale
    top: LinearModel | Net

    @property
    def n_features(self) -> int:
        """See `Model`."""
        return self.members[0].n_features

    def score(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`."""
        return self.top.score(self.scaled(features, n_threads), n_threads)

    def scaled(self, features: Features, n_threads: int | None = None) -> AnyArray:
        """The scaled scores, documents x members, in double precision: a combination is exact."""
        return read_only(np.ascontiguousarray(self.scale.apply(member_scores(self.members, features, n_threads)).T))

    @property
    def trees(self) -> Forest | None:
        """The trees of a plain sum of another model and trees; None for other ensembles."""
        plain = len(self.members) == 2 and not self.scale.center.any() and (self.scale.spread == 1).all()
        plain = (
            plain and isinstance(self.top, LinearModel) and self.top.bias == 0 and bool((self.top.weights == 1).all())
        )
        last = self.members[-1]
        return last if plain and isinstance(last, Forest) else None

    @property
    def n_stages(self) -> int:
        """See `Model`: the number of trees that were added to another model."""
        return 0 if self.trees is None else self.trees.n_stages

    def staged_scores(self, features: Features, stages: Sequence[int] | Ints, n_threads: int | None = None) -> Floats:
        """See `Model`; stage 0 is the model that the trees were added to."""
        if self.trees is None:
            return super().staged_scores(features, stages, n_threads)
        return self.members[0].score(features, n_threads) + self.trees.staged_scores(features, stages, n_threads)

    @property
    def has_contributions(self) -> bool:
        """See `Model`."""
        linear = isinstance(self.top.for_export(), WeightedSum)
        return linear and all(member.has_contributions for member in self.members)

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`; those of a weighted sum are the weighted sums of its members' contributions."""
        top = self.top.for_export()
        if not (self.has_contributions and isinstance(top, WeightedSum)):
            return super().contributions(features, n_threads)
        weights = top.weights / self.scale.spread
        shares = np.zeros((len(features), self.n_features + 1))
        for member, weight in zip(self.members, weights.tolist(), strict=True):
            shares += weight * member.contributions(features, n_threads)
        shares[:, -1] += top.bias - np.sum(weights * self.scale.center)
        return shares

    def perturb(self, features: Features, rows: Ints, base: Floats) -> Perturbation:
        """See `Model`; the leaf values of trees that were added to another model, which does not change."""
        if self.trees is None:
            return super().perturb(features, rows, base)
        found = self.trees.perturb(features, rows, base + self.members[0].score(features)[rows])
        return replace(found, move=lambda change: with_trees(self, found.moved(change)))

    def describe(self) -> str:
        """See `Model`."""
        members = [
            f"({member.describe()})" if isinstance(member, Ensemble) else member.describe() for member in self.members
        ]
        return (
            " plus ".join(members) if self.trees is not None else f"{self.top.describe()} over {' and '.join(members)}"
        )

    def for_export(self) -> ServedModel:
        """See `Model`; weighted sums of forests become one forest, and of linear models one of these.

        >>> import numpy as np
        >>> from swaprank.models.ensemble import Ensemble, ScoreScale
        >>> from swaprank.models.linear import LinearModel
        >>> a, b = (LinearModel(np.array([w]), np.zeros(1, np.float32)) for w in (1.0, 4.0))
        >>> top = LinearModel(np.array([0.5, 0.25]), np.zeros(2, np.float32))
        >>> one = Ensemble((a, b), ScoreScale(np.array([0.0, 2.0]), np.array([1.0, 4.0])), top).for_export()
        >>> one.weights.tolist(), one.bias
        ([0.75], -0.125)
        """
        members, top = tuple(member.for_export() for member in self.members), self.top.for_export()
        center, spread = self.scale
        if isinstance(top, WeightedSum):
            weights = top.weights / spread
            bias = top.bias - float(np.sum(weights * center))
            forests = [member.forest for member in members if isinstance(member, Trees)]
            sums = [member for member in members if isinstance(member, WeightedSum)]
            if len(forests) == len(members):
                return _sum_of_trees(forests, weights, bias)
            # One value cannot replace missing values as different ones do.
            if len(sums) == len(members) and all((each.missing == sums[0].missing).all() for each in sums[1:]):
                return _sum_of_sums(sums, weights, bias)
        return Mixture(members, center, spread, top)

    def to_parts(self) -> ModelParts:
        """See `Model`; names of arrays start with the number of the model that they belong to; the top is last."""
        parts = [model.to_parts() for model in (*self.members, self.top)]
        arrays = {f"{at}/{name}": array for at, part in enumerate(parts) for name, array in part.arrays.items()}
        return ModelParts(
            {"kind": self.kind, "models": [part.meta for part in parts]}, {**arrays, **self.scale._asdict()}
        )

    @classmethod
    def from_parts(cls, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        """See `Model`."""
        models = [model_from_parts(part, _within(f"{at}/", arrays)) for at, part in enumerate(meta["models"])]
        if len(models) < 3:
            raise ModelFileError(f"an ensemble needs at least two members and a top model; found {len(models)} models.")
        *members, top = models
        if len({member.n_features for member in members}) != 1:
            raise ModelFileError("the members of its ensemble have different numbers of features.")
        if not isinstance(top, LinearModel | Net):
            raise ModelFileError(f"the top of its ensemble must be a linear model or a net; found {top.describe()}.")
        if top.n_features != len(members):
            raise ModelFileError(f"its ensemble has {len(members)} members, but its top model takes {top.n_features}.")
        n_members = len(members)
        scale = ScoreScale(
            *(array_part("its ensemble", arrays, name, np.float64, (n_members,)) for name in ScoreScale._fields)
        )
        if (scale.spread <= 0).any():
            raise ModelFileError("the spread of its ensemble's scores must be above 0.")
        return cls(tuple(members), scale, top)


def sum_of(base: Model, trees: Forest) -> Model:
    """The model whose score is the base's plus the trees'; the trees of a base that has some come first.

    >>> import numpy as np
    >>> from swaprank.models.ensemble import sum_of
    >>> from swaprank.models.forest import single_leaf
    >>> from swaprank.models.linear import LinearModel
    >>> one, two = (single_leaf(value, n_features=1, n_documents=10) for value in (0.5, 0.25))
    >>> both = sum_of(sum_of(LinearModel(np.array([2.0]), np.zeros(1, np.float32)), one), two)
    >>> both.score(np.array([[3.0]], dtype=np.float32)).tolist(), both.describe()
    ([6.75], '1 weights plus 2 trees')
    """
    if isinstance(base, Forest):
        return join_forests(base, trees)
    if isinstance(base, Ensemble) and base.trees is not None:
        return with_trees(base, join_forests(base.trees, trees))
    scale, top = ScoreScale(np.zeros(2), np.ones(2)), LinearModel(np.ones(2), np.zeros(2, np.float32))
    return Ensemble((base, trees), scale, top)


def trees_of(model: Model) -> Forest | None:
    """The trees of a forest, or of a sum of another model and trees; None for other models.

    >>> import numpy as np
    >>> from swaprank.models.ensemble import trees_of
    >>> from swaprank.models.linear import LinearModel
    >>> trees_of(LinearModel(np.array([2.0]), np.zeros(1, np.float32))) is None
    True
    """
    return model.trees if isinstance(model, Ensemble) else model if isinstance(model, Forest) else None


def with_trees(model: Model, trees: Model) -> Model:
    """A model that has trees, with others in their place."""
    return replace(model, members=(model.members[0], trees)) if isinstance(model, Ensemble) else trees


def _sum_of_trees(forests: Sequence[Forest], weights: Floats, bias: float) -> Trees:
    weighted = [replace(forest, leaf_value=forest.leaf_value * w) for forest, w in zip(forests, weights, strict=True)]
    total = weighted[0]
    for forest in weighted[1:]:
        total = join_forests(total, forest)
    bases = np.array([forest.base_score for forest in forests])
    return Trees(replace(total, base_score=bias + float(np.sum(weights * bases))))


def _sum_of_sums(members: Sequence[WeightedSum], weights: Floats, bias: float) -> WeightedSum:
    total = np.sum(np.array([member.weights for member in members]) * weights[:, None], axis=0)
    biases = np.array([member.bias for member in members])
    return WeightedSum(total, members[0].missing, bias + float(np.sum(weights * biases)))


@final
@dataclass(frozen=True, eq=False)
class Selection(Model):
    """A model whose features are some columns of a larger matrix.

    >>> import numpy as np
    >>> from swaprank.models.linear import LinearModel
    >>> from swaprank.models.ensemble import Selection
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
        return self.model.score(self._selected(features), n_threads)

    def _selected(self, features: Features) -> Features:
        selected = np.ascontiguousarray(features[:, self.columns])
        for f, codes in self.codes.items():
            selected[:, f] = looked_up(selected[:, f], codes)
        return read_only(selected)

    @property
    def has_contributions(self) -> bool:
        """See `Model`."""
        return self.model.has_contributions

    def contributions(self, features: Features, n_threads: int | None = None) -> Floats:
        """See `Model`; columns that the model does not have contribute nothing."""
        inner = self.model.contributions(self._selected(features), n_threads)
        return spread_columns(inner, np.append(self.columns, self.n_features), self.n_features + 1)

    def describe(self) -> str:
        """See `Model`."""
        return self.model.describe()

    def for_export(self) -> ServedModel:
        """See `Model`."""
        return on_columns(self.model.for_export(), self.columns, self.n_features, self.codes)

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
        model = model_from_parts(meta["model"], _within("model/", arrays))
        columns, n_features = arrays["columns"], int(meta["n_features"])
        if columns.shape != (model.n_features,) or columns.dtype.kind not in "iu":
            raise ModelFileError(f"its selection needs a column for each of the {model.n_features} features.")
        if columns.min() < 0 or columns.max() >= n_features:
            raise ModelFileError(f"its selection has a column that is not among its {n_features} features.")
        if len(np.unique(columns)) < len(columns):
            raise ModelFileError("its selection has a column twice.")
        codes = _within("codes/", arrays)
        for f, numbers in codes.items():
            if not (f.isdecimal() and int(f) < model.n_features):
                raise ModelFileError(f"its selection has codes of a feature {f}, which it does not have.")
            known = numbers[~np.isnan(numbers)] if numbers.dtype == np.float32 else None
            if known is None or numbers.ndim != 1 or (known < 0).any() or (known != np.round(known)).any():
                raise ModelFileError("its selection has codes of categories that are not whole numbers.")
        return cls(model, columns.astype(np.int64), n_features, {int(f): numbers for f, numbers in codes.items()})


def _within(prefix: str, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    return {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}


MODELS: dict[str, type[Model]] = {
    model.kind: model for model in (LinearModel, KernelMachine, Net, Forest, Ensemble, Selection)
}


def model_from_parts(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Model:
    """The inverse of `Model.to_parts`; all parts are checked.

    >>> import numpy as np
    >>> from swaprank.models.linear import LinearModel
    >>> from swaprank.models.ensemble import model_from_parts
    >>> model_from_parts(*LinearModel(np.array([2.0]), np.zeros(1, np.float32)).to_parts()).describe()
    '1 weights'
    """
    if meta["kind"] not in MODELS:
        raise ModelFileError(f"its model has the kind {meta['kind']!r}, which this version does not know.")
    return MODELS[meta["kind"]].from_parts(meta, arrays)
