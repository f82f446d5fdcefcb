"""`swaprank clicks train` and `evaluate` do what the library does."""

import json
from pathlib import Path

import pytest

import swaprank as sr
from tests.clicks.click_worlds import judged
from tests.command_line import here

SMALL = ("--set", "n_trees=5", "--set", "n_leaves=4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, data = tmp_path_factory.mktemp("clicks"), judged(30)
    log, truth = sr.datasets.clicks(data, data.column("match"), 3000, moves=1, n_shown=5, random_state=0)
    learn, hold = log.split((0.7, 0.3), random_state=0, by="queries")
    sr.clicks.write_clicks(learn, place / "log.csv")
    sr.clicks.write_clicks(hold, place / "held_out.csv")
    truth.propensities.save(place / "bias.json")
    return place


def test_training_with_known_bias_is_that_of_the_library(folder: Path) -> None:
    arguments = ("clicks", "train", "log.csv", "-o", "known.swaprank", "--propensities", "bias.json", *SMALL)
    ended = here(*arguments, "--valid", "held_out.csv", folder=folder)
    assert ended.code == 0, ended.err
    assert "sessions" in ended.out
    ranker = sr.LambdaMART("dcg@10(gain=linear)", n_trees=5, n_leaves=4)
    bias = sr.clicks.Propensities.load(folder / "bias.json")
    log, held_out = sr.clicks.read_clicks(folder / "log.csv"), sr.clicks.read_clicks(folder / "held_out.csv")
    sr.clicks.train(ranker, log, bias, valid=held_out).ranker.save(folder / "library.swaprank")
    assert (folder / "known.swaprank").read_bytes() == (folder / "library.swaprank").read_bytes()


def test_training_without_bias_finds_and_saves_it(folder: Path) -> None:
    options = ("--save-propensities", "found.json", "--json", *SMALL)
    ended = here("clicks", "train", "log.csv", "-o", "joint.swaprank", *options, folder=folder)
    assert ended.code == 0, ended.err
    values = json.loads(ended.out)
    assert values["size"] == "5 trees"
    found = sr.clicks.Propensities.load(folder / "found.json")
    assert values["propensities"]["examination"] == found.examination.tolist()
    assert 0.4 < found.examination[1] < 0.6


def test_a_click_model_may_say_what_was_examined(folder: Path) -> None:
    arguments = ("clicks", "train", "log.csv", "-o", "browsing.swaprank", "--click-model", "ubm", *SMALL)
    ended = here(*arguments, "--valid", "held_out.csv", folder=folder)
    assert ended.code == 0, ended.err
    log, held_out = sr.clicks.read_clicks(folder / "log.csv"), sr.clicks.read_clicks(folder / "held_out.csv")
    model, ranker = sr.clicks.fit_model(log, "ubm"), sr.LambdaMART("dcg@10(gain=linear)", n_trees=5, n_leaves=4)
    ranker.fit(model.training_data(log), valid=model.training_data(held_out)).save(folder / "by_hand.swaprank")
    assert (folder / "browsing.swaprank").read_bytes() == (folder / "by_hand.swaprank").read_bytes()


def test_rankings_are_evaluated_and_compared(folder: Path) -> None:
    here("clicks", "train", "log.csv", "-o", "model.swaprank", "--propensities", "bias.json", *SMALL, folder=folder)
    one = here("clicks", "evaluate", "held_out.csv", "model.swaprank", "-m", "p@3", "-m", "mrr", folder=folder)
    assert one.code == 0, one.err
    log, ranker = sr.clicks.read_clicks(folder / "held_out.csv"), sr.load(folder / "model.swaprank")
    assert one.out == f"{sr.clicks.evaluate(log, ranker, ['p@3', 'mrr'])}\n"
    options = ("--propensities", "bias.json", "--estimator", "ips", "--clip", "0.1", "--json")
    two = here("clicks", "evaluate", "held_out.csv", "old=spam", "new=model.swaprank", *options, folder=folder)
    values = json.loads(two.out)
    assert list(values["evaluations"]) == ["old", "new"]
    assert values["comparison"]["differences"][0]["difference"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "log.csv", "-o", "x.swaprank", "-m", "map"), "dcg(gain=linear)"),
        (("train", "log.csv", "-o", "log.csv"), "log.csv"),
        (("train", "log.csv", "-o", "x.swaprank", "-m", "map", "--click-model", "ubm"), "dcg(gain=linear)"),
        (("train", "log.csv", "-o", "x.swaprank", "--click-model", "umb"), "did you mean 'ubm'"),
        (
            ("train", "log.csv", "-o", "x.swaprank", "--click-model", "ubm", "--propensities", "bias.json"),
            "--click-model has no use for --propensities",
        ),
        (("evaluate", "log.csv", "spam", "--estimator", "ips", "--clip", "1"), "--clip must be"),
        (("evaluate", "log.csv", "sapm"), "did you mean 'spam'"),
        (("evaluate", "log.csv", "spam", "-m", "ndcg@10"), "use a sum"),
    ],
)
def test_bad_requests_end_with_advice(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = here("clicks", *arguments, folder=folder)
    assert ended.code == 2
    assert message in ended.err
