"""Training: rankers that learn from queries with `fit`, alone or as one of several workers."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from swaprank.arrays import Floats
from swaprank.collective import ALONE, Collective, total
from swaprank.data.dataset import Dataset
from swaprank.data.matching import check_count
from swaprank.data.side_columns import number_values
from swaprank.errors import DataError, Hint, Interrupted, ParameterError, SwaprankWarning, Wording, warn_user
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.metrics.relevance import GivenPairs
from swaprank.models.model import Model
from swaprank.parameters import parameter
from swaprank.peer_names import check_arguments
from swaprank.rankers.endings import ending
from swaprank.rankers.given_data import as_data, named_sets, validation_data, validation_sets
from swaprank.rankers.learnable import check_grades, check_learnable
from swaprank.rankers.learned import History, Learned, Needs
from swaprank.rankers.observers import observed
from swaprank.rankers.peer_callbacks import translated_callbacks
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import (
    Callback,
    Checkpoint,
    as_checkpoint,
    checked_callbacks,
    logged_rounds,
    shown_trainings,
)
from swaprank.rankers.seen import see
from swaprank.rendering.bars import LOGGER, print_progress
from swaprank.seeds import seed_of
from swaprank.trees.binning import Bins

if TYPE_CHECKING:
    from swaprank.cluster.launcher import Launcher


class FitRequest(NamedTuple):
    """The arguments of `fit`, checked."""

    data: Dataset
    valid: Mapping[str, Dataset]
    metrics: list[Metric]
    """Measured on the sets of `valid`; the first one is watched."""
    base: Any
    """A fitted ranker to start from, or None."""
    callbacks: Sequence[Callback]
    seed: int = 0
    """The seed of all random choices."""
    checkpoint: Checkpoint | None = None
    """The file from which an interrupted training continues."""
    collective: Collective = ALONE
    """The workers that train together; data and validation sets are the shards of one of them."""


class Trained(NamedTuple):
    """The result of training itself; the ranker adds what it knows of the data, see `Learned`."""

    model: Model
    history: History
    n_rounds: int
    best_round: int
    interrupted: bool = False
    found: Mapping[str, Any] = MappingProxyType({})
    """Values beside the model, by the names that `found` declares."""
    bins: Bins | None = None
    """The bins of the training data, if training has used bins."""


class TrainableRanker(Ranker):
    """A ranker that learns to order the documents of a query; see the rankers themselves for their parameters.

    >>> import swaprank as sr
    >>> isinstance(sr.LambdaMART(), sr.rankers.TrainableRanker)
    True
    """

    metric: str | Metric = parameter(
        default="ndcg@10",
        kw_only=False,
        text="Evaluated after every round, and chooses the best round on the watched set. It does not change training.",
    )
    base_ranker: Any = parameter(
        default=None, is_ranker=True, last=True, text="A fitted ranker that training starts from."
    )

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
        docid: Any = None,
        categorical_features: Iterable[str | int] | None = None,
        valid: Any = None,
        eval_set: Any = None,
        eval_group: Any = None,
        eval_qid: Any = None,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        base_ranker: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
        verbose: bool | int = False,
        cluster: "Launcher | None" = None,
        **unknown: Any,
    ) -> Self:
        """Learn from judged documents.

        Features are matched by name wherever both sides have names: those of validation sets and of a base ranker may
        be in another order. Values of categorical features are matched as text; a category that the training data does
        not have is a missing value. Ctrl-C keeps the best model so far, sets `interrupted_`, and raises Interrupted, a
        KeyboardInterrupt.

        Args:
            X: A Dataset, or a feature matrix or table together with y and qid. Trees also take data on a cluster:
                `Parts`, or a Dask data frame. In place of arrays, y, qid, sample_weight, base_score and docid may be
                names of columns of a table; those of a Dask data frame are.
            y: Labels, one per row; or the name of a column of X. A table may have them in a column "label".
            qid: Query ids, one per row; or the name of a column of X, by default "qid" if y is one.
            group: Instead of qid: the number of rows of each query.
            sample_weight: How much each row counts.
            query_weight: How much each query counts, in the order in which the queries first appear, or by query id; or
                the name of a column of X.
            base_score: Scores to start from, one per row.
            docid: Document ids, one per row. If those of each query differ, the order of its rows does not matter to
                trees.
            categorical_features: Features whose values are categories, by name or by position from 0; columns of text
                need not be declared. Only trees take them.
            valid: A data set, or several by name, measured after every round: a Dataset, a tuple (X, y, qid), or a
                table with the columns that y and qid name. The last one is watched: its best round is kept, and early
                stopping goes by it.
            eval_set: Instead of valid: a list of tuples (X, y), as for LightGBM and XGBoost. They are named "valid_0",
                "valid_1", …
            eval_group: The group sizes of each set of eval_set.
            eval_qid: Instead of eval_group: the query ids of each set of eval_set.
            metrics: What is measured there; the first is watched. By default the ranker's own metric.
            base_ranker: A fitted ranker to start from; overrides the parameter of the same name.
            callbacks: Called after every round with its Progress; training stops when one returns something true. Those
                of `sr.trackers` keep parameters, metrics and model in MLflow and others.
            checkpoint: A file in which training is kept. If it exists, training goes on from there, to the same model
                as without an interruption. For trees only.
            checkpoint_every: After how many rounds the checkpoint is written.
            verbose: True shows progress: a bar on a terminal or in a notebook, lines elsewhere. A number above 1 prints
                a line after every so many rounds. The last line says when early stopping ended training, or why there
                were so many rounds. If False, the lines go to the logger "swaprank", at the level INFO.
            cluster: Who runs the workers that train on data in parts, such as `swaprank.cluster.Dask(max_restarts=3)`;
                by default the current Dask client.
            unknown: None; arguments of other libraries raise an ArgumentError that says what they are called here.
        """
        names = _names_of_arguments(self.fit)
        check_arguments(unknown, names, "fit", type(self).__name__, self.accepted_names())
        columns = {
            "y": y,
            "qid": qid,
            "group": group,
            "sample_weight": sample_weight,
            "query_weight": query_weight,
            "base_score": base_score,
            "docid": docid,
            "categorical_features": categorical_features,
        }
        self.check_parameters()
        start = self.base_ranker if base_ranker is None else base_ranker
        data, given_sets = as_data(X, **columns), named_sets(valid, eval_set, eval_group, eval_qid)
        if isinstance(data, Dataset):
            data = self._with_known_features(data, start)
            sets = _comparable(validation_sets(given_sets, data, columns), data)
            observed_sets: dict[str, Any] = {"train": data, **sets}
        else:
            parts = {name: validation_data(name, each, columns) for name, each in given_sets.items()}
            observed_sets = {"train": data, **parts}
        if cluster is not None:
            check_cluster(cluster, data)
        own_callbacks = translated_callbacks(callbacks, bool(given_sets), self.can.round_name)
        file = as_checkpoint(checkpoint, checkpoint_every)
        with (
            observed(own_callbacks, self, observed_sets),
            shown_trainings(verbose if self.can.shows_rounds else 0, self.can.round_name) as shown,
        ):
            display = [*shown(""), *logged_rounds(verbose, self.can.round_name)]
            if isinstance(data, Dataset):
                self.learned_ = self._learn(data, sets, metrics, start, [*display, *own_callbacks], file, ALONE)
            else:
                from swaprank.rankers.on_cluster import learn_on_cluster

                self.learned_ = learn_on_cluster(
                    self,
                    data,
                    parts,
                    metrics=metrics,
                    base_ranker=base_ranker,
                    display=display,
                    callbacks=own_callbacks,
                    checkpoint=file,
                    cluster=cluster,
                    notice=print_progress if verbose > 0 else LOGGER.info,
                ).learned
        if self.interrupted_:
            raise Interrupted(self)
        if (ended := ending(self)) is not None:
            (print_progress if verbose > 0 else LOGGER.info)(str(ended))
        return self

    def fit_shard(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        collective: Collective,
        *,
        metrics: str | Metric | Sequence[str | Metric] | None = None,
        base_ranker: Any = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn together with other workers, each from whole queries of its own; all of them get the same model.

        Every worker calls it with the same arguments, except for its shard of the data. The features and categories of
        all shards are the same. Callbacks and the checkpoint may be given to one worker only, that of rank 0.
        """
        self.check_parameters()
        start = self.base_ranker if base_ranker is None else base_ranker
        data = self._with_known_features(data, start)
        sets, kept = validation_sets(valid, data), as_checkpoint(checkpoint, checkpoint_every)
        self.learned_ = self._learn(data, sets, metrics, start, checked_callbacks(callbacks), kept, collective)
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
    ) -> Learned:
        """Learn, and add what is known of the data."""
        self._check_categories(data)
        if (column := self.training_metric().column) is not None:
            data = data.replace(labels=number_values(data.columns, column))
        if checkpoint is not None or collective.size > 1:
            self.check_can_train(on_cluster=collective.size > 1)
        chosen = [self.training_metric()] if metrics is None else parse_metrics(metrics)
        if self.can.workers:
            data = data.by_docid()
            # For a metric in which tied documents stay in the order of the rows, this order is what matters.
            if not any(metric.ties == "input" for metric in chosen):
                valid = {name: each.by_docid() for name, each in valid.items()}
        needs = self._needs(data, base, collective)
        optimized = self.training_metric() if needs == "metric" else None
        check_learnable(data, needs, optimized, collective)
        check_grades(data, valid, chosen, optimized)
        # A random seed is drawn by the first worker.
        seed = total(collective, self._seed() if collective.rank == 0 else 0)
        trained = self._fit(FitRequest(data, valid, chosen, base, callbacks, seed, checkpoint, collective))
        return self._learned_from(data, trained, seed, self._learned_before(base), collective)

    def check_can_train(self, on_cluster: bool) -> None:
        """Raise ParameterError if this kind of ranker does not train on a cluster, or has no checkpoints."""
        if not self.can.workers:
            what = "training on a cluster" if on_cluster else "checkpoints"
            raise ParameterError(f"{type(self).__name__} has no {what}: LambdaMART, MART and RandomForest have.")

    def _needs(self, data: Dataset, base: Any, collective: Collective) -> Needs:
        """What there must be in the data to learn from; the same for all workers."""
        has_pairs = total(collective, int(data.pairs is not None)) > 0
        has_start = base is not None or total(collective, int(data.base_score is not None)) > 0
        # An objective of the user's own learns from what it likes; a pointwise loss also from what scores leave over.
        has_objective = not isinstance(getattr(self, "objective", ""), str)
        other = (has_pairs and self.can.pairs) or (has_start and self.can.needs == "labels")
        # Rankers that cannot learn from given pairs say so themselves.
        of_pairs = isinstance(self.training_metric(), GivenPairs)
        return "nothing" if has_objective or other or of_pairs else self.can.needs

    def _seed(self) -> int:
        """The seed of all random choices; rankers without any have 0."""
        return seed_of(self.random_state) if "random_state" in self.declared else 0

    @abstractmethod
    def _fit(self, request: FitRequest) -> Trained:
        """Learn from checked data."""

    def _with_known_features(self, data: Dataset, base: Any) -> Dataset:
        """The training data with the features of what training starts from, in their order."""
        names = getattr(base, "feature_names_in_", None)
        if names is None or isinstance(base, type):
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
            warn_user(SwaprankWarning(f"the base ranker does not know {listed}: training continues without."))
        return matched

    def _check_categories(self, data: Dataset) -> None:
        """Raise DataError if there are categorical features and the ranker learns from numbers only."""
        if self.can.categories or not data.categories:
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

    def _learned_from(
        self,
        data: Dataset,
        trained: Trained,
        seed: int,
        learned_before: Sequence[Ranker] = (),
        collective: Collective = ALONE,
    ) -> Learned:
        """Return the result of training with what is known of its data."""
        objective = getattr(self, "objective", None)
        known = [ranker.missing_features_ for ranker in learned_before]
        known_values = trained._asdict()
        bins = known_values.pop("bins")
        return Learned(
            feature_names=tuple(data.feature_names),
            categories=dict(data.categories),
            missing_features=missing_features(data, known, collective),
            seed=seed if "random_state" in self.declared else None,
            sigma=float(getattr(objective, "sigma", getattr(self, "sigma", 1.0))),
            seen=see(data, trained.model, bins, self.n_threads, collective),
            **{**known_values, "found": dict(trained.found)},
        )


