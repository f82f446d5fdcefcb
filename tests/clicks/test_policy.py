"""Policies are probabilities: rankings that are drawn place by place, against enumeration; and errors in words."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.clicks import ClickLog, Policy
from tests.clicks.people import click_log, make_world
from tests.clicks.policy_worlds import all_documents


def small_log(n_documents: int = 4, n_shown: int = 3) -> ClickLog:
    """Two queries; the second has one document more. Every document is shown."""
    rows = []
    for query, n in ((0, n_documents), (1, n_documents + 1)):
        for session in range(n):
            rows += [(f"{query}-{session}", query, (session + at) % n, at + 1) for at in range(min(n_shown, n))]
    names = ("session", "qid", "docid", "position")
    columns: dict[str, Any] = dict(zip(names, zip(*rows, strict=True), strict=True))
    return ClickLog(click=np.zeros(len(rows)), propensity=np.ones(len(rows)), **columns)


def enumerated_plackett_luce(scores: Floats, n_positions: int) -> Floats:
    placements = np.zeros((len(scores), n_positions))
    for order in permutations(range(len(scores))):
        chance, left = 1.0, np.exp(scores)
        for document in order:
            chance *= left[document] / left.sum()
            left[document] = 0.0
        for place, document in enumerate(order[:n_positions]):
            placements[document, place] += chance
    return placements


def placements(policy: Policy) -> Floats:
    assert policy.placements is not None
    return policy.placements


def test_plackett_luce_is_that_of_all_permutations() -> None:
    log = small_log()
    scores = np.random.default_rng(0).normal(size=log.n_pairs) * 2
    found = placements(Policy.plackett_luce(log, scores, temperature=0.8, n_samples=20_000))
    for query in range(2):
        own = slice(log.pair_indptr[query], log.pair_indptr[query + 1])
        wanted = enumerated_plackett_luce(scores[own] / 0.8, 3)
        np.testing.assert_allclose(found[own, 0], wanted[:, 0], rtol=1e-10)
        np.testing.assert_allclose(found[own], wanted, atol=0.01)


def test_a_low_temperature_is_the_ranking_and_a_high_one_is_uniform() -> None:
    log = small_log()
    scores = np.random.default_rng(1).permutation(log.n_pairs).astype(float)
    cold, hot = (placements(Policy.plackett_luce(log, scores, temperature=t, n_samples=3000)) for t in (1e-9, 1e9))
    assert cold.tolist() == placements(Policy.ranking(log, scores)).tolist()
    np.testing.assert_allclose(hot, placements(Policy.uniform(log)), atol=0.02)


@settings(max_examples=40)
@given(st.lists(st.floats(-50, 50), min_size=9, max_size=9), st.integers(1, 6), st.floats(0, 1))
def test_placements_are_probabilities(scores: list[float], n_shown: int, share: float) -> None:
    log = small_log(n_shown=n_shown)
    policies = [Policy.ranking(log, scores), Policy.plackett_luce(log, scores, n_samples=20), Policy.uniform(log)]
    policies.append(Policy.mixture(policies[:2], [share, 1 - share]))
    for policy in policies:
        found = placements(policy)
        assert found.min() >= 0
        for query, n in enumerate((4, 5)):
            own = found[log.pair_indptr[query] : log.pair_indptr[query + 1]]
            filled = (np.arange(log.max_position) < n).astype(float)
            np.testing.assert_allclose(own.sum(axis=0), filled, atol=1e-9)
            assert policy.filled is not None
            np.testing.assert_allclose(policy.filled[query], filled, atol=1e-9)
    exact = policies[0], policies[2]
    assert all((placements(policy).sum(axis=1) < 1 + 1e-9).all() for policy in exact)


def test_documents_that_the_log_never_showed_take_places_of_others() -> None:
    world = make_world(3, seed=2)
    log = click_log(world, 4, n_shown=3, propensity=True)
    data = all_documents(world)
    assert log.n_pairs < len(data)
    score = np.random.default_rng(0).normal(size=len(data))
    policy = Policy.ranking(log, score, data=data)
    for pair, (query, docid) in enumerate(zip(log.pair_query, log.pair_docid, strict=True)):
        qid = int(log.qids[query])
        rank = int((score[qid * 12 : qid * 12 + 12] > score[int(docid)]).sum())
        assert placements(policy)[pair].tolist() == [float(place == rank) for place in range(3)]
    assert policy.filled is not None
    assert (policy.filled == 1).all()
    chance = placements(Policy.uniform(log, data=data))
    np.testing.assert_allclose(chance, 1 / 12)


def test_ranks_are_at_the_positions_that_the_log_has() -> None:
    """Slots between ads, and documents in a random order: the uniform policy is the one that was logged."""
    rng = np.random.default_rng(0)
    document = np.argsort(rng.random((500, 3)), axis=1)
    click = rng.random((500, 3)) < np.array([0.2, 0.4, 0.6])[document]
    log = ClickLog(
        session=np.repeat(np.arange(500), 3),
        qid=np.zeros(1500, int),
        docid=document.ravel(),
        position=np.tile([1, 3, 7], 500),
        click=click.ravel(),
        propensity=np.full(1500, 1 / 3),
    )
    scores = log.pair_docid.astype(float)
    for policy in (Policy.uniform(log), Policy.ranking(log, scores), Policy.plackett_luce(log, scores)):
        np.testing.assert_allclose(placements(policy).sum(axis=0), [1, 0, 1, 0, 0, 0, 1], atol=1e-9)
    assert placements(Policy.ranking(log, scores))[:, [6, 2, 0]].tolist() == np.eye(3)[log.pair_docid].tolist()
    for row in sr.clicks.compare_policies(log, {"logged": Policy.logged(log), "uniform": Policy.uniform(log)}):
        assert row.difference == pytest.approx(0, abs=1e-12)


def test_a_policy_is_for_its_log_and_a_contextual_one_for_its_sessions() -> None:
    log = small_log()
    part = log.subset(slice(0, 4))
    Policy.uniform(log).check_log(part)
    Policy.logged(part).check_log(log.subset([0, 1, 2, 3]))
    for other in (log.subset([1, 0, 2, 3]), log.subset([0, 0, 1, 2]), log):
        with pytest.raises(sr.errors.DataError, match=r"made for other sessions, .* make it with the log"):
            Policy.logged(part).check_log(other)
    columns: dict[str, Any] = {"session": [1], "docid": ["a"], "position": [1], "click": [1], "propensity": [1.0]}
    with pytest.raises(sr.errors.DataError, match="made for another log"):
        Policy.uniform(ClickLog(qid=[1], **columns)).check_log(ClickLog(qid=[2], **columns))


def test_given_placements_may_leave_places_empty_and_have_more_positions_than_the_log() -> None:
    log = small_log()
    given_here = np.zeros((log.n_pairs, 5))
    given_here[0, 0], given_here[1, 4] = 0.25, 1.0
    policy = Policy(log, given_here)
    assert placements(policy).shape == (9, 3)
    assert policy.filled is not None
    assert policy.filled.tolist() == [[0.25, 0, 0], [0, 0, 0]]
    assert placements(Policy(log, given_here[:, :1])).shape == (9, 3)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({(0, 0): 1.2}, "1.2 was found for document 0 of query 0 at position 1, but probabilities are from 0 to 1"),
        ({(2, 1): np.nan}, "nan was found for document 2 of query 0 at position 2"),
        ({(0, 0): 0.6, (0, 2): 0.6}, "of document 0 of query 0 add up to 1.2 over its positions"),
        ({(4, 1): 0.6, (5, 1): 0.7}, "of the documents of query 1 add up to 1.3 at position 2"),
    ],
)
def test_impossible_placements_are_errors(cells: dict[tuple[int, int], float], words: str) -> None:
    bad = np.zeros((9, 3))
    for cell, value in cells.items():
        bad[cell] = value
    with pytest.raises(sr.errors.DataError, match=words.replace("(", r"\(")):
        Policy(small_log(), bad)


def test_a_document_may_fill_all_places_if_each_session_has_one() -> None:
    log = ClickLog(session=[1, 2], qid=[1, 1], docid=["a", "a"], position=[1, 2], click=[0, 1], propensity=[0.5, 0.5])
    assert sr.clicks.evaluate_policy(log, Policy(log, [[1.0, 1.0]]), estimator="ips")["clicks"].mean == 1


def test_other_bad_input_is_an_error() -> None:
    log, uniform = small_log(), Policy.uniform(small_log())
    with pytest.raises(sr.errors.DataError, match=r"each of the log's 9 documents .* found shape \(2, 2\)"):
        Policy(log, np.eye(2))
    with pytest.raises(sr.errors.DataError, match="one weight for each policy"):
        Policy.mixture([uniform], [0.5, 0.5])
    with pytest.raises(sr.errors.DataError, match="add up to 1"):
        Policy.mixture([uniform, uniform], [0.5, 0.6])
    with pytest.raises(sr.errors.DataError, match="made with the same log"):
        Policy.mixture([uniform, Policy.uniform(small_log(5))], [0.5, 0.5])
    with pytest.raises(sr.errors.DataError, match="a contextual policy cannot be mixed"):
        Policy.mixture([uniform, Policy.logged(log)], [0.5, 0.5])
    with pytest.raises(sr.errors.DataError, match=f"each of the log's {log.n_rows} rows; found 3"):
        Policy.contextual(log, [1, 1, 1])
    with pytest.raises(sr.errors.DataError, match=r"probabilities, row 1: 1\.5 was found"):
        Policy.contextual(log, [1, 1.5, *[1] * (log.n_rows - 2)])
    with pytest.raises(sr.errors.ParameterError, match="temperature must be a number above 0"):
        Policy.plackett_luce(log, np.zeros(9), temperature=0)
    with pytest.raises(sr.errors.DataError, match="must be finite"):
        Policy.plackett_luce(log, np.full(9, np.inf))


def test_it_says_what_it_is_for() -> None:
    log = small_log()
    assert repr(Policy.uniform(log)) == "Policy(9 documents of 2 queries, 3 positions)"
    assert repr(Policy.logged(log)) == "Policy(contextual, 27 rows)"
