"""The check of the position-based model notices people and rankers that break it, and is silent otherwise."""

from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.clicks.bias.bias_agreement import agreement
from swaprank.clicks.models.click_dependence import clicks_below_clicks, dependence_on_next, quick_check
from tests.clicks.people import click_log, make_world


def checked(n_sessions: int, seed: int, *, personalised: bool = False, **options: Any) -> sr.clicks.ModelCheck:
    world = make_world(20, seed=seed, personalised=personalised)
    return sr.clicks.check_model(click_log(world, n_sessions, seed=seed, **options))


@pytest.mark.slow
def test_it_is_silent_if_the_position_decides() -> None:
    alarms = [bool(checked(1500, seed).sentences()) for seed in range(30)]
    assert sum(alarms) <= 2


@pytest.mark.parametrize("people", ["cascade", "dbn"])
def test_it_notices_that_people_stop_after_a_click(people: Any) -> None:
    for seed in range(3):
        check = checked(2000, seed, people=people)
        first, *others = check.sentences()
        assert first.startswith("People stop after a click: below one, there are")
        assert any("better than the position-based one" in each for each in others)
        assert not check.holds
        assert "People stop after a click" in str(check)


def test_it_notices_that_people_go_on_reading_where_they_clicked() -> None:
    for seed in range(3):
        check = checked(3000, seed, people="browsing")
        assert check.sentences()[0].startswith("Clicks come together")
        assert check.below_clicks[1].z > 5


def test_it_notices_a_personalised_ranker() -> None:
    for seed in range(3):
        check = checked(20_000, seed, personalised=True, propensity=True)
        told, *others = check.sentences()
        assert told.startswith("What stands below a document tells how likely it is clicked")
        assert "Swap neighbours at random" in told
        assert any("logged propensities contradict" in each for each in others)
        # With the logged propensities, documents that moved tell the truth.
        weighted = check.agreements[-1]
        assert weighted.names == ("harvest", "weighted")
        truth = 1 / np.arange(1, 7)
        assert np.abs(weighted.second - truth).max() < np.abs(weighted.first - truth).max()


def naive_below_clicks(log: sr.clicks.ClickLog, least: int, most: int) -> tuple[int, float, float]:
    """Observed and expected clicks on rows whose last click is so far above, and the variance, stratum by stratum."""
    strata: dict[tuple[int, int], list[tuple[bool, bool]]] = {}
    for session in range(log.n_sessions):
        last = None
        for at, row in enumerate(range(log.indptr[session], log.indptr[session + 1])):
            below = last is not None and least <= at - last <= most
            clicked = bool(log.click[row] > 0)
            strata.setdefault((int(log.document[row]), int(log.position[row])), []).append((below, clicked))
            last = at if clicked else last
    observed, expected, variance = 0, 0.0, 0.0
    for rows in strata.values():
        n, part, hits = len(rows), sum(below for below, _ in rows), sum(click for _, click in rows)
        if 0 < part < n:
            observed += sum(below and click for below, click in rows)
            expected += part * hits / n
            variance += part * (n - part) * hits * (n - hits) / (n * n * (n - 1))
    return observed, expected, variance


def test_clicks_below_clicks_are_those_of_a_loop() -> None:
    log = click_log(make_world(3, n_documents=7, seed=1), 150, people="browsing", seed=1)
    found = clicks_below_clicks(log)
    for each, (least, most) in zip(found, [(1, 9), (1, 1), (2, 2), (3, 3), (4, 9)], strict=True):
        observed, expected, variance = naive_below_clicks(log, least, most)
        assert each.observed == observed
        assert each.expected == pytest.approx(expected)
        assert each.z == pytest.approx((observed - expected) / np.sqrt(variance))


def test_deviations_have_the_spread_they_claim() -> None:
    """Over many logs of people who break nothing, z is standard normal."""
    above, below = [], []
    for seed in range(60):
        log = click_log(make_world(12, seed=seed), 1500, seed=seed)
        above.append(clicks_below_clicks(log)[0].z)
        below.append(dependence_on_next(log, same_above=False).z)
    for z in (np.array(above), np.array(below)):
        assert abs(z.mean()) < 4 / np.sqrt(60)
        assert 0.7 < z.std() < 1.35


def test_both_estimates_are_those_of_position_bias() -> None:
    log = click_log(make_world(20, seed=2), 4000, seed=2)
    found = agreement(log, "swaps", 4)
    assert found is not None
    for method, values in (("harvest", found.first), ("swaps", found.second)):
        wanted = sr.clicks.position_bias(log, method, max_position=4, n_resamples=0)  # type: ignore[arg-type]
        np.testing.assert_allclose(values, wanted.examination)
    assert found.worst is None
    # Equal propensities change nothing.
    same = agreement(log._with(propensity=np.full(log.n_rows, 0.25)), "weighted", 4)
    assert same is not None
    np.testing.assert_allclose(same.first, same.second)


def test_a_log_that_cannot_tell_is_checked_as_far_as_it_can() -> None:
    # Nothing ever moves, and only one document is shown.
    log = sr.clicks.ClickLog(session=range(40), qid=[1] * 40, docid=[1] * 40, position=[1] * 40, click=[0, 1] * 20)
    check = sr.clicks.check_model(log)
    assert check.holds
    assert check.agreements == ()
    assert "cannot tell whether the position-based model holds" in str(check)
    assert check.to_dict()["below_clicks"][0]["z"] is None
    assert quick_check(log) == []


def test_the_quick_check_says_the_same() -> None:
    log = click_log(make_world(20, seed=0), 1000, people="cascade", seed=0)
    assert quick_check(log) == sr.clicks.check_model(log).sentences()[:1]
    assert list(sr.clicks.check_model(log).to_frame()) == ["clicks", "rows", "observed", "expected", "z"]
