"""Compare policies that were never used, from the same log with propensities."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.clicks.evaluation.supported_results import SupportedDifference
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.policies.policy_evaluation import PolicyEstimate, estimates
from swaprank.clicks.policies.policy_values import PolicyEstimator, PolicyValue
from swaprank.evaluation.differences import DifferenceTable, check_systems, corrected
from swaprank.evaluation.significance import mean_interval, t_test


@final
@dataclass(frozen=True)
class PolicyDifference(SupportedDifference):
    """One policy against the baseline on one metric.

    The p-values are corrected for the number of policies that are compared with the baseline on this metric (Holm).

    >>> import swaprank as sr
    >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
    >>> log = sr.clicks.ClickLog(click=[1, 1, 1, 0], propensity=[0.5] * 4, **shown)
    >>> (row,) = sr.clicks.compare_policies(log, {"old": [2.0, 1.0], "new": [1.0, 2.0]}, "clicks")
    >>> row.difference, row.is_significant
    (-1.0, False)
    """

    n_effective: float
    """The smaller effective number of clicks of both policies."""

    def _more_cells(self) -> dict[str, str]:
        return {**super()._more_cells(), "effective clicks": f"{self.n_effective:,.0f}"}


@final
@dataclass(frozen=True, eq=False, repr=False)
class PolicyComparison(DifferenceTable[PolicyDifference]):
    """Policies against a baseline; prints as a table with the results in words.

    >>> import swaprank as sr
    >>> shown = {"session": [1, 1, 2, 2], "qid": [7] * 4, "docid": ["a", "b", "b", "a"], "position": [1, 2, 1, 2]}
    >>> log = sr.clicks.ClickLog(click=[1, 0, 1, 0], propensity=[0.5] * 4, **shown)
    >>> comparison = sr.clicks.compare_policies(log, {"old": [2.0, 1.0], "new": [1.0, 2.0]})
    >>> isinstance(comparison, sr.clicks.PolicyComparison), len(comparison.differences)
    (True, 2)
    """

    def _notes(self) -> list[str]:
        return []


def compare_policies(
    log: ClickLog,
    policies: Mapping[str, Any],
    metrics: str | Iterable[str] = ("clicks", "ctr"),
    *,
    baseline: str | None = None,
    estimator: PolicyEstimator = "self_normalized",
    clip: float = 0.0,
) -> PolicyComparison:
    """Compare policies with a baseline, paired by session: more precise than two intervals.

    Args:
        log: The clicks, with propensity.
        policies: Policies by name, or fitted rankers or scores. `Policy.logged(log)` is the one that was used.
        metrics: "clicks", "ctr", or both; as for `evaluate_policy`.
        baseline: The policy that the others are compared with. The default is the first one.
        estimator: As for `evaluate_policy`.
        clip: As for `evaluate_policy`.

    >>> import numpy as np, swaprank as sr
    >>> rng = np.random.default_rng(0)
    >>> document = np.argsort(rng.random((2000, 3)), axis=1)  # three documents in a random order
    >>> click = rng.random((2000, 3)) < np.array([0.2, 0.4, 0.6])[document] * [1.0, 0.5, 0.2]
    >>> log = sr.clicks.ClickLog(
    ...     session=np.repeat(np.arange(2000), 3), qid=np.full(6000, 7), docid=document.ravel(),
    ...     position=np.tile([1, 2, 3], 2000), click=click.ravel(), propensity=np.full(6000, 1 / 3),
    ... )
    >>> policies = {"random": sr.clicks.Policy.logged(log), "best": log.pair_docid}
    >>> print(sr.clicks.compare_policies(log, policies, "clicks").differences[0].sentence())
    clicks: best is better than random by 0.1588 (95% interval 0.1169 to 0.2007); p < .0001.
    """
    against = check_systems(policies, baseline)
    found = {name: estimates(log, policy, metrics, estimator, clip) for name, policy in policies.items()}
    rows: list[PolicyDifference] = []
    for at in range(len(found[against])):
        differences = [
            _difference(name, against, found[name][at], found[against][at]) for name in policies if name != against
        ]
        rows += corrected(differences, "p")
    return PolicyComparison(tuple(rows))


def _difference(
    name: str, against: str, new: tuple[PolicyEstimate, PolicyValue], old: tuple[PolicyEstimate, PolicyValue]
) -> PolicyDifference:
    difference = new[0].mean - old[0].mean
    influence = new[1].influence - old[1].influence
    change = difference + influence - influence.mean()
    low, high = mean_interval(change)
    most = max(new[0].most, old[0].most)
    doubts = [f"{each}: {doubt}" for each, row in ((name, new[0]), (against, old[0])) for doubt in row.doubts()]
    return PolicyDifference(
        new[0].metric,
        name,
        against,
        new[0].mean,
        old[0].mean,
        difference,
        float(np.maximum(low, -most)),
        float(np.minimum(high, most)),
        t_test(change) if len(change) > 1 and not doubts else float("nan"),
        tuple(doubts),
        min(new[0].n_effective, old[0].n_effective),
    )
