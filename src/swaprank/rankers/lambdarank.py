"""LambdaRank: a net for any ranking metric."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, final

from swaprank.metrics.metric import Metric
from swaprank.models.activations import Activation
from swaprank.nets.optimizers import Optimizer
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.rankers.net_ranker import NET_RANGES, NetRanker
from swaprank.seeds import RandomState


@final
class LambdaRank(NetRanker):
    """A net that follows LambdaRank's gradients for a metric [Burges2006; Burges2010, section 4].

    Every pair of documents of a query with different labels gets a gradient: that of RankNet, times the change of the
    metric if the two documents were swapped. The sum of a query's gradients is backpropagated through the net. The same
    data, parameters and random_state give the same net, bit for bit, for any number of threads.

    Args:
        metric: The metric to optimize: the name of a metric, or a metric of your own.
        hidden: Number of units of each hidden layer: () for a linear net, (10,) for one hidden layer of 10 units.
        objective: "lambda", LambdaRank's gradients; or an instance, such as a SmoothObjective or a CustomObjective.
        construction: How the gradients are defined: "pairs" as above, or "spring", "local_gradient", "local_cost" or
            "discrete_bounded" [Donmez2009].
        activation: Activation of the hidden units: "tanh", "sigmoid" or "relu".
        n_epochs: Maximum number of passes over the training data.
        learning_rate: Step size of the optimizer.
        decay: Factor on the learning rate after an epoch in which the metric on the training data fell.
        optimizer: "sgd", "momentum" or "adam".
        batch_queries: Number of queries per step of the optimizer, which takes their mean gradient.
        log_features: Replace features by sign(x) log(1 + |x|), for example counts: True for all features, or a tuple of
            feature names or numbers from 0.
        standardize: Scale every feature to mean 0 and standard deviation 1 on the training data. The scaling is part of
            the model. Missing values are replaced by the mean.
        restart_rounds: Restart from new random weights if the metric on the training data has not improved for this
            many epochs. The best epoch of all is kept.
        early_stopping_rounds: Stop if the watched metric has not improved for this many epochs. Needs a validation set.
        sigma: Steepness of the pair probabilities in the score difference.
        normalize: Divide each pair's weight by its score difference and rescale each query's gradients, as LightGBM
            does. False: as in the paper.
        horizon: How deep to learn: the gradients are those of the metric with its cut-off at this rank. The metric that
            is measured stays as it is. If None, as deep as the metric looks.
        base_ranker: A fitted RankNet or LambdaRank with the same layers, whose weights training starts from.
        random_state: Seed of all random choices. None: a random one; a NumPy generator: drawn from it.
        n_threads: Number of threads for scoring and evaluation. If None, all cores. Training itself uses one thread.

    With a validation set, the net of its best epoch is kept; without one, the net of the last epoch, or of the best
    epoch on the training data if `restart_rounds` is given.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LambdaRank("ndcg@10", hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> max(ranker.history_["valid"]["ndcg@10"]) > 0.9
    True
    >>> ranker.predict(vali).shape
    (2500,)
    """

    kind: ClassVar[str] = "lambdarank"
    objective_parameters: ClassVar[tuple[str, ...]] = ("sigma", "normalize", "horizon", "construction")
    tuning_ranges: ClassVar[Mapping[str, Any]] = {**NET_RANGES, "sigma": (0.3, 3.0), "normalize": [True, False]}

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        hidden: Sequence[int] = (10,),
        objective: Literal["lambda"] | Objective = "lambda",
        construction: str = "pairs",
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
        normalize: bool = True,
        horizon: int | None = None,
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _objective(self) -> Objective:
        return given_objective(self, ("lambda",)) or LambdaRankObjective(
            self.training_metric(), float(self.sigma), self.normalize, self.horizon, self.construction
        )
