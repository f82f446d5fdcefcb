"""OAP-BPM: the mean of many PRank learners, each of which is shown some of the documents."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, final

from swaprank.arrays import Floats
from swaprank.baselines.prank_learning import mean_weights_by_epoch
from swaprank.metrics.metric import Metric
from swaprank.rankers.linear_rounds import LinearProblem, LinearRanker
from swaprank.seeds import RandomState


@final
class OAPBPM(LinearRanker):
    """The mean of the weights of many PRank learners: online aggregate PRank, an approximate Bayes point machine.

    Every document is shown to each learner with a probability, so that the learners differ; their mean changes less
    from epoch to epoch, and generalizes better [Harrington2003; Burges2005, section 6.2].

    Args:
        n_learners: Number of PRank learners.
        probability: Probability with which a learner is shown a document, in every epoch. With sample weights, the mean
            number of times, in proportion to the weight.
        n_threads: Number of threads, among which the learners are divided. If None, all cores.

    The other parameters are those of PRank.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((100, 50, 50), n_features=10, random_state=0)
    >>> mean, one = (ranker.fit(train, valid=vali) for ranker in (sr.baselines.OAPBPM(n_epochs=10), sr.baselines.PRank(n_epochs=10)))
    >>> mean.score(test) > one.score(test)
    True
    """

    kind: ClassVar[str] = "oap_bpm"
    round_name: ClassVar[str] = "epoch"
    rounds_parameter: ClassVar[str | None] = "n_epochs"
    tuning_ranges: ClassVar[Mapping[str, Any]] = {"probability": [0.3, 0.5, 0.7], "n_learners": (20, 100)}

    def __init__(
        self,
        n_learners: int = 50,
        probability: float = 0.3,
        *,
        metric: str | Metric = "ndcg@10",
        n_epochs: int = 100,
        standardize: bool = True,
        early_stopping_rounds: int | None = None,
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _weights_by_round(self, problem: LinearProblem) -> Iterator[Floats]:
        return mean_weights_by_epoch(problem, int(self.n_learners), float(self.probability))
