"""Methods of all rankers with a forest, whoever trained it: single trees, leaves, importances, stages."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from swaprank.arrays import Floats
from swaprank.errors import ParameterError
from swaprank.models.ensemble import trees_of
from swaprank.models.forest import Forest, split_counts, split_gains
from swaprank.models.forest_scoring import scores_by_stage
from swaprank.models.tree_text import tree_text
from swaprank.models.tree_walk import find_leaves
from swaprank.parameters import Bounds, check_parameter
from swaprank.rankers.learned import learned_value
from swaprank.rankers.ranker import Ranker

_STAGED_SCORES = 10**7
"""Scores that `staged_predict` computes at once: 80 MB."""


class ForestMethods(Ranker):
    """Methods of rankers whose model is a forest, or a model of another kind plus a forest."""

    model_ = learned_value[Any]("model")

    @property
    def trees_(self) -> Forest:
        """The trees: the model itself, or what training has added to a base ranker of another kind."""
        trees = trees_of(self.learned_.model)
        if trees is None:
            raise ParameterError(f"the model has no trees, but {self.learned_.model.describe()}.")
        return trees

    @property
    def n_trees_(self) -> int:
        """The number of trees in the model."""
        return self.trees_.n_trees

    def predict(self, X: Any, n_trees: int | None = None, **unknown: Any) -> Floats:
        """Scores of the rows of a data set or matrix, in the order in which they were given; larger is better.

        The `base_score` of a data set is added, as in training. If `n_trees` is given, only the first trees are used; a
        base ranker of another kind always is.
        """
        if n_trees is None or unknown:
            return super().predict(X, **unknown)
        return self.predict_stage(X, n_trees)

    def staged_predict(self, X: Any, every: int = 1) -> Iterator[tuple[int, Floats]]:
        """The number of trees and the scores after every `every` trees; each tree is visited once."""
        check_parameter("every", every, Bounds(True, 1, 2**62))
        features = self._features_of(X)
        counts = range(every, self.n_trees_ + 1, every)
        n_at_once = max(1, _STAGED_SCORES // max(1, len(features)))
        base = self.model_.staged_scores(features, [0], self.n_threads)[0] if self.model_ is not self.trees_ else None
        for count, scores in scores_by_stage(self.trees_, features, counts, n_at_once, self.n_threads):
            yield count, self._plus_base_score(scores if base is None else base + scores, X)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """The leaf that each row falls into in each tree (rows x trees), numbered from 0 as in `to_text`.

        >>> import swaprank as sr
        >>> train, test = sr.datasets.random_net((20, 10), n_features=3, random_state=0)
        >>> ranker = sr.MART(n_trees=2, n_leaves=4).fit(train)
        >>> leaves = ranker.apply(test)
        >>> leaves.shape, leaves.max()
        ((500, 2), np.int32(3))
        >>> first = ranker.model_.part(0, 1)
        >>> (first.leaf_value[leaves[:, 0]] == ranker.predict(test, n_trees=1)).all()
        np.True_
        """
        features = self._features_of(X)
        leaves: NDArray[np.int32] = find_leaves(self.trees_, features, self.n_threads)
        leaves -= self.trees_.tree_leaves[:-1].astype(np.int32)
        return leaves

    def importances(self, kind: Literal["gain", "splits"] = "gain") -> dict[str, float]:
        """Total gain or number of splits of each feature in the trees, the most important first."""
        if kind not in ("gain", "splits"):
            raise ParameterError(f"kind must be 'gain' or 'splits', found {kind!r}.")
        self.check_fitted()
        values = split_gains(self.trees_) if kind == "gain" else split_counts(self.trees_)
        order = np.argsort(-values, kind="stable")
        return {str(self.feature_names_in_[f]): float(values[f]) for f in order}

    @property
    def feature_importances_(self) -> Floats:
        """The gain of each feature as a share of all gains, in the order of the features, as scikit-learn has it."""
        self.check_fitted()
        gains = split_gains(self.trees_)
        total = gains.sum()
        return gains / total if total > 0 else gains

    def to_text(self, tree: int = 0) -> str:
        """One tree as text."""
        self.check_fitted()
        names = [str(name) for name in self.feature_names_in_]
        return tree_text(self.trees_, tree, names, self.categories_)
