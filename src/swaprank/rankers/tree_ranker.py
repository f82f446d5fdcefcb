"""Rankers made of boosted trees: everything but what they learn from."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.models.contributions import contributions
from swaprank.models.forest import Forest, join_forests, split_counts, split_gains
from swaprank.models.forest_arrays import forest_arrays, forest_from_arrays, forest_meta
from swaprank.models.forest_scoring import score, staged_scores
from swaprank.models.tree_text import tree_text
from swaprank.objectives.objective import Objective
from swaprank.rankers.parameter_checks import check_parameters
from swaprank.rankers.ranker import Callback, Ranker
from swaprank.rankers.rounds import Measured, run_rounds
from swaprank.trees.boosting import Booster, TreeRules, make_forest
from swaprank.trees.routing import add_tree_scores

ALL_UP_TO, DOCUMENTS_BEYOND, QUERIES_BEYOND = 100_000, 0.3, 0.5
"""The fractions of those who choose none: on larger data, half of the queries and a third of their documents find
splits as good."""


class TreeRanker(Ranker):
    """A forest of boosted trees."""

    forest_: Forest
    best_n_trees_: int
    """Trees of the best round on the watched set; all of them where nothing was watched."""
    n_trees: int
    query_fraction: float | None
    document_fraction: float | None
    early_stopping_rounds: int | None
    random_state: int

    @abstractmethod
    def _objective(self) -> Objective:
        """What the trees learn."""

    @property
    def n_trees_(self) -> int:
        """Trees in the forest."""
        return self.forest_.n_trees

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Ranker | None,
        callbacks: Sequence[Callback],
    ) -> None:
        check_parameters(self)
        if self.early_stopping_rounds is not None and not valid:
            raise DataError("early_stopping_rounds needs a data set to watch: fit(train, valid=…).")
        start = self._start_forest(self.base_ranker if base is None else base, data)
        measured = Measured(
            valid,
            [self._metric()] if metrics is None else parse_metrics(metrics),
            lambda other: _start_scores(start, other, self.n_threads),
            self.n_threads,
        )
        scores = np.array(data.by_query(_start_scores(start, data, self.n_threads)))
        rules = self._rules(len(data))
        booster = Booster(data, scores, rules, int(self.random_state), self.n_threads)
        n_start = 0 if start is None else start.n_trees
        if n_start or data.base_score is not None:
            measured.measure_start()
        trees, self.interrupted_ = self._boost(data, booster, measured, callbacks, n_start)
        measured.cut(len(trees))
        best = measured.best_round
        self.best_n_trees_ = n_start + (len(trees) if best is None else best)
        keep_best = self.early_stopping_rounds is not None or self.interrupted_
        forest = make_forest(trees[: self.best_n_trees_ - n_start] if keep_best else trees, data.n_features)
        self.forest_ = forest if start is None else join_forests(start, forest)
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
        """Add trees until there are enough, nothing improves, a callback says stop, or the user does (Ctrl-C)."""
        objective = self._objective().bind(data, random_state=int(self.random_state), n_threads=self.n_threads)
        trees: list[Forest] = []

        def add_tree(number: int) -> None:
            tree = booster.add_tree(objective, n_start + number)
            trees.append(tree)
            for name, other in measured.sets.items():
                add_tree_scores(tree, other.features, booster.n_threads, measured.scores[name])

        interrupted = run_rounds(self.n_trees, add_tree, measured, callbacks, self.early_stopping_rounds)
        return trees, interrupted

    def _start_forest(self, base: Any, data: Dataset) -> Forest | None:
        if base is None:
            return None
        if not isinstance(base, TreeRanker) or not hasattr(base, "forest_"):
            kind = f"{type(base).__name__} that is not fitted" if isinstance(base, TreeRanker) else type(base).__name__
            raise ParameterError(f"a base ranker must be a fitted LambdaMART or MART, found {kind}.")
        if base.n_features_in_ != data.n_features:
            raise DataError(f"the base ranker has {base.n_features_in_} features, but the data has {data.n_features}.")
        return base.forest_

    def predict(self, X: Any, n_trees: int | None = None) -> Floats:
        """Scores of a data set's or a matrix's rows, in the order in which they were given; larger is better.

        Scores that a data set brings along (`base_score`) are added, as they were in training.
        """
        features = self._features_of(X)
        if n_trees is not None and not 0 <= n_trees <= self.n_trees_:
            raise ParameterError(f"n_trees must lie between 0 and {self.n_trees_}, found {n_trees}.")
        return self._plus_base_score(score(self.forest_, features, n_trees, self.n_threads), X)

    def staged_predict(self, X: Any, every: int = 1) -> Iterator[tuple[int, Floats]]:
        """The number of trees and the scores after every so-many-th tree."""
        features = self._features_of(X)
        for count in range(every, self.n_trees_ + 1, every):
            stage = staged_scores(self.forest_, features, [count], self.n_threads)[0]
            yield count, self._plus_base_score(stage, X)

    def contributions(self, X: Any) -> Floats:
        """Each feature's share in each score (exact TreeSHAP), and last what is expected without knowing any."""
        shares = contributions(self.forest_, self._features_of(X), self.n_threads)
        shares[:, -1] = self._plus_base_score(shares[:, -1], X)
        return shares

    def importances(self, kind: Literal["gain", "splits"] = "gain") -> dict[str, float]:
        """Features by how much their splits gained, or how often they were split on, the most important first."""
        if kind not in ("gain", "splits"):
            raise ParameterError(f"kind must be 'gain' or 'splits', found {kind!r}.")
        values = split_gains(self.forest_) if kind == "gain" else split_counts(self.forest_)
        order = np.argsort(-values, kind="stable")
        return {str(self.feature_names_in_[f]): float(values[f]) for f in order}

    def to_text(self, tree: int = 0) -> str:
        """One tree for people to read."""
        self._check_fitted()
        return tree_text(self.forest_, tree, [str(name) for name in self.feature_names_in_])

    @property
    def size_(self) -> str:
        """How large the model is, in words."""
        return f"{self.n_trees_:,} trees"

    def _saved(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        return {"best_n_trees": self.best_n_trees_, "forest": forest_meta(self.forest_)}, forest_arrays(self.forest_)

    def _restore(self, meta: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        self.forest_ = forest_from_arrays(arrays, meta["forest"])
        self.best_n_trees_ = int(meta["best_n_trees"])
        self.n_features_in_ = self.forest_.n_features


def _start_scores(start: Forest | None, data: Dataset, n_threads: int | None) -> Floats:
    scores = np.zeros(len(data)) if start is None else score(start, data.features, None, n_threads)
    return scores if data.base_score is None else scores + data.base_score
