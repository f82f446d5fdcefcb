"""Segments of queries: their means and differences are those of a data set with these queries alone."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.evaluation.segments import segments_of
from swaprank.evaluation.significance import holm, holm_factors
from tests.command_line import here

DEVICES = np.array(["phone", "tv", "web"])


def shop(n_queries: int = 90, worse_on: str = "") -> sr.Dataset:
    """Random labels, a ranking "old" with noise, and "new" with less noise but for one device."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, n_queries * 8)
    qid = np.repeat(np.arange(n_queries), 8)
    device = np.repeat(DEVICES[np.arange(n_queries) % 3], 8)
    noise = np.where(device == worse_on, 6.0, 0.5)
    columns = {
        "device": device,
        "day": np.datetime64("2024-01-01") + qid,
        "row": np.arange(len(qid)),
        "old": labels + rng.normal(0, 2.0, len(qid)),
        "new": labels + noise * rng.normal(0, 1, len(qid)),
    }
    return sr.Dataset(np.zeros((len(qid), 1)), labels, qid=qid, columns=columns)


def test_a_segment_is_evaluated_as_its_queries_alone() -> None:
    data = shop()
    metrics = ["ndcg@5", "map(rel=2)", "mrr(rel=2, empty=skip)"]
    found = sr.evaluate(data, "old", metrics, by="device")
    assert found.whole.to_dict() == sr.evaluate(data, "old", metrics).to_dict()
    assert list(found) == ["phone", "tv", "web"]
    for at, name in enumerate(DEVICES):
        alone = data.subset(np.flatnonzero(np.arange(data.n_queries) % 3 == at))
        assert found[name].to_dict(per_query=True) == sr.evaluate(alone, "old", metrics).to_dict(per_query=True)
    frame = found.to_frame()
    assert frame["segment"].tolist()[::3] == ["all queries", "phone", "tv", "web"]
    assert found.to_dict()["by"] == "device"


def test_differences_are_those_of_the_queries_alone_corrected_over_the_segments() -> None:
    data = shop(24)
    systems = {"old": "old", "new": "new", "row": "row"}
    found = sr.compare(data, systems, "ndcg@5", by="device")
    assert found.whole.to_dict() == sr.compare(data, systems, "ndcg@5").to_dict()
    alone, p_values = [], []
    for at in range(3):
        subset = data.subset(np.flatnonzero(np.arange(data.n_queries) % 3 == at))
        for name in ("new", "row"):
            row = sr.compare(subset, {"old": "old", name: name}, "ndcg@5").differences[0]
            alone.append(row)
            p_values.append(row.p_randomization)
    rows = [row for name in found for row in found[name]]
    assert [row.difference for row in rows] == [row.difference for row in alone]
    assert [(row.wins, row.losses) for row in rows] == [(row.wins, row.losses) for row in alone]
    assert np.allclose([row.p_randomization for row in rows], holm(np.array(p_values)))
    assert {row.n_comparisons for row in rows} == {6}
    assert len(set(holm_factors(np.array(p_values)))) > 1
    for row, single in zip(rows, alone, strict=True):
        assert (row.p_randomization < 0.05) == (row.low > 0 or row.high < 0)
        assert row.low <= single.low <= single.high <= row.high


def test_holm_over_segments_by_hand() -> None:
    # Six wins of six, five of five, one query alone: p is 2/64 and 2/32, corrected 2 * 2/64 and 2/32.
    good, bad = [2.0, 1.0], [1.0, 2.0]
    data = sr.Dataset(np.zeros((24, 1)), [1, 0] * 12, qid=np.repeat(np.arange(12), 2))
    by = ["a"] * 6 + ["b"] * 5 + ["c"]
    found = sr.compare(data, {"old": bad * 12, "new": good * 12}, "map", by=by)
    assert [found[name][0].p_randomization for name in "ab"] == [2 * 2 / 64, 2 / 32]
    assert np.isnan([found["c"][0].p_randomization, found["c"][0].low]).all()
    assert found["c"][0].n_comparisons == 2
    assert found["c"][0].difference == 0.5
    assert "-" in str(found).splitlines()[5]
    assert np.isnan(sr.evaluate(data, good * 12, "map", by=by)["c"]["map"].interval).all()


def test_segments_where_the_winner_loses_are_named() -> None:
    found = sr.compare(shop(240, worse_on="web"), {"old": "old", "new": "new"}, "ndcg@5", by="device")
    (sentence,) = found.sentences()
    assert "new is better than old over all queries, but is worse in web (by " in sentence
    assert "phone" not in sentence
    assert "tv" not in sentence
    assert "luck" not in sentence
    turned = sr.compare(shop(240, worse_on="web"), {"new": "new", "old": "old"}, "ndcg@5", by="device").sentences()
    assert turned == [sentence]
    assert sr.compare(shop(), {"old": "old", "new": "new"}, "ndcg@5", by="device").sentences() == [
        "ndcg@5: new is better than old over all queries and worse in no segment."
    ]


def test_a_loss_that_may_be_luck_is_said_to_be() -> None:
    data = sr.Dataset(np.zeros((60, 1)), [1, 0] * 30, qid=np.repeat(np.arange(30), 2))
    new = np.array([2.0, 1.0] * 28 + [1.0, 2.0] * 2)
    old = np.array([1.0, 2.0] * 28 + [2.0, 1.0] * 2)
    (sentence,) = sr.compare(data, {"old": old, "new": new}, "map", by=["a"] * 28 + ["b"] * 2).sentences()
    assert sentence.endswith("but looks worse in b (by 0.5000, corrected p = .5000), which may be luck.")


