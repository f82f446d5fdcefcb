"""What every ranker is: a scikit-learn estimator that learns from queries and scores documents."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, ClassVar, Literal, NamedTuple, Self
from warnings import warn

import numpy as np

from swaprank.cluster.detect import is_distributed
from swaprank.collective import ALONE, Collective, total
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, Interrupted, ParameterError
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.model import Model
from swaprank.peer_names import check_arguments
from swaprank.rankers.checkpoint import Checkpoint, as_checkpoint
from swaprank.rankers.fitted_ranker import FittedRanker
from swaprank.rankers.given_data import as_dataset, validation_sets
from swaprank.rankers.missing_features import missing_features
from swaprank.rankers.parameter_checks import check_parameters
from swaprank.rankers.rounds import Callback, checked_callbacks
from swaprank.rankers.shown_progress import shown_trainings
from swaprank.seeds import seed_of


class FitRequest(NamedTuple):
    """What `fit` was called with, checked."""

    data: Dataset
    valid: Mapping[str, Dataset]
    metrics: list[Metric]
    """What is measured on the sets of `valid`."""
    base: Any
    """A fitted ranker to start from, or None."""
    callbacks: Sequence[Callback]
    checkpoint: Checkpoint | None = None
    """Where what was trained is kept, to go on from there."""
    collective: Collective = ALONE
    """The workers that train together; data and validation sets are the shares of one of them."""


class Ranker(FittedRanker):
    """Learns to order the documents of a query; see the rankers themselves for their parameters.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(data)
    >>> isinstance(ranker, sr.Ranker), ranker.model_.describe()
    (True, '2 trees')
    """

    trains_in_rounds: ClassVar[bool] = True
    """Whether there is progress to show."""
    trains_trees: ClassVar[bool] = False
    """Whether it boosts trees, which can be trained on a cluster and kept in checkpoints."""
    rounds_parameter: ClassVar[str | None] = None
    """The parameter that limits the number of rounds."""
    objective_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters of the default objective; an objective that is given as an instance has its own."""
    by_round: ClassVar[tuple[str, ...]] = ()
    """Parameters that may also be a sequence of numbers, one per round; the last one is kept for all later rounds."""
    tuning_ranges: ClassVar[Mapping[str, Any]] = {}
    """What `tune` searches by default: (low, high), or a list of values. The defaults lie within."""
    tuning_fixed: ClassVar[Mapping[str, Any]] = {}
    """What `tune` sets for all trials, such as early stopping."""
    learns_from: ClassVar[Literal["data", "rankers", "nothing"]] = "data"
    """Whether it is trained on data alone, combines fitted rankers, or was trained elsewhere."""
    model_classes: ClassVar[tuple[type[Model], ...]] = (Model,)
    """What its model may be."""
    takes_categories: ClassVar[bool] = False
    """Whether it knows what to do with categorical features; others learn from numbers."""
    learns_probabilities: ClassVar[bool] = False
    """Whether differences of its scores are meant as log odds of one document being better than another."""
    base_ranker: Any = None
    """A fitted ranker that training starts from."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        base_score: Any = None,
        categorical_features: Iterable[str | int] | None = None,
        valid: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        base: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        verbose: bool | int = False,
        **unknown: Any,
    ) -> Self:
        """Learn from judged documents.

        Features are matched by name wherever both sides have names: those of validation sets and of a base ranker may
        be in another order. Values of categorical features are matched as text; a category that the training data does
        not have is a missing value. Ctrl-C keeps the best model so far, sets `interrupted_`, and raises Interrupted, a
        KeyboardInterrupt.

        Args:
            X: A Dataset, or a feature matrix or table together with y and qid. Trees also take data on a cluster:
                `Parts`, or a Dask data frame, of which y and qid are columns.
            y: Labels, one per row.
            qid: Query ids, one per row; or the name of a column of X.
            group: Instead of qid: the number of rows of each query.
            sample_weight: How much each row counts.
            query_weight: How much each query counts, in the order in which the queries first appear, or by query id.
            base_score: Scores to start from, one per row.
            categorical_features: Features whose values are categories, by name or by position from 0; columns of text
                need not be declared. Only trees take them.
            valid: A data set, as a Dataset or a tuple (X, y, qid), or several by name, measured after every round. The
                last one is watched: its best round is kept, and early stopping goes by it.
            eval_set: Instead of valid: a list of tuples (X, y), as for LightGBM and XGBoost. They are named "valid_0",
                "valid_1", …
            eval_group: The group sizes of each set of eval_set.
            eval_qid: Instead of eval_group: the query ids of each set of eval_set.
            metrics: What is measured there; the first is watched. By default the ranker's own metric.
            base: A fitted ranker to start from; overrides the parameter base_ranker.
            callbacks: Called after every round with its Progress; training stops when one returns something true.
            checkpoint: A file in which training is kept. If it exists, training goes on from there, to the same model
                as without an interruption. For trees only.
            checkpoint_every: After how many rounds the checkpoint is written.
            verbose: True shows progress: a bar on a terminal or in a notebook, lines elsewhere. A number above 1 prints
                a line after every so many rounds.
            unknown: None; arguments of other libraries raise an ArgumentError that says what they are called here.
        """
        names = self._get_param_names()
        check_arguments(unknown, _names_of_arguments(self.fit), "fit", type(self).__name__, names)
        columns = {
            "qid": qid,
            "group": group,
            "sample_weight": sample_weight,
            "query_weight": query_weight,
            "base_score": base_score,
            "categorical_features": categorical_features,
        }
        if is_distributed(X):
            from swaprank.rankers.cluster_fit import fit_on_cluster

            how: dict[str, Any] = {"metrics": metrics, "base": base, "callbacks": callbacks, "verbose": verbose}
            kept: dict[str, Any] = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every}
            peers = {"eval_set": eval_set, "eval_group": eval_group, "eval_qid": eval_qid}
            fit_on_cluster(self, X, y=y, valid=valid, **columns, **how, **kept, **peers)
            return self
        check_parameters(self)
        start = self.base_ranker if base is None else base
        data = as_dataset(X, y, **columns)
        data = self._with_known_features(data, start)
        sets = validation_sets(valid, eval_set, eval_group, eval_qid, data)
        if data.base_score is not None and any(other.base_score is None for other in sets.values()):
            warn("the training data has base scores, but a validation set has none: 0 is taken.", stacklevel=2)
        own_callbacks = checked_callbacks(callbacks)
        with shown_trainings(verbose if self.trains_in_rounds else 0, self.round_name) as shown:
            self._learn(
                data,
                sets,
                metrics,
                start,
                [*shown(""), *own_callbacks],
                as_checkpoint(checkpoint, checkpoint_every),
                ALONE,
            )
        if self.interrupted_:
            raise Interrupted(self)
        return self

    def fit_share(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        collective: Collective,
        *,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        base: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn together with other workers, each from whole queries of its own; all of them get the same model.

        Every worker calls it with the same arguments, except for its share of the data. The features and categories of
        all shares are the same. Callbacks and the checkpoint may be given to one worker only, that of rank 0.
        """
        check_parameters(self)
        start = self.base_ranker if base is None else base
        data = self._with_known_features(data, start)
        self._learn(
            data,
            validation_sets(valid, None, None, None, data),
            metrics,
            start,
            checked_callbacks(callbacks),
            as_checkpoint(checkpoint, checkpoint_every),
            collective,
        )
        return self

    def _learn(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Any,
        callbacks: Sequence[Callback],
        checkpoint: Checkpoint | None,
        collective: Collective,
    ) -> None:
        """Learn, and remember what was learned from."""
        self._check_categories(data)
        if not self.trains_trees and (checkpoint is not None or collective.size > 1):
            raise ParameterError(
                f"{type(self).__name__} has no {'checkpoints' if collective.size == 1 else 'training on a cluster'}: "
                "LambdaMART, MART and RandomForest have."
            )
        chosen = [self.training_metric()] if metrics is None else parse_metrics(metrics)
        if "random_state" in self._get_param_names():
            # A random seed is drawn by the first worker.
            self.random_state_ = total(collective, seed_of(self.random_state) if collective.rank == 0 else 0)
        self._fit(FitRequest(data, valid, chosen, base, callbacks, checkpoint, collective))
        self._set_fitted(data, self._learned_before(base), collective)

    @abstractmethod
    def _fit(self, request: FitRequest) -> None:
        """Learn from checked data; set model_, history_, n_rounds_, best_round_ and interrupted_."""

    def _with_known_features(self, data: Dataset, base: Any) -> Dataset:
        """The training data with the features of what training starts from, in their order."""
        names = getattr(base, "feature_names_in_", None)
        if names is None:
            return data
        # The base ranker's categories keep their numbers, and new ones follow.
        matched = data.with_features(
            [str(name) for name in names],
            categories=getattr(base, "categories_", {}),
            new_categories=True,
            whose="the base ranker",
        )
        new = [name for name in data.feature_names if name not in matched.feature_names]
        if new and matched.n_features < data.n_features:
            listed = ", ".join(f"'{name}'" for name in new[:5]) + (f" and {len(new) - 5} more" if len(new) > 5 else "")
            warn(f"the base ranker does not know {listed}: training continues without.", stacklevel=3)
        return matched

    def _check_categories(self, data: Dataset) -> None:
        """Raise DataError if there are categorical features and the ranker learns from numbers only."""
        if self.takes_categories or not data.categories:
            return
        name, values = next(iter(data.categories.items()))
        found = f" (such as '{values[0][:40]}')" if values else ""
        raise DataError(
            f"{type(self).__name__} learns from numbers, but the feature '{name}' is categorical{found}: use "
            "LambdaMART or MART, which take categories, leave it out, or encode it as columns of 0 and 1."
        )

    def _learned_before(self, base: Any) -> Sequence[Ranker]:
        """The fitted rankers that the model contains."""
        return [base] if isinstance(base, Ranker) else []

    def _set_fitted(self, data: Dataset, learned_before: Sequence[Ranker] = (), collective: Collective = ALONE) -> None:
        objective = getattr(self, "objective", None)
        self.sigma_ = float(getattr(objective, "sigma", getattr(self, "sigma", 1.0)))
        self.n_features_in_ = data.n_features
        self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        self.categories_ = dict(data.categories)
        known = [ranker.missing_features_ for ranker in learned_before]
        self.missing_features_ = missing_features(data, known, collective)


def _names_of_arguments(function: Any) -> list[str]:
    """The arguments of fit, without those that it does not know."""
    return [name for name in signature(function).parameters if name != "unknown"]
