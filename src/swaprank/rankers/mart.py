"""MART: boosted trees with a pointwise loss."""

from typing import ClassVar, cast, final

from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.pointwise import LOSSES, Loss, PointwiseObjective
from swaprank.parameters import parameter
from swaprank.rankers.tree_ranker import TreeRanker
from swaprank.trees.tree_rules import LeafRules


@final
class MART(TreeRanker, LeafRules):
    """Boosted trees with a pointwise loss of the labels [Burges2010, sections 5 and 6]: a baseline for LambdaMART.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.MART(objective="squared", n_trees=30, n_leaves=15).fit(train)
    >>> sr.evaluate(test, ranker.predict(test), "ndcg@10")["ndcg@10"].mean > 0.7
    True
    """

    kind: ClassVar[str] = "mart"
    objective: Loss | Objective = parameter(
        default="squared",
        tune=[*LOSSES],
        text='"squared" error of the labels; "logistic" loss of labels above 0 against the others; '
        '"balanced_logistic", where both classes have the same total weight; or an instance.',
    )
    sigma: float = parameter(
        default=1.0, above=0, also="sigmoid", of_objective=True, text="Steepness of the logistic loss."
    )

    def _objective(self) -> Objective:
        return given_objective(self, LOSSES) or PointwiseObjective(cast(Loss, self.objective), float(self.sigma))
