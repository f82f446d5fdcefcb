"""Stacking: LambdaRank on the scores of other rankers."""

from collections.abc import Sequence
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
from swaprank.rankers.parameter_checks import check_parameters
from swaprank.rankers.ranker import FitRequest, Ranker
from swaprank.seeds import RandomState


@final
class Stacked(EnsembleRanker):
    """A LambdaRank net whose features are the scores of other rankers [Burges2010, section 7.1].

    Scores are scaled first: mean 0, and standard deviation 1 within queries. Without hidden layers, the net is a
    weighted sum of any number of rankers. Unlike Combination, it does not guarantee the best weights.

    Args:
        metric: The metric to optimize: the name of a metric, or a metric of your own.
        hidden: Number of units of each hidden layer of the net.
        n_epochs: Maximum number of passes over the data.
        learning_rate: Step size of the optimizer.
        early_stopping_rounds: Stop if the watched metric has not improved for this many epochs. Needs a validation set.
        members: Two or more fitted rankers.
        random_state: Seed of all random choices. None: a random one; a NumPy generator: drawn from it.
        n_threads: Number of threads for scoring and evaluation. If None, all cores.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 40), n_features=8, random_state=0)
    >>> members = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> sr.ensembles.Stacked("ndcg@10", members=members).fit(vali).weights_.shape
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
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, _, callbacks, *_ = request
        members = self._member_models(data)
        scale = fit_scale(member_scores(members, data.features, self.n_threads), data)
        net = LambdaRank(
            self.metric,
            hidden=self.hidden,
            n_epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            standardize=False,
            early_stopping_rounds=self.early_stopping_rounds,
            random_state=self.random_state_,
            n_threads=self.n_threads,
        )
        sets = {name: self._scored(members, scale, other) for name, other in valid.items()}
        check_parameters(net)
        net.random_state_ = self.random_state_
        net._fit(FitRequest(self._scored(members, scale, data), sets, metrics, None, callbacks))
        self.model_ = Ensemble(members, scale, net.model_)
        self.history_, self.n_rounds_, self.best_round_ = net.history_, net.n_rounds_, net.best_round_
        self.interrupted_ = net.interrupted_

    def _scored(self, members: Sequence[Model], scale: ScoreScale, data: Dataset) -> Dataset:
        """The same documents with the scaled scores of the members as features."""
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
        """The weight of each member's scaled scores; for a net with hidden layers, all weights."""
        return np.asarray(self.model_.top.to_parts().arrays["weights"], dtype=np.float64)


def stack(
    rankers: Sequence[Ranker],
    data: Dataset,
    metric: str | Metric = "ndcg@10",
    *,
    valid: Dataset | None = None,
    **parameters: Any,
) -> Stacked:
    """Learn the weights of several fitted rankers [Burges2010, section 7.1].

    Use data that none of them was trained on.

    Args:
        rankers: Two or more fitted rankers.
        data: The labeled data to learn from.
        metric: The metric to optimize.
        valid: A validation set, measured after every epoch. The best epoch is kept.
        parameters: Other parameters of `Stacked`.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 40, 40), n_features=8, random_state=0)
    >>> kinds = sr.MART(n_trees=10), sr.LambdaMART(n_trees=10), sr.LinearRegressionRanker(regularization=0.1)
    >>> stacked = sr.stack([ranker.fit(train) for ranker in kinds], vali, "ndcg@10", n_epochs=20)
    >>> stacked.score(vali) > 0.8, stacked.predict(test).shape
    (True, (2000,))
    """
    members = rankers if isinstance(rankers, Ranker) else tuple(rankers)
    return Stacked(metric, members=members, **parameters).fit(data, valid=valid)
