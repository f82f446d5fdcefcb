"""`swaprank info`, models as rankings, and --json."""

import json
from pathlib import Path

import pytest

import swaprank as sr
from swaprank.cli import app
from swaprank.experiments.model_summary import summarize_model
from swaprank.experiments.ranker_parameters import trainable_rankers
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    train, vali = sr.datasets.random_net((40, 20), n_features=4, n_documents=8, levels=3, random_state=0)
    sr.write_letor(train, folder / "train.txt")
    sr.write_letor(vali, folder / "vali.txt")
    trees = sr.MART(n_trees=4, min_docs_in_leaf=3).fit(train, valid=vali)
    trees.save(folder / "trees.swaprank")
    sr.LinearRegressionRanker(regularization=0.1).fit(train).save(folder / "linear.swaprank")
    sr.trec.write_scores(trees.predict(vali), folder / "trees.scores")
    (folder / "vali.qrels").write_text("1 0 d1 1\n")
    return folder


def test_info_of_a_model(folder: Path) -> None:
    shown = here("info", "trees.swaprank", folder=folder)
    assert shown.code == 0, shown.err
    assert shown.out.split()[:4] == ["ranker", "mart", "size", "4"]
    plain = json.loads(here("info", "trees.swaprank", "--json", folder=folder).out)
    ranker = sr.load(folder / "trees.swaprank")
    assert plain["measured"]["valid"]["ndcg@10"]["last"] == ranker.history_["valid"]["ndcg@10"][-1]
    assert plain["measured"]["valid"]["ndcg@10"]["value"] == max(ranker.history_["valid"]["ndcg@10"])
    assert (plain["n_rounds"], plain["best_round"]) == (ranker.n_rounds_, ranker.best_round_)
    assert plain["parameters"]["n_trees"] == 4
    assert plain["feature_names"] == ["1", "2", "3", "4"]
    assert plain["importances"]


def test_a_round_that_was_not_measured_has_no_value(folder: Path) -> None:
    train, vali = sr.read(folder / "train.txt"), sr.read(folder / "vali.txt")
    net = sr.LambdaRank(n_epochs=2).fit(train, valid=vali)
    summary = summarize_model(net.partial_fit(train))
    assert summary.measured["valid"]["ndcg@10"] == {"value": None, "last": net.history_["valid"]["ndcg@10"][-1]}
    assert "; the model is that of round 3\n" in summary.to_text()


def test_info_of_rankers_and_their_parameters(folder: Path) -> None:
    shown = here("info", "--rankers", folder=folder).out
    assert all(f"\n{name} " in shown for name in trainable_rankers())
    listed = json.loads(here("info", "--rankers", "--json", folder=folder).out)["rankers"]
    assert [row["name"] for row in listed] == list(trainable_rankers())
    assert (
        "n_leaves = 31\n    Maximum number of leaves per tree. " in here("info", "--ranker", "mart", folder=folder).out
    )
    plain = json.loads(here("info", "--ranker", "smoothrank", "--json", folder=folder).out)
    assert {"name": "degree", "default": 2, "meaning": "Degree of the polynomial kernel."} in plain["parameters"]
    for arguments in ((), ("train.txt", "--rankers"), ("--ranker", "mart", "--rankers")):
        failed = here("info", *arguments, folder=folder)
        assert failed.code == 2
        assert "give exactly one of FILE, --ranker NAME, --rankers and --environment" in failed.err
    assert "did you mean 'mart'?" in here("info", "--ranker", "marrt", folder=folder).err


def test_explain_without_a_query_takes_the_worst(folder: Path) -> None:
    shown = here("explain", "trees.swaprank", "vali.txt", "--json", folder=folder)
    vali, ranker = sr.read(folder / "vali.txt"), sr.load(folder / "trees.swaprank")
    values = sr.evaluate(vali, ranker.predict(vali), "ndcg@10")["ndcg@10"].per_query
    assert json.loads(shown.out)["qid"] == str(vali.qids[values.argmin()])


def test_scores_without_a_file_are_printed(folder: Path) -> None:
    shown = here("predict", "trees.swaprank", "vali.txt", folder=folder)
    assert shown.out == (folder / "trees.scores").read_text()


def test_a_model_is_a_ranking(folder: Path) -> None:
    by_model = here("evaluate", "vali.txt", "trees.swaprank", folder=folder)
    assert by_model.code == 0, by_model.err
    assert by_model.out == here("evaluate", "vali.txt", "trees.scores", folder=folder).out
    compared = here("compare", "vali.txt", "trees.scores", "trees=trees.swaprank", "linear.swaprank", folder=folder)
    assert "ndcg@10: trees and trees.scores are the same on every query." in compared.out
    narrow = (folder / "narrow.txt").write_text("0 qid:1 2:0.5\n1 qid:1 1:0.25\n")
    assert narrow
    assert here("evaluate", "narrow.txt", "trees.swaprank", folder=folder).code == 0
    failed = here("evaluate", "vali.qrels", "trees.swaprank", folder=folder)
    assert failed.code == 2
    assert "trees.swaprank is a model and needs features, but vali.qrels is a qrels file without features" in failed.err


KEYS = {
    ("combine", "trees.swaprank", "linear.swaprank", "vali.txt", "-o", "both.swaprank"): {
        "model", "metric", "alpha", "value", "low", "high", "first_alone", "second_alone", "whole_line_alpha",
        "whole_line_value",
    },
    ("explain", "trees.swaprank", "vali.txt", "--query", "41"): {
        "qid", "metric", "value", "n_documents", "documents", "hardest_pairs", "best_swaps",
    },
    ("certify", "linear.swaprank", "train.txt", "--epsilon", "0.3"): {
        "passed", "metric", "value", "n_queries", "parameters", "epsilon", "delta", "steps", "n_directions", "n_rising",
        "n_weights", "n_weights_rising", "polishing", "verdict",
    },
}  # fmt: skip


@pytest.mark.parametrize("arguments", KEYS, ids=lambda arguments: arguments[0])
def test_instruments_as_json(folder: Path, arguments: tuple[str, ...]) -> None:
    shown = here(*arguments, "--json", folder=folder)
    assert shown.code in (0, 1), shown.err
    plain = json.loads(shown.out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert set(plain) == KEYS[arguments]


def test_a_query_without_a_value_is_null(folder: Path) -> None:
    (folder / "no_relevant.txt").write_text("0 qid:1 1:1 4:2\n0 qid:1 1:2\n")
    skip = ("-m", "ndcg@5(empty=skip)", "--json")
    measured = here("evaluate", "no_relevant.txt", "trees.swaprank", *skip, "--per-query", folder=folder)
    plain = json.loads(measured.out)["trees.swaprank"]["results"][0]
    assert plain["mean"] is plain["low"] is plain["per_query"]["1"] is None
    explained = here("explain", "trees.swaprank", "no_relevant.txt", "--query", "1", *skip, folder=folder)
    assert json.loads(explained.out)["value"] is None


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_every_command_has_help_and_verbosity(folder: Path, command: str) -> None:
    shown = here(command, "--help", folder=folder)
    assert shown.code == 0
    assert "Usage: " in shown.out
    for option in ("--verbose", "--quiet"):
        assert option in shown.out


def test_threads_change_nothing(folder: Path) -> None:
    for n_threads in (1, 3):
        done = here("predict", "trees.swaprank", "vali.txt", "-o", f"{n_threads}.scores", "--threads", n_threads, "-q",
                    folder=folder)  # fmt: skip
        assert done == (0, "", "")
    assert (folder / "1.scores").read_bytes() == (folder / "3.scores").read_bytes()
