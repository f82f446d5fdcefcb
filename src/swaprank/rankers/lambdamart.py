"""LambdaMART: boosted trees for any ranking metric."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, final

from swaprank.errors import ParameterError
from swaprank.metrics.metric import Metric
from swaprank.objectives.lambdarank_objective import LambdaRankObjective, default_horizon
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.smooth_boosting import SmoothBoostingObjective
from swaprank.rankers.tree_constraints import InteractionConstraints, MonotoneConstraints
from swaprank.rankers.tree_ranker import TREE_RANGES, TreeRanker
from swaprank.seeds import RandomState
from swaprank.trees.data_size import default_leaf_smoothing, default_max_depth, default_score_noise

TreeObjective = Literal["lambda", "smooth"]
OBJECTIVES: tuple[TreeObjective, ...] = ("lambda", "smooth")


@final
class LambdaMART(TreeRanker):
    """Boosted trees that follow LambdaRank's gradients for a metric [Burges2010, section 7].

    In each round, every pair of documents of a query with different labels gets a gradient: that of RankNet, times the
    change of the metric if the two documents were swapped. A tree is fitted to the gradients, and the value of each
    leaf is a Newton step. The same data, parameters and random_state give the same model, bit for bit, for any number
    of threads.

    With objective="smooth", the trees maximize a smooth version of the metric instead, as SmoothRank does
    [Chapelle2010]. This needs a good start and a metric with a cut-off: give a `base_ranker`, such as a fitted MART.

    Args:
        metric: The metric to optimize: the name of a metric, or a metric of your own.
        objective: "lambda", LambdaRank's gradients; "smooth", the gradient of the smooth metric, for NDCG, DCG,
            precision, recall, RBP, MAP, MRR, ERR, success, and a CumulativeMetric or CascadeMetric of your own; or an
            instance, such as SmoothBoostingObjective(metric, smoothing_factor=0.3) or a CustomObjective.
        n_trees: Maximum number of trees.
        n_leaves: Maximum number of leaves per tree.
        learning_rate: Shrinkage: each leaf value is multiplied by it. A sequence has one for each round of this
            training, and the last one is kept for all later rounds.
        min_docs_in_leaf: Minimum number of documents per leaf. It is reduced in proportion if splits are found on a
            fraction of the queries or documents.
        leaf_smoothing: Leaf values shrink as if each leaf had so many more documents, of mean hessian and no gradient:
            L2 regularization that does not depend on the scale of the gradients. If None: for "lambda" a fifteenth of
            the documents, at most 800, and falling in proportion beyond 10,000 documents; 0 for other objectives.
        l2: L2 regularization: a number that is added to the hessian of each leaf, too.
        min_gain: A split must have a gain larger than this.
        max_depth: Maximum depth of a tree. If None: for "lambda" 4 for up to 8,000 documents, and two more whenever
            their number doubles; no limit for other objectives. A depth of n_leaves is no limit, either.
        max_bins: Maximum number of bins per feature, at most 255. Categories are not merged: each has its own.
        sigma: Steepness of the pair probabilities in the score difference. For "lambda" only.
        normalize: Divide each pair's weight by its score difference and rescale each query's gradients, as LightGBM
            does. False: as in the paper. For "lambda" only.
        horizon: How deep to learn: the gradients are those of the metric with its cut-off at this rank. The metric that
            is measured stays as it is. If None: 30 for a cut-off above that, see `default_horizon`. For "lambda" only.
        score_noise: Random ranks: the scale of the Gumbel noise that is added to the scores before each round's
            gradients are computed. 0: the ranks as they are. If None: for "lambda" 0.2 for up to 60,000 documents, and
            falling in proportion for more; 0 for other objectives.
        feature_fraction: Fraction of the features that each tree may use.
        query_fraction: Fraction of the queries that each tree learns from. Successive trees take turns.
        document_fraction: Fraction of the documents on which splits are found. Large gradients are preferred. If None:
            1 for up to 30,000 documents, and falling gradually for more: 0.2 for 750,000 documents.
        monotone_constraints: 1 for each feature with which scores must never fall, -1 for those with which they must
            never rise: by name, as {"authority": 1, "spam": -1}, or a list of one of -1, 0 and 1 per feature. Missing
            values have no order.
        interaction_constraints: Groups of features, by name or position, as [["bm25", "clicks"], ["age", "price"]]:
            all features on the path from the root of a tree to a leaf are of one group. A feature in no group is alone
            in a group of its own. Holds for new trees, not for those of a base ranker.
        early_stopping_rounds: Stop if the watched metric has not improved for this many rounds. Needs a validation set,
            whose best round is kept in any case.
        base_ranker: A fitted LambdaMART or MART. Training continues with its trees.
        random_state: Seed of all random choices. None: a random one; a NumPy generator: drawn from it.
        n_threads: Number of threads. If None, all cores.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LambdaMART(metric="ndcg@10", n_trees=30, n_leaves=15).fit(train, valid=vali)
    >>> ranker.history_["valid"]["ndcg@10"][-1] > ranker.history_["valid"]["ndcg@10"][0] > 0.6
    True
    >>> ranker.predict(vali).shape
    (2500,)
    """

    kind: ClassVar[str] = "lambdamart"
    objective_parameters: ClassVar[tuple[str, ...]] = ("sigma", "normalize", "horizon")
    tuning_ranges: ClassVar[Mapping[str, Any]] = {**TREE_RANGES, "sigma": (0.3, 3.0), "normalize": [True, False]}

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        objective: TreeObjective | Objective = "lambda",
        n_trees: int = 300,
        n_leaves: int = 31,
        learning_rate: float | Sequence[float] = 0.1,
        min_docs_in_leaf: int = 20,
        leaf_smoothing: float | None = None,
        l2: float = 0.0,
        min_gain: float = 0.0,
        max_depth: int | None = None,
        max_bins: int = 255,
        sigma: float = 1.0,
        normalize: bool = True,
        horizon: int | None = None,
        score_noise: float | None = None,
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

    def _choose(self, n_documents: int) -> dict[str, Any]:
        chosen = super()._choose(n_documents)
        lambdas = self.objective == "lambda"
        if lambdas and self.horizon is None:
            chosen["horizon"] = default_horizon(self.training_metric())
        if self.leaf_smoothing is None:
            chosen["leaf_smoothing"] = default_leaf_smoothing(n_documents) if lambdas else 0.0
        if self.score_noise is None:
            chosen["score_noise"] = default_score_noise(n_documents) if lambdas else 0.0
        if self.max_depth is None and lambdas:
            chosen["max_depth"] = default_max_depth(n_documents)
        return chosen

    def _objective(self) -> Objective:
        given = given_objective(self, OBJECTIVES)
        if given is not None:
            return given
        if self.objective == "lambda":
            metric = self.training_metric()
            horizon = default_horizon(metric) if self.horizon is None else self.horizon
            return LambdaRankObjective(metric, float(self.sigma), self.normalize, horizon)
        if self.horizon is not None:
            raise ParameterError(
                f"horizon={self.horizon} is for objective='lambda'. A smooth metric is cut off by itself: "
                f"metric='ndcg@{self.horizon}'."
            )
        if self.sigma != 1:
            raise ParameterError(
                f"sigma={self.sigma:g} is the steepness of pair probabilities, and objective='smooth' has none. For "
                f"the amount of smoothing, give objective=SmoothBoostingObjective(metric, smoothing_factor=…)."
            )
        return SmoothBoostingObjective(self.training_metric())
