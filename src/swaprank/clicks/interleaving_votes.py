"""Which of two interleaved rankings do users prefer? Credit from clicks, a sign test, and its power."""

import math
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from swaprank.data.columns import number_column
from swaprank.data.grouping import first_appearance_codes
from swaprank.data.ids import document_ids
from swaprank.errors import DataError
from swaprank.evaluation.significance import mean_interval, p_in_words
from swaprank.rendering.result import Result
from swaprank.rendering.text_tables import Parts, Table, decimals, probability


@final
@dataclass(frozen=True, repr=False)
class InterleavingOutcome(Result):
    """The sessions that each ranking won, and whether that may be luck; prints as a table with a sentence.

    >>> import swaprank as sr
    >>> outcome = sr.clicks.interleaving_outcome(session=[1, 1, 2, 2], credit=[1, -1, -1, 1], click=[1, 0, 0, 1])
    >>> outcome.wins, outcome.ties, outcome.losses, outcome.difference
    (2, 0, 0, 1.0)
    """

    wins: int
    """Sessions in which the first ranking got more credit."""
    ties: int
    losses: int
    difference: float
    """(wins - losses) / sessions."""
    low: float
    high: float
    """95% confidence interval of the difference."""
    p_sign: float
    """The p-value of the sign test, two-sided; ties do not count."""

    @property
    def n_sessions(self) -> int:
        """All sessions, also those without a click."""
        return self.wins + self.ties + self.losses

    @property
    def decisive(self) -> float:
        """The share of sessions that are no tie: what `interleaving_sessions` needs to plan the next experiment."""
        return (self.wins + self.losses) / self.n_sessions

    def sentence(self) -> str:
        """The result in words."""
        if self.wins + self.losses == 0:
            return "No session preferred one of the rankings: no click was on a document with credit."
        better = "first" if self.difference > 0 else "second"
        shown = f"sign test, {p_in_words(self.p_sign)}"
        size = f"{abs(self.difference):.2%} of sessions (95% interval {_percents(self)})"
        if self.p_sign < 0.05:
            return f"Users prefer the {better} ranking, by {size}; {shown}."
        needed = interleaving_sessions(max(abs(self.difference), 1e-9), decisive=self.decisive)
        return (
            f"Users may prefer the {better} ranking, by {size}, but that may be luck; {shown}. A difference of this "
            f"size would take about {needed:,} sessions to see."
        )

    def _parts(self) -> Parts:
        header = ["sessions", "wins", "ties", "losses", "difference", "95% interval", "p sign"]
        counts = [f"{n:,}" for n in (self.n_sessions, self.wins, self.ties, self.losses)]
        interval = f"{decimals(self.low)} to {decimals(self.high)}"
        row = [*counts, decimals(self.difference, signed=True), interval, probability(self.p_sign)]
        return [Table(header, [row], left=0), self.sentence()]

    def _values(self) -> dict[str, Any]:
        return {**asdict(self), "n_sessions": self.n_sessions, "sentence": self.sentence()}

    def _columns(self) -> dict[str, list[Any]]:
        return {name: [value] for name, value in asdict(self).items()}


def _percents(outcome: InterleavingOutcome) -> str:
    low, high = (outcome.low, outcome.high) if outcome.difference > 0 else (-outcome.high, -outcome.low)
    return f"{low:.2%} to {high:.2%}"


def interleaving_outcome(session: Any, credit: Any, click: Any) -> InterleavingOutcome:
    """Decide an interleaving experiment: each session votes for the ranking whose documents it clicked more.

    Args:
        session: The id of the session, for every document that was shown.
        credit: The credit of the document, as `interleave` gave it.
        click: 1 if it was clicked, else 0; or a grade from 0 to 1.

    >>> import numpy as np, swaprank as sr
    >>> rng = np.random.default_rng(0)
    >>> credit = np.tile([1.0, -1.0], 2000)  # two documents in each of 2,000 sessions, one of each ranking
    >>> click = rng.random(4000) < np.where(credit > 0, 0.35, 0.3)
    >>> print(sr.clicks.interleaving_outcome(np.arange(4000) // 2, credit, click).sentence())
    Users prefer the first ranking, by 6.65% of sessions (95% interval 3.72% to 9.58%); sign test, p < .0001.
    """
    n_rows = len(np.atleast_1d(np.asarray(credit)))
    for name, values in (("session", session), ("click", click)):
        if np.shape(values) != (n_rows,):
            raise DataError(f"{name} must have one value for each of the {n_rows:,} credits, found {np.shape(values)}.")
    ids = document_ids(session, n_rows, "session")
    credits, clicks = number_column("credit", credit, n_rows), number_column("click", click, n_rows)
    if n_rows == 0:
        raise DataError("there are no sessions: give one row per document that was shown.")
    if clicks.min() < 0 or clicks.max() > 1:
        at = int(np.argmax((clicks < 0) | (clicks > 1)))
        raise DataError(f"click, row {at}: {clicks[at]:g} is not between 0 and 1.")
    totals = np.bincount(first_appearance_codes(ids), weights=credits * clicks)
    # Credits of optimized interleaving are fractions, whose sums may miss 0 by rounding.
    votes = np.sign(np.where(np.abs(totals) < 1e-9, 0.0, totals))
    wins, losses = int((votes > 0).sum()), int((votes < 0).sum())
    from scipy.stats import binomtest

    p_sign = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
    low, high = mean_interval(votes)
    return InterleavingOutcome(wins, len(votes) - wins - losses, losses, float(votes.mean()), low, high, p_sign)


def interleaving_sessions(
    difference: float = 0.01, *, decisive: float = 0.5, power: float = 0.8, level: float = 0.05
) -> int:
    """The number of sessions after which a difference is probably seen: the power analysis of the sign test.

    Args:
        difference: The difference to see: the share of sessions that the better ranking wins, minus those it loses.
        decisive: The share of sessions that are no tie, as `InterleavingOutcome.decisive` of an earlier experiment.
        power: The probability with which such a difference should be found.
        level: The probability with which a difference may be found although there is none.

    >>> import swaprank as sr
    >>> sr.clicks.interleaving_sessions(0.01), sr.clicks.interleaving_sessions(0.05, decisive=0.3)
    (39243, 940)
    """
    given = {"difference": difference, "decisive": decisive, "power": power, "level": level}
    for name, value in given.items():
        if not 0 < value < 1 and not (name == "decisive" and value == 1):
            raise DataError(f"{name} must be between 0 and 1, found {value!r}.")
    if difference > decisive:
        raise DataError(f"difference={difference:g} is more than all sessions that are no tie, decisive={decisive:g}.")
    from scipy.special import ndtri

    # A vote is 1, -1 or 0: its variance is `decisive` without a difference, and less by difference² with one.
    without, with_it = math.sqrt(decisive), math.sqrt(decisive - difference**2)
    deviations = ndtri(1 - level / 2) * without + ndtri(power) * with_it
    return math.ceil(float(deviations / difference) ** 2)
