"""What every ranker is: a scikit-learn estimator that learns from queries and scores documents."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from swaprank.arrays import AnyArray, Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.data.features import as_features, read_only
from swaprank.errors import DataError, MetricError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import OWN_METRIC, Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.rankers.rounds import Progress

Callback = Callable[[Progress], object]
"""Called after every round; training stops when it gives True."""


class Ranker(BaseEstimator):  # type: ignore[misc]
    """Learns to order the documents of a query; see the rankers themselves for their parameters."""

    kind: ClassVar[str]
    """The name by which model files and the command line know it."""
    metric: str | Metric
    base_ranker: Any
    n_threads: int | None
    n_features_in_: int
    feature_names_in_: Any
    history_: dict[str, list[float]]
    """The measured metrics after every round, by "set metric"."""
    interrupted_: bool
    """Whether training was ended by Ctrl-C."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        valid: Dataset | Mapping[str, Dataset] | None = None,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        base: Ranker | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Learn from judged documents.

        Args:
            X: A Dataset; or a feature matrix, with y and qid beside it.
            y: Labels, one a row.
            qid: Query ids, one a row.
            sample_weight: How much each row counts.
            valid: A data set, or several by name, measured after every round; the last one is watched for early
                stopping.
            metrics: What is measured there, the first being watched; what the ranker learns for if not given.
            base: A fitted ranker to start from.
            callbacks: Called after every round with its Progress; training stops when one gives True.
        """
        data = X if isinstance(X, Dataset) else _as_dataset(X, y, qid, sample_weight)
        if isinstance(X, Dataset) and not (y is None and qid is None and sample_weight is None):
            raise DataError("y, qid and sample_weight go with a feature matrix; a Dataset has its own.")
        sets = {} if valid is None else {"valid": valid} if isinstance(valid, Dataset) else dict(valid)
        for name, other in sets.items():
            if other.n_features != data.n_features:
                raise DataError(
                    f"the set '{name}' has {other.n_features} features, but there are {data.n_features} to learn from."
                )
        self._fit(data, sets, metrics, base, callbacks)
        self.n_features_in_ = data.n_features
        self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        return self

    @abstractmethod
    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Ranker | None,
        callbacks: Sequence[Callback],
    ) -> None:
        """Learn; the data is checked."""

    @abstractmethod
    def predict(self, X: Any) -> Floats:
        """Scores of a data set's or a matrix's rows, in the order in which they were given; larger is better."""

    @property
    @abstractmethod
    def size_(self) -> str:
        """How large the model is, in words."""

    @abstractmethod
    def _saved(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """What was learned: plain values, and arrays."""

    @abstractmethod
    def _restore(self, meta: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        """Take over what `_saved` gave, after checking every part of it, and set n_features_in_."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `swaprank.load` reads; the same model gives the same bytes."""
        from swaprank.rankers.saving import save

        self._check_fitted()
        save(self, path)

    def score(self, X: Any, y: Any = None, *, qid: Any = None) -> float:
        """The mean of the ranker's metric on judged documents: a Dataset, or a feature matrix with y and qid."""
        data = X if isinstance(X, Dataset) else _as_dataset(X, y, qid, None)
        bound = bind_metric(self._metric(), data)
        return bound.mean(data.by_query(self.predict(data)), n_threads=self.n_threads)

    def permutation_importances(
        self, data: Dataset, metric: str | Metric | None = None, *, n_repeats: int = 5, random_state: int = 0
    ) -> dict[str, float]:
        """How much a metric falls when a feature's values are shuffled over the rows, the mean of some shuffles."""
        from swaprank.rankers.permutation import permutation_importances

        chosen = self._metric() if metric is None else parse_metric(metric)
        return permutation_importances(self, data, chosen, n_repeats, random_state)

    def __sklearn_clone__(self) -> Any:
        """A copy without what was learned; the base ranker keeps what it learned, for that is what it is for."""
        return type(self)(**self.get_params(deep=False))

    def _metric(self) -> Metric:
        """What is measured while training, if nothing else is asked for."""
        if isinstance(self.metric, str) and self.metric.endswith(OWN_METRIC):
            raise MetricError(
                f"this model was trained for a metric of your own, '{self.metric.removesuffix(OWN_METRIC)}', which a "
                "model file does not hold: give it again with set_params(metric=…), or name another one."
            )
        return parse_metric(self.metric)

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has not been fitted: call fit first, or load a model.")

    def _features_of(self, X: Any) -> Features:
        """What is to be scored, as a checked matrix with the right number of features."""
        self._check_fitted()
        features = X.features if isinstance(X, Dataset) else as_features(X)
        if features.shape[1] != self.n_features_in_:
            raise DataError(f"the model has {self.n_features_in_} features, but X has {features.shape[1]}.")
        return read_only(features)

    @staticmethod
    def _plus_base_score(scores: Floats, X: Any) -> Floats:
        """Scores on top of those that the data brings along, as in training."""
        return scores + X.base_score if isinstance(X, Dataset) and X.base_score is not None else scores


def _as_dataset(X: Any, y: Any, qid: Any, sample_weight: Any) -> Dataset:
    if y is None or qid is None:
        raise DataError("fit takes a Dataset, or X with y and qid: one label and one query id for every row.")
    return Dataset(X, y, qid=qid, sample_weight=sample_weight)
