"""Position bias by a column of the context: groups keep what they tell, and share what they do not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import Floats
from tests.clicks.people import click_log, make_world

pytestmark = pytest.mark.slow


def by_power(power: float) -> Floats:
    return np.arange(1, 7.0) ** -power


def log_of_devices(sizes: dict[str, int], powers: dict[str, float], seed: int = 0) -> sr.clicks.ClickLog:
    """Sessions of several devices, each with a position bias of its own."""
    world, columns, device, first = make_world(40, seed=0), [], [], 0
    for number, (name, n_sessions) in enumerate(sizes.items()):
        part = click_log(world, n_sessions, examination=by_power(powers[name]), seed=100 * seed + number, features=True)
        assert part.features is not None
        columns.append(
            {
                "session": first + part.session,
                "qid": part.qids[part.query[part.session]],
                "docid": part.pair_docid[part.document],
                "position": part.position,
                "click": part.click,
                "X": part.features[part.document],
            }
        )
        device += [name] * part.n_rows
        first += n_sessions
    joined: dict[str, Any] = {key: np.concatenate([each[key] for each in columns]) for key in columns[0]}
    return sr.clicks.ClickLog(**joined, context={"device": device})


def error(found: Floats, power: float) -> float:
    return float(np.sqrt(np.mean(np.log(found / by_power(power)) ** 2)))


def test_groups_are_nearer_to_their_truth_than_all_sessions_and_each_alone() -> None:
    powers, sizes = {"desktop": 0.6, "phone": 1.4, "watch": 1.0}, {"desktop": 6000, "phone": 3000, "watch": 250}
    own, pooled, alone, inside = [], [], [], []
    for seed in range(5):
        log = log_of_devices(sizes, powers, seed)
        bias = sr.clicks.position_bias(log, by="device")
        for name, power in powers.items():
            group, only = bias.groups[name], log.subset(log.context["device"] == name)
            assert group.low is not None
            assert group.high is not None
            inside += ((group.low <= by_power(power)) & (by_power(power) <= group.high))[1:].tolist()
            own.append(error(group.examination, power))
            pooled.append(error(bias.examination, power))
            if name == "watch":
                alone.append((own[-1], error(sr.clicks.position_bias(only, n_resamples=0).examination, power)))
    assert np.mean(own) < 0.4 * np.mean(pooled)
    assert np.mean([with_others for with_others, _ in alone]) < np.mean([by_itself for _, by_itself in alone])
    assert np.mean(inside) > 0.9


def test_groups_that_do_not_differ_are_pooled() -> None:
    pooled, alone = [], []
    for seed in range(5):
        log = log_of_devices({"desktop": 4000, "phone": 300}, {"desktop": 1.0, "phone": 1.0}, seed)
        pooled.append(sr.clicks.position_bias(log, by="device").groups["phone"])
        alone.append(sr.clicks.position_bias(log.subset(log.context["device"] == "phone"), n_resamples=0))
    together, apart = (np.mean([error(each.examination, 1.0) for each in some]) for some in (pooled, alone))
    assert together < 0.6 * apart


def test_rows_have_the_propensities_of_their_group(tmp_path: Path) -> None:
    desktop, phone = sr.clicks.Propensities([1.0, 0.8]), sr.clicks.Propensities([1.0, 0.3], [1, 0.2], [1, 0.4])
    bias = sr.clicks.Propensities([1.0, 0.5], by="device", groups={"desktop": desktop, "phone": phone})
    log = sr.clicks.ClickLog(
        session=[1, 1, 2, 2, 3, 3],
        qid=[1] * 6,
        docid=[1, 2] * 3,
        position=[1, 2] * 3,
        click=[0, 1] * 3,
        X=[[1.0], [2.0]] * 3,
        context={"device": ["phone"] * 2 + ["desktop"] * 2 + ["fridge"] * 2},
    )
    assert bias.of_rows(log)[0].tolist() == [1, 0.3, 1, 0.8, 1, 0.5]
    assert sr.clicks.unbiased(log, bias).labels.tolist() == [0, 1]
    bias.save(tmp_path / "bias.json")
    back = sr.clicks.Propensities.load(tmp_path / "bias.json")
    assert back.to_dict() == bias.to_dict()
    assert back.of_rows(log)[0].tolist() == bias.of_rows(log)[0].tolist()
    frame = bias.to_frame()
    assert frame["device"].tolist() == ["(all)"] * 2 + ["desktop"] * 2 + ["phone"] * 2
    assert frame["examination"].tolist() == [1, 0.5, 1, 0.8, 1, 0.3]
    pytest.importorskip("matplotlib")
    from swaprank.rendering.figures import new_axes

    assert [line.get_ydata().tolist() for line in bias.plot(new_axes()).get_lines()] == [[1, 0.8], [1, 0.3]]


def test_bad_groups_are_errors() -> None:
    plain = click_log(make_world(5), 50)
    with pytest.raises(sr.errors.ParameterError, match="column of the log's context; found 'device'"):
        sr.clicks.position_bias(plain, by="device")
    bias = sr.clicks.Propensities([1.0, 0.5], by="device", groups={"phone": sr.clicks.Propensities([1.0, 0.4])})
    log = sr.clicks.ClickLog(session=[1, 1], qid=[1, 1], docid=[1, 2], position=[1, 2], click=[1, 0])
    with pytest.raises(
        sr.errors.DataError, match=r"by 'device', but the log has no such context: .*context=\['device'\]"
    ):
        bias.of_rows(log)
    with pytest.raises(sr.errors.DataError, match="give groups together with by"):
        sr.clicks.Propensities([1.0], by="device")
    with pytest.raises(sr.errors.DataError, match="same 2 positions"):
        sr.clicks.Propensities([1.0, 0.5], by="device", groups={"phone": sr.clicks.Propensities([1.0])})
    many = log_of_devices({"desktop": 50}, {"desktop": 1.0})
    with pytest.raises(sr.errors.ParameterError, match="'trust'"):
        sr.clicks.position_bias(many, "trust", by="device")


@pytest.mark.parametrize("method", ["harvest", "swaps"])
def test_groups_that_tell_nothing_do_no_harm(method: Any) -> None:
    """Missing numbers are a group, and so are pages of one document and pages beyond the last position."""
    log = click_log(make_world(10), 4000, n_shown=4)
    device = np.where(np.arange(4000) % 2 == 0, 1.0, np.nan)[log.session]
    more = sr.clicks.ClickLog(
        session=[*log.session.tolist(), -1, -2],
        qid=[*log.qids[log.query[log.session]].tolist(), 0, 0],
        docid=[*log.pair_docid[log.document].tolist(), 0, 1],
        position=[*log.position.tolist(), 1, 4],
        click=[*log.click.tolist(), 1, 0],
        context={"d": [*device.tolist(), 2.0, 3.0]},
    )
    found = sr.clicks.position_bias(more, method, by="d", max_position=3)
    assert {"1.0", "nan"} <= set(found.groups)