def check_cluster(cluster: Any, data: Any) -> None:
    """Raise ParameterError for what is no cluster, and for one that would not be used."""
    from swaprank.cluster.launcher import Launcher

    if not isinstance(cluster, Launcher):
        raise ParameterError(
            "cluster must be a cluster that runs workers, such as swaprank.cluster.Dask(client); found "
            f"{type(cluster).__name__}."
        )
    if isinstance(data, Dataset):
        raise ParameterError("cluster is for data in parts, but the data is in this process: divide it into Parts.")


def _comparable(sets: dict[str, Dataset], data: Dataset) -> dict[str, Dataset]:
    """The validation sets; warn if only the training data has base scores."""
    if data.base_score is not None and any(other.base_score is None for other in sets.values()):
        warn_user(SwaprankWarning("the training data has base scores, but a validation set has none: 0 is taken."))
    return sets


def _names_of_arguments(function: Any) -> list[str]:
    """The arguments of fit, without those that it does not know."""
    return [name for name in signature(function).parameters if name != "unknown"]


def missing_features(
    data: Dataset, known_before: Sequence[Sequence[str] | None], collective: Collective = ALONE
) -> tuple[str, ...] | None:
    """The features with missing values in the data of all workers, or of rankers which are part of the model.

    None if one of these rankers does not know its own.

    >>> import swaprank as sr
    >>> from swaprank.rankers.training import missing_features
    >>> data = sr.Dataset([[1, None], [2, 5]], [0, 1], qid=[1, 1], feature_names=["age", "price"])
    >>> missing_features(data, []), missing_features(data, [["age"]]), missing_features(data, [None])
    (('price',), ('age', 'price'), None)
    """
    n_workers = data.stored.any_missing().astype(np.int64)
    collective.add(n_workers)
    known = {name for name, missing in zip(data.feature_names, n_workers, strict=True) if missing}
    for others in known_before:
        if others is None:
            return None
        known.update(others)
    return tuple(name for name in data.feature_names if name in known)


