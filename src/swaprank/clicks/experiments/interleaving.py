"""Interleaving: two rankings in one list, so that every user compares them, and the sessions that each of them won.

Each document that is shown carries a credit: a click on it speaks for the first ranking if the credit is positive, for
the second if it is negative. The credits of clicked documents are the vote of a session, and a sign test counts votes.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple, final

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.grouping import first_appearance_codes
from swaprank.data.ids import document_ids
from swaprank.data.row_values import number_column
from swaprank.errors import DataError, did_you_mean
from swaprank.evaluation.significance import mean_interval, p_in_words
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, counted, decimals, probability
from swaprank.seeds import RandomState, random_generator

Method = Literal["team_draft", "optimized"]
_LONGEST_OPTIMIZED = 12
"""The number of lists doubles with every place: 2,048 lists of 12 documents are solved in a fraction of a second."""


class Interleaved(NamedTuple):
    """A list to show, and the credit that a click on each of its documents gives.

    >>> import swaprank as sr
    >>> shown = sr.clicks.interleave(["a", "b", "c"], ["b", "a", "d"], n_shown=3, random_state=1)
    >>> shown.documents, shown.credit
    (('b', 'a', 'd'), (-1.0, 1.0, -1.0))
    """

    documents: tuple[Any, ...]
    credit: tuple[float, ...]
    """Positive: a click is for the first ranking; negative: for the second; 0: for neither, as one has ended."""


def interleave(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    n_shown: int = 10,
    method: Method = "team_draft",
    random_state: RandomState = None,
) -> Interleaved:
    """Mix two rankings of the same query into one list.

    Args:
        first: The documents of one ranker, best first.
        second: The documents of the other ranker, best first.
        n_shown: The number of documents to show; fewer if the rankings have fewer.
        method: "team_draft": the rankers take turns like captains who choose teams, and a coin decides who chooses
            first in each turn [Radlinski2008]. "optimized": of all lists that respect both rankings, one is drawn with
            the probabilities that are most sensitive among those that favour neither ranking, if a user clicks at
            random [Radlinski2013].
        random_state: The seed: give every session its own, such as a number of the session.

    >>> import swaprank as sr
    >>> sr.clicks.interleave(["a", "b", "c"], ["b", "a", "d"], n_shown=2, method="optimized", random_state=0)
    Interleaved(documents=('b', 'a'), credit=(-0.5, 0.5))
    """
    one, two = _ranking("first", first), _ranking("second", second)
    if isinstance(n_shown, bool) or not isinstance(n_shown, int | np.integer) or n_shown < 1:
        raise DataError(f"n_shown must be a whole number from 1, found {n_shown!r}.")
    if method not in _METHODS:
        raise DataError(f"there is no method '{method}'; {did_you_mean(str(method), _METHODS)}")
    n = min(int(n_shown), len({*one, *two}))
    return _METHODS[method](one, two, n, random_generator(random_state))


def _ranking(name: str, documents: Sequence[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(documents, str):
        raise DataError(f"{name} must be a list of document ids, best first; found the text '{documents}'.")
    ids = tuple(documents)
    if not ids:
        raise DataError(f"{name} has no documents: there is nothing to interleave.")
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise DataError(f"{name} has the document {twice!r} more than once.")
    return ids


def _team_draft(
    first: tuple[Hashable, ...], second: tuple[Hashable, ...], n: int, rng: np.random.Generator
) -> Interleaved:
    """Turns of two choices: in each turn both rankers choose their best document that is left, in random order.

    A choice has credit only if the other ranker would make it, should the coin fall the other way. Else the longer
    ranking would get the clicks on all that is shown after the end of the shorter one.
    """
    documents: dict[Hashable, float] = {}
    while len(documents) < n:
        one, two = (list(islice((each for each in ranking if each not in documents), 2)) for ranking in (first, second))
        both_begin = bool(one and two)
        # Whoever begins takes a document of both away from the other, who then needs one more.
        both_follow = both_begin and (one[0] != two[0] or len(one) == len(two) == 2)
        turn = [(first, 1.0), (second, -1.0)]
        order = turn if rng.random() < 0.5 else turn[::-1]
        for (ranking, credit), counts in zip(order, (both_begin, both_follow), strict=True):
            best = next((each for each in ranking if each not in documents), None)
            if best is not None and len(documents) < n:
                documents[best] = credit if counts else 0.0
    return Interleaved(tuple(documents), tuple(documents.values()))


def _optimized(
    first: tuple[Hashable, ...], second: tuple[Hashable, ...], n: int, rng: np.random.Generator
) -> Interleaved:
    if n > _LONGEST_OPTIMIZED:
        raise DataError(
            f"optimized interleaving compares all mixed lists, and {n} documents have too many: show at most "
            f"{_LONGEST_OPTIMIZED}, or use method='team_draft'."
        )
    n_mixed = min(n, len(first), len(second))
    lists, credits, probabilities = _optimized_lists(first[:n_mixed], second[:n_mixed], n_mixed)
    chosen = int(rng.choice(len(lists), p=probabilities))
    # Where one ranking has ended, the other chooses alone, and clicks there compare nothing.
    rest = [each for each in dict.fromkeys((*first, *second)) if each not in lists[chosen]][: n - n_mixed]
    return Interleaved((*lists[chosen], *rest), (*credits[chosen].tolist(), *[0.0] * len(rest)))


@lru_cache(maxsize=1024)
def _optimized_lists(
    first: tuple[Hashable, ...], second: tuple[Hashable, ...], n: int
) -> tuple[list[tuple[Hashable, ...]], Floats, Floats]:
    """All mixed lists, the credits of their documents, and the probability of each list [Radlinski2013, section 4].

    A user who looks at the first k documents and clicks one of them at random must give both rankings the same credit
    on average, for every k. The most sensitive of all such probabilities solve a linear program.
    """
    from scipy.optimize import linprog

    lists = mixed_lists(first, second, n)
    credit_of = {each: _reciprocal_rank(first, each) - _reciprocal_rank(second, each) for each in {*first, *second}}
    credits = np.array([[credit_of[each] for each in documents] for documents in lists])
    solution = linprog(
        -_sensitivity(credits),
        A_eq=np.vstack([np.cumsum(credits, axis=1).T, np.ones(len(lists))]),
        b_eq=np.append(np.zeros(n), 1.0),
    )
    if not solution.success:  # not known to happen: tests try all pairs of short rankings
        raise DataError("no probabilities of mixed lists treat both rankings alike: use method='team_draft'.")
    probabilities = np.maximum(solution.x, 0.0)
    return lists, credits, probabilities / probabilities.sum()


def mixed_lists(
    first: Sequence[Hashable], second: Sequence[Hashable], n: int
) -> list[tuple[Hashable, ...]]:  # fmt: skip
    """All lists of n documents in which each is the best one left of one of the rankings.

    >>> from swaprank.clicks.experiments.interleaving import mixed_lists
    >>> mixed_lists("ab", "bc", 2)
    [('a', 'b'), ('b', 'a'), ('b', 'c')]
    """
    lists: list[tuple[Hashable, ...]] = [()]
    for _ in range(n):
        longer = []
        for documents in lists:
            heads = [next((each for each in ranking if each not in documents), None) for ranking in (first, second)]
            longer += [(*documents, each) for each in dict.fromkeys(heads) if each is not None]
        lists = longer
    return lists


def _reciprocal_rank(ranking: tuple[Hashable, ...], document: Hashable) -> float:
    """1 / rank; a document that the ranking does not show has the rank after its last."""
    return 1.0 / (1 + (ranking.index(document) if document in ranking else len(ranking)))


def _sensitivity(credits: Floats) -> Floats:
    """The uncertainty, in bits, that each list leaves about a user who clicks rank i in proportion to 1 / i.

    A list tells the rankings apart best if clicks at random would often decide, and for either of them alike
    [Radlinski2013, section 4.3].
    """
    clicks = 1.0 / np.arange(1, credits.shape[1] + 1)
    shares = np.stack([((credits > 0) * clicks).sum(axis=1), ((credits < 0) * clicks).sum(axis=1)])
    decided = shares.sum(axis=0)
    parts = np.divide(shares, decided, out=np.zeros_like(shares), where=decided > 0)
    bits = -np.sum(parts * np.log2(parts, out=np.zeros_like(parts), where=parts > 0), axis=0)
    return np.asarray(bits * decided / clicks.sum())


_METHODS: dict[str, Callable[..., Interleaved]] = {"team_draft": _team_draft, "optimized": _optimized}


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
    """95% confidence interval of the difference, within -1 and 1."""
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
        # With one session, or if all have the same vote, nothing tells how much votes vary.
        interval = f" (95% interval {_percents(self)})" if self.low < self.high else ""
        if self.wins == self.losses:
            return f"Each ranking won {counted(self.wins, 'session', 'sessions')}: no difference was seen{interval}."
        better, size = "first" if self.difference > 0 else "second", abs(self.difference)
        by, shown = f"by {size:.2%} of sessions{interval}", f"sign test, {p_in_words(self.p_sign)}"
        if self.p_sign < 0.05:
            return f"Users prefer the {better} ranking, {by}; {shown}."
        luck = f"Users may prefer the {better} ranking, {by}, but that may be luck; {shown}."
        if not 0 < size <= self.decisive or size == 1:
            return luck
        needed = interleaving_sessions(size, decisive=self.decisive)
        return f"{luck} A difference of this size would take about {needed:,} sessions to see."

    def _blocks(self) -> Blocks:
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
    low, high = (outcome.low, outcome.high) if outcome.difference >= 0 else (-outcome.high, -outcome.low)
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
    low, high = np.clip(mean_interval(votes), -1.0, 1.0).tolist()
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
