"""`swaprank clicks abtest`: the numbers of Python, and advice for bad requests; what help texts offer works."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import swaprank as sr
from tests.clicks.people import click_log, make_world
from tests.command_line import here


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of two variants, with users of several sessions, and what each session was worth."""
    folder, log = tmp_path_factory.mktemp("abtest"), click_log(make_world(8), 4000, seed=1)
    sr.clicks.write_clicks(log, folder / "plain.csv")
    user = pl.col("session") // 4
    worth = pl.Series(np.random.default_rng(0).random(4000).round(3))
    pl.read_csv(folder / "plain.csv").with_columns(
        group=pl.when(user % 2 == 0).then(pl.lit("old")).otherwise(pl.lit("new")),
        user=user,
        worth=worth.gather(log.session),
        title=pl.lit("a b"),
    ).write_csv(folder / "log.csv")
    # Here what is worth is a feature: the same for a document in all sessions.
    pl.read_csv(folder / "log.csv").with_columns(worth=pl.col("docid")).write_csv(folder / "pairs.csv")
    return folder


def test_the_result_is_that_of_python(folder: Path) -> None:
    log = sr.clicks.read_clicks(folder / "log.csv", features=[], context=["group", "user", "worth"])
    wanted = sr.clicks.ab_test(log, "group", ["clicked", "worth"], unit="user", baseline="old")
    options = ("--variant", "group", "--unit", "user", "-m", "clicked", "-m", "worth", "--baseline", "old")
    assert here("clicks", "abtest", "log.csv", *options, folder=folder).out == f"{wanted}\n"
    assert wanted.n_units == {"new": 500, "old": 500}
    values = json.loads(here("clicks", "abtest", "log.csv", *options, "--sequential", "--json", folder=folder).out)
    assert values["planned"] == 10_000
    assert values["differences"][0]["high"] > wanted.differences[0].high


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there is no column 'variant'"),
        (("--variant", "session"), "column 'session' is given as session and as context session"),
        (("--variant", "worth"), "different variants, such as '0.0' and"),
        (("--variant", "group", "--unit", "qid"), "column 'qid' is given as qid"),
        (("--variant", "group", "--baseline", "knew"), "there is no variant 'knew'; did you mean 'new'?"),
        (("--variant", "group", "--shares", "half"), "--shares must be numbers"),
        (("--variant", "group", "--shares", "1,2,3"), "shares must be 2 numbers above 0"),
        (("--variant", "group", "-m", "title"), "title must hold numbers"),
    ],
)
def test_bad_requests_end_with_advice(folder: Path, arguments: tuple[str, ...], message: str) -> None:
    ended = here("clicks", "abtest", "log.csv", *arguments, folder=folder)
    assert message in ended.err + ended.out


def test_metrics_that_the_help_of_evaluate_offers_are_accepted(folder: Path) -> None:
    help_text = " ".join(here("clicks", "evaluate", "--help", folder=folder).out.replace("│", " ").split())
    offered = ["dcg@10(gain=linear)", "p@5", "rbp", "mrr", "success@5"]
    for metric in offered:
        assert metric in help_text
    assert "ndcg" not in help_text
    log = sr.clicks.read_clicks(folder / "log.csv", features=[])
    bias = sr.clicks.Propensities(1 / np.arange(1, log.max_position + 1))
    found = sr.clicks.evaluate(log, np.zeros(log.n_pairs), offered, propensities=bias)
    assert [row.metric for row in found] == offered


def test_a_ranking_that_is_neither_a_file_nor_a_feature(folder: Path) -> None:
    ended = here("clicks", "evaluate", "plain.csv", "no.swaprank", folder=folder)
    assert "'no.swaprank' is neither a file nor a feature of the log; the log has no features." in ended.err


def test_numbers_of_clicks_and_columns_of_text(folder: Path) -> None:
    (folder / "counts.csv").write_text("session,qid,docid,position,click,title\n1,1,1,1,3,x\n1,1,2,2,0,y\n")
    ended = here("clicks", "info", "counts.csv", folder=folder)
    assert ended.code == 2
    assert "--binary" in ended.err
    assert (
        "clicks per session                    1.00"
        in here("clicks", "info", "counts.csv", "--binary", folder=folder).out
    )
    ended = here("clicks", "train", "counts.csv", "--binary", "-o", "m.swaprank", folder=folder)
    assert "column 'title'" in ended.err
    for option in ("--features", "--context"):
        assert option in ended.err
        assert option in here("clicks", "train", "--help", folder=folder).out
    assert "--ignore" not in ended.err


def test_a_bias_of_each_group_needs_no_option_once_it_is_saved(folder: Path) -> None:
    made = here("clicks", "propensity", "log.csv", "--by", "group", "-o", "bias.json", folder=folder)
    assert made.code == 0, made.err
    log = sr.clicks.read_clicks(folder / "log.csv", features=[], context=["group"])
    assert f"{sr.clicks.position_bias(log, by='group')}" in made.out
    options = ("--features", "worth", "--propensities", "bias.json", "--units", "queries")
    log = sr.clicks.read_clicks(folder / "pairs.csv", features=["worth"], context=["group"])
    assert log.features is not None
    bias = sr.clicks.Propensities.load(folder / "bias.json")
    wanted = sr.clicks.evaluate(log, log.features[:, 0], propensities=bias, units="queries")
    assert str(wanted) in here("clicks", "evaluate", "pairs.csv", "worth", *options, folder=folder).out


def test_logs_in_other_forms(folder: Path) -> None:
    (folder / "wide.csv").write_text("qid,documents,clicks\nshoes,a b c,b\nshoes,b a c,\n")
    values = json.loads(here("clicks", "info", "wide.csv", "--schema", "wide", "--json", folder=folder).out)
    assert values["clicks"] == [0, 1, 0]
    events = [("click", "b"), ("add_to_cart", "a"), ("hover", "b")]
    (folder / "ubi").mkdir()
    (folder / "ubi" / "queries.jsonl").write_text(
        json.dumps({"query_id": "q", "user_query": "shoes", "query_response_hit_ids": ["a", "b"]})
    )
    (folder / "ubi" / "events.jsonl").write_text(
        "\n".join(
            json.dumps(
                {"action_name": action, "query_id": "q", "event_attributes": {"object": {"object_id": document}}}
            )
            for action, document in events
        )
    )
    options = ("--schema", "ubi", "--actions", "click,add_to_cart", "--json")
    assert json.loads(here("clicks", "info", "ubi", *options, folder=folder).out)["clicks"] == [1, 1]


def test_features_come_from_a_file_of_documents(folder: Path) -> None:
    pages = pl.read_csv(folder / "pairs.csv")
    documents = pages.select("qid", "docid", "worth").unique(maintain_order=True)
    documents.write_parquet(folder / "documents.parquet")
    documents.head(40).write_csv(folder / "some.csv")
    own = here("clicks", "evaluate", "pairs.csv", "worth", "--features", "worth", folder=folder)
    joined = here("clicks", "evaluate", "plain.csv", "worth", "--documents", "documents.parquet", folder=folder)
    assert own.code == 0, own.err
    assert joined.out == own.out
    lacking = ("clicks", "evaluate", "plain.csv", "worth", "--documents", "some.csv")
    assert f"lacks {len(documents) - 40} of the {len(documents)} documents" in here(*lacking, folder=folder).err
    learning = ("clicks", "train", "plain.csv", "--documents", "some.csv", "-o", "m.swaprank", "--set", "n_trees=2")
    assert here(*learning, "--missing", "drop", folder=folder).code == 0
