"""The list of the papers' tables and figures: all of them, each once, with the experiments that repeat them."""

import json

from swaprank.reproduction.coverage import ITEMS
from swaprank.reproduction.experiment_names import EXPERIMENTS
from tests.command_line import here

COUNTS = {
    "Burges2005": {"Table": 6, "Figure": 1},
    "Burges2006": {"Table": 0, "Figure": 3},
    "Donmez2009": {"Table": 4, "Figure": 6},
    "Burges2010": {"Table": 0, "Figure": 1},
    "Chapelle2010": {"Table": 3, "Figure": 5},
}
"""How many tables and figures the papers have; they are numbered from 1."""


def test_every_table_and_figure_of_the_papers_is_listed_once() -> None:
    expected = {
        (paper, f"{kind} {number}")
        for paper, kinds in COUNTS.items()
        for kind, count in kinds.items()
        for number in range(1, count + 1)
    }
    listed = [(item.paper, item.item) for item in ITEMS]
    assert len(listed) == len(set(listed))
    assert set(listed) == expected


def test_every_experiment_repeats_something_that_is_listed() -> None:
    assert {name for item in ITEMS for name in item.experiments} == set(EXPERIMENTS)
    for item in ITEMS:
        assert bool(item.experiments) == (item.status != "not to be had"), item
        assert bool(item.difference) == (item.status != "reproduced"), item
        for name in item.experiments:
            assert item.paper in EXPERIMENTS[name].source, item


def test_the_command_prints_the_list() -> None:
    listed = here("reproduce", "--list")
    assert listed.code == 0
    lines = listed.out.splitlines()[2:]
    assert [tuple(line.split()[:3]) for line in lines] == [(item.paper, *item.item.split()) for item in ITEMS]
    assert here("reproduce").out == listed.out
    values = json.loads(here("reproduce", "--list", "--json").out)
    assert [item["status"] for item in values["items"]] == [item.status for item in ITEMS]
    assert [known["name"] for known in values["experiments"]] == list(EXPERIMENTS)


def test_figures_without_data_have_the_values_of_the_papers() -> None:
    cost, errors = here("reproduce", "ranknet-figure1").out, here("reproduce", "overview-figure1").out
    # log 2 at a difference of 0, and P_ik of Eq. 5 for P = 0.6: 0.36 / (1 + 0.72 - 1.2).
    assert "0.6931      0.6931    0.6931" in cost
    assert "0.6923" in cost
    left, right = (line.split() for line in errors.splitlines()[-2:])
    assert (left[4:6], right[4:6]) == (["13", "13"], ["11", "11"])
    assert float(left[6]) > float(right[6])
