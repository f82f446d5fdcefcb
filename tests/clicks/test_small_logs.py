"""Position bias of small logs: a sane interval with the truth in it, or an error with the sessions that it takes."""

import re

import numpy as np
import pytest

import swaprank as sr
from swaprank.clicks.bias.bias_precision import LARGEST_ERROR, WIDEST_FACTOR, check_precise, more_sessions
from swaprank.clicks.bias.harvesting import harvested_examination, log_errors, moved_units, power_prior
from swaprank.clicks.logs.click_counts import chosen_units, count_log
from tests.clicks.people import click_log, make_world

pytestmark = pytest.mark.slow
THETA = 1.0 / np.arange(1, 7)


def found_or_needed(n_sessions: int, seed: int) -> sr.clicks.Propensities | int:
    log = click_log(make_world(20, seed=seed), n_sessions, seed=seed)
    try:
        return sr.clicks.position_bias(log, n_resamples=60)
    except sr.errors.DataError as error:
        needed = re.search(r"Log about ([\d,]+) sessions", str(error))
        assert needed is not None
        return int(needed[1].replace(",", ""))


def test_small_logs_give_sane_intervals_or_say_how_many_sessions_it_takes() -> None:
    inside, needed = [], []
    for n_sessions, seed in [(80, 0), (80, 1), (80, 2), *((150, seed) for seed in range(20)), (600, 0), (600, 1)]:
        found = found_or_needed(n_sessions, seed)
        if isinstance(found, int):
            assert found > n_sessions
            assert n_sessions < 600
            needed.append(found)
            continue
        assert found.low is not None
        assert found.high is not None
        assert (found.high <= (WIDEST_FACTOR + 1e-9) * found.examination).all()
        assert (found.low * (WIDEST_FACTOR + 1e-9) >= found.examination).all()
        inside += ((found.low <= THETA) & (found.high >= THETA))[1:].tolist()
    assert len(needed) >= 8
    assert len(inside) >= 40
    assert np.mean(inside) > 0.9
    # As many sessions as were asked for are enough, give or take: clicks of small logs tell them only roughly.
    assert isinstance(found_or_needed(int(1.5 * np.median(needed)), 0), sr.clicks.Propensities)


def test_standard_errors_are_those_of_simulations() -> None:
    world, logs, errors = make_world(20, seed=1), [], []
    for seed in range(60):
        log = click_log(world, 1000, seed=seed)
        counts, rows = count_log(log, 6)
        counts, _ = chosen_units(counts, rows, moved_units(counts))
        found = harvested_examination(counts, np.ones(6))
        logs.append(np.log(found[1:]))
        errors.append(log_errors(counts, found)[1:])
    # Clicks are taken for rare; where they are not, their numbers vary less, and the errors are a little too large.
    ratio = np.mean(errors, axis=0) / np.std(logs, axis=0)
    assert ((ratio > 0.8) & (ratio < 1.6)).all()


def test_advice_names_the_position_and_the_sessions() -> None:
    check_precise(np.array([0.0, LARGEST_ERROR]), 100, has_features=True)
    # Twice the error takes four times the sessions.
    with pytest.raises(
        sr.errors.DataError, match=r"position 3: from 100 .*Log about 400 .*max_position=2.*'regression'"
    ):
        check_precise(np.array([0.0, 0.1, 2 * LARGEST_ERROR]), 100, has_features=True)
    with pytest.raises(sr.errors.DataError, match=r"position 2: .*Log more sessions, let documents change") as caught:
        check_precise(np.array([0.0, np.inf]), 100, has_features=False)
    assert "max_position" not in str(caught.value)
    assert "regression" not in str(caught.value)
    assert more_sessions(1.4 * LARGEST_ERROR, 123_456) == "Log about 250,000 sessions"


def test_the_prior_is_the_inverse_of_its_covariance() -> None:
    logs = np.log(np.arange(1, 7))
    covariance = np.outer(logs, logs) + 0.3**2 * np.eye(6)
    np.testing.assert_allclose(power_prior(6) @ covariance, np.eye(6), atol=1e-9)


def test_a_prior_matters_less_with_every_session() -> None:
    world, far = make_world(20, seed=2), []
    for n_sessions in (40, 400, 20_000):
        log = click_log(world, n_sessions, seed=0)
        counts, rows = count_log(log, 6)
        counts, _ = chosen_units(counts, rows, moved_units(counts))
        found = harvested_examination(counts, np.ones(6), power_prior(6))
        far.append(np.abs(np.log(found / THETA)).max())
    assert far[0] > 0.1
    assert far[2] < 0.15
