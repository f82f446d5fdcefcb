"""Experiments: their parts, and the command that runs them."""

from collections.abc import Callable

import numpy as np
import pytest

import swaprank as sr
from swaprank.reproduction import ranknet_tables
from swaprank.reproduction.experiment import Outcome, Settings
from swaprank.reproduction.experiment_names import experiment
from tests.command_line import here

pytestmark = pytest.mark.slow


def test_share_of_ties_is_that_of_all_pairs() -> None:
    labels, indptr = np.array([0.0, 0, 1, 2, 2, 2]), np.array([0, 3, 6])
    assert ranknet_tables._share_of_ties(labels, indptr) == pytest.approx((1 / 3 + 1) / 2)


def test_the_published_tables_are_whole() -> None:
    assert all(len(row) == len(ranknet_tables.SIZES) for row in ranknet_tables.TABLE_1.values())
    assert all(len(row) == len(ranknet_tables.TIE_SIZES) for row in ranknet_tables.TABLE_2.values())


def test_two_layers_learn_the_random_net_and_a_line_does_not() -> None:
    """[Burges2005, Table 1], 2,500 vectors: 89.91 and 96.94."""
    linear, two_layers = (
        ranknet_tables._learn(sr.datasets.random_net, 2500, hidden, False, 1).different for hidden in ((), (5,))
    )
    assert linear == pytest.approx(0.8991, abs=0.04)
    assert two_layers > linear + 0.03


def test_unknown_experiments_are_refused() -> None:
    wrong = here("reproduce", "ranknet-table")
    assert wrong.code == 2
    assert "there is no experiment 'ranknet-table'; did you mean" in wrong.err


@pytest.mark.parametrize("name", ["ranknet-table2"])
def test_a_quick_experiment_prints_the_paper_beside_ours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranknet_tables, "TIE_SIZES", (100, 500))
    monkeypatch.setattr(ranknet_tables, "TABLE_2", {False: (0.595, 0.670), True: (0.596, 0.669)})
    messages: list[str] = []
    run: Callable[..., Outcome] = experiment(name).run
    outcome = run(Settings(quick=True), messages.append)
    assert len(messages) == 4
    assert "paper" in outcome.text
    assert "0.670" in outcome.text
    assert [len(series.y) for series in outcome.chart.series] == [2, 2, 2, 2]
