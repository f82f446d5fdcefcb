"""The base class of ensembles: checks of their members, and the scaling of the members' scores."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.categories import Categories, codes_of, extended
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import deviation_within_lists
from swaprank.data.matching import matching_columns, numbered_names
from swaprank.errors import DataError, ParameterError
from swaprank.models.ensemble import Ensemble, ScoreScale, Selection
from swaprank.models.model import Model
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities, found, learned_value
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.saving import saved_parameters
from swaprank.rankers.training import TrainableRanker


def _read_members(value: Any) -> list[dict[str, Any]]:
    return [
        {"ranker": str(each["ranker"]), "parameters": dict(each["parameters"]), "members": list(each["members"])}
        for each in value
    ]


class EnsembleRanker(TrainableRanker):
    """Combines the scores of fitted rankers, which are the parameter `members`."""

    can: ClassVar[Capabilities] = Capabilities(
        models=(Ensemble,), learns_from="rankers", categories=True, needs="metric"
    )
    members: Any = parameter(default=None, is_ranker=True, text="Two or more fitted rankers.")
    base_ranker = None

    model_ = learned_value[Ensemble]("model")
    members_ = found(_read_members)
    """The kind and the parameters of each member, and its members if it is an ensemble."""

    def _with_known_features(self, data: Dataset, base: Any) -> Dataset:
        """Return the data with the features of the members."""
        if base is not None:
            raise ParameterError("an ensemble takes no base ranker; give the rankers as members.")
        members = self._fitted_members()
        names = names_of_members(members)
        return data.with_features(names, categories=categories_of_members(members), whose="the ensemble")

    def _learned_before(self, base: Any) -> Sequence[Ranker]:
        """See `TrainableRanker`."""
        return self._fitted_members()

    def _fitted_members(self) -> Sequence[Ranker]:
        given: Any = self.members
        if isinstance(given, str | Ranker) or not isinstance(given, Sequence) or len(given) < 2:
            raise ParameterError(f"members must be 2 or more fitted rankers; found {given!r}.")
        for ranker in given:
            if not isinstance(ranker, Ranker):
                raise ParameterError(f"members must be rankers; found {type(ranker).__name__}.")
            ranker.check_fitted()
        return given

    def _member_models(self, data: Dataset) -> tuple[Model, ...]:
        """Return the models of the members, each on its own features of the data."""
        return tuple(_on_its_features(ranker, data) for ranker in self._fitted_members())

    def _described_members(self) -> list[dict[str, Any]]:
        """Return what `members_` says of the members."""
        return [
            {"ranker": ranker.kind, "parameters": saved_parameters(ranker), "members": list(ranker.members_)}
            for ranker in self._fitted_members()
        ]


def names_of_members(rankers: Sequence[Ranker]) -> list[str]:
    """Return the names of the features of all rankers, each once; of those that have names, if any has.

    >>> import swaprank as sr
    >>> from swaprank.ensembles.ensemble_ranker import names_of_members
    >>> few = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1], feature_names=["age"])
    >>> more = sr.Dataset([[1, 5], [2, 4]], [0, 1], qid=[1, 1], feature_names=["price", "age"])
    >>> names_of_members([sr.MART(n_trees=1).fit(few), sr.MART(n_trees=1).fit(more)])
    ['age', 'price']
    """
    of_rankers: list[list[str]] = [ranker.feature_names_in_.tolist() for ranker in rankers]
    named = [names for names in of_rankers if tuple(names) != numbered_names(len(names))]
    return list(dict.fromkeys(name for names in named or of_rankers[:1] for name in names))


def categories_of_members(rankers: Sequence[Ranker]) -> dict[str, Categories]:
    """Return the categories of the features of `names_of_members`: those of the first ranker, and new ones of others.

    >>> import swaprank as sr
    >>> from swaprank.ensembles.ensemble_ranker import categories_of_members
    >>> old, new = (
    ...     sr.Dataset(shops, [0, 1], qid=[1, 1], feature_names=["shop"], categorical_features=["shop"])
    ...     for shops in ([[7], [12]], [[3], [7]])
    ... )
    >>> categories_of_members([sr.MART(n_trees=1).fit(old), sr.MART(n_trees=1).fit(new)])
    {'shop': ('7', '12', '3')}
    """
    names = names_of_members(rankers)
    known: dict[str, Categories | None] = {}
    for ranker in rankers:
        own = ranker.feature_names_in_.tolist()
        columns = matching_columns(own, names, f"the member {type(ranker).__name__}", "the ensemble")
        for name, at in zip(own, range(len(own)) if columns is None else columns, strict=True):
            categories = ranker.categories_.get(name)
            others = known.setdefault(names[at], categories)
            if (others is None) != (categories is None):
                raise DataError(
                    f"the feature '{names[at]}' is categorical for some members of the ensemble, and a number for "
                    "others: declare it in the same way for all of them."
                )
            if others is not None and categories is not None:
                known[names[at]] = extended(others, categories)
    return {name: categories for name, categories in known.items() if categories is not None}


def _on_its_features(ranker: Ranker, data: Dataset) -> Model:
    whose, own = f"the member {type(ranker).__name__}", ranker.feature_names_in_.tolist()
    columns = matching_columns(own, data.feature_names, whose, "the data")
    at = np.arange(len(own)) if columns is None else columns
    found = [data.categories.get(data.feature_names[column], ()) for column in at]
    codes = {
        f: codes_of(found[f], ranker.categories_[name])
        for f, name in enumerate(own)
        if ranker.categories_.get(name, ()) != found[f]
    }
    return ranker.model_ if columns is None and not codes else Selection(ranker.model_, at, data.n_features, codes)


def fit_scale(scores: Floats, data: Dataset) -> ScoreScale:
    """Return the scale on which each member's scores have mean 0, and standard deviation 1 within queries.

    Differences between queries do not count, because they change no order.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.ensembles.ensemble_ranker import fit_scale
    >>> data = sr.Dataset([[0], [0], [0], [0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> fit_scale(np.array([[0.0, 4.0, 100.0, 104.0]]), data)
    ScoreScale(center=array([52.]), spread=array([2.]))
    """
    spread = np.array([deviation_within_lists(data.by_query(row), data.indptr) for row in scores])
    # A member that gives all documents of each query the same score has standard deviation 0.
    return ScoreScale(scores.mean(axis=1), np.where(spread > 0, spread, 1.0))
