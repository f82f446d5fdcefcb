"""The optimal linear combination of two rankers for a metric."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.ensembles.ensemble_ranker import EnsembleRanker, fit_scale
from swaprank.ensembles.step_function import Optimum, StepFunction, measured_optimum, sweep
from swaprank.errors import DataError, ModelFileError, ParameterError
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.models.ensemble import Ensemble, member_scores
from swaprank.models.linear import LinearModel
from swaprank.parameters import parameter
from swaprank.rankers.learned import Capabilities, found
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.training import FitRequest, Trained
from swaprank.rendering.figures import axes_for, finish_chart, new_axes, save_figure

_LEAST_RISE = 1e-11
"""A smaller rise of the metric is rounding."""
_COLUMNS = 500
"""Horizontal resolution of the step function in a figure."""


def _finite_alpha(value: Any) -> float:
    if not np.isfinite(value):
        raise ModelFileError(f"its alpha is {value}, which is not finite.")
    return float(value)


def _two_numbers(values: Any) -> tuple[float, float]:
    first, second = (float(value) for value in values)
    return first, second


@final
class Combination(EnsembleRanker):
    """alpha times one ranker's scores plus 1 - alpha times another's [Burges2010, section 7.1].

    As alpha grows, the order of two documents changes at most once, and the metric changes only where an order changes.
    `fit` visits all these alphas. It finds the best metric of any alpha exactly, and keeps the middle of the interval
    that has it. Scores are scaled first: mean 0, and standard deviation 1 within queries.

    At alpha = 0 and 1, one ranker alone, documents may be tied, and the metric is measured with these ties. Other
    alphas at which documents are tied are skipped.

    >>> import swaprank as sr
    >>> train, vali = sr.datasets.random_net((60, 40), n_features=8, random_state=0)
    >>> mart, linear = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> both = sr.ensembles.Combination("ndcg@10", members=(mart, linear)).fit(vali)
    >>> both.value_ >= max(both.alone_), both.interval_[0] <= both.alpha_ <= both.interval_[1]
    (True, True)
    """

    kind: ClassVar[str] = "combination"
    can: ClassVar[Capabilities] = replace(EnsembleRanker.can, shows_rounds=False)
    metric: str | Metric = parameter(
        default="ndcg@10",
        kw_only=False,
        text="The metric to maximize: the name of a metric, or a metric of your own. Sums of discounted gains (NDCG, "
        "precision, …) and the pairwise metric are updated where two documents change places. Any other metric is "
        "computed anew there, which takes longer in proportion to the length of the lists.",
    )
    whole_line: bool = parameter(
        default=False,
        text="Let alpha be any number, so that one ranker's scores may be subtracted. False: from 0 to 1.",
    )
    members: Any = parameter(default=None, text="The two fitted rankers.")

    alpha_ = found(_finite_alpha)
    """The best alpha."""
    interval_ = found(_two_numbers)
    """All alphas between these are equally good; may be infinite."""
    value_ = found(float)
    """The mean of the metric on the data that was fitted."""
    alone_ = found(_two_numbers)
    """The mean of the metric of each ranker alone."""
    line_ = found(lambda values: Optimum(*(float(value) for value in values)))
    """The best alpha of the whole line, also if `whole_line` is False."""
    steps_ = found[StepFunction | None](None, default=None)
    """The metric at every alpha; None after loading from a file."""

    def _fit(self, request: FitRequest) -> Trained:
        data = request.data
        if request.valid or request.callbacks:
            raise DataError("a combination has no training rounds: it takes no valid or callbacks.")
        members = self._member_models(data)
        if len(members) > 2:
            raise ParameterError(f"a combination takes two rankers, found {len(members)}; stack takes any number.")
        scores = member_scores(members, data.features, self.n_threads)
        scale = fit_scale(scores, data)
        bound = bind_metric(self.training_metric(), data, refuse_constant=True)
        a, b = (np.array(data.by_query(self._plus_base_score(row, data))) for row in scale.apply(scores))
        steps = sweep(bound, a, b, self.n_threads)

        def measure(alpha: float) -> float:
            return bound.mean(alpha * a + (1.0 - alpha) * b, n_threads=self.n_threads)

        alone = bound.mean(a, n_threads=self.n_threads), bound.mean(b, n_threads=self.n_threads)
        line = _optimum(steps, measure, alone, -np.inf, np.inf)
        best = line if self.whole_line else _optimum(steps, measure, alone, 0.0, 1.0)
        top = LinearModel(np.array([best.alpha, 1.0 - best.alpha]), np.zeros(2, np.float32))
        found = {
            "members": self._described_members(),
            "alpha": best.alpha,
            "interval": (best.low, best.high),
            "value": best.value,
            "alone": alone,
            "line": line,
            "steps": steps,
        }
        return Trained(Ensemble(members, scale, top), {}, 0, 0, found=found)

    def _check_learned(self) -> None:
        if len(self.model_.members) != 2:
            raise ModelFileError(f"a combination has two members; found {len(self.model_.members)}.")

    @property
    def size_(self) -> str:
        """The size of the model in words."""
        a, b = (member.describe() for member in self.model_.members)
        return f"{self.alpha_:.4g} of {a} and {1 - self.alpha_:.4g} of {b}"

    def summary(self) -> str:
        """The result in words."""
        self.check_fitted()
        low, high = self.interval_
        where = "on the whole line" if self.whole_line else "from 0 to 1"
        text = (
            f"{self.metric} {self.value_:.4f} at alpha {self.alpha_:.6g}, the best {where}; the same from {low:.6g} to "
            f"{high:.6g}. Alone: {self.alone_[0]:.4f} and {self.alone_[1]:.4f}."
        )
        if not self.whole_line and self.line_.value > self.value_ + _LEAST_RISE:
            text += f" Outside of 0 to 1, at alpha {self.line_.alpha:.6g}, it would be {self.line_.value:.4f}."
        return text

    def to_dict(self) -> dict[str, Any]:
        """The best alpha and its metric, as plain Python values; an infinite end of the interval is None."""
        self.check_fitted()
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

    def plot(self, ax: Any = None) -> Any:
        """Draw the metric from alpha 0 to 1, or around the best alpha of the whole line; not for a loaded combination.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        self.check_fitted()
        if self.steps_ is None:
            raise DataError(
                "a loaded combination has no step function to draw: call combine again, and draw the result."
            )
        axes = axes_for(ax)
        half_width = max(1.0, 2 * abs(self.alpha_ - 0.5)) if self.whole_line else 0.5
        axes.plot(*_outline(*self.steps_.between(0.5 - half_width, 0.5 + half_width)), linewidth=1)
        axes.plot([0.0, 1.0], self.alone_[::-1], "s", color="C1", label="either ranker alone")
        axes.plot([self.alpha_], [self.value_], "o", color="C3", label=f"best: {self.alpha_:.4g}")
        title = "alpha times the first ranker plus 1 - alpha times the second"
        return finish_chart(axes, title, "alpha", str(self.metric))

    def draw(self, path: str | Path) -> None:
        """Draw this picture into a file (.svg, .png, .pdf)."""
        save_figure(self.plot(new_axes()), Path(path))


