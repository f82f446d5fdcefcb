"""Rankers: scikit-learn estimators that score documents, explain, draw, are saved and exported."""

import os
from abc import ABC
from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from swaprank.arrays import Features, Floats, read_only
from swaprank.cluster.dask_columns import is_array
from swaprank.cluster.parts import Parts, as_parts
from swaprank.data.categories import Categories
from swaprank.data.dataset import Dataset
from swaprank.data.features import model_matrix
from swaprank.errors import DataError, Hint, MetricError, ParameterError, Wording
from swaprank.metrics.metric import OWN_SUFFIX, Metric, bind_metric, is_own
from swaprank.metrics.parse import metric as parse_metric
from swaprank.models.calibration import Calibration
from swaprank.models.model import Model
from swaprank.parameters import Parameters, parameter
from swaprank.peer_names import ATTRIBUTES, check_arguments
from swaprank.rankers.calibration import fit_calibration
from swaprank.rankers.given_data import as_dataset, plus_base_score
from swaprank.rankers.learned import Capabilities, History, Learned, learned_value, not_fitted
from swaprank.rankers.saving import save
from swaprank.rendering.result import Backend

if TYPE_CHECKING:
    # scikit-learn has no types: its class would hide the signatures of ours.
    class BaseEstimator:
        """The methods of scikit-learn's class that are called here; a loaded ranker may have any others."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **parameters: Any) -> Self: ...  # noqa: D102
        def __sklearn_tags__(self) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...
else:
    from sklearn.base import BaseEstimator


class Ranker(Parameters, BaseEstimator, ABC):
    """A model that orders the documents of a query: it scores, explains, draws, is saved and exported.

    It is a scikit-learn estimator: its parameters, and `learned_`, which is everything that training has found. Rankers
    that are trained here are `TrainableRanker`; a model of another library is a ranker, too.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(data)
    >>> isinstance(ranker, sr.Ranker), ranker.model_.describe()
    (True, '2 trees')
    """

    kind: ClassVar[str]
    """Its name in model files and on the command line."""
    can: ClassVar[Capabilities] = Capabilities()
    metric: str | Metric = parameter(default="ndcg@10", kw_only=False, text="The metric that `score` measures.")
    n_threads: int | None = parameter(
        default=None,
        low=1,
        high=4096,
        whole=True,
        means_none=-1,
        also="n_jobs nthread num_threads thread_count",
        last=True,
        text="Number of threads. If None or -1, all cores.",
    )

    model_ = learned_value[Model]("model")
    """The model."""
    categories_ = learned_value[Mapping[str, Categories]]("categories")
    """The categories of each categorical feature in the training data."""
    missing_features_ = learned_value[tuple[str, ...] | None]("missing_features")
    """The features with missing values in the training data; None if that is not known."""
    history_ = learned_value[History]("history")
    """Measurements after every round: `history_[set][metric]` is a list."""
    n_rounds_ = learned_value[int]("n_rounds")
    """Rounds that were trained."""
    best_round_ = learned_value[int]("best_round")
    """The round whose model was kept; 0 is the start of training."""
    interrupted_ = learned_value[bool]("interrupted")
    """True if Ctrl-C ended training."""
    random_state_ = learned_value[int]("seed")
    """The seed that was used: `random_state`, or one drawn from it."""
    sigma_ = learned_value[float]("sigma")
    """The steepness (sigma) of the objective that the scores were trained with; 1 if it has none."""
    members_: ClassVar[Any] = ()
    """The "ranker" (its kind), "parameters" and, if it is an ensemble, "members" of each member of an ensemble."""

    # Pipelines and searches of scikit-learn pass qid on, if metadata routing is enabled.
    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"qid": True}
    __metadata_request__partial_fit: ClassVar[Mapping[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[Mapping[str, bool]] = {"qid": True}

    @property
    def learned_(self) -> Learned:
        """Everything that was learned; NotFittedError before that."""
        learned: Learned | None = vars(self).get("_learned")
        if learned is None:
            raise not_fitted(self)
        return learned

    @learned_.setter
    def learned_(self, learned: Learned) -> None:
        self._learned = learned

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.learned_.feature_names)

    @property
    def feature_names_in_(self) -> Any:
        """The names of the features, as an array."""
        return np.array(self.learned_.feature_names, dtype=object)

    def __getattr__(self, name: str) -> Any:
        """An AttributeError, with our name for attributes of other libraries."""
        if name in ATTRIBUTES:
            hint = f"{type(self).__name__} has no attribute '{name}'; in swaprank: {ATTRIBUTES[name]}."
            raise AttributeError(hint, name=name, obj=self)
        # A property that fails, such as that of a ranker that is not fitted, says so itself.
        return object.__getattribute__(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """True if there is a model."""
        return "_learned" in vars(self)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that it takes sparse matrices and missing values, and needs labels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def __sklearn_clone__(self) -> Any:
        """A copy without what was learned; the base ranker keeps what it learned, because training starts from it."""
        given = self.get_params(deep=False)
        # Two clones with the same generator would draw different seeds from it.
        changeable = (np.random.RandomState, np.random.Generator, np.ndarray, list)
        copies = {name: deepcopy(value) if isinstance(value, changeable) else value for name, value in given.items()}
        kind: Any = type(self)
        return kind(**copies)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, by any of their names, as scikit-learn does it."""
        own = type(self)._own_names({name: value for name, value in parameters.items() if "__" not in name})
        nested = {name: value for name, value in parameters.items() if "__" in name}
        return super().set_params(**own, **nested)

    def predict(self, X: Any, **unknown: Any) -> Floats:
        """Scores of the rows of a data set or matrix, in the order in which they were given; larger is better.

        The `base_score` of a data set is added, as in training. A Dask data frame gives a Dask series, a Dask array
        an array; data in parts gives one delayed array per part. There are no other arguments; for those of other
        libraries, an ArgumentError says what to call instead.
        """
        check_arguments(unknown, ["X"], "predict")
        X = X if is_array(X) else as_parts(X)
        if isinstance(X, Parts) or is_array(X):
            from swaprank.rankers.on_cluster import predict_on_cluster

            scores: Floats = predict_on_cluster(self, X)
            return scores
        return self._plus_base_score(self._of_rows(X, lambda rows: self.model_.score(rows, self.n_threads)), X)

    def calibrate(
        self,
        valid: Any,
        y: Any = None,
        *,
        qid: Any = None,
        method: Literal["isotonic", "platt"] = "isotonic",
        target: Literal["probability", "label"] = "probability",
        rel: float = 1.0,
    ) -> Self:
        """A ranker with the same scores, whose `calibrated` gives probabilities of relevance, or expected labels.

        Args:
            valid: Judged documents that the ranker was not trained on: a Dataset, or a feature matrix with y and qid.
                Their weights count.
            y: Labels, one per row.
            qid: Query ids, one per row.
            method: "isotonic" is any rising function, for a thousand documents or more; "platt" is a logistic curve
                with two parameters, for fewer.
            target: "probability" that a document is relevant, or its expected "label".
            rel: Labels from here on are relevant.

        >>> import swaprank as sr
        >>> train, vali, test = sr.datasets.random_net((50, 50, 10), n_features=3, random_state=0)
        >>> ranker = sr.MART(n_trees=20).fit(train).calibrate(vali)
        >>> values = ranker.calibrated(test)
        >>> bool(0 < values.min() < values.max() < 1), (values.argsort() == ranker.predict(test).argsort()).all()
        (True, np.True_)
        """
        data = self._judged(valid, y, qid=qid)
        learned = replace(
            self.learned_,
            calibration=fit_calibration(
                self.predict(data),
                data.labels,
                data.sample_weight,
                data.n_queries,
                method=method,
                target=target,
                rel=rel,
            ),
        )
        calibrated = copy(self)
        calibrated.learned_ = learned
        return calibrated

    @property
    def calibration_(self) -> Calibration | None:
        """The function from scores to probabilities or labels; None before `calibrate`."""
        return self.learned_.calibration

    def check_calibrated(self) -> Calibration:
        """The function from scores to probabilities or labels; ParameterError if there is none yet."""
        found = self.calibration_
        if found is None:
            raise ParameterError(
                "this ranker is not calibrated: ",
                Wording("ranker.calibrate(valid) returns one that is.", "run swaprank calibrate first."),
            )
        return found

    def calibrated(self, X: Any) -> Floats:
        """Probabilities of relevance or expected labels, one per row: `predict`, calibrated. The order is the same."""
        return self.check_calibrated().of(self.predict(X))

    def predict_stage(self, X: Any, n_stages: int) -> Floats:
        """Scores by the first parts of the model only, such as its first trees."""
        self.check_fitted()
        whole = isinstance(n_stages, int | np.integer) and not isinstance(n_stages, bool)
        most, unit = self.model_.n_stages, self.can.round_name
        if most and not (whole and 0 <= n_stages <= most):
            argument = Hint(f"n_{unit}s", option=f"--{unit}s")
            raise ParameterError(argument, f" must be from 0 to {most}; found {n_stages!r}.")
        staged = self._of_rows(X, lambda rows: self.model_.staged_scores(rows, [n_stages], self.n_threads)[0])
        return self._plus_base_score(staged, X)

    def rank(self, X: Any, qid: Any = None, k: int | None = None, *, backend: Backend = "pandas") -> Any:
        """The first k documents of each query as a data frame: qid, rank, row, docid (if the data has ids), score.

        Queries are in the order of the data, tied documents in the order of their rows. qid has an id per row, or is
        the name of a column of a table; without it, a matrix or a table is one list.
        """
        from swaprank.rankers.ranked_frame import ranked_frame

        return ranked_frame(self, X, qid, k, backend)

    def contributions(self, X: Any) -> Floats:
        """Each feature's share in each score, exactly (TreeSHAP for trees); the last column is the expected score."""
        shares = self._of_rows(X, lambda rows: self.model_.contributions(rows, self.n_threads))
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
        from swaprank.rankers.ranker_figures import plot_contributions

        shares = self.contributions(X)[:, :-1]
        # A category is neither low nor high: it has no rank among the others.
        return plot_contributions(shares, self._quantities_of(X), self.feature_names_in_, n_features, ax)

    @property
    def size_(self) -> str:
        """The size of the model in words."""
        self.check_fitted()
        return self.model_.describe()

    @property
    def trained_for_(self) -> str:
        """The metric or objective that the model was trained for, in words."""
        return str(self.metric)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `swaprank.load` reads; the same model gives the same bytes."""
        self.check_fitted()
        save(self, path)

    def export(
        self,
        path: str | os.PathLike[str],
        to: str | None = None,
        *,
        features: Any = None,
        rename: Mapping[str, str] | None = None,
        name: str | None = None,
        missing: Literal["refuse", "zero"] = "refuse",
        request: bool = False,
    ) -> None:
        """Write the model for another system, which then gives the same scores, up to the rounding of its arithmetic.

        What the system cannot hold raises an ExportError, and what it may score differently an ExportWarning, both with
        what to do.

        Args:
            path: The file to write.
            to: The format: lightgbm, xgboost, ranklib (also called elasticsearch and opensearch), xgboost+json, solr,
                vespa, onnx or c. If None, that of the ending: .txt is for LightGBM, .xml ranklib, .onnx and .c.
            features: The features of the target in its order, which may be more than the model has: a list of names, a
                text file with one per line, or the JSON of an Elasticsearch feature set or a Solr feature store. If
                None, those of the model. Names are matched; a model whose features are only numbered takes them in
                their order.
            rename: What the target calls features of the model.
            name: What the model is called there; by default the name of the file without its ending.
            missing: If the target reads missing values as 0 and the model has learned something else: "refuse" is an
                error (for solr and xgboost+json, where servers differ, a warning); "zero" accepts it, because documents
                always have all features, or 0 stood for missing values in training. The formats xgboost+json and vespa
                then send missing values where 0 goes, and solr does, if `features` define them as NaN.
            request: Write the body of the request that uploads the model, with the definitions of `features` if given.

        >>> import tempfile, swaprank as sr
        >>> train, test = sr.datasets.random_net((20, 10), n_features=5, random_state=0)
        >>> ranker = sr.LambdaMART(n_trees=3).fit(train)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ranker.export(f"{folder}/model.txt", to="lightgbm")
        ...     again = sr.import_model(f"{folder}/model.txt")
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
            calibration=self.learned_.calibration,
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
        """The fall of a metric when a feature's values are shuffled over the rows: the mean of several shuffles."""
        from swaprank.rankers.ranker_figures import permutation_importances

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

    def _check_learned(self) -> None:
        """Check what a model file says of this kind of ranker, beyond single values; ModelFileError if it is wrong."""

    def training_metric(self) -> Metric:
        """The metric that is measured while training, unless the caller names metrics."""
        if is_own(self.metric):
            name = str(self.metric).removesuffix(OWN_SUFFIX)
            raise MetricError(
                f"this model was trained for a metric of your own, '{name}', which a model file does not hold: ",
                Wording("give it again with set_params(metric=…), or name another one.", "name another with --metric."),
            )
        return parse_metric(self.metric)

    def check_fitted(self) -> None:
        """Raise NotFittedError if there is no model yet."""
        _ = self.learned_

    def _of_rows(self, X: Any, compute: Callable[[Features], Floats]) -> Floats:
        """Apply `compute` to the features of each row; those of binned data are decoded block by block."""
        self.check_fitted()
        if isinstance(X, Dataset):
            return self.model_.by_rows(self.matched(X), compute, self.n_threads)
        return compute(self._features_of(X))

    def _scores_by(self, model: Model, data: Dataset) -> Floats:
        return model.by_rows(data, lambda rows: model.score(rows, self.n_threads), self.n_threads)

    def _features_of(self, X: Any) -> Features:
        """The feature matrix to score: the features of this ranker, matched by name if X has names, with its codes."""
        learned = self.learned_
        if isinstance(X, Dataset):
            return self.matched(X).features
        return read_only(model_matrix(X, learned.feature_names, type(self).__name__, learned.categories)[0])

    def _quantities_of(self, X: Any) -> Features:
        """The feature matrix with NaN for all categories."""
        features = self._features_of(X)
        if not self.categories_:
            return features
        quantities = np.array(features)
        quantities[:, [name in self.categories_ for name in self._feature_names()]] = np.nan
        return quantities

    def _feature_names(self) -> list[str]:
        return list(self.learned_.feature_names)

    _plus_base_score = staticmethod(plus_base_score)
