"""Nets that learn with other objectives than RankNet's and LambdaRank's: ListNet, RankProp and SoftRank."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.metrics.metric import Metric
from swaprank.models.layers import Activation, layer_weights
from swaprank.models.net import Net
from swaprank.nets.optimizers import Optimizer
from swaprank.objectives.listnet_objective import ListNetObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.rankprop_objective import RankPropObjective
from swaprank.objectives.softrank_objective import SoftRankObjective
from swaprank.rankers.net_ranker import NET_RANGES, NetRanker
from swaprank.seeds import RandomState

FIRST_SCORES = np.float32(0.01)
"""Factor on the initial weights of SoftRank's last layer."""


@final
class ListNet(NetRanker):
    """A net whose softmax over the scores of a query comes close to that over its labels [Cao2007].

    It minimizes the cross entropy of the two, the `ListNetObjective`: every query counts the same, however many
    documents it has, and the largest labels count the most. Labels should be small numbers, because of their exp.

    Args:
        hidden: Number of units of each hidden layer: () for a linear net, as in the paper.
        metric: Evaluated after every epoch, and chooses the best epoch on the watched set. It changes only the decay of
            the learning rate.

    The other parameters are those of LambdaRank.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_polynomial((100, 50), n_features=10, random_state=0)
    >>> linear, net = (sr.baselines.ListNet(hidden=hidden, n_epochs=50) for hidden in ((), (10,)))
    >>> net.fit(train, valid=vali).score(vali) > linear.fit(train, valid=vali).score(vali) + 0.03
    True
    """

    kind: ClassVar[str] = "listnet"
    tuning_ranges: ClassVar[Mapping[str, Any]] = NET_RANGES

    def __init__(
        self,
        hidden: Sequence[int] = (),
        *,
        metric: str | Metric = "ndcg@10",
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
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _objective(self) -> Objective:
        return ListNetObjective()


@final
class RankProp(NetRanker):
    """A net trained by squared error on targets that change from epoch to epoch [Caruana1996].

    Before every epoch, all documents are sorted by label, and by the net's own score where labels are equal. Targets
    are evenly spaced in this order. So the net need not reproduce the labels, only their order: any increasing function
    of the labels gives the same net. Labels are compared between queries, too.

    Args:
        hidden: Number of units of each hidden layer: () for a linear net, (10,) for one hidden layer of 10 units.
        metric: Evaluated after every epoch, and chooses the best epoch on the watched set. It changes only the decay of
            the learning rate.

    The other parameters are those of LambdaRank.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.baselines.RankProp(hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> ranker.score(vali) > 0.9
    True
    """

    kind: ClassVar[str] = "rankprop"
    tuning_ranges: ClassVar[Mapping[str, Any]] = NET_RANGES

    def __init__(
        self,
        hidden: Sequence[int] = (10,),
        *,
        metric: str | Metric = "ndcg@10",
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
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _objective(self) -> Objective:
        return RankPropObjective()


@final
class SoftRank(NetRanker):
    """A net that maximizes the expected metric of its scores with normal noise [Taylor2008].

    A score s becomes a normal distribution with mean s and standard deviation sigma. Then each document has a
    probability of every rank, and the expected metric is a smooth function of the scores: SoftNDCG. It
    takes n² k steps for a list of n documents and a metric with the cut-off k, and n³ without a cut-off, see
    `SoftRankObjective`; lists that would take too long are an error. SmoothRank takes n² in all.

    Args:
        metric: The metric to optimize: a sum of discounted gains such as NDCG, precision or RBP.
        hidden: Number of units of each hidden layer: () for a linear net.
        sigma: Standard deviation of the noise. The smaller, the nearer to the metric, and the flatter where documents
            are far from each other.

    The other parameters are those of LambdaRank.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, n_documents=20, random_state=0)
    >>> ranker = sr.baselines.SoftRank("ndcg@10", n_epochs=20).fit(train, valid=vali)
    >>> ranker.score(vali) > 0.85
    True
    """

    kind: ClassVar[str] = "softrank"
    tuning_ranges: ClassVar[Mapping[str, Any]] = {**NET_RANGES, "sigma": (0.1, 10.0)}

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        hidden: Sequence[int] = (),
        sigma: float = 1.0,
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
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _objective(self) -> Objective:
        return SoftRankObjective(self.training_metric(), float(self.sigma))

    def _new_net(self, data: Dataset) -> Net:
        """Scores begin near 0, within the noise: a document without a chance of a good rank has no gradient."""
        net = super()._new_net(data)
        weights = net.weights.copy()
        layer_weights(net.layers, weights)[-1][0][:] *= FIRST_SCORES
        return Net(net.layers, net.scaling, weights)

    def _pair_probabilities(self, differences: Any) -> Any:
        from scipy.special import ndtr

        return ndtr(differences / (2.0**0.5 * self.sigma))
