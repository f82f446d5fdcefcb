"""Evaluate a policy that was never used, from a log whose policy was random and whose propensities were logged."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast, final, get_args

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.evaluation.supported_results import EstimateTable
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.policies.policy import Policy
from swaprank.clicks.policies.policy_values import PolicyEstimator, PolicyMetric, PolicyValue, policy_values
from swaprank.clicks.policies.policy_weights import WeightedRows, weigh_rows
from swaprank.parameters import check_word
from swaprank.rendering.tables import Blocks, Table, decimals

_FEWEST_CLICKS = 100
"""The least effective number: with fewer, a few large weights decide, and intervals are too short."""
_WEIGHT_MARGIN = 0.05
_MOST_CLIPPED = 0.05
_UNREACHED: dict[str, str] = {
    "ips": "they count as not clicked",
    "self_normalized": "they count as if they were clicked like the rest",
    "doubly_robust": "the reward model guesses their clicks",
}


@final
@dataclass(frozen=True)
class PolicyEstimate:
    """One metric of one policy, as estimated from a log with propensities.

    >>> import swaprank as sr
    >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
    >>> log = sr.clicks.ClickLog(click=[1, 0, 0, 1], propensity=[0.5] * 4, **shown)
    >>> estimate = sr.clicks.evaluate_policy(log, [2.0, 1.0], estimator="ips")["clicks"]
    >>> estimate.mean  # a above b was shown in one session of two, and has a weight of 2
    1.0
    """

    metric: str
    mean: float
    low: float
    high: float
    """95% confidence interval."""
    most: float
    """The largest value that the metric can have: the documents that the policy shows in a session, or 1."""
    estimator: PolicyEstimator
    n_sessions: int
    n_effective: float
    """The number of clicks, or of rows if these are fewer, that would tell as much if all weighed the same."""
    largest_weight: float
    """How much likelier the policy shows something than the logged one did, at most."""
    clipped: float
    """The share of the weights with a propensity below the clip."""
    mean_weight: float
    """About 1, if the propensities are right and the logged policy could show all that this one shows."""
    mean_weight_error: float
    """The standard error of the mean weight."""
    coverage: float
    """The share of the policy's placements that the log has shown at least once; NaN for contextual policies."""

    @property
    def is_supported(self) -> bool:
        """True if the log can answer: enough clicks, and propensities that fit to what was shown."""
        return not self.doubts()

    def doubts(self) -> list[str]:
        """Sentences that speak against the estimate; empty if nothing does."""
        doubts = []
        if self.n_effective < _FEWEST_CLICKS:
            doubts.append(
                f"The log does not support an answer: its clicks on what this policy shows tell as much as "
                f"{self.n_effective:,.0f} clicks of equal weight, and {_FEWEST_CLICKS} are needed."
            )
        if self.estimator == "direct":
            return doubts
        margin = 3 * self.mean_weight_error + _WEIGHT_MARGIN
        if self.mean_weight < 1 - margin:
            doubts.append(
                f"The weights have a mean of {self.mean_weight:.2f} and should have 1: the logged policy could not "
                f"show {1 - self.mean_weight:.0%} of what this one shows, and {_UNREACHED[self.estimator]}; or the "
                "logged propensities are too large."
            )
        if self.mean_weight > 1 + margin:
            doubts.append(
                f"The weights have a mean of {self.mean_weight:.2f} and should have 1: the logged propensities are too "
                "small. They must be the probability of this document at this place."
            )
        if self.clipped > _MOST_CLIPPED:
            doubts.append(f"{self.clipped:.0%} of the weights are clipped, so that the estimate is biased.")
        return doubts

    def sentence(self) -> str:
        """The result in words."""
        interval = f"95% interval {decimals(self.low)} to {decimals(self.high)}"
        return " ".join([f"{_NAMES[self.metric]} would be {decimals(self.mean)} ({interval}).", *self.doubts()])


_NAMES = {"clicks": "Clicks per session", "ctr": "The click rate"}


@final
@dataclass(frozen=True, eq=False, repr=False)
class PolicyEvaluation(EstimateTable[PolicyEstimate]):
    """The estimated metrics of a policy; prints as a table with doubts in words.

    >>> import swaprank as sr
    >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
    >>> log = sr.clicks.ClickLog(click=[1, 0, 0, 1], propensity=[0.5] * 4, **shown)
    >>> evaluation = sr.clicks.evaluate_policy(log, [2.0, 1.0])
    >>> isinstance(evaluation, sr.clicks.PolicyEvaluation), evaluation["ctr"].mean
    (True, 0.5)
    """

    def _name_of(self, metric: str) -> str:
        return metric

    def _blocks(self) -> Blocks:
        header = ["metric", "estimate", "95% interval", "sessions", "effective clicks", "largest weight", "mean weight"]
        rows = [
            [
                row.metric,
                decimals(row.mean),
                f"{decimals(row.low)} to {decimals(row.high)}",
                f"{row.n_sessions:,}",
                f"{row.n_effective:,.0f}",
                f"{row.largest_weight:,.1f}",
                f"{row.mean_weight:.3f}",
                "-" if np.isnan(row.coverage) else f"{row.coverage:.1%}",
            ]
            for row in self.results
        ]
        notes = list(dict.fromkeys(doubt for row in self.results for doubt in row.doubts()))
        if self.results[0].estimator == "direct":
            notes.append("The interval has no part for errors of the reward model, which does not use propensities.")
        return [Table([*header, "coverage"], rows), *(["\n".join(notes)] if notes else [])]


