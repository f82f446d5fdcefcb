"""Several rankers in one: LambdaRank on their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.dataset import Dataset
from swaprank.ensembles.ensemble_ranker import (
    ComposedRanker,
    ScoreScale,
    check_same_features,
    fit_scale,
    parts_restored,
    parts_saved,
    scale_restored,
)
from swaprank.errors import ModelFileError
from swaprank.metrics.metric import Metric
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rankers.ranker import Callback, Ranker


@final
class Stacked(ComposedRanker):
    """A LambdaRank net whose features are the scores of other rankers [Burges2010, section 7.1].

    Scores are put on one scale first: mean 0, and deviation 1 within queries. Without hidden units the net is a
    weighted sum of them, as a combination is, of any number of rankers, but without the guarantee to be the best one.

    Args:
        metric: What to learn for: any metric's name, or a metric of your own.
        hidden: Units of each hidden layer of the net.
        n_epochs: How often to go through all queries, at most.
        learning_rate: How long each step is.
        early_stopping_rounds: Stop when the watched metric has not risen for so many epochs.
        base_ranker: The fitted rankers, two or more.
        random_state: Seed of everything that is drawn.
        n_threads: Of scoring and measuring, all cores if None.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 40), n_features=8, random_state=0)
    >>> parts = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> sr.Stacked("ndcg@10", base_ranker=parts).fit(vali).weights_.shape
    (2,)
    """

    kind: ClassVar[str] = "stacked"
    net_ranker_: LambdaRank
    """What was learned on the scores."""
    scale_: ScoreScale

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        hidden: Sequence[int] = (),
        n_epochs: int = 50,
        learning_rate: float = 0.01,
        early_stopping_rounds: int | None = None,
        base_ranker: Any = None,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.metric = metric
        self.hidden = hidden
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.early_stopping_rounds = early_stopping_rounds
        self.base_ranker = base_ranker
        self.random_state = random_state
        self.n_threads = n_threads

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Ranker | None,
        callbacks: Sequence[Callback],
    ) -> None:
        rankers = self._parts(base, data, 2)
        scale = fit_scale(self._scores(rankers, data, len(data)), data)
        learner = LambdaRank(
            self.metric,
            hidden=self.hidden,
            n_epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            standardize=False,
            early_stopping_rounds=self.early_stopping_rounds,
            random_state=self.random_state,
            n_threads=self.n_threads,
        )
        sets = {name: self._scored(rankers, scale, other) for name, other in valid.items()}
        learner.fit(self._scored(rankers, scale, data), valid=sets or None, metrics=metrics, callbacks=callbacks)
        self.net_ranker_, self.scale_, self.rankers_ = learner, scale, rankers
        self.history_, self.interrupted_ = learner.history_, learner.interrupted_

    def _scored(self, rankers: Sequence[Ranker], scale: ScoreScale, data: Dataset) -> Dataset:
        """The same documents, with the rankers' scores as features."""
        qid = np.empty(len(data), np.int64)
        qid[:] = data.as_given(np.repeat(np.arange(data.n_queries), np.diff(data.indptr)))
        return Dataset(
            scale.apply(self._scores(rankers, data, len(data))).T,
            data.labels,
            qid=qid,
            sample_weight=data.sample_weight,
            docid=data.docid,
            feature_names=[f"{number} {ranker.kind}" for number, ranker in enumerate(rankers, start=1)],
        )

    @property
    def weights_(self) -> Floats:
        """What each ranker's scaled scores count; of a net with hidden units, all its weights."""
        return self.net_ranker_.net_.weights.astype(np.float64)

    def predict(self, X: Any) -> Floats:
        """Scores of a data set's or a matrix's rows, in the order in which they were given; larger is better.

        All rankers predict as they do alone: scores that a data set brings along are in each one's own.
        """
        features = self._features_of(X)
        return self.net_ranker_.predict(self.scale_.apply(self._scores(self.rankers_, X, len(features))).T)

    @property
    def size_(self) -> str:
        """How large the model is, in words."""
        return f"{self.net_ranker_.size_} over {', '.join(ranker.kind for ranker in self.rankers_)}"

    def _saved(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        parts, arrays = parts_saved([*self.rankers_, self.net_ranker_])
        return {"parts": parts}, {**arrays, **self.scale_._asdict()}

    def _restore(self, meta: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        *rankers, learner = parts_restored(meta["parts"], arrays)
        if not isinstance(learner, LambdaRank) or len(rankers) < 2 or learner.n_features_in_ != len(rankers):
            raise ModelFileError(f"a stack needs two rankers or more, and a net for them; found {len(rankers)}.")
        check_same_features(rankers)
        self.rankers_, self.net_ranker_ = tuple(rankers), learner
        self.scale_ = scale_restored(arrays, len(rankers))
        self.n_features_in_ = rankers[0].n_features_in_
