"""The table of all learners, on small folders of folds and on generated data."""

from pathlib import Path

import pytest

import swaprank as sr
from swaprank.registry import RANKERS, ranker_class
from swaprank.reproduction import learner_table, letor_sets
from swaprank.reproduction.experiment import Settings, draw_chart
from swaprank.reproduction.experiment_names import experiment
from tests.command_line import here

pytestmark = pytest.mark.slow

ALL = dict(learner_table.LEARNERS)
FEW = ("regression", "SVM-MAP", "RandomForest", "LambdaMART", "SmoothRank")


@pytest.fixture(autouse=True)
def few_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner_table, "LEARNERS", {name: ALL[name] for name in FEW})
    monkeypatch.setattr(learner_table, "QUICK_QUERIES", 9)
    monkeypatch.setitem(learner_table.QUICK, "annealing", (4.0,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("folds")
    for number in (1, 2):
        (place / f"Fold{number}").mkdir()
        parts = sr.datasets.random_search((8, 4, 4), n_documents=12, levels=3, random_state=number)
        for name, part in zip(("train", "vali", "test"), parts, strict=True):
            sr.write_letor(part, place / f"Fold{number}" / f"{name}.txt")
    return place


def test_every_learner_of_data_is_in_the_table() -> None:
    from_data = {kind for kind in RANKERS if ranker_class(kind).can.learns_from == "data"}
    assert {learner.kind for learner in ALL.values()} == from_data


def test_generated_data_has_a_row_for_every_learner(tmp_path: Path) -> None:
    messages: list[str] = []
    outcome = experiment("ohsumed-table").run(Settings(quick=True), messages.append)
    assert "generated data, 3 folds, 9 test queries" in outcome.text
    assert "paper" not in outcome.text
    rows = outcome.text.splitlines()[-len(FEW) :]
    assert [row.split()[0] for row in rows] == list(FEW)
    assert list(outcome.chart.ticks) == list(FEW)
    ndcg, ap = outcome.chart.series
    assert (ndcg.name, ap.name) == ("NDCG@10", "MAP")
    assert [f"{value:.4f}" for value in ndcg.y] == [row.split()[4] for row in rows]
    draw_chart(outcome.chart, tmp_path / "table.svg")
    assert all(name in (tmp_path / "table.svg").read_text() for name in FEW)


def test_a_folder_is_resumed_and_gives_what_cross_validation_gives(folder: Path, tmp_path: Path) -> None:
    arguments = ("reproduce", "ohsumed-table", "--quick", "--data", folder, "-o", tmp_path / "kept")
    first = here(*arguments)
    assert first.code == 0, first.err
    again = here(*arguments)
    assert again.out == first.out
    assert again.err.count("already trained") == len(FEW)
    parts = [sr.read(folder / "Fold1" / f"{name}.txt") for name in ("train", "vali", "test")]
    metric = learner_table.METRICS[0]
    ranker = sr.baselines.SVMMAP("map", regularization=(10.0, 1.0, 0.1)).fit(parts[0], valid=parts[1], metrics=[metric])
    expected = sr.evaluate(parts[2], ranker.predict(parts[2]), [metric]).results[0].mean
    row = next(line for line in first.out.splitlines() if line.startswith("SVM-MAP"))
    assert row.split()[4] == f"{expected:.4f}"


def test_the_paper_is_beside_ours_for_ohsumed_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = letor_sets.SETS["OHSUMED"]._replace(n_queries=16, n_features=12)
    monkeypatch.setitem(letor_sets.SETS, "OHSUMED", small)
    monkeypatch.setattr(learner_table, "LETOR_FOLDS", 1)
    outcome = experiment("ohsumed-table").run(Settings(quick=True, data=folder), lambda message: None)
    row = next(line for line in outcome.text.splitlines() if line.startswith("SVM-MAP"))
    assert row.split()[6:8] == ["0.432", "0.445"]
    assert {series.name for series in outcome.chart.series if series.published} == {"NDCG@10, paper", "MAP, paper"}


def test_output_is_refused_where_nothing_is_kept(tmp_path: Path) -> None:
    refused = here("reproduce", "ranknet-table1", "-o", tmp_path)
    assert refused.code == 2
    assert "ranknet-table1 does not take --output" in refused.err
