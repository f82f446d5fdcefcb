"""Differences of evaluations of the same queries to a baseline, with paired tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from swaprank.evaluation.differences import BaselineDifference, DifferenceTable, corrected
from swaprank.evaluation.randomization import Randomization, randomize
from swaprank.evaluation.results import Evaluation, MetricResult
from swaprank.evaluation.significance import LEVEL, holm_factors, mean, p_in_words, t_test, wilcoxon_test
from swaprank.metrics.metric import Metric
from swaprank.rendering.figures import axes_for, chart_height, draw_interval, name_rows, shortened, write_right
from swaprank.rendering.tables import decimals, probability

_BETTER, _WORSE, _UNSURE = "C0", "C1", "0.5"


@final
@dataclass(frozen=True)
class Difference(BaselineDifference):
    """One ranking against the baseline on one metric.

    The p-values are corrected for the number of rankings that are compared with the baseline on this metric (Holm).
    They are not corrected for the number of metrics, which are views of the same rankings: the p-value of a pair does
    not depend on what else is measured.

    The interval contains all true differences that the randomization test would not reject, with the same correction.
    It excludes 0 if and only if `p_randomization` is below 5%.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> row, = sr.compare(data, {"old": [0.9, 0.1], "new": [0.1, 0.9]}, "map")
    >>> row.difference, row.wins
    (0.5, 1)
    """

    wins: int
    ties: int
    losses: int
    p_t: float
    p_wilcoxon: float
    p_randomization: float
    n_comparisons: int = 1
    """The number of rankings that are compared with the baseline on this metric: p-values are corrected for it."""

    @property
    def is_significant(self) -> bool:
        """True if the p-value of the randomization test is below 5%: then, and only then, the interval excludes 0."""
        return self.p_randomization < LEVEL

    def sentence(self) -> str:
        """The result in words."""
        if np.isnan(self.p_randomization):
            return f"{self.metric}: too few queries to compare {self.system} with {self.baseline}."
        if self.wins == self.losses == 0:
            return f"{self.metric}: {self.system} and {self.baseline} are the same on every query."
        correction = "corrected " if self.n_comparisons > 1 else ""
        return self._size_in_words(f"randomization test, {correction}{p_in_words(self.p_randomization)}")

    def _more_cells(self) -> dict[str, str]:
        return {
            "wins/ties/losses": f"{self.wins:,}/{self.ties:,}/{self.losses:,}",
            "p t": probability(self.p_t),
            "p Wilcoxon": probability(self.p_wilcoxon),
            "p random.": probability(self.p_randomization),
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(DifferenceTable[Difference]):
    """Rankings against a baseline; prints as a table with the results in words.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> isinstance(sr.compare(data, {"old": [0.9, 0.1], "new": [0.1, 0.9]}, "map"), sr.evaluation.Comparison)
    True
    """

    evaluations: dict[str, Evaluation]

    def _notes(self) -> list[str]:
        return [text for text in (self.without_relevant(), self.correction()) if text]

    def without_relevant(self) -> str:
        """A sentence about the queries that every order ranks alike, for the first metric; empty if there are none.

        >>> import swaprank as sr
        >>> data = sr.Dataset([[1], [2], [3], [4]], [0, 1, 0, 0], qid=[1, 1, 2, 2])
        >>> sr.compare(data, {"old": [2, 1, 2, 1], "new": [1, 2, 1, 2]}, "map").without_relevant()
        '1 of 2 queries is without a relevant document: map counts it as 0 for every ranking. Over the others, the \
mean is 1.0000 for new and 0.5000 for old.'
        """
        difference = self.differences[0]
        names = (difference.system, difference.baseline)
        result = self.evaluations[difference.system].results[0]
        metric, n, n_queries = result.metric, result.n_without_relevant, len(result.per_query)
        if not n:
            return ""
        are, it, them = ("is", "it", "it") if n == 1 else ("are", "they", "them")
        words = f"{n:,} of {n_queries:,} queries {are} without {metric.needs}:"
        if metric.empty == "skip":
            return f"{words} {it} {are} left out."
        words = f"{words} {metric} counts {them} as {metric.empty} for every ranking."
        if n == n_queries:
            return words
        means = [_mean_of_others(self.evaluations[name].results[0]) for name in names]
        shown = " and ".join(f"{decimals(mean)} for {name}" for mean, name in zip(means, names, strict=True))
        return f"{words} Over the others, the mean is {shown}."

    def correction(self) -> str:
        """A sentence about the correction of the p-values; empty for one ranking on one metric.

        >>> import swaprank as sr
        >>> (data,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
        >>> sr.compare(data, {name: data.column(int(name)) for name in "012"}, ["ndcg", "map"]).correction()
        'p-values are corrected for 2 comparisons on each metric (Holm), but not for the number of metrics.'
        """
        n_comparisons = self.differences[0].n_comparisons
        several_metrics = len(self.differences) > n_comparisons
        if n_comparisons == 1:
            return "p-values are not corrected for the number of metrics." if several_metrics else ""
        on_each, but = (" on each metric", ", but not for the number of metrics") if several_metrics else ("", "")
        return f"p-values are corrected for {n_comparisons:,} comparisons{on_each} (Holm){but}."

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference of each ranking and metric with its 95% interval, and the wins, ties and losses.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        rows = self.differences
        one_metric, one_system = (len({getattr(row, name) for row in rows}) == 1 for name in ("metric", "system"))
        names = [
            row.system if one_metric else row.metric if one_system else f"{row.system}, {row.metric}" for row in rows
        ]
        axes = draw_differences(ax, names, rows)
        if one_system and not one_metric:
            axes.set_title(shortened(rows[0].system), loc="left", fontsize="medium")
        return axes


def draw_differences(ax: Any, names: Sequence[str], rows: Sequence[Difference]) -> Any:
    """Draw named differences with their 95% intervals, and the wins, ties and losses."""
    axes = axes_for(ax, 7.0, chart_height(len(rows), 0.4))
    places = name_rows(axes, names)
    axes.axvline(0.0, color="0.5", linewidth=1)
    for place, row in zip(places, rows, strict=True):
        draw_interval(axes, place, row.difference, (row.low, row.high), _color(row))
    write_right(axes, places, (f"{row.wins:,} / {row.ties:,} / {row.losses:,}" for row in rows))
    one_metric = len({row.metric for row in rows}) == 1
    what = f"{shortened(rows[0].metric)}: difference" if one_metric else "difference"
    luck = "" if all(row.is_significant for row in rows) else "; gray: may be luck"
    label = f"{what} to {shortened(rows[0].baseline)}, with 95% interval{luck}"
    axes.set(xlabel=label, ylim=(-0.6, len(rows) - 0.4))
    axes.set_title("wins / ties / losses", loc="right", fontsize="medium")
    return axes


def _color(row: Difference) -> str:
    if not row.is_significant:
        return _UNSURE
    return _BETTER if row.difference > 0 else _WORSE


def _mean_of_others(result: MetricResult) -> float:
    """The mean over the queries whose order matters."""
    n, counted = result.n_without_relevant, float(result.metric.empty)
    return float((np.sum(result.per_query) - n * counted) / (len(result.per_query) - n))


def compare_evaluations(
    evaluations: Mapping[str, Evaluation], baseline: str, n_resamples: int = 10_000, random_state: int = 0
) -> Comparison:
    """Compare evaluations of the same queries with the same metrics.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.comparison import compare_evaluations
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> old, new = sr.evaluate(data, [0.9, 0.1], "map"), sr.evaluate(data, [0.1, 0.9], "map")
    >>> compare_evaluations({"old": old, "new": new}, "old").differences[0].difference
    0.5
    """
    others = {name: evaluation for name, evaluation in evaluations.items() if name != baseline}
    rows: list[Difference] = []
    for at, theirs in enumerate(evaluations[baseline].results):
        pairs = [(name, baseline, evaluation.results[at], theirs) for name, evaluation in others.items()]
        rows += paired_rows(pairs, n_resamples, random_state, count_untested=True)
    return Comparison(tuple(rows), dict(evaluations))


def paired_rows(
    pairs: Sequence[tuple[str, str, MetricResult, MetricResult]],
    n_resamples: int,
    random_state: int,
    *,
    count_untested: bool = False,
) -> list[Difference]:
    """The differences of rankings to baselines on one metric, given by names and results, corrected together (Holm).

    Pairs with too few queries for a test count as comparisons only on request.
    """
    tested = [_tested(*pair, int(n_resamples), int(random_state)) for pair in pairs]
    counted = [at for at, (_, test) in enumerate(tested) if count_untested or test is not None]
    found = [replace(row, n_comparisons=len(counted)) for row, _ in tested]
    if counted:
        rows = corrected([found[at] for at in counted], "p_t", "p_wilcoxon", "p_randomization")
        rows = _with_intervals(rows, [tested[at][1] for at in counted], pairs[0][2].metric)
        for at, row in zip(counted, rows, strict=True):
            found[at] = row
    return found


def _tested(
    name: str,
    against: str,
    ours: MetricResult,
    theirs: MetricResult,
    n_resamples: int,
    random_state: int,
) -> tuple[Difference, Randomization | None]:
    """The difference on one metric, with p-values that are not corrected and without an interval, and its test."""
    both = ~(np.isnan(ours.per_query) | np.isnan(theirs.per_query))
    new, old = ours.per_query[both], theirs.per_query[both]
    change = new - old
    # A difference by rounding is a tie.
    change[np.abs(change) < 1e-12] = 0.0
    nan = float("nan")
    largest = ours.metric.bounds[1] - ours.metric.bounds[0]
    test = randomize(change, n_resamples, random_state, largest) if len(change) > 1 else None
    row = Difference(
        metric=str(ours.metric),
        system=name,
        baseline=against,
        mean=mean(new),
        baseline_mean=mean(old),
        difference=mean(change),
        low=nan,
        high=nan,
        wins=int((change > 0).sum()),
        ties=int((change == 0).sum()),
        losses=int((change < 0).sum()),
        p_t=nan if test is None else t_test(change),
        p_wilcoxon=nan if test is None else wilcoxon_test(change),
        p_randomization=nan if test is None else test.p_value,
    )
    return row, test


def _with_intervals(rows: list[Difference], tests: list[Randomization | None], metric: Metric) -> list[Difference]:
    """The rows with the intervals of the randomization test, at the level at which their p-values are corrected."""
    width = metric.bounds[1] - metric.bounds[0]
    factors = holm_factors(np.array([float("nan") if test is None else test.p_value for test in tests]))
    found = []
    for row, test, factor in zip(rows, tests, factors, strict=True):
        if test is not None:
            low, high = test.interval(LEVEL, factor, (-width, width))
            # Means of subsets can differ from the mean by rounding.
            row = replace(row, low=min(low, row.difference), high=max(high, row.difference))
        found.append(row)
    return found
