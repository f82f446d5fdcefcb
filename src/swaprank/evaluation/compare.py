"""Compare rankings with a baseline by paired tests over queries."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.data.judgements import Qrels
from swaprank.errors import DataError, did_you_mean
from swaprank.evaluation.evaluate import Evaluation, MetricResult, evaluate
from swaprank.evaluation.means import mean, mean_interval
from swaprank.evaluation.paired_tests import holm, randomization_test, t_test, wilcoxon_test
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rendering.result import Result
from swaprank.rendering.result_frames import rows_as_columns
from swaprank.rendering.text_tables import Parts, Table, decimals, probability

LEVEL = 0.05


@final
@dataclass(frozen=True)
class Difference:
    """One ranking against the baseline on one metric.

    The p-values are corrected for the number of rankings that are compared with the baseline on this metric (Holm).
    They are not corrected for the number of metrics, which are views of the same rankings: the p-value of a pair does
    not depend on what else is measured.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> row, = sr.compare(data, {"old": [0.9, 0.1], "new": [0.1, 0.9]}, "map")
    >>> row.difference, row.wins
    (0.5, 1)
    """

    metric: str
    system: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    low: float
    high: float
    """95% confidence interval of the difference."""
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
        """Whether the p-value of the randomisation test is below 5% and the interval of the difference is without 0."""
        return self.p_randomization < LEVEL and not self.low <= 0 <= self.high

    def sentence(self) -> str:
        """The result in words."""
        if np.isnan(self.p_randomization):
            return f"{self.metric}: too few queries to compare {self.system} with {self.baseline}."
        if self.wins == self.losses == 0:
            return f"{self.metric}: {self.system} and {self.baseline} are the same on every query."
        direction = "better" if self.difference > 0 else "worse"
        least, most = (self.low, self.high) if self.difference > 0 else (-self.high, -self.low)
        size = f"by {abs(self.difference):.4f} (95% interval {least:.4f} to {most:.4f})"
        p = probability(self.p_randomization)
        corrected = "corrected " if self.n_comparisons > 1 else ""
        chance = f"randomisation test, {corrected}p {p if p.startswith('<') else f'= {p}'}"
        if self.is_significant:
            return f"{self.metric}: {self.system} is {direction} than {self.baseline} {size}; {chance}."
        return (
            f"{self.metric}: {self.system} looks {direction} than {self.baseline} {size}, "
            f"but that may be luck; {chance}."
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Rankings against a baseline; prints as a table with the results in words.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> isinstance(sr.compare(data, {"old": [0.9, 0.1], "new": [0.1, 0.9]}, "map"), sr.evaluation.Comparison)
    True
    """

    differences: tuple[Difference, ...]
    evaluations: dict[str, Evaluation]

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def _parts(self) -> Parts:
        header = ["metric", "ranking", "mean", "against", "mean", "difference", "95% interval", "wins/ties/losses"]
        header += ["p t", "p Wilcoxon", "p random."]
        rows = [
            [
                row.metric,
                row.system,
                decimals(row.mean),
                row.baseline,
                decimals(row.baseline_mean),
                decimals(row.difference, signed=True),
                f"{decimals(row.low)} to {decimals(row.high)}",
                f"{row.wins:,}/{row.ties:,}/{row.losses:,}",
                probability(row.p_t),
                probability(row.p_wilcoxon),
                probability(row.p_randomization),
            ]
            for row in self.differences
        ]
        words = [row.sentence() for row in self.differences]
        words += [text for text in (self.without_relevant(), self.correction()) if text]
        return [Table(header, rows, left=2), "\n".join(words)]

    def without_relevant(self) -> str:
        """How the first metric counts the queries that every order ranks alike, in words; empty if there are none.

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
        """What the p-values are corrected for, in words; empty for one ranking on one metric.

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

    def _values(self) -> dict[str, Any]:
        return {"differences": [{**asdict(row), "sentence": row.sentence()} for row in self.differences]}

    def _columns(self) -> dict[str, list[Any]]:
        return rows_as_columns([asdict(row) for row in self.differences])

    def plot(self, ax: Any = None) -> Any:
        """Draw the difference of each ranking and metric with its 95% interval, and the wins, ties and losses.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        from swaprank.evaluation.evaluation_figures import plot_comparison

        return plot_comparison(self, ax)


def _mean_of_others(result: MetricResult) -> float:
    """The mean over the queries whose order matters."""
    n, counted = result.n_without_relevant, float(result.metric.empty)
    return float((np.sum(result.per_query) - n * counted) / (len(result.per_query) - n))


def compare(
    data: Dataset | Qrels,
    systems: Mapping[str, Any],
    metrics: str | Metric | Iterable[str | Metric],
    *,
    baseline: str | None = None,
    convention: str = "standard",
    n_resamples: int = 10_000,
    random_state: int = 0,
    n_threads: int | None = None,
) -> Comparison:
    """Compare rankings of the same documents, query by query, with a baseline.

    Args:
        data: The judged documents; or TREC judgements, if the systems are TREC runs.
        systems: Scores by name: one number per row, in row order; or TREC runs.
        metrics: One or several metrics, or their names.
        baseline: The system that the others are compared with. The default is the first one.
        convention: The tool whose definitions of metrics to use, see `metric`.
        n_resamples: The number of resamples of the randomisation test.
        random_state: The seed of the randomisation test.
        n_threads: The number of threads. The default is all cores. The result does not depend on it.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((50, 100), random_state=0)
    >>> comparison = sr.compare(test, {"first": test.column(0), "second": test.column(1)}, "ndcg@10")
    >>> print(comparison.differences[0].sentence())
    ndcg@10: second looks worse than first by 0.0194 (95% interval -0.0096 to 0.0484), but that may be luck; \