def evaluate_policy(
    log: ClickLog,
    policy: Any,
    metrics: str | Iterable[str] = ("clicks", "ctr"),
    *,
    estimator: PolicyEstimator = "self_normalized",
    clip: float = 0.0,
) -> PolicyEvaluation:
    """Estimate the clicks that a policy would get, from a log of another one with its propensities.

    Nothing is assumed about examination: a click counts with the weight of its row, the probability that the policy
    shows this document at this place, divided by the logged one [Li2018]. What else is on the page must not matter for
    the click. Sessions keep the places that they have; the policy fills them.

    Args:
        log: The clicks, with propensity.
        policy: A `Policy`; or a fitted ranker or scores, as for `Policy.ranking`.
        metrics: "clicks" per session, "ctr" (clicks per shown document), or both.
        estimator: "ips": the mean of weighted clicks; right on average, and noisy. "self_normalized": divided by the
            weights at the same place; nearly right on average, and less noisy. "doubly_robust": a reward model is
            fitted on other sessions, and weighted clicks correct it; right on average, and often the least noisy
            [Dudik2011]. "direct": the reward model alone, whose errors nothing corrects.
        clip: Divide by a propensity of at least this. This trades less noise for bias.

    >>> import numpy as np, swaprank as sr
    >>> rng = np.random.default_rng(0)
    >>> document = np.argsort(rng.random((2000, 3)), axis=1)  # three documents in a random order
    >>> click = rng.random((2000, 3)) < np.array([0.2, 0.4, 0.6])[document] * [1.0, 0.5, 0.2]
    >>> log = sr.clicks.ClickLog(
    ...     session=np.repeat(np.arange(2000), 3), qid=np.full(6000, 7), docid=document.ravel(),
    ...     position=np.tile([1, 2, 3], 2000), click=click.ravel(), propensity=np.full(6000, 1 / 3),
    ... )
    >>> print(sr.clicks.evaluate_policy(log, log.pair_docid))  # truth: .6 + .4 / 2 + .2 / 5 = .84, and a third of it
    metric  estimate      95% interval  sessions  effective clicks  largest weight  mean weight  coverage
    ------  --------  ----------------  --------  ----------------  --------------  -----------  --------
    clicks    0.8433  0.7932 to 0.8953     2,000               554             3.0        0.991    100.0%
    ctr       0.2811  0.2644 to 0.2984     2,000               554             3.0        0.991    100.0%
    """
    return PolicyEvaluation(tuple(row for row, _ in estimates(log, policy, metrics, estimator, clip)))


def estimates(
    log: ClickLog, policy: Any, metrics: str | Iterable[str], estimator: PolicyEstimator, clip: float
) -> list[tuple[PolicyEstimate, PolicyValue]]:
    """The estimates of the metrics, and their influences; the arguments are those of `evaluate_policy`."""
    chosen = [metrics] if isinstance(metrics, str) else list(metrics)
    for metric in chosen:
        check_word("metric of policies", metric, get_args(PolicyMetric))
    check_word("estimator", estimator, get_args(PolicyEstimator))
    target = policy if isinstance(policy, Policy) else Policy.ranking(log, policy)
    rows = weigh_rows(log, target, clip)
    found = policy_values(log, target, rows, estimator)
    values = [found[cast(PolicyMetric, metric)] for metric in chosen]
    return [(_estimate(log, rows, *each, estimator), each[1]) for each in zip(chosen, values, strict=True)]


def _estimate(
    log: ClickLog, rows: WeightedRows, metric: str, value: PolicyValue, estimator: PolicyEstimator
) -> PolicyEstimate:
    most = float(rows.filled.sum() / log.n_sessions) if metric == "clicks" else 1.0
    low, high = bounded_interval(value, most)
    return PolicyEstimate(
        metric=metric,
        mean=min(max(value.mean, 0.0), most),
        low=low,
        high=high,
        most=most,
        estimator=estimator,
        n_sessions=log.n_sessions,
        # One row may have most of the weight without a click; then few rows decide, however many clicks there are.
        n_effective=min(_n_equal(rows.weight * log.click), _n_equal(rows.weight)),
        largest_weight=rows.largest,
        clipped=rows.clipped,
        mean_weight=rows.mean_weight,
        mean_weight_error=rows.mean_weight_error,
        coverage=rows.coverage,
    )


def _n_equal(weights: Floats) -> float:
    """The number of equal weights with the same variance of their mean."""
    return float(weights.sum()) ** 2 / max(float(np.sum(weights**2)), 1e-300)


def bounded_interval(value: PolicyValue, most: float) -> tuple[float, float]:
    """The 95% interval of a number from 0 to `most`: Student's t for its log-odds, which stays within these bounds.

    Without any variation, as without any click, it is everything from 0 to `most`.

    >>> import numpy as np
    >>> from swaprank.clicks.policies.policy_evaluation import bounded_interval
    >>> from swaprank.clicks.policies.policy_values import PolicyValue
    >>> [round(end, 3) for end in bounded_interval(PolicyValue(0.01, np.repeat([-0.01, 0.99], [990, 10])), 1.0)]
    [0.005, 0.019]
    """
    from scipy.special import stdtrit

    n = len(value.influence)
    error = float(value.influence.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    share = value.mean / most
    if error == 0:
        return 0.0, most
    half = float(stdtrit(n - 1, 0.975)) * error
    if not 0 < share < 1:
        return min(max(value.mean - half, 0.0), most), min(max(value.mean + half, 0.0), most)
    odds, spread = share / (1 - share), np.exp(min(half / most / (share * (1 - share)), 700.0))
    return float(most * odds / (odds + spread)), float(most * odds / (odds + 1 / spread))
