"""Two rankers in one: the mix that is exactly optimal for a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import AnyArray, Floats
from swaprank.data.dataset import Dataset
from swaprank.ensembles.ensemble_ranker import (
    ComposedRanker,
    ScoreScale,
    check_same_features,
    fit_scale,
    parts_restored,
    parts_saved,
    scale_restored,
)
from swaprank.ensembles.step_function import Optimum, StepFunction, settle, sweep
from swaprank.errors import DataError, ModelFileError, ParameterError
from swaprank.metrics.binding import bind_to_data
from swaprank.metrics.metric import BoundMetric, Metric
from swaprank.rankers.parameter_checks import check_parameters
from swaprank.rankers.ranker import Callback, Ranker

_BETTER = 1e-11


@final
class Combination(ComposedRanker):
    """alpha times one ranker's scores plus 1 - alpha times another's [Burges2010, section 7.1].

    While alpha goes along its line, the order of two documents changes once at most, and the metric only where an
    order does. `fit` goes through all these places and keeps the alpha whose metric is the best there is, in the middle
    of the interval in which it is. Scores are put on one scale first: mean 0, and deviation 1 within queries.

    Args:
        metric: What is to be best: any metric's name, or a metric of your own. Sums of discounted gains (NDCG,
            precision, …) and pairs are brought up to date at every crossing; any other metric is measured anew there,
            which takes as much longer as lists are long.
        whole_line: Let alpha be any number, so that a ranker's scores may be taken off the other's; else from 0 to 1.
        base_ranker: The two fitted rankers.
        n_threads: All cores if None.

    A ranker alone, alpha = 0 or 1, may tie documents, and is looked at as it is; other single points, at which lines of
    scores cross and documents are tied for a moment, are not.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 40), n_features=8, random_state=0)
    >>> mart, linear = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> both = sr.Combination("ndcg@10", base_ranker=(mart, linear)).fit(vali)
    >>> both.value_ >= max(both.alone_), both.interval_[0] <= both.alpha_ <= both.interval_[1]
    (True, True)
    """

    kind: ClassVar[str] = "combination"
    alpha_: float
    interval_: tuple[float, float]
    """Every alpha in it is as good; infinite where it has no end."""
    value_: float
    """The mean of the metric on the data that alpha was found on."""
    alone_: tuple[float, float]
    """Of each ranker alone."""
    line_: Optimum
    """The best alpha of the whole line, whether or not it was asked for."""
    steps_: StepFunction | None
    """The metric at every alpha; a model file does not have it."""
    scale_: ScoreScale

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        whole_line: bool = False,
        base_ranker: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.metric = metric
        self.whole_line = whole_line
        self.base_ranker = base_ranker
        self.n_threads = n_threads

    def _fit(
        self,
        data: Dataset,
        valid: Mapping[str, Dataset],
        metrics: str | Metric | Sequence[str | Metric] | None,
        base: Ranker | None,
        callbacks: Sequence[Callback],
    ) -> None:
        check_parameters(self)
        if not isinstance(self.whole_line, bool):
            raise ParameterError(f"whole_line must be True or False; found {self.whole_line!r}.")
        if valid or metrics is not None or callbacks:
            raise DataError(
                "a combination has no rounds: valid, metrics and callbacks are for rankers that learn in some."
            )
        rankers = self._parts(base, data, 2)
        if len(rankers) > 2:
            raise ParameterError(f"a combination takes two rankers, found {len(rankers)}; stack takes any number.")
        scores = self._scores(rankers, data, len(data))
        scale = fit_scale(scores, data)
        bound = bind_to_data(self._metric(), data)
        a, b = (np.array(data.by_query(row)) for row in scale.apply(scores))
        self.alone_ = (bound.mean(a, n_threads=self.n_threads), bound.mean(b, n_threads=self.n_threads))
        steps = sweep(bound, a, b, self.n_threads)
        self.line_ = self._optimum(steps, bound, a, b, -np.inf, np.inf)
        best = self.line_ if self.whole_line else self._optimum(steps, bound, a, b, 0.0, 1.0)
        self.alpha_, self.value_, self.interval_ = best.alpha, best.value, (best.low, best.high)
        self.steps_, self.scale_, self.rankers_ = steps, scale, rankers
        self.history_, self.interrupted_ = {}, False

    def _optimum(
        self, steps: StepFunction, bound: BoundMetric, a: Floats, b: Floats, low: float, high: float
    ) -> Optimum:
        found = settle(steps.best(low, high), lambda alpha: bound.mean(_mix(alpha, a, b), n_threads=self.n_threads))
        for alpha, alone in ((1.0, self.alone_[0]), (0.0, self.alone_[1])):
            if alone > found.value + _BETTER:
                found = Optimum(alpha, alone, alpha, alpha)
        return found

    def predict(self, X: Any) -> Floats:
        """Scores of a data set's or a matrix's rows, in the order in which they were given; larger is better.

        Both rankers predict as they do alone: scores that a data set brings along are in each one's own.
        """
        features = self._features_of(X)
        a, b = self.scale_.apply(self._scores(self.rankers_, X, len(features)))
        return _mix(self.alpha_, a, b)

    @property
    def size_(self) -> str:
        """How large the model is, in words."""
        a, b = (f"{ranker.kind} ({ranker.size_})" for ranker in self.rankers_)
        return f"{self.alpha_:.4g} of {a} and {1 - self.alpha_:.4g} of {b}"

    def summary(self) -> str:
        """What was found, in words."""
        self._check_fitted()
        low, high = self.interval_
        where = "on the whole line" if self.whole_line else "from 0 to 1"
        text = (
            f"{self.metric} {self.value_:.4f} at alpha {self.alpha_:.6g}, the best {where}; as good from {low:.6g} to "
            f"{high:.6g}. Alone: {self.alone_[0]:.4f} and {self.alone_[1]:.4f}."
        )
        if not self.whole_line and self.line_.value > self.value_ + _BETTER:
            text += f" Beyond, at alpha {self.line_.alpha:.6g}, it would be {self.line_.value:.4f}."
        return text

    def to_dict(self) -> dict[str, Any]:
        """The best alpha and its metric, as plain Python values; an infinite end of the interval is None."""
        self._check_fitted()
        low, high = (end if np.isfinite(end) else None for end in self.interval_)
        return {
            "metric": str(self.metric),
            "alpha": self.alpha_,
            "value": self.value_,
            "low": low,
            "high": high,
            "first_alone": self.alone_[0],
            "second_alone": self.alone_[1],
            "whole_line_alpha": self.line_.alpha,
            "whole_line_value": self.line_.value,
        }

    def draw(self, path: str | Path) -> None:
        """Draw the metric at every alpha into a file (.svg, .png, .pdf); a loaded combination has no such figure."""
        from swaprank.instruments.instrument_figures import draw_combination

        self._check_fitted()
        draw_combination(self, Path(path))

    def _saved(self) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        parts, arrays = parts_saved(self.rankers_)
        meta = {
            "alpha": self.alpha_,
            "interval": self.interval_,
            "value": self.value_,
            "alone": self.alone_,
            "line": self.line_,
            "parts": parts,
        }
        return meta, {**arrays, **self.scale_._asdict()}

    def _restore(self, meta: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
        self.rankers_ = parts_restored(meta["parts"], arrays)
        if len(self.rankers_) != 2:
            raise ModelFileError(f"a combination has two rankers, found {len(self.rankers_)}.")
        check_same_features(self.rankers_)
        self.scale_ = scale_restored(arrays, 2)
        self.alpha_, self.value_ = float(meta["alpha"]), float(meta["value"])
        if not np.isfinite(self.alpha_):
            raise ModelFileError(f"its alpha is {self.alpha_}, which is not finite.")
        low, high = (float(value) for value in meta["interval"])
        first, second = (float(value) for value in meta["alone"])
        self.interval_, self.alone_ = (low, high), (first, second)
        self.line_ = Optimum(*(float(value) for value in meta["line"]))
        self.steps_ = None
        self.n_features_in_ = self.rankers_[0].n_features_in_


def _mix(alpha: float, a: Floats, b: Floats) -> Floats:
    mixed: Floats = alpha * a + (1.0 - alpha) * b
    return mixed
