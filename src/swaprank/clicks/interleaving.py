"""Interleave two rankings, so that every user compares them: team draft and optimized interleaving.

Each document that is shown carries a credit: a click on it speaks for the first ranking if the credit is positive, for
the second if it is negative. `interleaving_outcome` adds the credits of clicked documents up.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import DataError, did_you_mean
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
    """Positive: a click is for the first ranking; negative: for the second."""


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
    """Turns of two choices: in each turn both rankers choose their best document that is left, in random order."""
    documents: dict[Hashable, float] = {}
    while len(documents) < n:
        turn = [(first, 1.0), (second, -1.0)]
        for ranking, credit in turn if rng.random() < 0.5 else turn[::-1]:
            best = next((each for each in ranking if each not in documents), None)
            if best is not None and len(documents) < n:
                documents[best] = credit
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

    >>> from swaprank.clicks.interleaving import mixed_lists
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
    """How undecided each list leaves a user who clicks rank i with a probability in proportion to 1 / i, in bits.

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
