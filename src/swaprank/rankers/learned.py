"""A kind of ranker has capabilities; a ranker has learned one value, which files, clusters and exports pass on."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, final, overload

import numpy as np
from sklearn.exceptions import NotFittedError

from swaprank.data.categories import Categories
from swaprank.errors import ModelFileError
from swaprank.models.calibration import Calibration
from swaprank.models.model import Model
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.calibration import read_calibration, saved_calibration
from swaprank.rankers.seen import Seen, read_seen, saved_seen

T = TypeVar("T")
History = dict[str, dict[str, list[float]]]
"""Measurements after every round, by set and metric."""


def _whole(value: Any) -> int:
    check_parameter("a number of rounds", value, Bounds(True, 0, 2**62))
    return int(value)


def _seed(value: Any) -> int | None:
    check_parameter("its seed", value, Bounds(True, 0, 2**63 - 1, optional=True))
    return None if value is None else int(value)


def _sigma(value: Any) -> float:
    check_parameter("sigma", value, Bounds(False, 0, np.inf, open_low=True))
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ModelFileError(f"interrupted must be true or false; found {value!r}.")
    return value


def _names(value: Any, one: str = "a feature name", several: str = "feature names") -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ModelFileError(f"its {several} are not a list of text.")
    if len(set(value)) < len(value):
        raise ModelFileError(f"it has {one} twice.")
    return tuple(value)


def _names_or_none(value: Any) -> tuple[str, ...] | None:
    return None if value is None else _names(value, several="features with missing values")


def _categories(value: Any) -> dict[str, Categories]:
    if not isinstance(value, dict):
        raise ModelFileError("its categories are not those of features.")
    return {name: _names(each, f"a category of '{name}'", f"categories of '{name}'") for name, each in value.items()}


def _history(value: Any) -> History:
    return {
        str(name): {str(metric): [_number(each) for each in values] for metric, values in of_set.items()}
        for name, of_set in value.items()
    }


def _number(value: Any) -> float:
    """A number, which may be NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelFileError(f"its history has {value!r} where a number is expected.")
    return float(value)


def _saved(read: Callable[[Any], Any], default: Any = MISSING) -> Any:
    """A field that `read` checks and converts when it comes from a model file."""
    if default is MISSING:
        return field(metadata={"read": read})
    return field(default_factory=lambda: default, metadata={"read": read})


@final
@dataclass(frozen=True)
class Learned:
    """The model, and everything else that training has found out. A new field is one line here.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=3, random_state=0)
    >>> learned = sr.MART(n_trees=5).fit(train, valid=vali).learned_
    >>> learned.model.describe(), learned.n_rounds, learned.feature_names
    ('5 trees', 5, ('1', '2', '3'))
    """

    model: Model
    feature_names: tuple[str, ...] = _saved(_names)
    categories: Mapping[str, Categories] = _saved(_categories, {})
    """The categories of each categorical feature in the training data; their positions are the codes in the model."""
    missing_features: tuple[str, ...] | None = _saved(_names_or_none, None)
    """The features with missing values in the training data; None if that is not known."""
    history: History = _saved(_history, {})  # noqa: RUF009
    """Measurements after every round: `history[set][metric]` is a list."""
    n_rounds: int = _saved(_whole, 0)
    """Rounds that were trained."""
    best_round: int = _saved(_whole, 0)
    """The round whose model was kept, see rankers/rounds.py; 0 is the start of training."""
    interrupted: bool = _saved(_flag, False)
    """True if Ctrl-C ended training."""
    seed: int | None = _saved(_seed, None)
    """The seed that was used: `random_state`, or one drawn from it; None if training is not random."""
    sigma: float = _saved(_sigma, 1.0)
    """The steepness (sigma) of the objective that the scores were trained with; 1 if it has none."""
    seen: Seen | None = field(default=None, metadata={"read": read_seen, "save": saved_seen, "optional": True})
    """Counts of what training has seen, for `drift`; None if they are not known."""
    calibration: Calibration | None = field(
        default=None, metadata={"read": read_calibration, "save": saved_calibration, "optional": True}
    )
    """From scores to probabilities or labels, see `Ranker.calibrate`; None if there is none."""
    found: Mapping[str, Any] = field(default_factory=dict)
    """Values that a kind of ranker finds beside its model, such as a regularization; see `found`."""


class found(Generic[T]):  # noqa: N801
    """An attribute of a ranker that training finds beside the model: `regularization_ = found(float)`.

    Args:
        read: Checks and converts the value when it comes from a model file. None: it is not saved.
        default: The value if a model file does not have it.
        save: Converts the value for a model file, which holds numbers, text, lists, and mappings of text.
    """

    def __init__(
        self, read: Callable[[Any], T] | None, default: Any = MISSING, save: Callable[[Any], Any] = lambda value: value
    ) -> None:
        self.read = read
        self.default = default
        self.save = save

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.removesuffix("_")

    @overload
    def __get__(self, ranker: None, owner: type) -> "found[T]": ...
    @overload
    def __get__(self, ranker: object, owner: type) -> T: ...
    def __get__(self, ranker: Any, owner: type) -> Any:
        """The value that was found; NotFittedError before training."""
        return self if ranker is None else ranker.learned_.found[self.name]


def found_by(kind: type) -> dict[str, "found[Any]"]:
    """Return the values that a kind of ranker finds beside its model, by name."""
    attributes = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    return {value.name: value for value in attributes.values() if isinstance(value, found)}


class learned_value(Generic[T]):  # noqa: N801
    """An attribute of a ranker as scikit-learn names it, which is a field of what was learned."""

    def __init__(self, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, ranker: None, owner: type) -> "learned_value[T]": ...
    @overload
    def __get__(self, ranker: object, owner: type) -> T: ...
    def __get__(self, ranker: Any, owner: type) -> Any:
        """The field; NotFittedError, which is an AttributeError, before training."""
        return self if ranker is None else getattr(ranker.learned_, self.name)

    def __set__(self, ranker: object, value: T) -> None:
        """Refuse it: what was learned changes as a whole."""
        raise AttributeError(f"set learned_ = dataclasses.replace(learned_, {self.name}=…) instead.")


def not_fitted(ranker: object) -> NotFittedError:
    """The error for a ranker that has learned nothing yet."""
    return NotFittedError(f"this {type(ranker).__name__} has not been fitted: call fit first, or load a model.")


Needs: TypeAlias = Literal["metric", "order", "labels", "nothing"]


@dataclass(frozen=True)
class Capabilities:
    """Answers for everybody who handles rankers of any kind: tuning, model files, reports, clusters."""

    models: tuple[type[Model], ...] = (Model,)
    """Classes of models that it learns."""
    round_name: str = "round"
    """The name of a round of training: tree, epoch, …"""
    rounds_parameter: str | None = None
    """The parameter that limits the number of rounds."""
    shows_rounds: bool = True
    """True if there is progress to show."""
    learns_from: Literal["data", "rankers", "nothing"] = "data"
    """Trained on data, a combination of fitted rankers, or trained elsewhere."""
    categories: bool = False
    """True if it takes categorical features; others learn from numbers."""
    probabilities: bool = False
    """True if differences of its scores are log odds of one document being better than another."""
    workers: bool = False
    """True if it trains on a cluster, and has checkpoints."""
    needs: Needs = "labels"
    """What there must be to learn from: documents of a query that the metric tells apart, documents of a query with
    different labels, different labels anywhere, or nothing."""
    pairs: bool = False
    """True if it learns from given pairs of documents, in place of labels."""
