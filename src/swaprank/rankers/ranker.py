"""What every ranker is: a scikit-learn estimator that learns from queries and scores documents."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self
from warnings import warn

import numpy as np
from sklearn.exceptions import NotFittedError

from swaprank.arrays import Features, Floats
from swaprank.collective import ALONE, Collective, total
from swaprank.data.categories import Categories
from swaprank.data.dataset import Dataset
from swaprank.data.features import as_features, read_only
from swaprank.errors import DataError, Interrupted, MetricError, ParameterError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import OWN_SUFFIX, Metric, is_own
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.model import Model
from swaprank.peer_names import check_arguments
from swaprank.rankers.checkpoint import Checkpoint, as_checkpoint
from swaprank.rankers.estimator import Estimator
from swaprank.rankers.given_data import as_dataset, validation_sets
from swaprank.rankers.missing_features import missing_features
from swaprank.rankers.parameter_checks import check_parameters
from swaprank.rankers.rounds import Callback, History, checked_callbacks
from swaprank.rankers.saving import save
from swaprank.rankers.shown_progress import shown_trainings
from swaprank.seeds import RandomState, seed_of


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


class Ranker(Estimator):
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
    metric: str | Metric
    base_ranker: Any = None
    """A fitted ranker that training starts from."""
    random_state: RandomState
    n_threads: int | None
    model_: Model
    """What has been learned."""
    n_features_in_: int
    feature_names_in_: Any
    categories_: Mapping[str, Categories] = MappingProxyType({})
    """The categories of each categorical feature in the training data; their positions are the codes in the model."""
    missing_features_: tuple[str, ...] | None = None
    """The features with missing values in the training data; None if that is not known."""
    history_: History
    """What was measured after every round: `history_[set][metric]` is a list."""
    n_rounds_: int
    """Rounds that were trained."""
    best_round_: int
    """The round whose model was kept, see rankers/rounds.py; 0 is the start of training."""
    interrupted_: bool
    """Whether Ctrl-C ended training."""
    random_state_: int
    """The seed that was used: `random_state`, or one drawn from it."""
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
            X: A Dataset, or a feature matrix or table together with y and qid.
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
        start = self.base_ranker if base is None else base
        data = as_dataset(
            X,
            y,
            qid=qid,
            group=group,
            sample_weight=sample_weight,
            query_weight=query_weight,
            base_score=base_score,
            categorical_features=categorical_features,
        )
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
        """Check the parameters, learn, and remember what was learned from."""
        check_parameters(self)
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

    def predict(self, X: Any, **unknown: Any) -> Floats:
        """Scores of the rows of a data set or matrix, in the order in which they were given; larger is better.

        The `base_score` of a data set is added, as in training. There are no other arguments; for those of other
        libraries, an ArgumentError says what to call instead.
        """
        check_arguments(unknown, ["X"], "predict")
        features = self._features_of(X)
        return self._plus_base_score(self.model_.score(features, self.n_threads), X)

    def predict_stage(self, X: Any, n_stages: int) -> Floats:
        """Scores by the first parts of the model only, such as its first trees."""
        features = self._features_of(X)
        whole = isinstance(n_stages, int | np.integer) and not isinstance(n_stages, bool)
        if self.model_.n_stages and not (whole and 0 <= n_stages <= self.model_.n_stages):
            raise ParameterError(f"n_{self.round_name}s must be from 0 to {self.model_.n_stages}; found {n_stages!r}.")
        return self._plus_base_score(self.model_.staged_scores(features, [n_stages], self.n_threads)[0], X)

    def contributions(self, X: Any) -> Floats:
        """Each feature's share in each score, exactly (TreeSHAP for trees); the last column is the expected score."""
        features = self._features_of(X)
        shares = self.model_.contributions(features, self.n_threads)
        shares[:, -1] = self._plus_base_score(shares[:, -1], X)
        return shares

    def plot_contributions(self, X: Any, ax: Any = None, *, n_features: int = 15) -> Any:
        """A summary plot of `contributions`, as of SHAP values: one row per feature, one point per row of X.

        The features with the largest mean absolute contributions are drawn. The color is the value of the feature: blue
        is low, red is high, grey is missing or a category. Needs Matplotlib.

        Args:
            X: A data set or matrix.
            ax: The Matplotlib axes to draw on; new ones if None.
            n_features: How many features are drawn at most.

        Returns:
            The axes, whose `figure` can be saved.

        >>> import swaprank as sr
        >>> train, test = sr.datasets.random_search((50, 20), n_documents=10, random_state=0)
        >>> axes = sr.LambdaMART(n_trees=20, n_leaves=7).fit(train).plot_contributions(test, n_features=3)
        >>> [label.get_text() for label in axes.get_yticklabels()]
        ['title_match', 'match', 'authority']
        """
        from swaprank.rankers.contribution_plot import plot_contributions

        shares = self.contributions(X)[:, :-1]
        # A category is neither low nor high: it has no rank among the others.
        return plot_contributions(shares, self._quantities_of(X), self.feature_names_in_, n_features, ax)

    @property
    def size_(self) -> str:
        """How large the model is, in words."""
        self.check_fitted()
        return self.model_.describe()

    @property
    def trained_for_(self) -> str:
        """What the model was trained for, in words: its metric."""
        return str(self.metric)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `swaprank.load` reads; the same model gives the same bytes."""
        self.check_fitted()
        save(self, path)

    def export(
        self,
        path: str | os.PathLike[str],
        to: str,
        *,
        features: Any = None,
        rename: Mapping[str, str] | None = None,
        name: str | None = None,
        missing: Literal["refuse", "zero"] = "refuse",
        request: bool = False,
    ) -> None:
        """Write the model for another system, which then gives the same scores.

        What the system cannot hold raises an ExportError, and what it may score differently an ExportWarning, both with
        what to do.

        Args:
            path: The file to write.
            to: The format: lightgbm, xgboost, ranklib, xgboost+json, solr, vespa, onnx or c.
            features: The features of the target in its order, which may be more than the model has: a list of names, a
                text file with one per line, or the JSON of an Elasticsearch feature set or a Solr feature store. If
                None, those of the model. Names are matched; a model whose features are only numbered takes them in
                their order.
            rename: What the target calls features of the model.
            name: What the model is called there; by default the name of the file without its ending.
            missing: If the target reads missing values as 0 and the model has learned something else: "refuse" is an
                error, "zero" accepts it, because documents always have all features, or 0 stood for missing values in
                training. The formats xgboost+json and vespa then send missing values where 0 goes.
            request: Write the body of the request that uploads the model, with the definitions of `features` if given.

        >>> import tempfile, swaprank as sr
        >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
        >>> ranker = sr.LambdaMART(n_trees=3).fit(train)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranker.export(f"{folder}/model.txt", to="lightgbm")
        ...     again = sr.load_peer(f"{folder}/model.txt")
        >>> (again.predict(test) == ranker.predict(test)).all()
        np.True_
        """
        from swaprank.exchange.export import export

        self.check_fitted()
        export(
            self.model_,
            self._feature_names(),
            self.categories_,
            path,
            to,
            features=features,
            rename=rename,
            name=name,
            missing=missing,
            request=request,
            missing_features=self.missing_features_,
        )

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        base_score: Any = None,
        sample_weight: None = None,
    ) -> float:
        """The mean of the ranker's metric on judged documents: a Dataset, or a feature matrix with y and qid.

        `base_score` is added to the scores. `sample_weight` must be None, as scikit-learn's pipelines pass it: metrics
        have no weights.
        """
        self.check_fitted()
        if sample_weight is not None:
            raise DataError("metrics have no weights: score takes no sample_weight.")
        data = self._judged(X, y, qid=qid, group=group, base_score=base_score)
        bound = bind_metric(self.training_metric(), data)
        return bound.mean(data.by_query(self.predict(data)), n_threads=self.n_threads)

    def _judged(self, X: Any, y: Any, **others: Any) -> Dataset:
        """Judged documents with the features and categories of this ranker."""
        return as_dataset(X, y, self._feature_names(), type(self).__name__, self.categories_, **others)

    def permutation_importances(
        self, data: Dataset, metric: str | Metric | None = None, *, n_repeats: int = 5, random_state: int = 0
    ) -> dict[str, float]:
        """How much a metric falls when a feature's values are shuffled over the rows: the mean of several shuffles."""
        from swaprank.rankers.permutation import permutation_importances

        chosen = self.training_metric() if metric is None else parse_metric(metric)
        return permutation_importances(self, self.matched(data), chosen, n_repeats, random_state)

    def matched(self, data: Dataset) -> Dataset:
        """The data set with the features of this ranker, matched by name, and its categories; itself if it has these.

        A category that the ranker does not know becomes a missing value.
        """
        self.check_fitted()
        if not isinstance(data, Dataset):
            raise DataError(f"expected a Dataset, such as sr.Dataset(X, y, qid=qid); found {type(data).__name__}.")
        return data.with_features(self._feature_names(), categories=self.categories_, whose=type(self).__name__)

    def plot_importances(
        self, ax: Any = None, *, kind: str | None = None, data: Dataset | None = None, n_features: int = 20
    ) -> Any:
        """Draw the most important features as bars; returns the Matplotlib axes.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            kind: "gain" or "splits" for trees, or "permutation". If None: the gain of trees, the weights of a linear
                model, or else permutation importances.
            data: The data on which importances are measured. Trees need it only for "permutation".
            n_features: The number of features, from the most important.
        """
        from swaprank.rankers.ranker_figures import plot_importances

        return plot_importances(self, ax, kind, data, n_features)

    def plot_learning_curve(self, ax: Any = None, *, metric: str | Metric | None = None) -> Any:
        """Draw what was measured after each round on every set of `fit(valid=…)`; returns the Matplotlib axes.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            metric: Which metric to draw. If None, the one that the ranker was trained for.
        """
        from swaprank.rankers.ranker_figures import plot_learning_curve

        return plot_learning_curve(self, ax, metric)

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

    def _features_of(self, X: Any) -> Features:
        """The feature matrix to score: the features of this ranker, matched by name if X has names, with its codes."""
        self.check_fitted()
        if isinstance(X, Dataset):
            return self.matched(X).features
        return read_only(as_features(X, self._feature_names(), type(self).__name__, self.categories_))

    def _quantities_of(self, X: Any) -> Features:
        """The feature matrix with NaN for all categories."""
        features = self._features_of(X)
        if not self.categories_:
            return features
        quantities = np.array(features)
        quantities[:, [name in self.categories_ for name in self._feature_names()]] = np.nan
        return quantities

    def _feature_names(self) -> list[str]:
        names: list[str] = self.feature_names_in_.tolist()
        return names

    @staticmethod
    def _plus_base_score(scores: Floats, X: Any) -> Floats:
        """Scores plus those that the data set brings along; DataError if one is not finite."""
        total = scores + X.base_score if isinstance(X, Dataset) and X.base_score is not None else scores
        if not np.isfinite(total).all():
            row = int(np.argmin(np.isfinite(total)))
            raise DataError(
                f"the score of row {row} is {total[row]}: its features or its base score are too large for the model. "
                "Scale them, or remove the row."
            )
        return total


def _names_of_arguments(function: Any) -> list[str]:
    """The arguments of fit, without those that it does not know."""
    return [name for name in signature(function).parameters if name != "unknown"]
