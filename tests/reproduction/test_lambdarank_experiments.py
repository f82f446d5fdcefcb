"""The LambdaRank experiments on tiny data: they say how they train, and continue where they were interrupted."""

from pathlib import Path

import pytest

from swaprank.reproduction import lambdarank_comparison, local_optimality
from swaprank.reproduction.experiment import Outcome, Settings
from swaprank.reproduction.experiment_names import experiment

pytestmark = pytest.mark.slow


def run_twice(name: str, folder: Path) -> Outcome:
    settings = Settings(quick=True, output=folder)
    first = experiment(name).run(settings, lambda message: None)
    kept = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = experiment(name).run(settings, lambda message: None)
    assert again.text == first.text
    assert kept
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == kept
    assert "lambdas not normalized" in first.text
    assert "plain gradient descent" in first.text
    return first


def test_local_optimality_counts_rises_by_step_and_in_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"QUICK_QUERIES": (30, 15), "EPOCHS": 3, "RATE_EPOCHS": 1, "FEATURES": 8, "LATER": 2}.items():
        monkeypatch.setattr(local_optimality, name, value)
    text = run_twice("local-optimality", tmp_path).text
    rows = [line for line in text.splitlines() if line.startswith(("linear", "two layers  "))]
    assert len(rows) == 1 + 2 * 4
    random = rows[0].split()
    assert random[2] == "random"
    # Directions that rise, and the largest rise as a number of queries.
    assert 0 < int(random[4]) <= 90
    assert 0 < float(random[6]) < 30
    assert sum(line.startswith("for ") for line in text.splitlines()) == 3


def test_the_comparison_has_the_gains_and_rates_of_the_paper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"QUICK_QUERIES": (30, 15, 15), "QUICK_EPOCHS": 3, "RATE_EPOCHS": 1}.items():
        monkeypatch.setattr(lambdarank_comparison, name, value)
    outcome = run_twice("lambdarank-vs-ranknet", tmp_path)
    assert "gains 0, 3, 7, 15, 31" in outcome.text
    for make in lambdarank_comparison.KINDS.values():
        assert make().training_metric() == lambdarank_comparison.METRIC
    assert [series.name for series in outcome.chart.series] == [
        "RankNet, linear", "LambdaRank, linear", "RankNet, 10 hidden units", "LambdaRank, 10 hidden units",
    ]  # fmt: skip
    rates = {line.split()[-11] for line in outcome.text.splitlines() if " LambdaRank  " in line}
    assert {float(rate) for rate in rates} <= set(lambdarank_comparison.RATES)
