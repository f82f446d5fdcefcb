"""A/B tests: sessions that saw one ranking or another at random, and whether their clicks differ.

A unit is what the coin was thrown for: a session, or a user with several sessions. The mean of a variant is the sum of
its sessions' values, divided by their number. Its variance is that of units (the delta method for a ratio):

    mean R = sum of values / sum of sessions,    influence of a unit = (its values - R its sessions) / sessions per unit
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.clicks.experiments.ab_groups import p_of_shares, units_of, variants_of
from swaprank.clicks.experiments.sequential import FIRST_LOOK, anytime_p, half_width
from swaprank.clicks.experiments.session_metrics import SESSION_METRICS, is_session_metric, session_metric
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, ParameterError, did_you_mean
from swaprank.evaluation.differences import BaselineDifference, DifferenceTable, corrected
from swaprank.evaluation.significance import LEVEL, p_in_words
from swaprank.parameters import Bounds, check_parameter
from swaprank.rendering.tables import probability

_MISMATCH = 0.001
"""Shares of the variants with a smaller p-value are a mistake of the experiment, not luck."""


class _Variant(NamedTuple):
    """A variant's mean of one metric."""

    mean: float
    variance: float
    """Of the mean, by units."""
    of_sessions: float
    """The variance that the mean would have if sessions were independent."""
    n_units: int
    n_sessions: int


