"""Interleaved lists favour nobody, credits add up to votes, and planned sessions are enough."""

from itertools import permutations
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import swaprank as sr
from swaprank.clicks.experiments.interleaving import Method, _optimized_lists, mixed_lists

RANKINGS = st.permutations(range(7)).map(tuple)


@given(RANKINGS, RANKINGS, st.integers(1, 7), st.sampled_from(["team_draft", "optimized"]), st.integers(0, 9))
def test_every_document_is_the_best_one_left_of_a_ranking(
    first: tuple[int, ...], second: tuple[int, ...], n: int, method: Method, seed: int
) -> None:
    shown = sr.clicks.interleave(first, second[:5], n_shown=n, method=method, random_state=seed)
    assert len(shown.documents) == len(shown.credit) == n
    assert shown == sr.clicks.interleave(first, second[:5], n_shown=n, method=method, random_state=seed)
    for at, document in enumerate(shown.documents):
        left = [[each for each in ranking if each not in shown.documents[:at]] for ranking in (first, second[:5])]
        assert document in [ranking[0] for ranking in left if ranking]


@given(RANKINGS, RANKINGS, st.integers(0, 1000))
def test_teams_of_a_draft_differ_by_one_at_most(first: tuple[int, ...], second: tuple[int, ...], seed: int) -> None:
    credit = sr.clicks.interleave(first, second, n_shown=7, random_state=seed).credit
    assert (np.abs(np.cumsum(credit)) <= 1).all()


@pytest.mark.parametrize("method", ["team_draft", "optimized"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, 3, 4], [2, 4, 5, 1]),
        ([1, 2, 3], [1, 2, 3, 4, 5]),  # one ends first
        ([1, 2, 3, 4], [3]),
        ([1], [1, 2]),
    ],
)
def test_clicks_at_random_favour_neither_ranking(first: list[int], second: list[int], method: Method) -> None:
    rng = np.random.default_rng(0)
    totals: list[Any] = [
        np.cumsum(np.array(sr.clicks.interleave(first, second, n_shown=5, method=method, random_state=rng).credit))
        for _ in range(4000)
    ]
    means, errors = np.mean(totals, axis=0), np.std(totals, axis=0) / np.sqrt(len(totals))
    assert (np.abs(means) <= 4 * errors + 1e-12).all()


def test_optimized_lists_treat_all_pairs_of_short_rankings_alike() -> None:
    first = (0, 1, 2, 3)
    for second in permutations(first):
        lists, credits, probabilities = _optimized_lists(first, second, 4)
        assert lists == mixed_lists(first, second, 4)
        np.testing.assert_allclose(probabilities @ np.cumsum(credits, axis=1), 0.0, atol=1e-9)


@pytest.mark.slow
def test_the_better_ranking_wins() -> None:
    rng = np.random.default_rng(1)
    relevance = {document: 0.6 if document < 3 else 0.1 for document in range(8)}
    better, worse = [0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 0, 6, 1, 7, 2, 3]
    for method in get_args(Method):
        rows = [
            (session, credit, rng.random() < relevance[document] / (1 + place))
            for session in range(600)
            for place, (document, credit) in enumerate(
                zip(*sr.clicks.interleave(better, worse, n_shown=5, method=method, random_state=rng), strict=True)
            )
        ]
        outcome = sr.clicks.interleaving_outcome(*zip(*rows, strict=True))
        assert outcome.p_sign < 0.01
        assert outcome.low > 0
        assert outcome.sentence().startswith("Users prefer the first ranking")


def test_rows_of_a_session_may_be_anywhere() -> None:
    session, credit, click = np.array(["x", "y", "x", "z", "y"]), [1, 1, -1, 1, -1], [1, 0, 0, 0, 1]
    outcome = sr.clicks.interleaving_outcome(session, credit, click)
    assert (outcome.wins, outcome.ties, outcome.losses) == (1, 1, 1)
    assert outcome.difference == 0
    assert outcome.p_sign == 1
    order = [3, 4, 0, 2, 1]
    again = sr.clicks.interleaving_outcome(session[order], np.take(credit, order), np.take(click, order))
    assert again.to_dict() == outcome.to_dict()


@pytest.mark.parametrize(
    ("credit", "words"),
    [
        ([1], "Users may prefer the first ranking, by 100.00% of sessions, but that may be luck; sign test, p = 1."),
        ([-1, -1], "Users may prefer the second ranking, by 100.00% of sessions, but that may be luck; sign test, p ="),
        ([1, -1], "Each ranking won 1 session: no difference was seen (95% interval -100.00% to 100.00%)."),
        ([1, 1, 0], "Users may prefer the first ranking, by 66.67% of sessions (95% interval -76.76% to 100.00%), but"),
    ],
)
def test_few_sessions_in_words(credit: list[float], words: str) -> None:
    outcome = sr.clicks.interleaving_outcome(range(len(credit)), credit, [1] * len(credit))
    assert words in str(outcome)
    assert not outcome.low < -1
    assert not outcome.high > 1


@pytest.mark.parametrize(("difference", "decisive"), [(0.05, 0.5), (0.1, 1.0), (0.04, 0.2)])
def test_planned_sessions_have_the_power_that_was_asked_for(difference: float, decisive: float) -> None:
    """Exact power of the sign test: the number of decisive sessions is binomial, and so are the wins among them."""
    n = sr.clicks.interleaving_sessions(difference, decisive=decisive, power=0.8)
    decided = np.arange(n + 1)
    chance = binom.pmf(decided, n, decisive)
    won = (1 + difference / decisive) / 2
    # The largest number of losses that is significant, for each number of decisive sessions.
    most = binom.ppf(0.025, decided, 0.5) - 1
    power = float(np.sum(chance * binom.cdf(most, decided, 1 - won)))
    assert power == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first": "ab"}, "list of document ids"),
        ({"first": []}, "no documents"),
        ({"second": [1, 2, 1]}, "document 1 more than once"),
        ({"n_shown": 0}, "n_shown"),
        ({"method": "balanced"}, "no method 'balanced'"),
        ({"first": range(20), "n_shown": 20, "method": "optimized"}, "at most 12"),
    ],
)
def test_bad_rankings_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        sr.clicks.interleave(**{"first": [1, 2], "second": [2, 1], **arguments})


def test_bad_outcomes_are_refused() -> None:
    with pytest.raises(sr.errors.DataError, match="click, row 1: 2 is not between"):
        sr.clicks.interleaving_outcome([1, 1], [1, -1], [0, 2])
    with pytest.raises(sr.errors.DataError, match="more than all sessions"):
        sr.clicks.interleaving_sessions(0.3, decisive=0.2)