_BASE = Hint("base_ranker", option="--base-ranker")

AnyModel = TypeVar("AnyModel", bound=Model)


def base_model(base: Any, kind: type[AnyModel], expected: str, n_features: int) -> AnyModel:
    """The model of a base ranker, which must be fitted, of a kind and for so many features."""
    model = getattr(base, "model_", None) if isinstance(base, Ranker) else None
    if not isinstance(model, kind):
        unfitted = isinstance(base, Ranker) and model is None
        found = f"{type(base).__name__} that is not fitted" if unfitted else type(base).__name__
        read = Wording(" Read it with sr.load or sr.import_model.", "") if isinstance(base, str | os.PathLike) else ""
        raise ParameterError(_BASE, f" must be {expected}, found {found}.", read)
    check_count(model.n_features, n_features, "the base ranker", "the data")
    return model


def base_weights(base: Any, n_features: int) -> Floats:
    """The weights of the features in a linear base ranker: one of ours, or any fitted estimator with coef_."""
    if isinstance(base, Ranker):
        model = base_model(base, Model, "a fitted linear ranker", n_features)  # type: ignore[type-abstract]
        try:
            weights = model.feature_weights()
        except ParameterError as error:
            raise ParameterError(_BASE, " must be a fitted linear ranker: ", error) from None
    elif hasattr(base, "coef_"):
        weights = np.ravel(np.asarray(base.coef_, dtype=np.float64))
    else:
        raise ParameterError(_BASE, f" must be a fitted linear ranker, with coef_; found {type(base).__name__}.")
    if not np.isfinite(weights).all():
        raise DataError("the base ranker has a weight that is not finite.")
    check_count(len(weights), n_features, "the base ranker", "the data")
    return weights
