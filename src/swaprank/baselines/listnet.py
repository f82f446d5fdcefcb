"""ListNet: a linear model or a net that learns which document is at the top."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

from swaprank.metrics.metric import Metric
from swaprank.models.activations import Activation
from swaprank.nets.optimizers import Optimizer
from swaprank.objectives.listnet_objective import ListNetObjective
from swaprank.objectives.objective import Objective
from swaprank.rankers.net_ranker import NET_RANGES, NetRanker
from swaprank.seeds import RandomState


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
    >>> linear, net = (sr.baselines.ListNet(hidden=hidden, n_epochs=50).fit(train, valid=vali) for hidden in ((), (10,)))
    >>> net.score(vali) > linear.score(vali) + 0.03
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
