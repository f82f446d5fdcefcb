"""LambdaRank: a net for any ranking metric."""

from dataclasses import replace
from typing import ClassVar, Literal, final

from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.metrics.metric import Metric
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.with_pairs import WithPairs, default_pair_weight
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.net_ranker import NetRanker
from swaprank.rankers.shared_parameters import SwapGradients


@final
class LambdaRank(SwapGradients, NetRanker):
    """A net that follows LambdaRank's gradients for a metric [Burges2006; Burges2010, section 4].

    Every pair of documents of a query with different labels gets a gradient: that of RankNet, times the change of the
    metric if the two documents were swapped. RankNet's own gradients are added, as many as `pair_weight` says. The sum
    of a query's gradients is backpropagated through the net. The same data, parameters and random_state give the same
    net, bit for bit, for any number of threads.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LambdaRank("ndcg@10", hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> max(ranker.history_["valid"]["ndcg@10"]) > 0.9
    True
    >>> ranker.predict(vali).shape
    (2500,)
    """

    kind: ClassVar[str] = "lambdarank"
    can: ClassVar[Capabilities] = replace(NetRanker.can, needs="metric")
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="The metric to optimize: the name of a metric, or a metric of your own."
    )
    objective: Literal["lambda"] | Objective = parameter(
        default="lambda",
        text='"lambda", LambdaRank\'s gradients; or an instance, such as a SmoothObjective or a CustomObjective.',
    )
    construction: str = parameter(
        default="pairs",
        of_objective=True,
        text='How the gradients are defined: "pairs" as above, or "spring", "local_gradient", "local_cost" or '
        '"discrete_bounded" [Donmez2009], or "step" or "linear" [Burges2006, section 6.2].',
    )
    margin: float | None = parameter(
        default=None,
        low=0,
        of_objective=True,
        text="A pair whose better document leads by more than this has no gradient. If None, there is no limit, except "
        '1 / sigma for the constructions "step" and "linear".',
    )
    diagonal: float = parameter(
        default=0.0,
        low=0,
        of_objective=True,
        text="Pulls every score towards 0: this times the score is added to its gradient, which makes the Jacobian of "
        "the gradients positive definite if it is large enough [Burges2006, section 4].",
    )

    pair_weight: float | None = parameter(
        default=None,
        low=0,
        high=1e6,
        of_objective=True,
        text="Learn the order of all pairs, too: the weight of RankNet's gradients beside the lambdas, see "
        "`WithPairs`. 0: the lambdas alone, as in the paper. If None: for nets with hidden layers 1 for up to 50,000 "
        "documents, and falling in proportion for more; 0 for linear nets, which have to choose what to learn, and "
        "with another construction, a margin or a diagonal.",
    )
    decay: float = parameter(default=1.0)

    def _objective(self) -> Objective:
        return given_objective(self, ("lambda",)) or self._lambdas()

    def _objective_for(self, data: Dataset) -> Objective:
        weight = self._pair_weight(len(data)) if self.objective == "lambda" else 0.0
        return WithPairs(self._lambdas(), weight) if weight > 0 else self._objective()

    def _pair_weight(self, n_documents: int) -> float:
        if self.pair_weight is not None:
            return float(self.pair_weight)
        return 0.0 if len(self.hidden) == 0 or self._changes_lambdas() else default_pair_weight(n_documents)

    def _lambdas(self) -> LambdaRankObjective:
        return LambdaRankObjective(
            self.training_metric(),
            float(self.sigma),
            self.normalize,
            self.horizon,
            self.construction,
            self.margin,
            float(self.diagonal),
        )

    def _changes_lambdas(self) -> bool:
        return self.construction != "pairs" or self.margin is not None or self.diagonal != 0

    def _check_together(self) -> None:
        super()._check_together()
        if self.pair_weight and self._changes_lambdas():
            raise ParameterError(
                f"pair_weight={self.pair_weight:g} cannot be combined with another construction than 'pairs', a margin "
                "or a diagonal: these are about lambdas alone."
            )
