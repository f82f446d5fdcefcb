"""A random forest of regression trees [Breiman2001]."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.document_places import Places
from swaprank.metrics.metric import Metric
from swaprank.models.forest import Forest
from swaprank.objectives.objective import Objective
from swaprank.objectives.pointwise import PointwiseObjective
from swaprank.rankers.rounds import Measured
from swaprank.rankers.tree_constraints import InteractionConstraints, MonotoneConstraints
from swaprank.rankers.tree_ranker import TreeRanker
from swaprank.seeds import RandomState
from swaprank.trees.boosting import TreeRules, make_forest
from swaprank.trees.routing import add_tree_scores


@final
class RandomForest(TreeRanker):
    """The mean of many deep trees, each grown by itself to predict the label [Breiman2001].

        score(x) = 1/T sum_t (mean label of the documents in the leaf of tree t that x falls into)

    The trees of MART correct each other. These know nothing of each other: each is grown on another sample of the
    queries, with another sample of the features, so that their errors differ and cancel in the mean. More trees never
    overfit.

    Args:
        metric: Evaluated after every tree, and chooses the number of trees on the watched set. It does not change
            training.
        n_trees: Number of trees.
        n_leaves: Maximum number of leaves of a tree.
        min_docs_in_leaf: Minimum number of training documents in a leaf.
        max_depth: Maximum depth of a tree. If None, only `n_leaves` limits it.
        max_bins: Maximum number of values that a feature is rounded to.
        feature_fraction: Share of the features that each tree uses.
        query_fraction: Share of the queries that each tree is grown on, drawn without replacement.
        document_fraction: Share of their documents that splits are found on, see LambdaMART. If None, by the size of
            the data.
        monotone_constraints: See LambdaMART.
        interaction_constraints: See LambdaMART.
        early_stopping_rounds: Stop if the watched metric has not improved for this many trees. Needs a validation set.
        base_ranker: A fitted ranker made of trees. The forest then learns what its scores leave of the labels.
        random_state: Seed of all random choices. None: a random one; a NumPy generator: drawn from it.
        n_threads: Number of threads. If None, all cores.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> forest = sr.baselines.RandomForest(n_trees=50, feature_fraction=0.5).fit(train)
    >>> forest.score(test) > 0.7
    True
    """

    kind: ClassVar[str] = "random_forest"
    boosts: ClassVar[bool] = False
    tuning_ranges: ClassVar[Mapping[str, Any]] = {
        "n_leaves": (10, 1000),
        "min_docs_in_leaf": (1, 200),
        "feature_fraction": (0.1, 1.0),
        "query_fraction": (0.2, 1.0),
    }
    tuning_fixed: ClassVar[Mapping[str, Any]] = {}
    by_round: ClassVar[tuple[str, ...]] = ()
    l2, leaf_smoothing, min_gain = 0.0, 0.0, 0.0

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        n_trees: int = 300,
        n_leaves: int = 100,
        min_docs_in_leaf: int = 5,
        max_depth: int | None = None,
        max_bins: int = 255,
        feature_fraction: float = 0.3,
        query_fraction: float = 0.6,
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
        return PointwiseObjective("squared")

    def _measuring(self, measured: Measured, n_threads: int) -> Callable[[int, Forest], None]:
        """The means of the trees are measured."""
        starts = measured.scores
        sums = {name: np.zeros(len(scores)) for name, scores in starts.items()}

        def add(number: int, tree: Forest) -> None:
            for name, other in measured.sets.items():
                add_tree_scores(tree, other, n_threads, sums[name])
            measured.scores = {name: starts[name] + each / number for name, each in sums.items()}

        return add

    def _step(self, number: int) -> float:
        return 1.0

    def _as_model(self, trees: Sequence[Forest], n_features: int) -> Forest:
        forest = make_forest(trees, n_features)
        return replace(forest, leaf_value=forest.leaf_value / max(1, len(trees)))

    def _learning_rate(self, number: int) -> float:
        """What a leaf of the model has of the mean of its documents, for `refit`."""
        return 1.0 / self.best_round_

    def _gradient_scores(self, number: int, scores: Floats, start: Floats, places: Places, rules: TreeRules) -> Floats:
        return start