def test_slices_and_ranges() -> None:
    sizes = np.arange(1, 41)
    qid = np.repeat(sizes, sizes)
    data = sr.Dataset(np.zeros((len(qid), 1)), qid % 2, qid=qid)
    assert segments_of(data, "n_documents").names == ("1 to 10", "11 to 20", "21 to 30", "31 to 40")
    # Half of the queries have no relevant document.
    assert segments_of(data, "n_relevant").names == ("0", "1 to 19", "21 to 39")
    assert segments_of(data, [0] * 4 + [1] * 36).names == ("0", "1")
    assert segments_of(data, list(range(10)) + [99] * 30).names == ("0 to 9", "99")
    dates = np.datetime64("2024-01-01") + np.arange(40)
    assert segments_of(data, dates).names[0] == "2024-01-01 to 2024-01-10"
    numbers = segments_of(data, np.append(np.arange(39) / 8, np.nan))
    assert numbers.names[-1] == "missing"
    assert numbers.of_query[-1] == 4
    assert segments_of(data, ["x", None] * 20).names == ("missing", "x")
    found = [queries for _, queries in numbers]
    assert sorted(np.concatenate(found).tolist()) == list(range(40))


def test_missing_values_of_a_frame_are_a_segment() -> None:
    pd = pytest.importorskip("pandas")
    device = ["web", "web", None, None, np.nan, np.nan]
    price = [1, 1, np.nan, np.nan, 2.5, 2.5]
    frame = pd.DataFrame({"label": [1, 0] * 3, "qid": [1, 1, 2, 2, 3, 3], "f": 1, "device": device, "price": price})
    data = sr.Dataset.from_frame(frame, columns=["device", "price"])
    assert segments_of(data, "device").names == ("missing", "web")
    assert segments_of(data, "price").names == ("1", "2.5", "missing")


def test_trec_judgements_have_slices_and_given_values() -> None:
    qrels = sr.trec.Qrels(np.array(["a", "a", "b"]), np.array(["x", "y", "x"]), np.array([1, 0, 1]))
    run = sr.trec.Run(np.array(["a", "a", "b"]), np.array(["x", "y", "x"]), np.array([1.0, 2.0, 1.0]))
    assert sr.evaluate(qrels, run, "map", by="n_documents")["2"]["map"].mean == 0.5
    assert sr.evaluate(qrels, run, "map", by=["u", "v"])["v"]["map"].mean == 1.0
    with pytest.raises(sr.errors.DataError, match="TREC judgements have no column 'device'"):
        sr.evaluate(qrels, run, "map", by="device")


def test_errors() -> None:
    data = shop(9)
    for by, message in (
        ("devices", "there is no side column or feature 'devices'; did you mean 'device'"),
        ("row", "query 0 has two values of 'row'"),
        (["phone"], "one value for each of the 9 queries"),
    ):
        with pytest.raises(sr.errors.DataError, match=message):
            sr.evaluate(data, "old", "map", by=by)
    with pytest.raises(sr.errors.DataError, match="there is no segment 'phon'; did you mean 'phone'"):
        sr.evaluate(data, "old", "map", by="device")["phon"]
    many = shop(120)
    with pytest.raises(sr.errors.DataError, match="too many segments"):
        sr.evaluate(many, "old", "map", by=[f"user {at}" for at in range(120)])


def test_plots_have_a_row_for_each_segment() -> None:
    pytest.importorskip("matplotlib")
    from swaprank.rendering.figures import new_axes

    data = shop(9)
    for result in (
        sr.evaluate(data, "old", "map", by="device"),
        sr.compare(data, {"old": "old", "new": "new"}, "map", by="device"),
    ):
        axes = result.plot(new_axes())
        assert [label.get_text() for label in axes.get_yticklabels()] == ["all queries", *DEVICES]


def test_on_the_command_line_the_column_need_not_be_named_twice(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    data = shop(12)
    pd.DataFrame({"label": data.labels, "qid": np.repeat(np.arange(12), 8), "f": 1.0, **data.columns}).to_csv(
        tmp_path / "test.csv", index=False
    )
    common = [tmp_path / "test.csv", "old", "-m", "map", "--by", "device", "--json"]
    found = json.loads(here("evaluate", *common).out)["old"]
    assert found == sr.evaluate(data, "old", "map", by="device").to_dict()
    found = json.loads(here("compare", common[0], "old", "new", *common[2:]).out)
    assert found == sr.compare(data, {"old": "old", "new": "new"}, "map", by="device").to_dict()
    assert "all queries" in here("evaluate", common[0], "old", "--by", "n_relevant").out


def test_features_are_segments_too() -> None:
    rng = np.random.default_rng(0)
    qid, device = np.repeat(np.arange(30), 4), np.repeat(DEVICES[np.arange(30) % 3], 4)
    frame = pd.DataFrame({"qid": qid, "label": rng.integers(0, 3, 120), "bm25": rng.random(120), "device": device})
    as_feature, as_column = (sr.Dataset.from_frame(frame, columns=columns) for columns in ([], ["device"]))
    expected = sr.evaluate(as_column, "bm25", "ndcg@5", by="device")
    assert sr.evaluate(as_feature, "bm25", "ndcg@5", by="device").to_dict() == expected.to_dict()
    with pytest.raises(sr.errors.DataError, match="has two values of 'bm25'"):
        sr.evaluate(as_feature, "bm25", "ndcg@5", by="bm25")
