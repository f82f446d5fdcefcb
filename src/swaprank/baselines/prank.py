"""PRank, a perceptron for grades, and OAP-BPM, the mean of many of them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal, final

from swaprank.arrays import Floats
from swaprank.baselines.prank_learning import learn_by_epoch, model_of_products
from swaprank.errors import ParameterError
from swaprank.linear.architectures import KernelArchitecture, LinearArchitecture
from swaprank.models.kernel_machine import KernelMachine
from swaprank.models.linear import LinearModel
from swaprank.models.model import Model
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.linear_rounds import LinearProblem, LinearRanker, LinearRound
from swaprank.rankers.shared_parameters import EarlyStopping, Epochs, RandomChoices


class PerceptronRanker(Epochs, EarlyStopping, RandomChoices, LinearRanker):
    """A linear ranker that learns by PRank's steps; training itself uses one thread per learner."""

    can: ClassVar[Capabilities] = replace(
        LinearRanker.can, round_name="epoch", rounds_parameter="n_epochs", needs="labels"
    )
    standardize: bool = parameter(
        default=True,
        text="Divide every feature by its standard deviation. Its mean is subtracted in any case, and replaces missing "
        "values.",
    )


@final
class PRank(PerceptronRanker):
    """A perceptron of weights w and thresholds between the grades, which learns document by document [Crammer2002].

    A document's grade should be the number of thresholds below its score w'x. If not, w and the thresholds on the
    wrong side take a step: `baselines/prank_learning.py` has the equations. Every different label is a grade, and only
    their order counts. A document of weight 2 is shown twice as often. The weights of the best epoch on the watched set
    are kept; they change a lot from epoch to epoch, so that a validation set helps.

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
    can: ClassVar[Capabilities] = replace(PerceptronRanker.can, models=(LinearModel, KernelMachine))
    degree: Literal[1, 2] = parameter(
        default=1,
        low=1,
        high=100,
        tune=[1, 2],
        text="1: a weighted sum of the features. 2: of the features and all products of two, as the quadratic PRank of "
        "[Burges2005]; the time of an epoch grows with the square of the number of features.",
    )

    def _rounds(self, problem: LinearProblem) -> Iterator[LinearRound]:
        return learn_by_epoch(problem, n_learners=1, probability=1.0, degree=self.degree)

    def _model(self, architecture: LinearArchitecture | KernelArchitecture, weights: Floats) -> Model:
        if len(weights) == architecture.n_parameters:
            return super()._model(architecture, weights)
        return model_of_products(architecture.units, weights)

    def _check_together(self) -> None:
        if self.degree not in (1, 2):
            raise ParameterError(f"degree must be 1, for features, or 2, for their products; found {self.degree!r}.")


@final
class OAPBPM(PerceptronRanker):
    """The mean of the weights of many PRank learners: online aggregate PRank, an approximate Bayes point machine.

    Every document is shown to each learner with a probability, so that the learners differ; their mean changes less
    from epoch to epoch, and generalizes better [Harrington2003; Burges2005, section 6.2].

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((100, 50, 50), n_features=10, random_state=0)
    >>> mean, one = sr.baselines.OAPBPM(n_epochs=10), sr.baselines.PRank(n_epochs=10)
    >>> mean.fit(train, valid=vali).score(test) > one.fit(train, valid=vali).score(test)
    True
    """

    kind: ClassVar[str] = "oap_bpm"
    n_learners: int = parameter(
        default=50, low=1, high=10**6, tune=(20, 100), text="Number of PRank learners, which are divided among threads."
    )
    probability: float = parameter(
        default=0.3,
        above=0,
        high=1,
        tune=[0.3, 0.5, 0.7],
        text="Probability with which a learner is shown a document, in every epoch. With sample weights, the mean "
        "number of times, in proportion to the weight.",
    )
    standardize: bool = parameter(default=True, tune=None)

    def _rounds(self, problem: LinearProblem) -> Iterator[LinearRound]:
        return learn_by_epoch(problem, int(self.n_learners), float(self.probability))
