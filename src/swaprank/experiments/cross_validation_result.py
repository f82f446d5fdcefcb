"""Results of cross-validation: per fold, averaged, and compared query by query with a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np

from swaprank.errors import MetricError, did_you_mean
from swaprank.evaluation.compare import Comparison, compare_evaluations
from swaprank.evaluation.evaluate import Evaluation, MetricResult
from swaprank.experiments.grid_search import GridTrial
from swaprank.experiments.search_checkpoints import format_parameters
from swaprank.rendering.json_values import json_number, json_rows, json_text
from swaprank.rendering.result_frames import Backend, make_frame
from swaprank.rendering.text_tables import decimals, text_table


class FoldResult(NamedTuple):
    """The result of one ranker in one fold."""

    fold: str
    evaluation: Evaluation
    """On the test queries of the fold."""
    chosen: dict[str, Any]
    """The grid parameters that were best on the validation set; empty without a grid."""
    vali: float
    """The first metric on the validation set."""
    tried: Sequence[GridTrial]


@final
@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Results of every ranker and fold, and the comparison over all test queries; printable.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=5, random_state=0)
    >>> result = sr.cross_validate(data, "linear_regression", ["ndcg@10", "map"], n_folds=3)
    >>> isinstance(result, sr.CrossValidation), result.mean("linear_regression", "map") > 0.5
    (True, True)
    """

    folds: dict[str, list[FoldResult]]
    """Per ranker, in the order of the folds."""
    evaluations: dict[str, Evaluation]
    """Per ranker, over the test queries of all folds."""
    comparison: Comparison | None
    """Paired comparison of the rankers over the queries; None if there is only one ranker."""

    @classmethod
    def from_folds(
        cls, folds: Mapping[str, list[FoldResult]], baseline: str, n_resamples: int = 10_000, random_state: int = 0
    ) -> Self:
        """Combine the results of the folds."""
        pooled = {name: _pool([fold.evaluation for fold in each]) for name, each in folds.items()}
        comparison = compare_evaluations(pooled, baseline, n_resamples, random_state) if len(pooled) > 1 else None
        return cls(dict(folds), pooled, comparison)

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [str(result.metric) for result in next(iter(self.evaluations.values()))]

    @property
    def fold_names(self) -> list[str]:
        """Names of the folds, in order."""
        return [fold.fold for fold in next(iter(self.folds.values()))]

    def per_fold(self, ranker: str, metric: str) -> list[float]:
        """A ranker's mean metric in each fold."""
        if ranker not in self.folds:
            raise MetricError(f"there is no ranker '{ranker}'; {did_you_mean(ranker, self.folds)}")
        return [fold.evaluation[metric].mean for fold in self.folds[ranker]]

    def mean(self, ranker: str, metric: str) -> float:
        """The mean over the folds, as in LETOR's tables."""
        return float(np.mean(self.per_fold(ranker, metric)))

    def table(self, metric: str) -> str:
        """A table of one metric: rankers by folds."""
        rows = [
            [name, *map(decimals, self.per_fold(name, metric)), decimals(self.mean(name, metric))]
            for name in self.folds
        ]
        return text_table([metric, *self.fold_names, "mean of folds"], rows)

    def __str__(self) -> str:
        parts = [self.table(metric) for metric in self.metrics]
        if any(fold.chosen for folds in self.folds.values() for fold in folds):
            rows = [
                [name, fold.fold, format_parameters(fold.chosen) or "-", decimals(fold.vali)]
                for name, folds in self.folds.items()
                for fold in folds
            ]
            parts.append(text_table(["ranker", "fold", "chosen on vali", f"vali {self.metrics[0]}"], rows, left=3))
        n_queries = len(next(iter(self.evaluations.values())).qids)
        if self.comparison is not None:
            parts.append(f"Query by query, over all {n_queries:,} test queries:\n\n{self.comparison}")
        else:
            name, evaluation = next(iter(self.evaluations.items()))
            parts.append(f"{name} over all {n_queries:,} test queries:\n\n{evaluation}")
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """The results as plain Python values; undefined numbers are None."""
        results = [
            {
                "ranker": name,
                "metric": metric,
                "mean_of_folds": json_number(self.mean(name, metric)),
                "per_fold": dict(zip(self.fold_names, map(json_number, self.per_fold(name, metric)), strict=True)),
                "mean_of_queries": json_number(evaluation[metric].mean),
                "low": json_number(evaluation[metric].interval[0]),
                "high": json_number(evaluation[metric].interval[1]),
                "n_queries": evaluation[metric].n_queries,
            }
            for name, evaluation in self.evaluations.items()
            for metric in self.metrics
        ]
        chosen = [
            {
                "ranker": name,
                "fold": fold.fold,
                "parameters": fold.chosen,
                "vali": json_number(fold.vali),
                "tried": [each._asdict() for each in fold.tried],
            }
            for name, folds in self.folds.items()
            for fold in folds
        ]
        differences = [] if self.comparison is None else self.comparison.differences
        rows = json_rows([{**asdict(row), "sentence": row.sentence()} for row in differences])
        return {
            "folds": self.fold_names,
            "metrics": self.metrics,
            "results": results,
            "chosen": chosen,
            "differences": rows,
        }

    def to_json(self) -> str:
        """The results as JSON; undefined numbers are null."""
        return json_text(self.to_dict())

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """A data frame with one row per ranker, metric and fold.

        >>> import swaprank as sr
        >>> (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=5, random_state=0)
        >>> sr.cross_validate(data, "linear_regression", "map", n_folds=3).to_frame()["fold"].tolist()
        ['Fold1', 'Fold2', 'Fold3']
        """
        rows = [
            (name, metric, fold, mean)
            for name in self.folds
            for metric in self.metrics
            for fold, mean in zip(self.fold_names, self.per_fold(name, metric), strict=True)
        ]
        columns = list(zip(*rows, strict=True))
        return make_frame(dict(zip(("ranker", "metric", "fold", "mean"), columns, strict=True)), backend)


def _pool(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Concatenate the queries of all folds."""
    results = tuple(
        MetricResult(
            evaluations[0].results[at].metric,
            np.concatenate([each.results[at].per_query for each in evaluations]),
            sum(each.results[at].n_without_relevant for each in evaluations),
        )
        for at in range(len(evaluations[0].results))
    )
    return Evaluation(results, np.concatenate([each.qids for each in evaluations]), evaluations[0].convention)
