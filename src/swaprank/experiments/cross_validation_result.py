"""Results of cross-validation: per fold, averaged, and compared query by query with a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np

from swaprank.errors import MetricError, did_you_mean
from swaprank.evaluation.comparison import Comparison, compare_evaluations
from swaprank.evaluation.results import Evaluation, pooled
from swaprank.evaluation.segment_comparison import SegmentComparison, compare_segments
from swaprank.evaluation.segment_evaluation import SegmentEvaluation
from swaprank.evaluation.segments import Segments
from swaprank.experiments.grid_search import GridTrial
from swaprank.model_files.plain_json import format_parameters
from swaprank.rendering.figures import axes_for, finish_chart, shortened
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, blocks_text, decimals


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
@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Result):
    """Results of every ranker and fold, and the comparison over all test queries; printable.

    Its data frame has one row per ranker, metric and fold.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=5, random_state=0)
    >>> result = sr.cross_validate(data, "linear_regression", ["ndcg@10", "map"], n_folds=3)
    >>> isinstance(result, sr.experiments.CrossValidation), result.mean("linear_regression", "map") > 0.5
    (True, True)
    >>> result.to_frame()["fold"].tolist()
    ['Fold1', 'Fold2', 'Fold3', 'Fold1', 'Fold2', 'Fold3']
    """

    folds: dict[str, list[FoldResult]]
    """Per ranker, in the order of the folds."""
    evaluations: dict[str, Evaluation]
    """Per ranker, over the test queries of all folds."""
    comparison: Comparison | None
    """Paired comparison of the rankers over the queries; None if there is only one ranker."""
    segments: SegmentComparison | SegmentEvaluation | None = None
    """The comparison in segments of the queries, if asked for; of one ranker, its evaluation in them."""

    @classmethod
    def from_folds(
        cls,
        folds: Mapping[str, list[FoldResult]],
        baseline: str,
        n_resamples: int = 10_000,
        random_state: int = 0,
        segments: Segments | None = None,
    ) -> Self:
        """Combine the results of the folds; segments are those of the test queries of all folds."""
        first = next(iter(folds.values()))[0].evaluation
        metrics = [result.metric for result in first]
        evaluations = {
            name: pooled([fold.evaluation for fold in each], metrics, first.convention) for name, each in folds.items()
        }
        several = len(evaluations) > 1
        comparison = compare_evaluations(evaluations, baseline, n_resamples, random_state) if several else None
        if segments is None:
            return cls(dict(folds), evaluations, comparison)
        in_segments = {name: SegmentEvaluation.of(each, segments) for name, each in evaluations.items()}
        compared = compare_segments(in_segments, baseline, n_resamples, random_state) if several else None
        return cls(dict(folds), evaluations, comparison, compared or in_segments[baseline])

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
        return blocks_text([self._table(metric)])

    def _table(self, metric: str) -> Table:
        rows = [
            [name, *map(decimals, self.per_fold(name, metric)), decimals(self.mean(name, metric))]
            for name in self.folds
        ]
        return Table([metric, *self.fold_names, "mean of folds"], rows)

    def _blocks(self) -> Blocks:
        parts: list[Table | str] = [self._table(metric) for metric in self.metrics]
        if any(fold.chosen for folds in self.folds.values() for fold in folds):
            rows = [
                [name, fold.fold, format_parameters(fold.chosen) or "-", decimals(fold.vali)]
                for name, folds in self.folds.items()
                for fold in folds
            ]
            parts.append(Table(["ranker", "fold", "chosen on vali", f"vali {self.metrics[0]}"], rows, left=3))
        n_queries = len(next(iter(self.evaluations.values())).qids)
        if self.segments is not None:
            return [*parts, f"Over all {n_queries:,} test queries, by {self.segments.by}:", *self.segments._blocks()]
        if self.comparison is not None:
            return [*parts, f"Query by query, over all {n_queries:,} test queries:", *self.comparison._blocks()]
        name, evaluation = next(iter(self.evaluations.items()))
        return [*parts, f"{name} over all {n_queries:,} test queries:", *evaluation._blocks()]

    def _values(self) -> dict[str, Any]:
        results = [
            {
                "ranker": name,
                "metric": metric,
                "mean_of_folds": self.mean(name, metric),
                "per_fold": dict(zip(self.fold_names, self.per_fold(name, metric), strict=True)),
                "mean_of_queries": evaluation[metric].mean,
                "low": evaluation[metric].interval[0],
                "high": evaluation[metric].interval[1],
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
                "vali": fold.vali,
                "tried": [each._asdict() for each in fold.tried],
            }
            for name, folds in self.folds.items()
            for fold in folds
        ]
        return {
            "folds": self.fold_names,
            "metrics": self.metrics,
            "results": results,
            "chosen": chosen,
            "differences": [] if self.comparison is None else self.comparison._values()["differences"],
            **({} if self.segments is None else {"segments": self.segments._values()}),
        }

    def _columns(self) -> dict[str, Any]:
        """One row per ranker, metric and fold."""
        rows = [
            (name, metric, fold, mean)
            for name in self.folds
            for metric in self.metrics
            for fold, mean in zip(self.fold_names, self.per_fold(name, metric), strict=True)
        ]
        return dict(zip(("ranker", "metric", "fold", "mean"), zip(*rows, strict=True), strict=True))

    def plot(self, ax: Any = None, *, metric: str | None = None) -> Any:
        """Draw a metric of every ranker in every fold, and its mean.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.
            metric: The metric to draw; the first one if None.

        Returns:
            The axes.
        """
        axes, metric = axes_for(ax), metric or self.metrics[0]
        folds = range(len(self.fold_names))
        for at, name in enumerate(self.folds):
            mean, color = self.mean(name, metric), f"C{at % 10}"
            label = f"{shortened(name)}: {mean:.4f}"
            axes.plot(folds, self.per_fold(name, metric), marker="o", color=color, label=label)
            axes.axhline(mean, color=color, linestyle="--", linewidth=1)
        axes.set_xticks(folds, [shortened(name) for name in self.fold_names])
        return finish_chart(axes, "folds, and their mean (dashed)", "", metric)