def _optimum(
    steps: StepFunction, measure: Callable[[float], float], alone: tuple[float, float], low: float, high: float
) -> Optimum:
    """Return the best alpha between two, or one ranker alone if that is better."""
    best = measured_optimum(steps.best(low, high), measure)
    for alpha, value in ((1.0, alone[0]), (0.0, alone[1])):
        if value > best.value + _LEAST_RISE:
            best = Optimum(alpha, value, alpha, alpha)
    return best


def _outline(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Reduce many points to the lowest and the highest value of every column of the figure."""
    if len(x) <= 2 * _COLUMNS:
        return x, y
    starts = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], _COLUMNS, endpoint=False)))
    ends = np.stack([np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)], axis=1)
    return np.repeat(x[starts], 2), ends.reshape(-1)


def combine(
    a: Ranker,
    b: Ranker,
    data: Dataset,
    metric: str | Metric = "ndcg@10",
    *,
    whole_line: bool = False,
    n_threads: int | None = None,
) -> Combination:
    """Find the alpha for which alpha a + (1 - alpha) b has the best metric on this data.

    Use data that neither ranker was trained on: otherwise the one that overfits gets too much weight.

    Args:
        a: A fitted ranker.
        b: Another fitted ranker.
        data: The labeled data on which alpha is found.
        metric: The metric to maximize.
        whole_line: Let alpha be any number. False: from 0 to 1.
        n_threads: Number of threads. If None, all cores.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 40, 40), n_features=8, random_state=0)
    >>> mart, linear = sr.MART(n_trees=10).fit(train), sr.LinearRegressionRanker(regularization=0.1).fit(train)
    >>> both = sr.combine(mart, linear, vali, "ndcg@10")
    >>> both.score(vali) == both.value_ >= max(mart.score(vali), linear.score(vali))
    True
    >>> both.predict(test).shape
    (2000,)
    """
    return Combination(metric, whole_line=whole_line, members=(a, b), n_threads=n_threads).fit(data)
