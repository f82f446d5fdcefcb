"""RankNet: a net that learns which of two documents is the better one."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal, final

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.metrics.metric import bind_metric
from swaprank.metrics.relevance import PairwiseCorrect
from swaprank.nets.net_training import TRAININGS, Training
from swaprank.objectives.objective import BoundKernelObjective, BoundObjective, Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.ranknet_costs import total_cost
from swaprank.objectives.ranknet_objective import RankNetObjective
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.net_ranker import NetRanker
from swaprank.rankers.shared_parameters import PairProbabilities


@final
class RankNet(PairProbabilities, NetRanker):
    """A net whose score differences, times sigma, are the log odds that one document is better [Burges2005].

    It learns from all pairs of documents of a query with different labels. If the data set has `pairs`, it learns from
    these only; their target probabilities may be any, also incomplete or inconsistent, and their costs are multiplied
    by their weights. Validation data with pairs, in which no query has different labels, is measured by them: see
    `metrics.GivenPairs`.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.RankNet(hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> max(ranker.history_["valid"]["ndcg@10"]) > 0.9
    True
    >>> ranker.predict_proba_pair(vali, 3, 4).round(2) + ranker.predict_proba_pair(vali, 4, 3).round(2)
    np.float64(1.0)
    """

    kind: ClassVar[str] = "ranknet"
    can: ClassVar[Capabilities] = replace(NetRanker.can, probabilities=True, pairs=True)
    objective: Literal["ranknet"] | Objective = parameter(
        default="ranknet", text='"ranknet", the cross entropy of the pairs; or an instance, such as a CustomObjective.'
    )
    training: Training = parameter(
        default="factored",
        words=TRAININGS,
        text='"factored": one pass through the net per document, however many pairs it is in [Burges2006, section 5]; '
        '"pairs": two passes per pair, as in the first paper, with the same gradient; "online": as "pairs", with a '
        "step after every pair.",
    )
    ties: bool = parameter(
        default=False,
        of_objective=True,
        text="Learn from pairs of equal labels as well, with a target probability of 1/2.",
    )
    decay: float = parameter(
        default=0.8,
        text="Factor on the learning rate after an epoch in which the cost of the training pairs rose [Burges2006, "
        "section 6.3].",
    )

    def _training(self) -> Training:
        return self.training

    def _objective(self) -> Objective:
        return given_objective(self, ("ranknet",)) or RankNetObjective(float(self.sigma), self.ties)

    def _training_metric(self, data: Dataset, bound: BoundObjective) -> Callable[[Floats], float]:
        """Minus the cost of all pairs; with another objective, the share of pairs in the right order."""
        if isinstance(bound, BoundKernelObjective) and isinstance(self._objective(), RankNetObjective):
            return lambda scores: -total_cost(bound, scores)
        accuracy = bind_metric(PairwiseCorrect(), data)
        return lambda scores: accuracy.mean(scores, n_threads=self.n_threads)
