"""PRank, a perceptron for grades, and OAP-BPM, the mean of many of them."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal, final

from swaprank.arrays import Floats
from swaprank.baselines.prank_learning import mean_weights_by_epoch, model_of_products
from swaprank.errors import ParameterError
from swaprank.metrics.metric import Metric
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.models.scaling import Units
from swaprank.rankers.linear_rounds import LinearProblem, LinearRanker
from swaprank.seeds import RandomState


@final
class PRank(LinearRanker):
    """A perceptron of weights w and thresholds between the grades, which learns document by document [Crammer2002].

    A document's grade should be the number of thresholds below its score w'x. If not, w and the thresholds on the
    wrong side take a step: `baselines/prank_learning.py` has the equations. Every different label is a grade, and only
    their order counts. A document of weight 2 is shown twice as often. The weights of the best epoch on the watched set
    are kept; they change a lot from epoch to epoch, so that a validation set helps.

    Args:
        degree: 1: a weighted sum of the features. 2: of the features and all products of two, as the quadratic PRank of
            [Burges2005]; the time of an epoch grows with the square of the number of features.
        metric: Evaluated after every epoch, and chooses the best epoch on the watched set. It does not change training.
        n_epochs: Maximum number of passes over the training data.
        standardize: Divide every feature by its standard deviation. Its mean is subtracted in any case, and replaces
            missing values.
        early_stopping_rounds: Stop if the watched metric has not improved for this many epochs. Needs a validation set.
        base_ranker: A fitted linear ranker, whose weights training starts from.
        random_state: Seed of the order of the documents, which is drawn anew for every epoch.
        n_threads: Number of threads for scoring and evaluation. If None, all cores. Training itself uses one thread.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_polynomial((100, 50), n_features=10, random_state=0)
    >>> linear = sr.baselines.PRank(n_epochs=20).fit(train, valid=vali)
    >>> linear.coef_.shape
    (10,)
    >>> quadratic = sr.baselines.PRank(degree=2, n_epochs=20).fit(train, valid=vali)
    >>> quadratic.score(vali) > linear.score(vali) + 0.03
    True
    """

    kind: ClassVar[str] = "prank"
    round_name: ClassVar[str] = "epoch"
    rounds_parameter: ClassVar[str | None] = "n_epochs"
    model_classes: ClassVar[tuple[type[Model], ...]] = (LinearModel, KernelMachine)
    tuning_ranges: ClassVar[Mapping[str, Any]] = {"degree": [1, 2], "standardize": [True, False]}
    degree: int

    def __init__(
        self,
        degree: Literal[1, 2] = 1,
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
        return mean_weights_by_epoch(problem, n_learners=1, probability=1.0, degree=self.degree)

    def _model(self, units: Units, weights: Floats) -> Model:
        if len(weights) == len(units.factor):
            return super()._model(units, weights)
        return model_of_products(units, weights)

    def _check_words(self) -> None:
        if self.degree not in (1, 2):
            raise ParameterError(f"degree must be 1, for features, or 2, for their products; found {self.degree!r}.")


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
    >>> mean, one = sr.baselines.OAPBPM(n_epochs=10), sr.baselines.PRank(n_epochs=10)
    >>> mean.fit(train, valid=vali).score(test) > one.fit(train, valid=vali).score(test)
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