randomisation test, p = .1824.
    """
    against = check_systems(systems, baseline)
    _check_randomization(n_resamples, random_state)
    metrics = parse_metrics(metrics, convention)
    evaluations = {
        name: evaluate(data, scores, metrics, convention=convention, n_threads=n_threads)
        for name, scores in systems.items()
    }
    return compare_evaluations(evaluations, against, n_resamples, random_state)


def compare_evaluations(
    evaluations: Mapping[str, Evaluation], baseline: str, n_resamples: int = 10_000, random_state: int = 0
) -> Comparison:
    """Compare evaluations of the same queries with the same metrics.

    >>> import swaprank as sr
    >>> from swaprank.evaluation.compare import compare_evaluations
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> old, new = sr.evaluate(data, [0.9, 0.1], "map"), sr.evaluate(data, [0.1, 0.9], "map")
    >>> compare_evaluations({"old": old, "new": new}, "old").differences[0].difference
    0.5
    """
    others = {name: evaluation for name, evaluation in evaluations.items() if name != baseline}
    rows: list[Difference] = []
    for at in range(len(evaluations[baseline].results)):
        rows += _corrected(
            [
                _difference(name, baseline, evaluation, evaluations[baseline], at, n_resamples, random_state)
                for name, evaluation in others.items()
            ]
        )
    return Comparison(tuple(rows), dict(evaluations))


def check_systems(systems: Mapping[str, Any], baseline: str | None) -> str:
    """Check the systems and return the name of the baseline."""
    if not isinstance(systems, Mapping):
        raise DataError(
            f"systems must be a dict of scores by name, such as {{'old': scores, 'new': scores}}; "
            f"found {type(systems).__name__}."
        )
    for name in systems:
        if not isinstance(name, str):
            raise DataError(f"the name of a ranking must be text, found {name!r} ({type(name).__name__}).")
    if len(systems) < 2:
        raise DataError(f"a comparison needs at least two rankings, found {len(systems)}.")
    against = next(iter(systems)) if baseline is None else baseline
    if against not in systems:
        raise DataError(f"there is no ranking '{against}' to compare with; {did_you_mean(str(against), systems)}")
    return against


def _check_randomization(n_resamples: int, random_state: int) -> None:
    for name, value, least in (("n_resamples", n_resamples, 1), ("random_state", random_state, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise DataError(f"{name} must be a whole number from {least}, found {value!r}.")


def _difference(
    name: str, against: str, ours: Evaluation, theirs: Evaluation, at: int, n_resamples: int, random_state: int
) -> Difference:
    new, old = ours.results[at].per_query, theirs.results[at].per_query
    both = ~(np.isnan(new) | np.isnan(old))
    new, old = new[both], old[both]
    change = new - old
    # A difference by rounding is a tie.
    change[np.abs(change) < 1e-12] = 0.0
    low, high = mean_interval(change)
    p_t, p_wilcoxon, p_randomization = _p_values(change, n_resamples, random_state)
    return Difference(
        metric=str(ours.results[at].metric),
        system=name,
        baseline=against,
        mean=mean(new),
        baseline_mean=mean(old),
        difference=mean(change),
        low=low,
        high=high,
        wins=int((change > 0).sum()),
        ties=int((change == 0).sum()),
        losses=int((change < 0).sum()),
        p_t=p_t,
        p_wilcoxon=p_wilcoxon,
        p_randomization=p_randomization,
    )


def _p_values(change: Floats, n_resamples: int, random_state: int) -> tuple[float, float, float]:
    if len(change) < 2:
        return float("nan"), float("nan"), float("nan")
    return t_test(change), wilcoxon_test(change), randomization_test(change, int(n_resamples), int(random_state))


def _corrected(rows: list[Difference]) -> list[Difference]:
    """The differences of all rankings on one metric, with corrected p-values."""
    p_values = np.array([(row.p_t, row.p_wilcoxon, row.p_randomization) for row in rows])
    adjusted = np.column_stack([holm(column) for column in p_values.T]).tolist()
    return [
        replace(row, p_t=t, p_wilcoxon=wilcoxon, p_randomization=randomization, n_comparisons=len(rows))
        for row, (t, wilcoxon, randomization) in zip(rows, adjusted, strict=True)
    ]
