"""A random forest of regression trees [Breiman2001]."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, final

import numpy as np

from swaprank.models.forest import Forest
from swaprank.objectives.objective import Objective
from swaprank.objectives.pointwise import PointwiseObjective
from swaprank.parameters import parameter
from swaprank.rankers.rounds import Measured
from swaprank.rankers.tree_ranker import TreeRanker
from swaprank.trees.routing import add_tree_scores
from swaprank.trees.tree import make_forest
from swaprank.trees.tree_rules import TreeRules


@final
class RandomForest(TreeRanker):
    """The mean of many deep trees, each grown by itself to predict the label [Breiman2001].

        score(x) = 1/T sum_t (mean label of the documents in the leaf of tree t that x falls into)

    The trees of MART correct each other. These know nothing of each other: each is grown on another sample of the
    queries, with another sample of the features, so that their errors differ and cancel in the mean. More trees never
    overfit.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((100, 50), n_features=10, random_state=0)
    >>> forest = sr.baselines.RandomForest(n_trees=50, feature_fraction=0.5).fit(train)
    >>> forest.score(test) > 0.7
    True
    """

    kind: ClassVar[str] = "random_forest"
    boosts: ClassVar[bool] = False
    n_trees: int = parameter(default=300, tuned_at=None, text="Number of trees.")
    n_leaves: int | Sequence[int] = parameter(default=100, tune=(10, 1000))
    min_docs_in_leaf: int = parameter(default=5, tune=(1, 200), text="Minimum number of training documents in a leaf.")
    feature_fraction: float = parameter(default=0.3, tune=(0.1, 1.0), text="Share of the features that each tree uses.")
    query_fraction: float = parameter(
        default=0.6, tune=(0.2, 1.0), text="Share of the queries that each tree is grown on, drawn without replacement."
    )
    early_stopping_rounds: int | None = parameter(
        default=None,
        words=(),
        tuned_at=None,
        text="Stop if the watched metric has not improved for this many rounds, and keep the best one. Needs a "
        "validation set.",
    )
    base_ranker: Any = parameter(
        default=None, text="A fitted ranker of any kind. The forest then learns what its scores leave of the labels."
    )

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

    def _step(self, number: int, rules: TreeRules) -> float:
        return 1.0

    def _as_model(self, trees: Sequence[Forest], n_features: int) -> Forest:
        forest = make_forest(trees, n_features)
        return replace(forest, leaf_value=forest.leaf_value / max(1, len(trees)))

    def _refit_step(self, number: int, rules: TreeRules) -> float:
        return 1.0 / self.best_round_
