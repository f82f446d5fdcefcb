"""Rankers made of rankers: their scores on one scale, and all of them in one model file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.dataset import Dataset
from swaprank.data.scores import check_scores
from swaprank.errors import DataError, ModelFileError, ParameterError
from swaprank.model_files.container import ModelContent
from swaprank.objectives.smooth_boosting import deviation_within_lists
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.saving import content_of, ranker_of


class ScoreScale(NamedTuple):
    """Where each ranker's scores lie: what is taken off them, and what they are divided by.

    >>> import numpy as np
    >>> from swaprank.ensembles.ensemble_ranker import ScoreScale
    >>> ScoreScale(np.array([1.0, 0.0]), np.array([2.0, 1.0])).apply(np.array([[3.0, 5.0], [1.0, 0.0]])).tolist()
    [[1.0, 2.0], [1.0, 0.0]]
    """

    center: Floats
    spread: Floats

    def apply(self, scores: Floats) -> Floats:
        """Rankers x documents, on one scale."""
        scaled: Floats = (scores - self.center[:, None]) / self.spread[:, None]
        return scaled


def fit_scale(scores: Floats, data: Dataset) -> ScoreScale:
    """The scale that gives each ranker's scores mean 0, and deviation 1 within queries, which is where order is made.

    >>> import numpy as np, swaprank as sr
    >>> from swaprank.ensembles.ensemble_ranker import fit_scale
    >>> data = sr.Dataset([[0], [0], [0], [0]], [0, 1, 0, 1], qid=[1, 1, 2, 2])
    >>> fit_scale(np.array([[0.0, 4.0, 100.0, 104.0]]), data)
    ScoreScale(center=array([52.]), spread=array([2.]))
    """
    spread = np.array([deviation_within_lists(data.by_query(row), data.indptr) for row in scores])
    # A ranker that gives all documents of a query one score has no spread, and nothing to say.
    return ScoreScale(scores.mean(axis=1), np.where(spread > 0, spread, 1.0))


class ComposedRanker(Ranker):
    """A ranker of other rankers' scores. `base_ranker` has those rankers, which are fitted already."""

    rankers_: tuple[Ranker, ...]

    def _parts(self, base: Any, data: Dataset, least: int) -> tuple[Ranker, ...]:
        """The rankers to compose, each of them fitted on as many features as the data has."""
        given = self.base_ranker if base is None else base
        if isinstance(given, str | Ranker) or not isinstance(given, Sequence) or len(given) < least:
            raise ParameterError(f"base_ranker must have {least} or more fitted rankers, found {given!r}.")
        for ranker in given:
            if not isinstance(ranker, Ranker):
                raise ParameterError(f"only rankers can be composed, found {type(ranker).__name__}.")
            ranker._check_fitted()
            if ranker.n_features_in_ != data.n_features:
                kind, n_features = type(ranker).__name__, ranker.n_features_in_
                raise DataError(f"a {kind} has {n_features} features, but the data has {data.n_features}.")
        return tuple(given)

    @staticmethod
    def _scores(rankers: Sequence[Ranker], X: Any, n_documents: int) -> Floats:
        """Rankers x documents, in the order in which the rows were given."""
        return np.stack([check_scores(ranker.predict(X), n_documents) for ranker in rankers])


def parts_saved(parts: Sequence[Ranker]) -> tuple[list[dict[str, Any]], dict[str, AnyArray]]:
    """What the model files of these rankers hold, to be put into one.

    >>> import swaprank as sr
    >>> from swaprank.ensembles.ensemble_ranker import parts_restored, parts_saved
    >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(train)
    >>> (again,) = parts_restored(*parts_saved([ranker]))
    >>> (again.predict(test) == ranker.predict(test)).all()
    np.True_
    """
    described: list[dict[str, Any]] = []
    arrays: dict[str, AnyArray] = {}
    for number, ranker in enumerate(parts):
        content = content_of(ranker)
        described.append({"kind": content.kind, "meta": content.meta, "arrays": sorted(content.arrays)})
        arrays |= {f"{number}/{name}": array for name, array in content.arrays.items()}
    return described, arrays


def parts_restored(described: Any, arrays: dict[str, AnyArray]) -> tuple[Ranker, ...]:
    """The rankers again, every part of them checked."""
    parts = []
    for number, part in enumerate(described):
        match part:
            case {"kind": str(kind), "meta": dict(meta), "arrays": list(names)}:
                own = {f"{number}/{name}": name for name in names}
            case _:
                raise ModelFileError(f"its ranker {number} is not valid: expected kind, meta and arrays.")
        if not all(key in arrays for key in own):
            raise ModelFileError(f"its ranker {number} lacks some of its arrays.")
        parts.append(ranker_of(ModelContent(kind, meta, {name: arrays[key] for key, name in own.items()})))
    return tuple(parts)


def check_same_features(rankers: Sequence[Ranker]) -> None:
    """Refuse rankers out of a file that cannot have scored the same documents."""
    if len({ranker.n_features_in_ for ranker in rankers}) != 1:
        raise ModelFileError("its rankers have not the same number of features.")


def scale_restored(arrays: dict[str, AnyArray], n_rankers: int) -> ScoreScale:
    """The scale again, checked."""
    for name in ScoreScale._fields:
        values = arrays.get(name)
        if values is None or values.shape != (n_rankers,) or not np.isfinite(values).all():
            raise ModelFileError(f"it needs {n_rankers} finite values of {name}, one a ranker.")
    if (arrays["spread"] <= 0).any():
        raise ModelFileError("a spread of scores must be above 0.")
    return ScoreScale(*(np.array(arrays[name], dtype=np.float64) for name in ScoreScale._fields))