@final
@dataclass(frozen=True)
class ABDifference(BaselineDifference):
    """One variant against the baseline on one metric of sessions.

    >>> import numpy as np, swaprank as sr
    >>> one = np.ones(4)
    >>> log = sr.clicks.ClickLog(session=np.arange(4), qid=one, docid=one, position=one, click=[0, 1, 1, 1])
    >>> (row,) = sr.clicks.ab_test(log, ["A", "A", "B", "B"], "clicked")
    >>> row.baseline, row.system, row.difference, row.relative
    ('A', 'B', 0.5, 1.0)
    """

    relative: float
    """The difference divided by the mean of the baseline."""
    p: float
    """Two-sided, corrected for the number of variants (Holm): Welch's t-test, or the sequential one."""
    deviation: float
    """The standard deviation of one session, for `ab_sessions`; if users are the units, larger by what they share."""

    @property
    def is_significant(self) -> bool:
        """True if the p-value is below 5%."""
        return self.p < LEVEL

    def sentence(self) -> str:
        """The result in words."""
        if self.low != self.low:
            return f"{self.metric}: there are too few sessions to tell."
        if self.difference == 0:
            return f"{self.metric}: {self.system} and {self.baseline} do not differ."
        direction = "higher" if self.difference > 0 else "lower"
        least, most = (self.low, self.high) if self.difference > 0 else (-self.high, -self.low)
        size = f"by {abs(self.difference):.4f} ({self.relative:+.1%}; 95% interval {least:.4f} to {most:.4f})"
        if self.is_significant:
            return f"{self.metric}: {self.system} is {direction} than {self.baseline} {size}; {p_in_words(self.p)}."
        return (
            f"{self.metric}: {self.system} looks {direction} than {self.baseline} {size}, but that may be luck; "
            f"{p_in_words(self.p)}."
        )

    def _more_cells(self) -> dict[str, str]:
        return {
            "relative": "-" if self.relative != self.relative else f"{self.relative:+.1%}",
            "p": probability(self.p),
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class ABTest(DifferenceTable[ABDifference]):
    """Variants against a baseline, from the clicks of their sessions; prints as a table with the results in words.

    >>> import numpy as np, swaprank as sr
    >>> one = np.ones(4)
    >>> log = sr.clicks.ClickLog(session=np.arange(4), qid=one, docid=one, position=one, click=[0, 1, 1, 1])
    >>> test = sr.clicks.ab_test(log, ["A", "A", "B", "B"])
    >>> test.n_units, test.p_shares
    ({'A': 2, 'B': 2}, 1.0)
    """

    n_units: dict[str, int]
    """Units of each variant."""
    n_sessions: dict[str, int]
    p_shares: float
    """The p-value of the chi-square test that the variants have as many units as planned."""
    unit: str
    """What was assigned to variants: "session", or the name of a column."""
    planned: int | None
    """The number of sessions that a sequential test is tightest at; None for a test that is looked at once."""

    def _notes(self) -> list[str]:
        sizes = ", ".join(f"{name} {n:,}" for name, n in self.n_units.items())
        notes = [f"Units ({self.unit}): {sizes}; shares of the variants, {p_in_words(self.p_shares)}."]
        if self.p_shares < _MISMATCH:
            notes = [
                f"The variants do not have the shares of units ({self.unit}) that were planned: {sizes}; "
                f"{p_in_words(self.p_shares)}. Something loses or repeats them: find it before you trust a difference."
            ]
        if self.planned is not None:
            return [
                *notes,
                "Intervals and p-values are right at any time: look as often as you like, and stop when you like.",
            ]
        return [*notes, "Intervals and p-values are right for one look, at a number of sessions that was fixed before."]

    def _values(self) -> dict[str, Any]:
        own = {name: value for name, value in asdict(self).items() if name != "differences"}
        return {**super()._values(), **own}


def ab_test(
    log: ClickLog,
    variant: str | Sequence[Any] | AnyArray = "variant",
    metrics: str | Sequence[str] = SESSION_METRICS,
    *,
    unit: str | Sequence[Any] | AnyArray | None = None,
    baseline: Any = None,
    shares: Sequence[float] | None = None,
    sequential: bool = False,
    planned: int = 10_000,
) -> ABTest:
    """Analyse an A/B test: sessions saw one of two or more rankings at random.

    Args:
        log: The clicks of all variants.
        variant: The variant of each session: a column of the log's context, or one value per session.
        metrics: Numbers of a session. "clicked": is there a click. "abandoned": is there none. "clicks": how many;
            "clicks@3": at the first three positions. "reciprocal_rank": 1 / position of the first click, 0 without.
            Or the names of columns of numbers in the log's context, such as revenue.
        unit: What was assigned to a variant, if it was not the session: a column of the context, such as "user", or one
            value per session. Sessions of a user are alike, so that an interval that takes them for independent is
            too short.
        baseline: The variant that the others are compared with. The default is the first in order, such as A.
        shares: The planned shares of the variants, in their order; the default is equal shares.
        sequential: False: intervals and p-values for one look, at a number of sessions that was fixed before. True:
            right at any time, so that you may look every day and stop when p is below 5%; they are 1.5 times as wide.
        planned: For sequential: the number of sessions, of two variants together, that intervals are tightest at.
            Choose it before the experiment, and keep it.

    >>> import numpy as np, swaprank as sr
    >>> rng = np.random.default_rng(0)
    >>> variant = rng.integers(2, size=4000)
    >>> click = rng.random(4000) < np.where(variant == 1, 0.36, 0.3)
    >>> one = np.ones(4000, int)  # pages with one document
    >>> log = sr.clicks.ClickLog(session=np.arange(4000), qid=one, docid=one, position=one, click=click)
    >>> test = sr.clicks.ab_test(log, np.array(["old", "new"])[variant], "clicked", baseline="old")
    >>> print(test.differences[0].sentence())
    clicked: new is higher than old by 0.0760 (+26.1%; 95% interval 0.0469 to 0.1050); p < .0001.
    """
    names, of_session = variants_of(log, variant)
    against = names[0] if baseline is None else str(baseline)
    if against not in names:
        raise DataError(f"there is no variant '{against}'; {did_you_mean(against, names)}")
    if sequential:
        check_parameter("planned", planned, Bounds(True, 1, 2**62))
    units, of_unit = units_of(log, unit, of_session, names)
    rows: list[ABDifference] = []
    for metric in [metrics] if isinstance(metrics, str) else metrics:
        values = _values_of(log, metric)
        means = dict(zip(names, _means(values, units, of_unit, len(names)), strict=True))
        differences = [
            _difference(metric, name, against, mean, means[against], planned if sequential else None)
            for name, mean in means.items()
            if name != against
        ]
        rows += corrected(differences, "p")
    sizes = np.bincount(of_unit, minlength=len(names))
    return ABTest(
        tuple(rows),
        n_units=dict(zip(names, sizes.tolist(), strict=True)),
        n_sessions=dict(zip(names, np.bincount(of_session, minlength=len(names)).tolist(), strict=True)),
        p_shares=p_of_shares(sizes, shares),
        unit="session" if unit is None else unit if isinstance(unit, str) else "unit",
        planned=planned if sequential else None,
    )


def _values_of(log: ClickLog, metric: str) -> Floats:
    if metric in log.context:
        if is_session_metric(metric):
            raise ParameterError(
                f"'{metric}' is a metric of clicks and a column of the log's context: rename the column, such as "
                f"'{metric}_logged'."
            )
        return number_column(metric, log.context[metric], log.n_sessions)
    return session_metric(log, metric)


def _means(values: Floats, units: Ints, of_unit: Ints, n_variants: int) -> list[_Variant]:
    """The mean of each variant over its sessions, with the deviation of its units."""
    n, of_session = len(of_unit), of_unit[units]
    totals, sessions = np.bincount(units, values, minlength=n), np.bincount(units, minlength=n).astype(np.float64)
    means = []
    for variant in range(n_variants):
        total, size = totals[of_unit == variant], sessions[of_unit == variant]
        mean = float(total.sum() / size.sum())
        influence = (total - mean * size) / size.mean()
        own = values[of_session == variant]
        means.append(_Variant(mean, _of_mean(influence), _of_mean(own), len(size), len(own)))
    return means


def _of_mean(values: Floats) -> float:
    """The variance of the mean."""
    return float(values.var(ddof=1) / len(values)) if len(values) > 1 else float("nan")


def _difference(
    metric: str, name: str, against: str, new: _Variant, old: _Variant, planned: int | None
) -> ABDifference:
    difference = new.mean - old.mean
    variance = new.variance + old.variance
    error = math.sqrt(variance)
    # With less than two units, or no spread at all, there is nothing to tell luck by.
    width, p = float("nan"), 1.0 if difference == 0 else float("nan")
    if error > 0 and planned is None:
        width, p = _welch(difference / error, new, old)
    elif error > 0 and min(new.n_units, old.n_units) >= FIRST_LOOK:
        # The information that was collected, as a number of independent sessions: time of a sequential test.
        n = (new.n_sessions + old.n_sessions) * (new.of_sessions + old.of_sessions) / variance
        width, p = half_width(n, planned or 1), anytime_p(difference / error, n, planned or 1)
    return ABDifference(
        metric,
        name,
        against,
        new.mean,
        old.mean,
        difference,
        low=difference - width * error,
        high=difference + width * error,
        relative=difference / old.mean if old.mean else float("nan"),
        p=p,
        deviation=math.sqrt((new.variance * new.n_sessions + old.variance * old.n_sessions) / 2),
    )


def _welch(z: float, new: _Variant, old: _Variant) -> tuple[float, float]:
    """Half of the 95% interval in standard errors, and the p-value, of Welch's t-test."""
    from scipy.special import stdtr, stdtrit

    parts = [(each.variance, each.n_units - 1) for each in (new, old)]
    freedom = sum(v for v, _ in parts) ** 2 / sum(v**2 / n for v, n in parts)
    return float(stdtrit(freedom, 1 - LEVEL / 2)), float(2 * stdtr(freedom, -abs(z)))
