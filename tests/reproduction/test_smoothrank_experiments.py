"""The SmoothRank experiments on small folders of folds and on generated data."""

import json
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from swaprank.reproduction import smoothrank_data, smoothrank_figures, smoothrank_tables
from swaprank.reproduction.experiment import Outcome, Settings
from swaprank.reproduction.experiment_names import EXPERIMENTS, experiment
from swaprank.reproduction.letor_sets import SETS
from tests.command_line import here

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two folds in the layout of LETOR."""
    place = tmp_path_factory.mktemp("folds")
    for number in (1, 2):
        fold = place / f"Fold{number}"
        fold.mkdir()
        parts = sr.datasets.random_polynomial((8, 4, 4), n_features=4, n_documents=12, levels=3, random_state=number)
        for name, part in zip(("train", "vali", "test"), parts, strict=True):
            sr.write_letor(part, fold / f"{name}.txt")
    return place


def run(name: str, settings: Settings) -> Outcome:
    messages: list[str] = []
    outcome = experiment(name).run(settings, messages.append)
    assert messages
    return outcome


@pytest.mark.parametrize("name", ["smoothrank-ohsumed", "smoothrank-truncation"])
def test_missing_data_is_one_clear_error(name: str, tmp_path: Path) -> None:
    missing = here("reproduce", name)
    assert missing.code == 2
    assert "--data FOLDER, a folder with Fold1 to Fold5, each with train.txt, vali.txt and test.txt" in " ".join(
        missing.err.split()
    )
    empty = here("reproduce", name, "--data", tmp_path)
    assert empty.code == 2
    assert "has no folders Fold1, Fold2" in empty.err
    assert missing.out == empty.out == ""


def test_data_is_refused_where_it_would_be_ignored(tmp_path: Path) -> None:
    refused = here("reproduce", "ranknet-table1", "--data", tmp_path)
    assert refused.code == 2
    assert "ranknet-table1 does not take --data" in refused.err


def test_ohsumed_has_the_paper_beside_what_the_folds_gave(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothrank_data, "FULL", {"regularization": (10.0, 1.0)})
    monkeypatch.setattr(smoothrank_tables, "known_set", lambda *found: "TD2003")
    outcome = run("smoothrank-ohsumed", Settings(data=folder))
    assert "2 folds" in outcome.text
    assert "[Chapelle2010, Table 2], TD2003" in outcome.text
    assert [line.split()[2:] for line in outcome.text.splitlines() if line.startswith("paper  SmoothRank")] == [
        ["0.336", "0.270"]
    ]
    ours = outcome.chart.series[0]
    expected = []
    for number in (1, 2):
        parts = [sr.read(folder / f"Fold{number}" / f"{name}.txt") for name in ("train", "vali", "test")]
        ranker = sr.LinearRegressionRanker(metric="ndcg@50", overweight=True).fit(parts[0], valid=parts[1])
        expected.append(sr.evaluate(parts[2], ranker.predict(parts[2]), "ndcg@10", convention="letor").results[0].mean)
    assert (ours.name, ours.x[-1]) == ("regression", 10)
    assert ours.y[-1] == pytest.approx(np.mean(expected))
    assert f"{np.mean(expected):.4f}" in outcome.text


def test_truncation_has_a_row_for_every_k(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(smoothrank_data.QUICK, "regularization", (1.0,))
    elsewhere = run("smoothrank-truncation", Settings(quick=True, data=folder))
    assert "paper " not in elsewhere.text.replace("the paper", "")
    assert not any(series.published for series in elsewhere.chart.series)
    monkeypatch.setattr(smoothrank_tables, "known_set", lambda *found: "OHSUMED")
    outcome = run("smoothrank-truncation", Settings(quick=True, data=folder))
    assert "1 fold of" in outcome.text
    assert [line.split()[0] for line in outcome.text.splitlines() if " paper " in line] == [
        f"NDCG@{k}" for k in smoothrank_tables.TABLE_3
    ]
    published = [series for series in outcome.chart.series if series.published]
    assert [list(series.y) for series in published] == np.array(list(smoothrank_tables.TABLE_3.values())).T.tolist()


def test_two_tables_of_the_paper_agree_where_they_overlap() -> None:
    """Table 2 has SmoothRank trained for NDCG@50, to three digits, and so has Table 3, to four."""
    for_ndcg50 = dict(zip(smoothrank_tables.TESTED, smoothrank_tables.TABLE_3[50], strict=True))
    table_2 = SETS["OHSUMED"].published
    assert table_2["SmoothRank"][0] == round(for_ndcg50[10], 3)
    assert max(ndcg for ndcg, _ in table_2.values()) == table_2["SmoothRank"][0]


def test_small_sigmas_are_close_to_the_metric_along_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothrank_figures, "SIGMAS", (100.0, 1e-6))
    monkeypatch.setattr(smoothrank_data, "QUICK_QUERIES", (10, 1, 1))
    flat, close, exact = (np.array(series.y) for series in run("smoothrank-line", Settings(quick=True)).chart.series)
    np.testing.assert_allclose(close, exact, atol=0.02)
    assert np.ptp(flat) < np.ptp(exact) / 4
    assert smoothrank_figures._peaks(np.array([0.0, 1, 1, 0, 2, 1])) == 2


def test_annealing_gives_json(folder: Path) -> None:
    done = here("reproduce", "smoothrank-annealing", "--quick", "--json", "--data", folder)
    assert done.code == 0, done.err
    values = json.loads(done.out)
    assert values["source"] == EXPERIMENTS["smoothrank-annealing"].source
    assert [series["name"] for series in values["chart"]["series"]] == ["train", "vali", "test"]
    assert values["chart"]["series"][0]["x"] == [2.0**power for power in range(6, -7, -1)]
    assert "2^-6" in values["text"]
