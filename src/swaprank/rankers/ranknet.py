"""RankNet: a net that learns which of two documents is the better one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.metrics.pairwise_correct import PairwiseCorrect
from swaprank.models.activations import Activation
from swaprank.nets.net_training import TRAININGS, Training
from swaprank.nets.optimizers import Optimizer
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.ranknet_cost import given_pair_costs
from swaprank.objectives.ranknet_objective import RankNetObjective
from swaprank.rankers.net_ranker import NET_RANGES, NetRanker
from swaprank.rankers.parameter_checks import check_word
from swaprank.seeds import RandomState


@final
class RankNet(NetRanker):
    """A net whose score differences, times sigma, are the log odds that one document is better [Burges2005].

    It learns from all pairs of documents of a query with different labels. If the data set has `pairs`, it learns from
    these only; their target probabilities may be any, also incomplete or inconsistent.

    Args:
        hidden: Number of units of each hidden layer: () for a linear net, (10,) for one hidden layer of 10 units.
        metric: Evaluated after every epoch, and chooses the best epoch on the watched set. It does not change training.
        objective: "ranknet", the cross entropy of the pairs; or an instance, such as a CustomObjective.
        training: "factored": one pass through the net per document, however many pairs it is in [Burges2006, section
            5]; "pairs": two passes per pair, as in the first paper, with the same gradient; "online": as "pairs", with
            a step after every pair.
        ties: Learn from pairs of equal labels as well, with a target probability of 1/2.
        decay: Factor on the learning rate after an epoch in which fewer training pairs were ordered correctly.
        sigma: Steepness of the pair probabilities in the score difference.

    The other parameters are those of LambdaRank.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.RankNet(hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> max(ranker.history_["valid"]["ndcg@10"]) > 0.9
    True
    >>> ranker.predict_proba_pair(vali, 3, 4).round(2) + ranker.predict_proba_pair(vali, 4, 3).round(2)
    np.float64(1.0)
    """

    kind: ClassVar[str] = "ranknet"
    objective_parameters: ClassVar[tuple[str, ...]] = ("sigma", "ties")
    tuning_ranges: ClassVar[Mapping[str, Any]] = {**NET_RANGES, "sigma": (0.3, 3.0)}
    learns_probabilities: ClassVar[bool] = True

    def __init__(
        self,
        hidden: Sequence[int] = (10,),
        *,
        metric: str | Metric = "ndcg@10",
        objective: Literal["ranknet"] | Objective = "ranknet",
        training: Training = "factored",
        ties: bool = False,
        activation: Activation = "tanh",
        n_epochs: int = 100,
        learning_rate: float = 0.001,
        decay: float = 0.8,
        optimizer: Optimizer = "adam",
        batch_queries: int = 1,
        log_features: bool | Sequence[str | int] = False,
        standardize: bool = True,
        restart_rounds: int | None = None,
        early_stopping_rounds: int | None = None,
        sigma: float = 1.0,
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _check_words(self) -> None:
        super()._check_words()
        self._training()

    def _training(self) -> Training:
        check_word("training", self.training, TRAININGS)
        training: Training = self.training
        return training

    def _objective(self) -> Objective:
        return given_objective(self, ("ranknet",)) or RankNetObjective(float(self.sigma), self.ties)

    def _training_metric(self, data: Dataset) -> Callable[[Floats], float]:
        """The share of pairs in the right order; for given pairs, whose targets may be any, minus their mean cost."""
        if data.pairs is None:
            bound = bind_metric(PairwiseCorrect(), data)
            return lambda scores: bound.mean(scores, n_threads=self.n_threads)
        pairs, sigma = data.pairs, getattr(self.objective, "sigma", self.sigma)

        def less_cost(scores: Floats) -> float:
            given = data.as_given(scores)
            margin = sigma * (given[pairs.above] - given[pairs.below])
            return -float(np.mean(given_pair_costs(margin, pairs.probability)))

        return less_cost
