"""RankProp: a net with targets that move to the order which it has found."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

from swaprank.metrics.metric import Metric
from swaprank.models.activations import Activation
from swaprank.nets.optimizers import Optimizer
from swaprank.objectives.objective import Objective
from swaprank.objectives.rankprop_objective import RankPropObjective
from swaprank.rankers.net_ranker import NET_RANGES, NetRanker
from swaprank.seeds import RandomState


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
