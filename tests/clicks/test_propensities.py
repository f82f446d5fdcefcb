"""Propensities: their two forms, and their file."""

from pathlib import Path

import numpy as np
import pytest

import swaprank as sr


def test_trust_bias_in_two_forms() -> None:
    theta, plus, minus = np.array([1.0, 0.5]), np.array([0.9, 0.8]), np.array([0.4, 0.1])
    found = sr.clicks.Propensities(theta, epsilon_plus=plus, epsilon_minus=minus)
    for gamma in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(
            found.alpha * gamma + found.beta, theta * (plus * gamma + minus * (1 - gamma)), rtol=1e-14
        )
    without = sr.clicks.Propensities(theta)
    assert without.alpha.tolist() == theta.tolist()
    assert without.beta.tolist() == [0, 0]


def test_files_give_back_what_was_written(tmp_path: Path) -> None:
    found = sr.clicks.Propensities([1, 1 / 3], [1, 0.3], [1, 0.4], [1, 1], [0.2, 0.1], method="by guessing")
    found.save(tmp_path / "bias.json")
    back = sr.clicks.Propensities.load(tmp_path / "bias.json")
    assert back.to_dict() == found.to_dict()
    assert back.alpha.tolist() == found.alpha.tolist()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"kind": "swaprank propensities"}', '{"kind": 3}', "\x00"])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "bias.json").write_text(content)
    with pytest.raises(sr.errors.DataError, match=r"bias\.json has no propensities"):
        sr.clicks.Propensities.load(tmp_path / "bias.json")


def test_invalid_numbers_are_errors() -> None:
    with pytest.raises(sr.errors.DataError, match="above 0"):
        sr.clicks.Propensities([1.0, 0.0])
    with pytest.raises(sr.errors.DataError, match="each of the 2 positions"):
        sr.clicks.Propensities([1.0, 0.5], [1.0], [1.0])
    with pytest.raises(sr.errors.DataError, match="together"):
        sr.clicks.Propensities([1.0, 0.5], [1.0, 0.4])
    with pytest.raises(sr.errors.DataError, match="above epsilon_minus"):
        sr.clicks.Propensities([1.0], epsilon_plus=[0.2], epsilon_minus=[0.2])
    with pytest.raises(sr.errors.DataError, match="positions 1 to 2, but position 3"):
        sr.clicks.Propensities([1.0, 0.5]).at([1, 3])


def test_plots_show_the_numbers() -> None:
    pytest.importorskip("matplotlib")
    from swaprank.rendering.figures import new_axes

    found = sr.clicks.Propensities([1, 0.5], [1, 0.4], [1, 0.6], [1, 1], [0.2, 0.1])
    lines = found.plot(new_axes()).get_lines()
    assert [line.get_ydata().tolist() for line in lines] == [
        each.tolist() for each in (found.examination, found.alpha, found.beta)
    ]
