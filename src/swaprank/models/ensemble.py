"""A model of other models' scores, which are scaled first.

    features ─► members ─► scores ─► (score - center) / spread ─► top ─► score

The top is a linear model or a net.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, read_only
from swaprank.errors import ModelFileError
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model, ModelParts
from swaprank.models.net import Net


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
    top: Model

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

    def describe(self) -> str:
        """See `Model`."""
        return f"{self.top.describe()} over {' and '.join(member.describe() for member in self.members)}"

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
        from swaprank.models.restoring import model_from_parts

        models = []
        for at, part in enumerate(meta["models"]):
            prefix = f"{at}/"
            own = {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}
            models.append(model_from_parts(part, own))
        if len(models) < 3:
            raise ModelFileError(f"an ensemble needs at least two members and a top model; found {len(models)} models.")
        *members, top = models
        if len({member.n_features for member in members}) != 1:
            raise ModelFileError("the members of its ensemble have different numbers of features.")
        if not isinstance(top, LinearModel | Net):
            raise ModelFileError(f"the top of its ensemble must be a linear model or a net; found {top.describe()}.")
        if top.n_features != len(members):
            raise ModelFileError(f"its ensemble has {len(members)} members, but its top model takes {top.n_features}.")
        for name in ScoreScale._fields:
            values = arrays.get(name, np.zeros(0))
            if values.shape != (len(members),) or values.dtype != np.float64 or not np.isfinite(values).all():
                raise ModelFileError(
                    f"its ensemble needs {len(members)} finite values of {name} in double precision, one per member."
                )
        if (arrays["spread"] <= 0).any():
            raise ModelFileError("the spread of its ensemble's scores must be above 0.")
        scale = ScoreScale(*(np.array(arrays[name], dtype=np.float64) for name in ScoreScale._fields))
        return cls(tuple(members), scale, top)
