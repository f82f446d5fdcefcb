"""Stacking: LambdaRank on the scores of other rankers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.ensembles.ensemble_ranker import EnsembleRanker, fit_scale
from swaprank.metrics.metric import Metric
from swaprank.models.ensemble import Ensemble, ScoreScale, member_scores
from swaprank.models.model import Model
from swaprank.models.net import Net
from swaprank.parameters import parameter
from swaprank.rankers.lambdarank import LambdaRank
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.shared_parameters import EarlyStopping, Epochs, HiddenLayers, RandomChoices
from swaprank.rankers.training import FitRequest, Trained


@final
class Stacked(HiddenLayers, Epochs, EarlyStopping, RandomChoices, EnsembleRanker):
    """A LambdaRank net whose features are the scores of other rankers [Burges2010, section 7.1].

    Scores are scaled first: mean 0, and standard deviation 1 within queries. Without hidden layers, the net is a
    weighted sum of any number of rankers. Unlike Combination, it does not guarantee the best weights.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 40), n_features=8, random_state=0)
    >>> members = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> sr.ensembles.Stacked("ndcg@10", members=members).fit(vali).weights_.shape
    (2,)
    """

    kind: ClassVar[str] = "stacked"
    can: ClassVar[Capabilities] = replace(EnsembleRanker.can, round_name="epoch")
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="The metric to optimize: the name of a metric, or a metric of your own."
    )
    n_epochs: int = parameter(default=50)
    early_stopping_rounds: int | None = parameter(default=None)
    learning_rate: float = parameter(default=0.01, above=0, also="eta lr", text="Step size of the optimizer.")

    def _fit(self, request: FitRequest) -> Trained:
        members = self._member_models(request.data)
        scale = fit_scale(member_scores(members, request.data.features, self.n_threads), request.data)
        net = LambdaRank(
            self.metric,
            hidden=self.hidden,
            n_epochs=self.n_epochs,
            learning_rate=self.learning_rate,
            decay=0.8,
            pair_weight=0.0,
            standardize=False,
            early_stopping_rounds=self.early_stopping_rounds,
            n_threads=self.n_threads,
        )
        sets = {name: self._scored(members, scale, other) for name, other in request.valid.items()}
        trained = net._fit(request._replace(data=self._scored(members, scale, request.data), valid=sets))
        return trained._replace(
            model=Ensemble(members, scale, cast(Net, trained.model)), found={"members": self._described_members()}
        )

    def _scored(self, members: Sequence[Model], scale: ScoreScale, data: Dataset) -> Dataset:
        """Return the same documents with the scaled scores of the members as features."""
        return Dataset(
            scale.apply(member_scores(members, data.features, self.n_threads)).T,
            data.labels,
            qid=query_of_row(data.indptr, data.order),
            sample_weight=data.sample_weight,
            base_score=data.base_score,
            docid=data.docid,
            columns=data.columns,
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
