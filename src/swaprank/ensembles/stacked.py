"""Several rankers in one: LambdaRank on their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.ensembles.ensemble_ranker import EnsembleRanker, fit_scale
from swaprank.metrics.metric import Metric
from swaprank.models.ensemble import Ensemble, ScoreScale, member_scores
from swaprank.models.model import Model
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.rounds import Callback


@final
class Stacked(EnsembleRanker):
    """A LambdaRank net whose features are the scores of other rankers [Burges2010, section 7.1].

    Scores are put on one scale first: mean 0, and standard deviation 1 within queries. Without hidden layers the net is
    a weighted sum of any number of rankers; unlike a combination of two, it is not guaranteed to be the best one.

    Args:
        metric: What to learn for: any metric's name, or a metric of your own.
        hidden: Units of each hidden layer of the net.
        n_epochs: Passes over all queries, at most.
        learning_rate: Length of each step.
        early_stopping_rounds: Stop when the watched metric has not risen for so many epochs.
        members: The fitted rankers, two or more.
        random_state: Seed of everything that is drawn.
        n_threads: Threads for scoring and measuring; all cores if None.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 40), n_features=8, random_state=0)
    >>> members = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> sr.Stacked("ndcg@10", members=members).fit(vali).weights_.shape
    (2,)
    """

    kind: ClassVar[str] = "stacked"
    round_name: ClassVar[str] = "epoch"

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        hidden: Sequence[int] = (),
        n_epochs: int = 50,
        learning_rate: float = 0.01,
        early_stopping_rounds: int | None = None,
        members: Any = None,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.metric = metric
        self.hidden = hidden
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.early_stopping_rounds = early_stopping_rounds
        self.members = members
        self.random_state = random_state
        self.n_threads = n_threads

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Any,
        callbacks: Sequence[Callback],
    ) -> None:
        members = self._member_models(data, base)
        scale = fit_scale(member_scores(members, data.features, self.n_threads), data)
        net = LambdaRank(
            self.metric,
            hidden=self.hidden,
            n_epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            standardize=False,
            early_stopping_rounds=self.early_stopping_rounds,
            random_state=self.random_state,
            n_threads=self.n_threads,
        )
        sets = {name: self._scored(members, scale, other) for name, other in valid.items()}
        net.fit(self._scored(members, scale, data), valid=sets or None, metrics=metrics, callbacks=callbacks)
        self.model_ = Ensemble(members, scale, net.model_)
        self.history_, self.n_rounds_, self.best_round_ = net.history_, net.n_rounds_, net.best_round_
        self.interrupted_ = net.interrupted_

    def _scored(self, members: Sequence[Model], scale: ScoreScale, data: Dataset) -> Dataset:
        """The same documents, with the members' scores as features."""
        return Dataset(
            scale.apply(member_scores(members, data.features, self.n_threads)).T,
            data.labels,
            qid=query_of_row(data.indptr, data.order),
            sample_weight=data.sample_weight,
            base_score=data.base_score,
            docid=data.docid,
            feature_names=[f"{number} {member.kind}" for number, member in enumerate(members, start=1)],
        )

    @property
    def weights_(self) -> Floats:
        """The weight of each ranker's scaled scores; of a net with hidden layers, all its weights."""
        return np.asarray(self.model_.top.to_parts().arrays["weights"], dtype=np.float64)


def stack(
    rankers: Sequence[Ranker],
    data: Dataset,
    metric: str | Metric = "ndcg@10",
    *,
    valid: Dataset | None = None,
    **parameters: Any,
) -> Stacked:
    """Learn how much each of several fitted rankers should count [Burges2010, section 7.1].

    Take data that none of them has learned from.

    Args:
        rankers: Two or more fitted rankers.
        data: The judged documents to learn from.
        metric: What to learn for.
        valid: Measured after every epoch, the best of which is kept.
        parameters: Any others of `Stacked`.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 40, 40), n_features=8, random_state=0)
    >>> kinds = sr.MART(n_trees=10), sr.LambdaMART(n_trees=10), sr.LinearRegressionRanker(regularization=0.1)
    >>> stacked = sr.stack([ranker.fit(train) for ranker in kinds], vali, "ndcg@10", n_epochs=20)
    >>> stacked.score(vali) > 0.8, stacked.predict(test).shape
    (True, (2000,))
    """
    return Stacked(metric, members=tuple(rankers), **parameters).fit(data, valid=valid)
