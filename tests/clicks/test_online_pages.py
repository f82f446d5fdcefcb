"""Pages of online learning against plain Python: all rankings and all clicks of a few documents, one by one."""

from collections.abc import Iterator
from itertools import permutations, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swaprank.arrays import Floats
from swaprank.clicks.experiments.online_people import People, simulate_page
from swaprank.linear.online_kernels import draw_ranking, pair_gradients, team_draft


def probability(ranking: tuple[int, ...], scores: list[float]) -> float:
    """Of a Plackett-Luce ranking, choice by choice."""
    total, left = 1.0, list(range(len(scores)))
    for document in ranking:
        total *= exp(scores[document]) / sum(exp(scores[each]) for each in left)
        left.remove(document)
    return total


def naive_forces(scores: list[float], shown: tuple[int, ...], click: tuple[int, ...]) -> list[float]:
    """The forces of all pairs that a page prefers, with both probabilities computed from scratch."""
    forces = [0.0] * len(scores)
    if not any(click):
        return forces
    considered = range(min(max(at for at, c in enumerate(click) if c) + 2, len(shown)))
    for k, other in product(considered, considered):
        if click[k] and not click[other]:
            swapped = list(shown)
            swapped[k], swapped[other] = shown[other], shown[k]
            here, there = probability(shown, scores), probability(tuple(swapped), scores)
            one, two = exp(scores[shown[k]]), exp(scores[shown[other]])
            force = there / (here + there) * one * two / (one + two) ** 2
            forces[shown[k]] += force
            forces[shown[other]] -= force
    return forces


def kernel_forces(scores: list[float], shown: tuple[int, ...], click: tuple[int, ...]) -> list[float]:
    forces = np.zeros(len(scores))
    pair_gradients(np.array(scores), np.array(shown, np.int64), np.array(click, np.float64), forces)
    return forces.tolist()


@given(data=st.data())
@settings(max_examples=100)
def test_forces_are_those_of_the_definition(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    scores = data.draw(st.lists(st.floats(-8, 8), min_size=n, max_size=n))
    shown = tuple(data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))])
    click = tuple(data.draw(st.lists(st.integers(0, 1), min_size=len(shown), max_size=len(shown))))
    assert kernel_forces(scores, shown, click) == pytest.approx(naive_forces(scores, shown, click), rel=1e-9, abs=1e-12)


def click_patterns(appeal: list[float], people: str) -> Iterator[tuple[tuple[int, ...], float]]:
    """All clicks on a page, and the probability of each."""
    for click in product((0, 1), repeat=len(appeal)):
        chance, reading = 1.0, True
        for place, (a, c) in enumerate(zip(appeal, click, strict=True)):
            a = a * reading / (1 + place if people == "position" else 1)
            chance *= a if c else 1 - a
            reading &= people == "position" or not c
        yield click, chance


def expected_forces(scores: list[float], relevance: list[float], n_shown: int, people: str) -> Floats:
    total = np.zeros(len(scores))
    for shown in permutations(range(len(scores)), n_shown):
        chance = probability(shown, scores)
        for click, of_clicks in click_patterns([relevance[each] for each in shown], people):
            total += chance * of_clicks * np.array(kernel_forces(scores, shown, click))
    return total


@pytest.mark.parametrize("people", ["position", "cascade"])
@pytest.mark.parametrize("n_shown", [2, 4])
def test_documents_that_are_liked_alike_have_no_force_on_average(people: str, n_shown: int) -> None:
    scores = [1.5, 0.2, -0.7, -1.0]
    np.testing.assert_allclose(expected_forces(scores, [0.4] * 4, n_shown, people), 0, atol=1e-12)
    # One is liked more: it is pulled up, and each of the others down, whatever the present scores are.
    for better in range(4):
        forces = expected_forces(scores, [0.6 if each == better else 0.3 for each in range(4)], n_shown, people)
        assert forces[better] > 0
        assert (np.delete(forces, better) < 0).all()
        assert forces.sum() == pytest.approx(0, abs=1e-12)


def test_forces_stay_finite_with_scores_far_apart() -> None:
    for click in product((0, 1), repeat=3):
        assert np.isfinite(kernel_forces([900.0, 0.0, -900.0], (0, 1, 2), click)).all()
        assert np.isfinite(kernel_forces([900.0, 0.0, -900.0], (2, 1, 0), click)).all()


def test_pages_are_drawn_with_the_probabilities_of_plackett_and_luce() -> None:
    scores, n = [1.0, 0.0, -0.5, 0.3], 20_000
    counts: dict[tuple[int, ...], int] = {}
    shown = np.empty(2, np.int64)
    for page in range(n):
        draw_ranking(np.array(scores), 5, page, shown)
        counts[tuple(shown.tolist())] = counts.get(tuple(shown.tolist()), 0) + 1
    for ranking in permutations(range(4), 2):
        p = probability(ranking, scores)
        assert abs(counts[ranking] / n - p) < 4 * (p * (1 - p) / n) ** 0.5


def test_team_draft_is_fair_and_takes_the_best_of_each() -> None:
    one, two = np.array([5.0, 4, 3, 2, 1]), np.array([1.0, 5, 2, 4, 3])
    rankings = (np.argsort(-one), np.argsort(-two))
    shown, credit, firsts = np.empty(5, np.int64), np.empty(5), 0
    for page in range(2000):
        team_draft(one, two, 1, page, shown, credit)
        assert sorted(shown) == [0, 1, 2, 3, 4]
        assert (np.abs(np.cumsum(credit)) <= 1).all()
        for place in range(5):
            side = rankings[int(credit[place] > 0)]
            assert shown[place] == next(each for each in side if each not in shown[:place])
        firsts += int(credit[0] > 0)
    assert abs(firsts / 2000 - 0.5) < 4 * 0.5 / 2000**0.5


@pytest.mark.parametrize("people", ["position", "cascade"])
def test_simulated_people_click_as_their_model_says(people: str) -> None:
    appeal, n = [0.3, 0.6, 0.5], 20_000
    cascade = people == "cascade"
    examination = np.ones(3) if cascade else np.array([exp(-log(place)) for place in (1, 2, 3)])
    model = People(np.array([0.9, *appeal]), np.full(4, 1.0 if cascade else 0.0), examination, 1.0)
    shown, click, counts = np.array([2, 0, 1]), np.empty(3), dict.fromkeys(product((0.0, 1.0), repeat=3), 0)
    for page in range(n):
        simulate_page(model, 1, shown, 3, page, click)
        counts[tuple(click.tolist())] += 1
    for pattern, chance in click_patterns([appeal[each] for each in shown], people):
        assert abs(counts[pattern] / n - chance) <= 4 * (chance * (1 - chance) / n) ** 0.5
