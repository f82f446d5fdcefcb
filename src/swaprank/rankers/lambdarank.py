"""LambdaRank: a net for any ranking measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, final

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.metrics.metric import Metric
from swaprank.models.activations import Activation
from swaprank.nets.optimizers import Optimizer
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import BoundObjective, Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.rankers.net_ranker import NetRanker


@final
class LambdaRank(NetRanker):
    """A net that follows LambdaRank's gradients for a metric [Burges2006; Burges2010, section 4].

    Query by query, every pair of documents pushes apart with a force that grows with what swapping the two would change
    of the metric; the forces go back through the net, and its weights follow. The same data, parameters and
    random_state give the same net, bit for bit, on any number of threads.

    Args:
        metric: What to learn for: any metric's name, or a metric of your own.
        hidden: Units of each hidden layer: () for a linear net, (10,) for one of two layers.
        objective: "lambda", LambdaRank's gradients; or an instance, such as a SmoothObjective or a CustomObjective.
        construction: Which forces: "pairs" as above, or "spring", "local_gradient", "local_cost" or "discrete_bounded"
            [Donmez2009].
        activation: Of the hidden units: "tanh", "sigmoid" or "relu".
        n_epochs: How often to go through all queries, at most.
        learning_rate: How long each step is.
        decay: The learning rate is multiplied by this after an epoch in which the metric on the training data fell.
        optimizer: "sgd", "momentum" or "adam".
        batch_queries: A step after so many queries, down their mean gradient.
        log_features: Replace features x by sign(x) log(1 + |x|), such as counts: all of them if True, or a tuple of
            names or positions.
        standardize: Bring every feature to mean 0 and deviation 1 over the training data, inside the model. Missing
            values count as the mean.
        restart_rounds: Begin anew from other random weights when the metric on the training data has not risen for so
            many epochs; the best epoch of all is kept.
        early_stopping_rounds: Stop when the watched metric has not risen for so many epochs.
        sigma: How steep the forces are in the difference of scores.
        normalize: Weight pairs by the inverse of their difference of scores, and queries alike; else as in the paper.
        truncation: Only pairs with one document ranked within this count; all that the metric can feel if None.
        base_ranker: A fitted RankNet or LambdaRank of the same shape, whose weights to start from.
        random_state: Seed of everything that is drawn.
        n_threads: Of scoring and measuring, all cores if None; steps follow each other in one thread.

    Where a validation set is given, the net of its best epoch is kept, else that of the last one.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LambdaRank("ndcg@10", hidden=(10,), n_epochs=20).fit(train, valid=vali)
    >>> max(ranker.history_["valid"]["ndcg@10"]) > 0.9
    True
    >>> ranker.predict(vali).shape
    (2500,)
    """

    kind: ClassVar[str] = "lambdarank"

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
        truncation: int | None = None,
        base_ranker: Any = None,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.metric = metric
        self.hidden = hidden
        self.objective = objective
        self.construction = construction
        self.activation = activation
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.decay = decay
        self.optimizer = optimizer
        self.batch_queries = batch_queries
        self.log_features = log_features
        self.standardize = standardize
        self.restart_rounds = restart_rounds
        self.early_stopping_rounds = early_stopping_rounds
        self.sigma = sigma
        self.normalize = normalize
        self.truncation = truncation
        self.base_ranker = base_ranker
        self.random_state = random_state
        self.n_threads = n_threads

    def _bound(self, data: Dataset) -> BoundObjective:
        if not isinstance(self.normalize, bool):
            raise ParameterError(f"normalize must be True or False; found {self.normalize!r}.")
        objective = given_objective(self, ("lambda",), ("sigma", "normalize", "truncation", "construction"))
        if objective is None:
            objective = LambdaRankObjective(
                self._metric(), float(self.sigma), self.normalize, self.truncation, self.construction
            )
        return objective.bind(data, random_state=int(self.random_state), n_threads=self.n_threads)

    def _training_measure(self, data: Dataset) -> Callable[[Floats], float]:
        docid = None if data.docid is None else data.by_query(data.docid)
        bound = self._metric().bind(data.by_query(data.labels), data.indptr, docid=docid)
        return lambda scores: bound.mean(scores, n_threads=self.n_threads)
