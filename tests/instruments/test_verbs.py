"""`swaprank certify`, `combine` and `explain`, and the experiments."""

from pathlib import Path

import pytest

import swaprank as sr
from swaprank.reproduction import lambdarank_tables
from swaprank.reproduction.experiment import Settings
from swaprank.reproduction.experiment_names import experiment
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instruments")
    train, vali = sr.datasets.random_net((60, 40), n_features=6, n_documents=10, levels=4, random_state=0)
    for name, part in (("train", train), ("vali", vali)):
        sr.write_letor(part, folder / f"{name}.txt")
    sr.MART(n_trees=10, min_docs_in_leaf=5).fit(train).save(folder / "mart.swaprank")
    sr.LinearRegressionRanker(regularization=0.1).fit(train).save(folder / "linear.swaprank")
    return folder


def test_combine_saves_what_python_combines(folder: Path) -> None:
    done = here(
        "combine", "mart.swaprank", "linear.swaprank", "vali.txt", "-m", "map", "-o", "both.swaprank", folder=folder
    )
    assert done.code == 0, done.err
    both = sr.combine(sr.load(folder / "mart.swaprank"), sr.load(folder / "linear.swaprank"),
                      sr.read(folder / "vali.txt"), "map")  # fmt: skip
    assert done.out == f"both.swaprank: {both.size_}\n{both.summary()}\n"
    both.save(folder / "twin.swaprank")
    assert (folder / "both.swaprank").read_bytes() == (folder / "twin.swaprank").read_bytes()


def test_certify_ends_with_1_where_a_direction_rises_and_polishes(folder: Path) -> None:
    options = ("linear.swaprank", "train.txt", "-m", "ndcg", "--epsilon", "0.1")
    failed = here("certify", *options, folder=folder)
    assert failed.code == 1, failed.err
    assert "Not a local optimum" in failed.out
    polished = here("certify", *options, "--polish", "-o", "better.swaprank", folder=folder)
    assert polished.code == 0, polished.err
    assert "A local optimum, with 99% confidence" in polished.out
    train = sr.read(folder / "train.txt")
    ndcg = sr.metric("ndcg").bind(train.labels, train.indptr)
    before, after = (ndcg.mean(sr.load(folder / f"{name}.swaprank").predict(train)) for name in ("linear", "better"))
    assert after > before
    both = here("certify", *options, "--steps", "both", "--weights", "2", folder=folder)
    assert "by steps of 0.001 to 1" in both.out
    assert "of 2 raise it" in both.out
    wrong = here("certify", *options, "-o", "better.swaprank", folder=folder)
    assert wrong.code == 2
    assert "-o requires --polish" in wrong.err


def test_explain_prints_the_list(folder: Path) -> None:
    done = here("explain", "mart.swaprank", "vali.txt", "--query", "61", "--documents", "3", folder=folder)
    assert done.code == 0, done.err
    assert done.out.startswith("query 61: ndcg@10 0.")
    assert "and 7 more" in done.out
    unknown = here("explain", "mart.swaprank", "vali.txt", "--query", "1", folder=folder)
    assert unknown.code == 2
    assert "there is no query" in unknown.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matching-measures", "constructions"])
def test_small_experiments_print_tables_and_charts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lambdarank_tables, "FEATURES", 4)
    monkeypatch.setattr(lambdarank_tables, "QUICK_SIZES", (20, 40))
    monkeypatch.setattr(lambdarank_tables, "QUICK_TESTED", 30)
    monkeypatch.setattr(lambdarank_tables, "QUICK_QUERIES", (30, 30))
    messages: list[str] = []
    outcome = experiment(name).run(Settings(quick=True), messages.append)
    assert len(messages) >= {"matching-measures": 13, "constructions": 20}[name]
    assert "[Donmez2009" in outcome.text
    assert len(outcome.chart.series) == {"matching-measures": 4, "constructions": 5}[name]
