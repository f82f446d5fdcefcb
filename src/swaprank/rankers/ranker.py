"""What every ranker is: a scikit-learn estimator that learns from queries and scores documents."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from swaprank.arrays import Features, Floats
from swaprank.data.dataset import Dataset
from swaprank.data.features import as_features, read_only
from swaprank.errors import DataError, MetricError, ParameterError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import OWN_SUFFIX, Metric, is_own
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.model import Model
from swaprank.rankers.parameter_checks import check_parameters
from swaprank.rankers.rounds import Callback, History
from swaprank.rankers.saving import save


class FitRequest(NamedTuple):
    """What `fit` was called with, checked."""

    data: Dataset
    valid: Mapping[str, Dataset]
    metrics: list[Metric]
    """What is measured on the sets of `valid`."""
    base: Any
    """A fitted ranker to start from, or None."""
    callbacks: Sequence[Callback]


class Ranker(BaseEstimator, ABC):  # type: ignore[misc]
    """Learns to order the documents of a query; see the rankers themselves for their parameters.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(data)
    >>> isinstance(ranker, sr.Ranker), ranker.model_.describe()
    (True, '2 trees')
    """

    kind: ClassVar[str]
    """Its name in model files and on the command line."""
    round_name: ClassVar[str] = "round"
    """What a round of training is: a tree, an epoch, …"""
    rounds_parameter: ClassVar[str | None] = None
    """The parameter that limits the number of rounds."""
    objective_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters of the default objective; an objective that is given as an instance has its own."""
    tuning_ranges: ClassVar[Mapping[str, Any]] = {}
    """What `tune` searches by default: (low, high), or a list of values. The defaults lie within."""
    tuning_fixed: ClassVar[Mapping[str, Any]] = {}
    """What `tune` sets for all trials, such as early stopping."""
    made_of_rankers: ClassVar[bool] = False
    """Whether it combines fitted rankers, and so cannot be trained from data alone."""
    model_classes: ClassVar[tuple[type[Model], ...]] = (Model,)
    """What its model may be."""
    learns_probabilities: ClassVar[bool] = False
    """Whether differences of its scores are meant as log odds of one document being better than another."""
    metric: str | Metric
    base_ranker: Any = None
    """A fitted ranker that training starts from."""
    n_threads: int | None
    model_: Model
    """What has been learned."""
    n_features_in_: int
    feature_names_in_: Any
    history_: History
    """What was measured after every round: `history_[set][metric]` is a list."""
    n_rounds_: int
    """Rounds that were trained."""
    best_round_: int
    """The round whose model was kept, see rankers/rounds.py; 0 is the start of training."""
    interrupted_: bool
    """Whether Ctrl-C ended training."""
    sigma_: float
    """The steepness (sigma) of the objective that the scores were trained with; 1 if it has none."""
    members_: Sequence[Mapping[str, Any]] = ()
    """Of an ensemble: the kind ("ranker") and the "parameters" of each member, and the "members" of nested ones."""

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
            X: A Dataset, or a feature matrix together with y and qid.
            y: Labels, one per row.
            qid: Query ids, one per row.
            sample_weight: How much each row counts.
            valid: A data set, or several by name, measured after every round. The last one is watched: its best
                round is kept, and early stopping goes by it.
            metrics: What is measured there; the first is watched. By default the ranker's own metric.
            base: A fitted ranker to start from; overrides the parameter base_ranker.
            callbacks: Called after every round with its Progress; training stops when one returns True.
        """
        check_parameters(self)
        data = as_dataset(X, y, qid, sample_weight)
        sets = {} if valid is None else {"valid": valid} if isinstance(valid, Dataset) else dict(valid)
        for name, other in sets.items():
            if other.n_features != data.n_features:
                raise DataError(
                    f"the set '{name}' has {other.n_features} features, but the training data has {data.n_features}."
                )
        chosen = [self.training_metric()] if metrics is None else parse_metrics(metrics)
        self._fit(FitRequest(data, sets, chosen, self.base_ranker if base is None else base, callbacks))
        self._set_fitted(data)
        return self

    @abstractmethod
    def _fit(self, request: FitRequest) -> None:
        """Learn from checked data; set model_, history_, n_rounds_, best_round_ and interrupted_."""

    def predict(self, X: Any) -> Floats:
        """Scores of the rows of a data set or matrix, in the order in which they were given; larger is better.

        The `base_score` of a data set is added, as in training.
        """
        features = self._features_of(X)
        return self._plus_base_score(self.model_.score(features, self.n_threads), X)

    def predict_stage(self, X: Any, n_stages: int) -> Floats:
        """Scores by the first parts of the model only, such as its first trees."""
        features = self._features_of(X)
        if self.model_.n_stages and not 0 <= n_stages <= self.model_.n_stages:
            raise ParameterError(f"n_{self.round_name}s must be from 0 to {self.model_.n_stages}; found {n_stages}.")
        return self._plus_base_score(self.model_.staged_scores(features, [n_stages], self.n_threads)[0], X)

    def contributions(self, X: Any) -> Floats:
        """Each feature's share in each score, exactly (TreeSHAP for trees); the last column is the expected score."""
        features = self._features_of(X)
        shares = self.model_.contributions(features, self.n_threads)
        shares[:, -1] = self._plus_base_score(shares[:, -1], X)
        return shares

    @property
    def size_(self) -> str:
        """How large the model is, in words."""
        return self.model_.describe()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `swaprank.load` reads; the same model gives the same bytes."""
        self.check_fitted()
        save(self, path)

    def score(self, X: Any, y: Any = None, *, qid: Any = None) -> float:
        """The mean of the ranker's metric on judged documents: a Dataset, or a feature matrix with y and qid."""
        data = as_dataset(X, y, qid, None)
        bound = bind_metric(self.training_metric(), data)
        return bound.mean(data.by_query(self.predict(data)), n_threads=self.n_threads)

    def permutation_importances(
        self, data: Dataset, metric: str | Metric | None = None, *, n_repeats: int = 5, random_state: int = 0
    ) -> dict[str, float]:
        """How much a metric falls when a feature's values are shuffled over the rows: the mean of several shuffles."""
        from swaprank.rankers.permutation import permutation_importances

        chosen = self.training_metric() if metric is None else parse_metric(metric)
        return permutation_importances(self, data, chosen, n_repeats, random_state)

    def __sklearn_clone__(self) -> Any:
        """A copy without what was learned; the base ranker keeps what it learned, because training starts from it."""
        return type(self)(**self.get_params(deep=False))

    def _set_parameters(self, arguments: Mapping[str, Any]) -> None:
        """Store the arguments of `__init__` as attributes of the same names, as scikit-learn wants it."""
        for name in self._get_param_names():
            setattr(self, name, arguments[name])

    def _fitted_values(self) -> dict[str, Any]:
        """What was found beside the model, as plain values for a model file."""
        return {}

    def _restore_values(self, values: Mapping[str, Any]) -> None:
        """Set again what `_fitted_values` gave."""

    def _check_words(self) -> None:
        """Check parameters that `check_parameters` does not know, such as words; called for model files, too."""

    def training_metric(self) -> Metric:
        """What is measured while training, unless the caller names metrics."""
        if is_own(self.metric):
            name = str(self.metric).removesuffix(OWN_SUFFIX)
            raise MetricError(
                f"this model was trained for a metric of your own, '{name}', which a "
                "model file does not hold: give it again with set_params(metric=…), or name another one."
            )
        return parse_metric(self.metric)

    def check_fitted(self) -> None:
        """Raise NotFittedError if there is no model yet."""
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(f"this {type(self).__name__} has not been fitted: call fit first, or load a model.")

    def _set_fitted(self, data: Dataset) -> None:
        objective = getattr(self, "objective", None)
        self.sigma_ = float(getattr(objective, "sigma", getattr(self, "sigma", 1.0)))
        self.n_features_in_ = data.n_features
        self.feature_names_in_ = np.array(data.feature_names, dtype=object)

    def _features_of(self, X: Any) -> Features:
        """The feature matrix to score, checked to have the right number of features."""
        self.check_fitted()
        features = X.features if isinstance(X, Dataset) else as_features(X)
        if features.shape[1] != self.n_features_in_:
            raise DataError(f"the model has {self.n_features_in_} features, but X has {features.shape[1]}.")
        return read_only(features)

    @staticmethod
    def _plus_base_score(scores: Floats, X: Any) -> Floats:
        """Scores plus those that the data set brings along."""
        return scores + X.base_score if isinstance(X, Dataset) and X.base_score is not None else scores


def as_dataset(X: Any, y: Any, qid: Any, sample_weight: Any) -> Dataset:
    """A Dataset as it is, or one made of X, y and qid."""
    if isinstance(X, Dataset):
        if not (y is None and qid is None and sample_weight is None):
            raise DataError("y, qid and sample_weight belong to a feature matrix; a Dataset has its own.")
        return X
    if y is None or qid is None:
        raise DataError("fit takes a Dataset, or X with y and qid: one label and one query id for every row.")
    return Dataset(X, y, qid=qid, sample_weight=sample_weight)
