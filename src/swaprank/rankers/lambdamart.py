"""LambdaMART: boosted trees for any ranking measure."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

from swaprank.errors import ParameterError
from swaprank.metrics.metric import Metric
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.objectives.objective import Objective
from swaprank.objectives.objective_names import given_objective
from swaprank.objectives.smooth_boosting import SmoothBoostingObjective
from swaprank.rankers.tree_ranker import TreeRanker

TreeObjective = Literal["lambda", "smooth"]
OBJECTIVES: tuple[TreeObjective, ...] = ("lambda", "smooth")


@final
class LambdaMART(TreeRanker):
    """Boosted trees that follow LambdaRank's gradients for a metric [Burges2010, section 7].

    Each round, every pair of documents pushes apart with a force that grows with what swapping the two would change of
    the metric; a tree is grown that follows these forces, leaf by leaf, and takes a Newton step in each leaf. The same
    data, parameters and random_state give the same model, bit for bit, on any number of threads.

    With objective="smooth", trees climb a smooth version of the metric instead, as SmoothRank does [Chapelle2010].
    That climbs well and starts badly: begin at a `base_ranker`, such as a MART, and give the metric a cut-off.

    Args:
        metric: What to learn for: any metric's name, or a metric of your own.
        objective: "lambda", LambdaRank's gradients; "smooth", the gradient of the smooth metric, for NDCG, DCG,
            precision, recall, RBP, MAP, MRR, ERR, success, and a CumulativeMetric or CascadeMetric of your own; or an
            instance, such as SmoothBoostingObjective(metric, smoothing_factor=0.3) or a CustomObjective.
        n_trees: How many trees at most.
        n_leaves: Leaves of a tree.
        learning_rate: Which part of each Newton step is taken.
        min_docs_in_leaf: A leaf has at least so many documents; in proportion, where splits are found on a share.
        l2: Added to each leaf's curvature: steps become smaller where little is known.
        min_gain: A split must gain more than this.
        max_depth: Splits on the way to a leaf; any number if None.
        max_bins: Into how many bins a feature's values are sorted, 255 at most.
        sigma: Steepness of the pair probabilities in the score difference. For "lambda" only.
        normalize: Weight pairs by the inverse of their difference of scores, and queries alike; else as in the paper.
            For "lambda" alone.
        truncation: Only pairs with one document ranked within this count; all that the metric can feel if None. For
            "lambda" alone.
        feature_fraction: Share of the features that each tree may use.
        query_fraction: Share of the queries that each tree learns from, in turns; if None, all queries of up to
            100,000 documents, and half of those of more.
        document_fraction: Share of the documents that splits are found on, those with large gradients first; if None,
            all of up to 100,000 documents, and 0.3 of more.
        early_stopping_rounds: Stop when the watched metric has not risen for so many rounds, and keep the best forest.
        base_ranker: A fitted LambdaMART or MART to start from.
        random_state: Seed of everything that is drawn.
        n_threads: All cores if None.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> ranker = sr.LambdaMART(metric="ndcg@10", n_trees=30, n_leaves=15).fit(train, valid=vali)
    >>> ranker.history_["valid"]["ndcg@10"][-1] > ranker.history_["valid"]["ndcg@10"][0] > 0.6
    True
    >>> ranker.predict(vali).shape
    (2500,)
    """

    kind: ClassVar[str] = "lambdamart"

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        objective: TreeObjective | Objective = "lambda",
        n_trees: int = 300,
        n_leaves: int = 31,
        learning_rate: float = 0.1,
        min_docs_in_leaf: int = 20,
        l2: float = 0.0,
        min_gain: float = 0.0,
        max_depth: int | None = None,
        max_bins: int = 255,
        sigma: float = 1.0,
        normalize: bool = True,
        truncation: int | None = None,
        feature_fraction: float = 1.0,
        query_fraction: float | None = None,
        document_fraction: float | None = None,
        early_stopping_rounds: int | None = None,
        base_ranker: Any = None,
        random_state: int = 0,
        n_threads: int | None = None,
    ) -> None:
        self.metric = metric
        self.objective = objective
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.learning_rate = learning_rate
        self.min_docs_in_leaf = min_docs_in_leaf
        self.l2 = l2
        self.min_gain = min_gain
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.sigma = sigma
        self.normalize = normalize
        self.truncation = truncation
        self.feature_fraction = feature_fraction
        self.query_fraction = query_fraction
        self.document_fraction = document_fraction
        self.early_stopping_rounds = early_stopping_rounds
        self.base_ranker = base_ranker
        self.random_state = random_state
        self.n_threads = n_threads

    def _objective(self) -> Objective:
        if not isinstance(self.normalize, bool):
            raise ParameterError(f"normalize must be True or False; found {self.normalize!r}.")
        given = given_objective(self, OBJECTIVES, ("sigma", "normalize", "truncation"))
        if given is not None:
            return given
        if self.objective == "lambda":
            return LambdaRankObjective(self._metric(), float(self.sigma), self.normalize, self.truncation)
        if self.truncation is not None:
            raise ParameterError(
                f"truncation={self.truncation} is for objective='lambda'. A smooth metric is cut off by itself: "
                f"metric='ndcg@{self.truncation}'."
            )
        if self.sigma != 1:
            raise ParameterError(
                f"sigma={self.sigma:g} is the steepness of pair probabilities, and objective='smooth' has none. For "
                f"the amount of smoothing, give objective=SmoothBoostingObjective(metric, smoothing_factor=…)."
            )
        return SmoothBoostingObjective(self._metric())
