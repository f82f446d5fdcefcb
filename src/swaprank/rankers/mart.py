"""MART: boosted trees with a pointwise loss."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast, final

from swaprank.metrics.metric import Metric
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.pointwise import LOSSES, Loss, PointwiseObjective
from swaprank.rankers.tree_constraints import InteractionConstraints, MonotoneConstraints
from swaprank.rankers.tree_ranker import TREE_RANGES, TreeRanker
from swaprank.seeds import RandomState


@final
class MART(TreeRanker):
    """Boosted trees with a pointwise loss of the labels [Burges2010, sections 5 and 6]: a baseline for LambdaMART.

    Args:
        objective: "squared" error of the labels; "logistic" loss of labels above 0 against the others;
            "balanced_logistic", where both classes have the same total weight; or an instance.
        sigma: Steepness of the logistic loss.
        metric: Evaluated after every round, and chooses the best round on the watched set. It does not change training.

    The other parameters are those of LambdaMART.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.MART(objective="squared", n_trees=30, n_leaves=15).fit(train)
    >>> sr.evaluate(test, ranker.predict(test), "ndcg@10")["ndcg@10"].mean > 0.7
    True
    """

    kind: ClassVar[str] = "mart"
    objective_parameters: ClassVar[tuple[str, ...]] = ("sigma",)
    tuning_ranges: ClassVar[Mapping[str, Any]] = {**TREE_RANGES, "objective": [*LOSSES]}

    def __init__(
        self,
        objective: Loss | Objective = "squared",
        *,
        metric: str | Metric = "ndcg@10",
        n_trees: int = 300,
        n_leaves: int = 31,
        learning_rate: float | Sequence[float] = 0.1,
        min_docs_in_leaf: int = 20,
        leaf_smoothing: float = 0.0,
        l2: float = 0.0,
        min_gain: float = 0.0,
        max_depth: int | None = None,
        max_bins: int = 255,
        sigma: float = 1.0,
        feature_fraction: float = 1.0,
        query_fraction: float = 1.0,
        document_fraction: float | None = None,
        monotone_constraints: MonotoneConstraints | None = None,
        interaction_constraints: InteractionConstraints | None = None,
        early_stopping_rounds: int | None = None,
        base_ranker: Any = None,
        random_state: RandomState = 0,
        n_threads: int | None = None,
    ) -> None:
        self._set_parameters(locals())

    def _objective(self) -> Objective:
        return given_objective(self, LOSSES) or PointwiseObjective(cast(Loss, self.objective), float(self.sigma))
