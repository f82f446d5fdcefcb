"""A ranker that is bound once, for a service that scores a few documents at a time, in any number of threads."""

import os
from collections.abc import Mapping
from math import isfinite
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Floats, Ints, contiguous_ints
from swaprank.data.features import as_features
from swaprank.data.matching import check_count
from swaprank.errors import DataError, ParameterError
from swaprank.kernels import kernel
from swaprank.rankers.ranker import Ranker
from swaprank.registry import load
from swaprank.serving.document_rows import FeatureLimits, NamedRows, check_numbers, first_fraction

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_WARM_ROWS = 64
"""Enough documents to use the kernels for many, beside those for few."""
_SELECTED = 32
"""Up to so many documents are selected one by one; for more, sorting the whole list is faster."""


@final
class Scorer:
    """A fitted ranker for a service: the scores of `predict`, bit for bit, with little work around them.

    Everything that does not depend on the documents is done when the scorer is made, including the loading (or
    compiling) of kernels. Scorers do not change, so any number of threads may use one at the same time. A call runs on
    the thread that makes it, without the GIL while it computes.

    Features are float32 arrays in C order, which are not copied; anything else that holds numbers is converted. NaN is
    a missing value, and an infinite one raises DataError. A categorical feature has the code of its category, its
    position in `ranker.categories_`: `row` and `rows` make codes of categories.

    Args:
        ranker: A fitted ranker, or the path of a model file. A later `fit` of the ranker does not change the scorer.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_search((50, 1), n_documents=10, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=20).fit(train)
    >>> scorer = sr.Scorer(ranker)
    >>> (scorer.predict(test.features) == ranker.predict(test)).all()
    np.True_
    >>> scorer.predict(test.features[0]) == ranker.predict(test)[0]
    np.True_
    >>> scorer.rank(test.features, k=3)
    array([4, 9, 2])
    """

    def __init__(self, ranker: Ranker | str | os.PathLike[str]) -> None:
        if isinstance(ranker, str | os.PathLike):
            ranker = load(ranker)
        if not isinstance(ranker, Ranker):
            raise ParameterError(f"a fitted ranker or the path of a model file is needed; found {ranker!r}.")
        ranker.check_fitted()
        self.ranker = ranker
        """The ranker itself, for everything else."""
        self.feature_names: tuple[str, ...] = tuple(ranker.feature_names_in_.tolist())
        """The names of the features, in the order of a row."""
        self._n_features = len(self.feature_names)
        self._limits = FeatureLimits.of(self.feature_names, ranker.categories_)
        self._score = ranker.model_.prepared(self._limits.limits)
        self._named = NamedRows(self.feature_names, ranker.categories_)
        row = np.where(np.isinf(self._limits.limits[1]), 0, np.nan).astype(np.float32)
        self.predict(row)
        self.rank(np.tile(row, (_WARM_ROWS, 1)), k=1)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process prepares itself again."""
        return Scorer, (self.ranker,)

    def predict(self, features: Any, *, out: Floats | None = None) -> Any:
        """The score of one document as a float, or one score per row of a matrix: of one list, or of many.

        Args:
            features: One value per feature, or documents x features.
            out: A float64 array, one value per document, that scores are written to, and that is returned instead of a
                new one. One document is an array of one value here, too.
        """
        X, is_single = self._checked(features)
        scores = np.empty(len(X)) if out is None else _checked_out(out, len(X))
        outside = first_fraction(X, self._limits.categorical) if len(self._limits.categorical) else -1
        if outside < 0:
            outside = self._score(X, scores)
        if outside >= 0:
            raise self._limits.error(X, outside)
        if is_single:
            score = scores.item()
            if isfinite(score):
                return score
        _check_finite(scores)
        return scores

    def rank(self, features: Any, k: int | None = None, *, indptr: Any = None, out: Floats | None = None) -> Any:
        """The rows of the k documents with the largest scores, best first; tied documents in the order of their rows.

        Args:
            features: Documents x features.
            k: How many at most; all if None.
            indptr: For many lists: list i has the rows from indptr[i] to indptr[i + 1]. The result is then a list of
                arrays, one per list.
            out: An array that the scores are written to, as in `predict`.
        """
        if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
            raise ParameterError(f"k must be a whole number from 1; found {k!r}.")
        scores = np.atleast_1d(self.predict(features, out=out))
        if indptr is None:
            return top_places(scores, k or len(scores))
        bounds = _checked_indptr(indptr, len(scores))
        return [a + top_places(scores[a:b], k or b - a) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]

    def row(self, document: Mapping[str, Any]) -> Features:
        """The features of one document that is given by name.

        Features that are not named, None, and categories that the ranker does not know are missing values. An unknown
        name raises DataError.

        >>> import swaprank as sr
        >>> data = sr.Dataset(
        ...     [["nike", 3], ["puma", 5]], [0, 1], qid=[1, 1], feature_names=["brand", "price"],
        ...     categorical_features=["brand"],
        ... )
        >>> scorer = sr.Scorer(sr.MART(n_trees=1).fit(data))
        >>> scorer.row({"price": 4, "brand": "puma"})
        array([1., 4.], dtype=float32)
        >>> scorer.row({"prize": 4})
        Traceback (most recent call last):
        ...
        swaprank.errors.DataError: there is no feature 'prize'; did you mean 'price'?
        """
        return self._named.row(document)

    def rows(self, documents: Any) -> Features:
        """The features of several documents: a list of mappings as for `row`, or anything that `predict` takes."""
        if isinstance(documents, list | tuple) and documents:
            if isinstance(documents[0], Mapping):
                return np.stack([self.row(document) for document in documents])
            if all(isinstance(document, list | tuple) for document in documents):
                check_numbers(documents, self.feature_names, self.ranker.categories_)
        return self.ranker._features_of(documents)

    def _checked(self, features: Any) -> tuple[Features, bool]:
        """The features as a read-only float32 matrix, and whether they were one document."""
        X = features if type(features) is np.ndarray and _passes(features) else self._converted(features)
        is_single = X.ndim == 1
        X = X.reshape(1, -1) if is_single else X.view()
        X.flags.writeable = False  # as `read_only`, without a second view
        if X.shape[1] != self._n_features:
            check_count(self._n_features, X.shape[1], type(self.ranker).__name__, "each document")
        return X, is_single

    def _converted(self, features: Any) -> Features:
        """Numbers as float32 in C order, checked as in `predict`: one document has one dimension, several have two."""
        if not isinstance(features, np.ndarray | list | tuple):
            found = type(features).__name__
            raise DataError(f"features must be an array of numbers; found {found}: the scorer's `rows` converts it.")
        if isinstance(features, np.ndarray):
            is_single, matrix = features.ndim == 1, as_features(features[None] if features.ndim == 1 else features)
        else:
            is_single = not features or not isinstance(features[0], np.ndarray | list | tuple)
            rows = [features] if is_single else features
            if all(isinstance(row, list | tuple) for row in rows):
                check_numbers(rows, self.feature_names, ())
            matrix = as_features(rows)
        return matrix[0] if is_single else matrix


def _passes(features: AnyArray) -> bool:
    """True if kernels can read the array as it is."""
    flags = features.flags
    return features.dtype == _FLOAT32 and features.ndim in (1, 2) and flags.c_contiguous and flags.aligned


def _checked_out(out: Floats, n_documents: int) -> Floats:
    is_array = isinstance(out, np.ndarray)
    if not is_array or out.dtype != _FLOAT64 or out.shape != (n_documents,) or not out.flags.carray:
        found = f"{out.dtype} of shape {out.shape}" if is_array else type(out).__name__
        raise DataError(
            f"out must be a writable, contiguous float64 array of shape ({n_documents},), one value per document; "
            f"found {found}."
        )
    return out


def _checked_indptr(indptr: Any, n_documents: int) -> Ints:
    bounds = contiguous_ints(indptr)
    if (
        bounds.ndim != 1
        or len(bounds) == 0
        or bounds[0] != 0
        or bounds[-1] != n_documents
        or (np.diff(bounds) < 0).any()
    ):
        raise DataError(f"indptr must rise from 0 to {n_documents}, the number of documents; found {indptr!r}.")
    return bounds


def _check_finite(scores: Floats) -> None:
    finite = np.isfinite(scores)
    if not finite.all():
        at = int(np.argmin(finite))
        raise DataError(f"the score of document {at} is {scores[at]}: its features are too large for the model.")


def top_places(scores: Floats, k: int) -> Ints:
    """The places of the k largest scores, largest first; equal scores in their order.

    >>> import numpy as np
    >>> from swaprank.serving.scorer import top_places
    >>> top_places(np.array([0.5, 2.0, 0.5, 1.0]), 3)
    array([1, 3, 0])
    """
    if k > _SELECTED:
        return np.argsort(-scores, kind="stable")[:k]
    places = np.empty(min(k, len(scores)), np.int64)
    select_places(scores, places)
    return places


@kernel
def select_places(scores: Floats, places: Ints) -> None:
    """Fill in the places of the largest scores: each is inserted among the best so far, behind equal ones."""
    n_found, k = 0, len(places)
    for place in range(len(scores)):
        score = scores[place]
        if n_found < k:
            n_found += 1
        elif k == 0 or score <= scores[places[k - 1]]:
            continue
        at = n_found - 1
        while at > 0 and scores[places[at - 1]] < score:
            places[at] = places[at - 1]
            at -= 1
        places[at] = place
