"""What the rankers that train boosted trees share: everything except the objective."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import ParameterError
from swaprank.models.forest import Forest, join_forests
from swaprank.objectives.objective import Objective
from swaprank.rankers.base_model import base_model
from swaprank.rankers.forest_ranker import ForestRanker
from swaprank.rankers.parameter_checks import BOUNDS, Bounds, check_parameter, check_parameters
from swaprank.rankers.ranker import FitRequest
from swaprank.rankers.rounds import Callback, Measured, run_rounds
from swaprank.rankers.tree_constraints import InteractionConstraints, MonotoneConstraints, tree_constraints
from swaprank.threads import thread_count
from swaprank.trees.boosting import Booster, TreeRules, make_forest
from swaprank.trees.constraints import Constraints, broken_feature
from swaprank.trees.data_size import default_document_fraction
from swaprank.trees.refitting import refitted_values
from swaprank.trees.routing import add_tree_scores
from swaprank.trees.score_noise import ranking_scores

TREE_RANGES = {
    "n_leaves": (4, 255),
    "learning_rate": (0.01, 0.3),
    "min_docs_in_leaf": (5, 500),
    "leaf_smoothing": (0.0, 1000.0),
    "feature_fraction": (0.3, 1.0),
}
"""What `tune` searches for all rankers made of trees."""


class TreeRanker(ForestRanker):
    """A forest of boosted trees."""

    rounds_parameter: ClassVar[str | None] = "n_trees"
    tuning_fixed: ClassVar[Mapping[str, Any]] = {"n_trees": 2000, "early_stopping_rounds": 50}
    by_round: ClassVar[tuple[str, ...]] = ("learning_rate",)
    n_trees: int
    learning_rate: float | Sequence[float]
    l2: float
    leaf_smoothing: float | None
    document_fraction: float | None
    score_noise: float | None = 0.0
    """LambdaMART's parameter; other rankers have no ranks."""
    chosen_: Mapping[str, Any]
    """What was chosen where a parameter is None, by its name."""
    monotone_constraints: MonotoneConstraints | None
    interaction_constraints: InteractionConstraints | None
    early_stopping_rounds: int | None

    @abstractmethod
    def _objective(self) -> Objective:
        """What the trees minimize."""

    def _fit(self, request: FitRequest) -> None:
        data, valid, metrics, base, callbacks = request
        start = None if base is None else base_model(base, Forest, "a fitted LambdaMART or MART", data.n_features)

        def start_scores(other: Dataset) -> Floats:
            zero = np.zeros(len(other)) if start is None else self._scores_by(start, other)
            return self._plus_base_score(zero, other)

        measured = Measured(valid, metrics, start_scores, self.n_threads)
        scores = np.array(data.by_query(start_scores(data)))
        constraints = self._constraints(data.feature_names, data.categories)
        if start is not None and len(constraints.monotone):
            broken = broken_feature(start, constraints.monotone)
            if broken is not None:
                raise ParameterError(
                    f"the base ranker breaks monotone_constraints of '{data.feature_names[broken]}': train it with the "
                    "same constraints."
                )
        self.chosen_ = self._choose(data)
        booster = Booster(data, scores, self._rules(self.chosen_), self.random_state_, self.n_threads, constraints)
        n_start = 0 if start is None else start.n_trees
        if n_start or data.base_score is not None:
            measured.measure_start()
        trees, self.interrupted_ = self._boost(data, booster, measured, callbacks, n_start)
        measured.drop_partial_round()
        best = measured.best_round
        self.n_rounds_, self.best_round_ = len(trees), len(trees) if best is None else best
        forest = self._as_model(trees[: self.best_round_], data.n_features)
        self.model_ = forest if start is None else join_forests(start, forest)
        self.history_ = measured.history

    def _as_model(self, trees: Sequence[Forest], n_features: int) -> Forest:
        """The trees that were grown, as one model."""
        return make_forest(trees, n_features)

    def _gradient_scores(self, number: int, scores: Floats, start: Floats, rules: TreeRules) -> Floats:
        """Where `refit` takes the gradients of tree `number`: `scores` are those of the trees before it."""
        return ranking_scores(scores, rules.score_noise, self.random_state_, number, thread_count(self.n_threads))

    def _learning_rate(self, number: int) -> float:
        """The learning rate of a round of this training, from 1; the last one of a sequence is kept for all later."""
        rates = np.atleast_1d(np.asarray(self.learning_rate, np.float64))
        return float(rates[min(number, len(rates)) - 1])

    def _choose(self, data: Dataset) -> dict[str, Any]:
        """What to take where a parameter is None, by its name."""
        return {} if self.document_fraction is not None else {"document_fraction": default_document_fraction(len(data))}

    def _rules(self, chosen: Mapping[str, Any]) -> TreeRules:
        given = {name: getattr(self, name) for name in TreeRules.__dataclass_fields__}
        return TreeRules(**{name: chosen.get(name, value) for name, value in given.items()})

    def _fitted_values(self) -> dict[str, Any]:
        return {"chosen": dict(self.chosen_)}

    def _restore_values(self, values: Mapping[str, Any]) -> None:
        chosen = values.get("chosen", {})
        for name, value in chosen.items():
            check_parameter(name, value, BOUNDS[name])
        self.chosen_ = chosen

    def _constraints(self, names: Sequence[str], categories: Mapping[str, Any]) -> Constraints:
        return tree_constraints(self.monotone_constraints, self.interaction_constraints, names, categories)

    def _boost(
        self, data: Dataset, booster: Booster, measured: Measured, callbacks: Sequence[Callback], n_start: int
    ) -> tuple[list[Forest], bool]:
        """Grow the trees; returns them, and whether Ctrl-C ended training."""
        objective = self._objective().bind(data, random_state=self.random_state_, n_threads=self.n_threads)
        trees: list[Forest] = []

        def add_tree(number: int) -> None:
            tree = booster.add_tree(objective, n_start + number, self._learning_rate(number))
            trees.append(tree)
            for name, other in measured.sets.items():
                add_tree_scores(tree, other, booster.n_threads, measured.scores[name])

        interrupted = run_rounds(self.n_trees, add_tree, measured, callbacks, self.early_stopping_rounds)
        return trees, interrupted

    def refit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        decay_rate: float = 0.9,
    ) -> Self:
        """A new ranker with the same trees, and leaf values for other data.

        The splits stay. Tree by tree, the value of a leaf becomes `decay_rate` x the old value + (1 - `decay_rate`) x
        the Newton step of the documents of this data in the leaf, all of them. A leaf without documents
        keeps its value, and so do the trees of a base ranker. The numbers of documents in the trees stay those of
        training. This ranker does not change.

        Args:
            X: A Dataset, or a feature matrix together with y and qid.
            y: Labels, one per row.
            qid: Query ids, one per row.
            group: Instead of qid: the number of rows of each query.
            sample_weight: How much each row counts.
            decay_rate: The share of the old values, from 0 to 1.

        >>> import swaprank as sr
        >>> last_year, this_year = sr.datasets.random_net((50, 20), n_features=5, random_state=0)
        >>> ranker = sr.LambdaMART(n_trees=10).fit(last_year)
        >>> again = ranker.refit(this_year, decay_rate=0.5)
        >>> (again.model_.threshold == ranker.model_.threshold).all(), again.score(this_year) > ranker.score(this_year)
        (np.True_, True)
        """
        self.check_fitted()
        check_parameters(self)
        check_parameter("decay_rate", decay_rate, Bounds(False, 0, 1))
        data = self._judged(X, y, qid=qid, group=group, sample_weight=sample_weight)
        n_base = self.n_trees_ - self.best_round_
        rules = self._rules(self._choose(data))
        base, trees = self.model_.part(0, n_base), self.model_.part(n_base, self.n_trees_)
        start = np.array(data.by_query(self._plus_base_score(base.score(data.features, self.n_threads), data)))
        fitted = refitted_values(
            trees,
            [self._learning_rate(number) for number in range(1, trees.n_trees + 1)],
            data,
            start.copy(),
            self._objective().bind(data, random_state=self.random_state_, n_threads=self.n_threads),
            rules.l2,
            rules.leaf_smoothing,
            float(decay_rate),
            self._constraints(data.feature_names, data.categories).monotone,
            self.n_threads,
            lambda tree, scores: self._gradient_scores(n_base + tree + 1, scores, start, rules),
        )
        refitted = copy(self)
        refitted.model_ = replace(self.model_, leaf_value=np.concatenate((base.leaf_value, fitted)))
        refitted.history_ = {}
        return refitted
