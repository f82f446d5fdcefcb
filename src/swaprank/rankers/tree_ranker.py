"""What the rankers that train boosted trees share: everything except the objective."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.models.forest import Forest, join_forests, split_counts, split_gains
from swaprank.models.model import Model
from swaprank.models.tree_text import tree_text
from swaprank.objectives.objective import Objective
from swaprank.rankers.base_model import base_model
from swaprank.rankers.ranker import FitRequest, Ranker
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.trees.boosting import Booster, TreeRules, make_forest
from swaprank.trees.routing import add_tree_scores

ALL_UP_TO, DOCUMENTS_BEYOND, QUERIES_BEYOND = 100_000, 0.3, 0.5
"""Default fractions: 1 up to so many documents; beyond, these are enough to find splits that are as good."""

_STAGED_SCORES = 10**7
"""Scores that `staged_predict` computes at once: 80 MB."""


TREE_RANGES = {
    "n_leaves": (4, 255),
    "learning_rate": (0.01, 0.3),
    "min_docs_in_leaf": (5, 500),
    "l2": (0.0, 10.0),
    "feature_fraction": (0.3, 1.0),
}
"""What `tune` searches for all rankers made of trees."""


class TreeRanker(Ranker):
    """A forest of boosted trees."""

    model_classes: ClassVar[tuple[type[Model], ...]] = (Forest,)
    round_name: ClassVar[str] = "tree"
    rounds_parameter: ClassVar[str | None] = "n_trees"
    tuning_fixed: ClassVar[Mapping[str, Any]] = {"n_trees": 2000, "early_stopping_rounds": 50}
    model_: Forest
    n_trees: int
    query_fraction: float | None
    document_fraction: float | None
    early_stopping_rounds: int | None
    random_state: int

    @abstractmethod
    def _objective(self) -> Objective:
        """What the trees minimize."""

    @property
    def n_trees_(self) -> int:
        """The number of trees in the model."""
        return self.model_.n_trees

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, base, callbacks = request
        start = None if base is None else base_model(base, Forest, "a fitted LambdaMART or MART", data.n_features)

        def start_scores(other: Dataset) -> Floats:
            zero = np.zeros(len(other)) if start is None else start.score(other.features, self.n_threads)
            return self._plus_base_score(zero, other)

        measured = Measured(valid, metrics, start_scores, self.n_threads)
        scores = np.array(data.by_query(start_scores(data)))
        booster = Booster(data, scores, self._rules(len(data)), int(self.random_state), self.n_threads)
        n_start = 0 if start is None else start.n_trees
        if n_start or data.base_score is not None:
            measured.measure_start()
        trees, self.interrupted_ = self._boost(data, booster, measured, callbacks, n_start)
        measured.drop_partial_round()
        best = measured.best_round
        self.n_rounds_, self.best_round_ = len(trees), len(trees) if best is None else best
        forest = make_forest(trees[: self.best_round_], data.n_features)
        self.model_ = forest if start is None else join_forests(start, forest)
        self.history_ = measured.history

    def _rules(self, n_documents: int) -> TreeRules:
        rules = TreeRules(**{name: getattr(self, name) for name in TreeRules.__dataclass_fields__})
        beyond = n_documents > ALL_UP_TO
        if self.document_fraction is None:
            rules = replace(rules, document_fraction=DOCUMENTS_BEYOND if beyond else 1.0)
        if self.query_fraction is None:
            rules = replace(rules, query_fraction=QUERIES_BEYOND if beyond else 1.0)
        return rules

    def _boost(
        self, data: Dataset, booster: Booster, measured: Measured, callbacks: Sequence[Callback], n_start: int
    ) -> tuple[list[Forest], bool]:
        """Grow the trees; returns them, and whether Ctrl-C ended training."""
        objective = self._objective().bind(data, random_state=int(self.random_state), n_threads=self.n_threads)
        trees: list[Forest] = []

        def add_tree(number: int) -> None:
            tree = booster.add_tree(objective, n_start + number)
            trees.append(tree)
            for name, other in measured.sets.items():
                add_tree_scores(tree, other.features, booster.n_threads, measured.scores[name])

        interrupted = run_rounds(self.n_trees, add_tree, measured, callbacks, self.early_stopping_rounds)
        return trees, interrupted

    def predict(self, X: Any, n_trees: int | None = None) -> Floats:
        """Scores of the rows of a data set or matrix, in the order in which they were given; larger is better.

        The `base_score` of a data set is added, as in training. If `n_trees` is given, only the first trees are used.
        """
        return super().predict(X) if n_trees is None else self.predict_stage(X, n_trees)

    def staged_predict(self, X: Any, every: int = 1) -> Iterator[tuple[int, Floats]]:
        """The number of trees and the scores after every `every` trees."""
        features = self._features_of(X)
        counts = range(every, self.n_trees_ + 1, every)
        at_once = max(1, _STAGED_SCORES // max(1, len(features)))
        for first in range(0, len(counts), at_once):
            stages = counts[first : first + at_once]
            scores = self.model_.staged_scores(features, stages, self.n_threads)
            for count, stage in zip(stages, scores, strict=True):
                yield count, self._plus_base_score(stage, X)

    def importances(self, kind: Literal["gain", "splits"] = "gain") -> dict[str, float]:
        """Total gain or number of splits of each feature, the most important first."""
        if kind not in ("gain", "splits"):
            raise ParameterError(f"kind must be 'gain' or 'splits', found {kind!r}.")
        self.check_fitted()
        values = split_gains(self.model_) if kind == "gain" else split_counts(self.model_)
        order = np.argsort(-values, kind="stable")
        return {str(self.feature_names_in_[f]): float(values[f]) for f in order}

    def to_text(self, tree: int = 0) -> str:
        """One tree as text."""
        self.check_fitted()
        return tree_text(self.model_, tree, [str(name) for name in self.feature_names_in_])
