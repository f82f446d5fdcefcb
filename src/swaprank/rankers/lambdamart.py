"""LambdaMART: boosted trees for any ranking metric."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, final

from swaprank.errors import ParameterError, Wording
from swaprank.metrics.metric import Metric
from swaprank.objectives.goals import Goal, parse_goals
from swaprank.objectives.lambdarank_objective import LambdaRankObjective, default_horizon
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.query_gradients import HESSIAN_FLOOR
from swaprank.objectives.smooth_boosting import SmoothBoostingObjective
from swaprank.objectives.weighted_sum import WeightedSum
from swaprank.objectives.with_squared_error import WithSquaredError
from swaprank.parameters import parameter
from swaprank.rankers.growth_trial import FEWEST_TREES, MOST_DOCUMENTS
from swaprank.rankers.learned import Capabilities
from swaprank.rankers.shared_parameters import SwapGradients
from swaprank.rankers.tree_ranker import Facts, TreeRanker
from swaprank.trees.tree_rules import (
    GROW_POLICIES,
    GrowPolicy,
    LeafRules,
    RandomRanks,
    default_max_depth,
    default_randomness,
    default_score_noise,
)

TreeObjective = Literal["lambda", "smooth"]
OBJECTIVES: tuple[TreeObjective, ...] = ("lambda", "smooth")
_LEAF_SMOOTHING = 20.0


@final
class LambdaMART(TreeRanker, LeafRules, RandomRanks, SwapGradients):
    """Boosted trees that follow LambdaRank's gradients for a metric [Burges2010, section 7].

    In each round, every pair of documents of a query with different labels gets a gradient: that of RankNet, times the
    change of the metric if the two documents were swapped. A tree is fitted to the gradients, and the value of each
    leaf is a Newton step. The same data, parameters and random_state give the same model, bit for bit, for any number
    of threads.

    With objective="smooth", the trees maximize a smooth version of the metric instead, as SmoothRank does
    [Chapelle2010]. This needs a good start and a metric with a cut-off: give a `base_ranker`, such as a fitted MART.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LambdaMART(metric="ndcg@10", n_trees=30, n_leaves=15).fit(train, valid=vali)
    >>> ranker.history_["valid"]["ndcg@10"][-1] > ranker.history_["valid"]["ndcg@10"][0] > 0.6
    True
    >>> ranker.predict(vali).shape
    (2500,)
    """

    kind: ClassVar[str] = "lambdamart"
    can: ClassVar[Capabilities] = replace(TreeRanker.can, needs="metric")
    metric: str | Metric = parameter(
        default="ndcg@10", kw_only=False, text="The metric to optimize: the name of a metric, or a metric of your own."
    )
    objective: TreeObjective | Objective = parameter(
        default="lambda",
        text='"lambda", LambdaRank\'s gradients; "smooth", the gradient of the smooth metric, for NDCG, DCG, '
        "precision, recall, RBP, MAP, MRR, ERR, success, and a CumulativeMetric or CascadeMetric of your own; or an "
        "instance, such as SmoothBoostingObjective(metric, smoothing_factor=0.3) or a CustomObjective.",
    )
    horizon: int | None = parameter(
        default=None,
        text="How deep to learn: the gradients are those of the metric with its cut-off at this rank. The metric that "
        "is measured stays as it is. If None: 30 for a metric whose cut-off is at a smaller rank; other metrics are "
        'learned as they are, and so are precision, recall, success and metrics of your own. For "lambda" only.',
    )
    leaf_smoothing: float | None = parameter(
        default=None,
        text="Leaf values shrink as if each leaf had so many more documents, of mean hessian and no gradient: L2 "
        'regularization that does not depend on the scale of the gradients. If None: 20 for "lambda", and 0 for other '
        "objectives.",
    )
    grow_policy: GrowPolicy | None = parameter(
        default=None,
        optional=True,
        text='How a tree grows: "leafwise", the leaf with the largest gain is split by its own best cut; "symmetric", '
        "one cut splits all leaves of a level, the best for all of them together. Symmetric trees follow noise less, "
        'and learn fewer interactions. They take neither categories nor constraints. If None: for "lambda", up to '
        "100,000 documents and at least 50 trees, 30 trees of both kinds are tried on a third of the queries, which "
        'they do not learn from, and "symmetric" is chosen unless the other kind is better there; "leafwise" in all '
        "other cases.",
    )
    max_depth: int | None = parameter(
        default=None,
        text='Maximum depth of a tree. If None: for "lambda" and trees that grow "leafwise" 4 for up to 8,000 '
        "documents, and two more whenever their number doubles; otherwise no limit. A depth of n_leaves is no limit, "
        "either.",
    )
    split_noise: float | None = parameter(
        default=None,
        text="Random splits: the best splits of features are compared with noise in the root of their gains, in units "
        'of what gradients without any signal would have. If None: for "lambda" 1 for up to 30,000 documents, and '
        "falling in proportion for more, and 0 for more than about 600,000; 0 for other objectives.",
    )
    squared_error: float | None = parameter(
        default=None,
        low=0,
        high=1e6,
        tune=(0.0, 3.0),
        of_objective=True,
        text="Learn the labels, too: the weight of their squared error beside the lambdas, see `WithSquaredError`. If "
        "None, as `split_noise`, but 0 if training starts from base scores or from another kind of model. For "
        '"lambda" only.',
    )
    score_noise: float | None = parameter(
        default=None,
        text="Random ranks: the scale of the Gumbel noise that is added to the scores before each round's gradients "
        'are computed. 0: the ranks as they are. If None: for "lambda" 0.2 for up to 60,000 documents, and falling in '
        "proportion for more; 0 for other objectives.",
    )
    goals: str | Sequence[str] | None = parameter(
        default=None,
        of_objective=True,
        text="Goals beside the metric, on other labels: side columns or features. A text, or a list of texts: "
        '"0.3 ndcg@5(gain=linear) of revenue" counts 0.3 beside the metric, which counts 1; '
        '"dcg@5(gain=linear) of revenue >= 12" and "… >= 99% of bm25" (of the value that these scores have) must hold '
        'on the watched validation set, and their weights are found while training. For "lambda" only.',
    )
    hessian_floor: float = parameter(
        default=HESSIAN_FLOOR,
        low=0,
        high=1,
        of_objective=True,
        text="A document's hessian is at least this times sigma |grad|, so that the Newton step of a single document "
        "is at most 1 / (sigma hessian_floor). 0: as in the paper. For the default objective.",
    )

    def _choose(self, facts: Facts, policy: GrowPolicy) -> dict[str, Any]:
        chosen = super()._choose(facts, policy)
        lambdas, n_documents = self.objective == "lambda", facts.n_documents
        if lambdas and self.horizon is None:
            chosen["horizon"] = self._horizon()
        if self.leaf_smoothing is None:
            chosen["leaf_smoothing"] = _LEAF_SMOOTHING if lambdas else 0.0
        if self.score_noise is None:
            chosen["score_noise"] = default_score_noise(n_documents) if lambdas else 0.0
        if self.split_noise is None:
            chosen["split_noise"] = default_randomness(n_documents) if lambdas else 0.0
        if self.squared_error is None and lambdas:
            # Scores of another model may have any scale, and need not be near the labels.
            weight = default_randomness(n_documents) if facts.before is None else facts.before.get("squared_error", 0.0)
            chosen["squared_error"] = weight
        if self.grow_policy is None:
            chosen["grow_policy"] = policy
        if self.max_depth is None and lambdas and policy == "leafwise":
            chosen["max_depth"] = default_max_depth(n_documents)
        return chosen

    def _policies(self, facts: Facts) -> tuple[GrowPolicy, ...]:
        if self.grow_policy is None and self.objective == "lambda" and not facts.is_constrained:
            # Training that is continued goes on as it began.
            if facts.before and "grow_policy" in facts.before:
                return (facts.before["grow_policy"],)
            if facts.n_documents <= MOST_DOCUMENTS and facts.n_trees >= FEWEST_TREES:
                return GROW_POLICIES
        return super()._policies(facts)

    def _horizon(self) -> int | None:
        return default_horizon(self.training_metric()) if self.horizon is None else self.horizon

    def _chosen_objective(self, chosen: Mapping[str, Any]) -> Objective:
        objective, weight = self._objective(), chosen.get("squared_error", self.squared_error)

        def learned(objective: Objective) -> Objective:
            return WithSquaredError(objective, float(weight)) if weight else objective

        goals = self._goals()
        if not goals:
            return learned(objective)
        return WeightedSum(
            [learned(objective), *(learned(self._lambdas(goal.metric)) for goal in goals)],
            weights=[1.0, *(goal.weight for goal in goals)],
            labels=[None, *(goal.of for goal in goals)],
        )

    def _goals(self) -> tuple[Goal, ...]:
        return parse_goals(self.goals)

    def _check_together(self) -> None:
        super()._check_together()
        self._goals()

    def _lambdas(self, metric: Metric) -> LambdaRankObjective:
        """LambdaRank's objective for a metric; as deep as its cut-off wants."""
        horizon = default_horizon(metric) if self.horizon is None else self.horizon
        floor = float(self.hessian_floor)
        return LambdaRankObjective(metric, float(self.sigma), self.normalize, horizon, hessian_floor=floor)

    def _objective(self) -> Objective:
        given = given_objective(self, OBJECTIVES)
        if given is not None:
            return given
        if self.objective == "lambda":
            return self._lambdas(self.training_metric())
        if self.horizon is not None:
            raise ParameterError(
                f"horizon={self.horizon} is for objective='lambda'. A smooth metric is cut off by itself: "
                f"metric='ndcg@{self.horizon}'."
            )
        if self.sigma != 1:
            raise ParameterError(
                f"sigma={self.sigma:g} is the steepness of pair probabilities, and objective='smooth' has none. ",
                Wording(
                    "For the amount of smoothing, give objective=SmoothBoostingObjective(metric, smoothing_factor=…).",
                    "The amount of smoothing can only be changed in Python.",
                ),
            )
        for name in ("normalize", "hessian_floor", "squared_error", "goals"):
            value = getattr(self, name)
            if value != self.declared[name].default:
                raise ParameterError(
                    f"{name}={value!r} is for objective='lambda', and has no effect on objective='smooth': leave it at "
                    f"its default, {self.declared[name].default!r}."
                )
        return SmoothBoostingObjective(self.training_metric())
