"""Nets that learn with other objectives than RankNet's and LambdaRank's: ListNet, RankProp and SoftRank."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from swaprank.data.dataset import Dataset
from swaprank.metrics.metric import Metric
from swaprank.models.layers import layer_weights
from swaprank.models.net import Net
from swaprank.objectives.listwise import ListNetObjective, SoftRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.pointwise import RankPropObjective
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.net_ranker import NetRanker

FIRST_SCORES = np.float32(0.01)
"""Factor on the initial weights of SoftRank's last layer."""


@final
class ListNet(NetRanker):
    """A net whose softmax over the scores of a query comes close to that over its labels [Cao2007].

    It minimizes the cross entropy of the two, the `ListNetObjective`: every query counts the same, however many
    documents it has, and the largest labels count the most. Labels should be small numbers, because of their exp.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_polynomial((100, 50), n_features=10, random_state=0)
    >>> linear, net = (sr.baselines.ListNet(hidden=hidden, n_epochs=50) for hidden in ((), (10,)))
    >>> net.fit(train, valid=vali).score(vali) > linear.fit(train, valid=vali).score(vali) + 0.03
    True
    """

    kind: ClassVar[str] = "listnet"
    hidden: Sequence[int] = parameter(
        default=(), text="Number of units of each hidden layer: () for a linear net, as in the paper."
    )

    def _objective(self) -> Objective:
        return ListNetObjective()


@final
class RankProp(NetRanker):
    """A net trained by squared error on targets that change from epoch to epoch [Caruana1996].

    Before every epoch, all documents are sorted by label, and by the net's own score where labels are equal. Targets
    are evenly spaced in this order. So the net need not reproduce the labels, only their order: any increasing function
    of the labels gives the same net. Labels are compared between queries, too.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.baselines.RankProp(hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> ranker.score(vali) > 0.9
    True
    """

    kind: ClassVar[str] = "rankprop"
    can: ClassVar[Capabilities] = replace(NetRanker.can, needs="labels")

    def _objective(self) -> Objective:
        return RankPropObjective()


@final
class SoftRank(NetRanker):
    """A net that maximizes the expected metric of its scores with normal noise [Taylor2008].

    A score s becomes a normal distribution with mean s and standard deviation sigma. Then each document has a
    probability of every rank, and the expected metric is a smooth function of the scores: SoftNDCG. It
    takes n² k steps for a list of n documents and a metric with the cut-off k, and n³ without a cut-off, see
    `SoftRankObjective`; lists that would take too long are an error. SmoothRank takes n² in all.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, n_documents=20, random_state=0)
    >>> ranker = sr.baselines.SoftRank("ndcg@10", n_epochs=20).fit(train, valid=vali)
    >>> ranker.score(vali) > 0.85
    True
    """

    kind: ClassVar[str] = "softrank"
    can: ClassVar[Capabilities] = replace(NetRanker.can, needs="metric")
    metric: str | Metric = parameter(
        default="ndcg@10",
        kw_only=False,
        text="The metric to optimize: a sum of discounted gains such as NDCG, precision or RBP.",
    )
    hidden: Sequence[int] = parameter(default=())
    sigma: float = parameter(
        default=1.0,
        above=0,
        tune=(0.1, 10.0),
        text="Standard deviation of the noise. The smaller, the nearer to the metric, and the flatter where documents "
        "are far from each other.",
    )

    def _objective(self) -> Objective:
        return SoftRankObjective(self.training_metric(), float(self.sigma))

    def _new_net(self, data: Dataset, seed: int) -> Net:
        """Scores begin near 0, within the noise: a document without a chance of a good rank has no gradient."""
        net = super()._new_net(data, seed)
        weights = net.weights.copy()
        layer_weights(net.layers, weights)[-1][0][:] *= FIRST_SCORES
        return Net(net.layers, net.scaling, weights)

    def _pair_probabilities(self, differences: Any) -> Any:
        from scipy.special import ndtr

        return ndtr(differences / (2.0**0.5 * self.sigma))
