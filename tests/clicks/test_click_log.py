"""Click logs: what contradicts itself is refused, and rows in any order give the same log."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from tests.clicks.click_worlds import judged

ROWS: dict[str, Any] = {
    "session": ["s", "s", "t", "t", "t"],
    "qid": [7, 7, 8, 8, 8],
    "docid": ["a", "b", "b", "a", "c"],
    "position": [1, 2, 1, 2, 4],
    "click": [1.0, 0.0, 0.0, 0.5, 1.0],
}


def with_column(**changed: Any) -> dict[str, Any]:
    return {**ROWS, **changed}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (with_column(position=[0, 1, 1, 2, 3]), "row 0: 0 was found.*Add 1"),
        (with_column(position=[1, 1.5, 1, 2, 3]), "row 1: 1.5"),
        (with_column(position=[1, 1, 1, 2, 3]), "session s has more than one row at position 1.*binary=True"),
        (with_column(qid=[7, 9, 8, 8, 8]), "session s has rows of two queries, 7 and 9"),
        (with_column(docid=["a", "a", "b", "a", "c"]), "session s shows document a more than once"),
        (with_column(click=[1, 0, 0, 7, 1]), "click, row 3: 7 .*largest"),
        (with_column(click=[1, 0, 0, 1]), "click has 4 values, but session has 5"),
        (with_column(propensity=[1, 1, 1, 1, 0]), "propensity, row 4: 0"),
        (with_column(X=[[1.0], [2.0], [3.0], [4.0]]), "4"),
        ({name: [] for name in ROWS}, "at least one row"),
    ],
)
def test_contradictions_are_errors(rows: dict[str, Any], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        sr.clicks.ClickLog(**rows)


def test_features_of_a_document_must_not_change() -> None:
    rows: dict[str, Any] = {"session": [1, 2], "qid": [7, 7], "docid": ["a", "a"], "position": [1, 1], "click": [0, 1]}
    assert sr.clicks.ClickLog(**rows, X=[[np.nan, 2.0], [np.nan, 2.0]]).n_pairs == 1
    with pytest.raises(sr.errors.DataError, match="document a of query 7 has different features in row 0 and row 1"):
        sr.clicks.ClickLog(**rows, X=[[1.0], [2.0]])


def test_a_document_of_two_queries_is_two_pairs() -> None:
    log = sr.clicks.ClickLog(**ROWS)
    assert log.pair_docid[log.document].tolist() == ROWS["docid"]
    assert log.qids[log.pair_query[log.document]].tolist() == ROWS["qid"]
    assert log.n_pairs == 5
    for query in range(log.n_queries):
        of_query = np.flatnonzero(log.pair_query == query)
        assert of_query.tolist() == list(range(log.pair_indptr[query], log.pair_indptr[query + 1]))


@given(st.permutations(range(5)))
def test_rows_may_be_in_any_order(order: list[int]) -> None:
    X = np.arange(5, dtype=np.float32)[:, None]
    shuffled: dict[str, Any] = {name: [values[row] for row in order] for name, values in ROWS.items()}
    log = sr.clicks.ClickLog(**shuffled, X=X[order])
    assert log.features is not None
    rows = set(
        zip(
            log.session_ids[log.session].tolist(),
            log.qids[log.query[log.session]].tolist(),
            log.pair_docid[log.document].tolist(),
            log.position.tolist(),
            log.click.tolist(),
            log.features[log.document, 0].tolist(),
            strict=True,
        )
    )
    assert rows == set(zip(*ROWS.values(), X[:, 0].tolist(), strict=True))
    assert (np.diff(log.session * 100 + log.position) > 0).all()
    assert (np.diff(log.indptr) == np.bincount(log.session)).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_tables_give_the_same_log_as_arrays(make: Any) -> None:
    frame = make({**ROWS, "bm25": [1.0, 2.0, 3.0, 4.0, 5.0], "brand": ["x", "y", "x", "y", "x"]})
    log, wanted = sr.clicks.ClickLog.from_frame(frame), sr.clicks.ClickLog(**ROWS)
    assert log.document.tolist() == wanted.document.tolist()
    assert log.feature_names == ("bm25", "brand")
    assert dict(log.categories) == {"brand": ("x", "y")}
    assert sr.clicks.ClickLog.from_frame(frame, features=[]).features is None
    with pytest.raises(sr.errors.DataError, match="no column 'place': choose one by position="):
        sr.clicks.ClickLog.from_frame(frame, position="place")


@pytest.mark.parametrize("name", ["log.csv", "log.tsv.gz", "log.parquet"])
def test_files_give_back_what_was_written(tmp_path: Path, name: str) -> None:
    log = sr.clicks.ClickLog(**ROWS, propensity=[1, 0.5, 1, 1, 0.25], X=[[1.5], [2.5], [np.nan], [4.5], [5.5]])
    sr.clicks.write_clicks(log, tmp_path / name)
    back = sr.clicks.read_clicks(tmp_path / name, propensity="propensity")
    for field in ("session_ids", "query", "qids", "document", "pair_docid", "position", "click", "propensity"):
        assert getattr(back, field).tolist() == getattr(log, field).tolist(), field
    assert log.features is not None
    assert back.features is not None
    np.testing.assert_array_equal(back.features, log.features)


def test_files_with_leading_zeros_keep_their_ids(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("session,qid,docid,position,click\n1,007,09,1,0\n2,7,09,1,1\n")
    assert sr.clicks.read_clicks(path).qids.tolist() == ["007", "7"]
    with pytest.raises(sr.errors.DataError, match="is a table"):
        sr.clicks.read_clicks(Path(__file__))


CONTEXT: dict[str, Any] = {"device": ["tv", "tv", "pc", "pc", "pc"], "hour": [3.5, 3.5, np.nan, np.nan, np.nan]}


@pytest.mark.parametrize("name", ["log.csv", "log.parquet"])
def test_context_has_one_value_per_session_and_stays_with_it(tmp_path: Path, name: str) -> None:
    log = sr.clicks.ClickLog(**ROWS, context=CONTEXT)
    assert log.context["device"].tolist() == ["tv", "pc"]
    assert "context device, hour" in repr(log)
    sr.clicks.write_clicks(log, tmp_path / name)
    back = sr.clicks.read_clicks(tmp_path / name, context=["device", "hour"])
    frame = pd.DataFrame({**ROWS, **CONTEXT})
    from_frame = sr.clicks.ClickLog.from_frame(frame[::-1], context=["device", "hour"])
    assert back.features is None
    assert from_frame.context["device"].tolist() == ["pc", "tv"]
    for each in (back, log.subset([0, 1]), from_frame.subset([1, 0]), pickle.loads(pickle.dumps(log))):
        assert each.context["device"].tolist() == ["tv", "pc"]
        np.testing.assert_array_equal(each.context["hour"], [3.5, np.nan])
        assert not each.context["hour"].flags.writeable
    assert log.subset([1, 1]).context["device"].tolist() == ["pc", "pc"]
    with pytest.raises(sr.errors.DataError, match="session t has two values of 'device', pc and tv"):
        sr.clicks.ClickLog(**ROWS, context={"device": ["tv", "tv", "pc", "pc", "tv"]})
    with pytest.raises(sr.errors.DataError, match="one value for each of the 5 rows"):
        sr.clicks.ClickLog(**ROWS, context={"device": ["tv", "pc"]})
    with pytest.raises(sr.errors.DataError, match="'click', like a column of the log"):
        sr.clicks.ClickLog(**ROWS, context={"click": CONTEXT["device"]})
    with pytest.raises(sr.errors.DataError, match="there is no column 'devise'"):
        sr.clicks.read_clicks(tmp_path / name, features=[], context=["devise"])


def test_missing_text_of_the_context_is_a_group_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("session,qid,docid,position,click,device\n1,7,a,1,0,\n2,7,a,1,1,tv\n")
    log = sr.clicks.read_clicks(path, context=["device"])
    assert log.context["device"].tolist() == ["missing", "tv"]
    rates = [(rate.value, rate.n_sessions, rate.click_rate) for rate in log.summarize().context_rates]
    assert rates == [("missing", 1, 0.0), ("tv", 1, 1.0)]


def test_session_and_query_may_be_the_same_column(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS).drop(columns="qid")
    frame.to_csv(tmp_path / "log.csv", index=False)
    for log in (
        sr.clicks.ClickLog.from_frame(frame, qid="session"),
        sr.clicks.read_clicks(tmp_path / "log.csv", qid="session"),
    ):
        assert log.qids.tolist() == log.session_ids.tolist() == ["s", "t"]
        with pytest.raises(sr.errors.DataError, match="no document was shown at position 3"):
            sr.clicks.position_bias(log)


def test_join_finds_features_by_query_and_document() -> None:
    data = judged(6)
    shuffled = np.random.default_rng(0).permutation(len(data))
    assert data.docid is not None
    other = sr.Dataset(
        data.features[shuffled],
        data.labels[shuffled],
        qid=[str(qid) for qid in np.repeat(data.qids, 12)[shuffled]],
        docid=data.docid[shuffled],
        feature_names=data.feature_names,
    )
    log, truth = sr.datasets.clicks(data, data.column("match"), 50, random_state=0)
    np.testing.assert_array_equal(log.join(other).features, data.features[truth.row])
    with pytest.raises(sr.errors.DataError, match=r"lacks \d+ of the"):
        log.join(other.subset([0, 1]))
    with pytest.raises(sr.errors.DataError, match="has none"):
        log.join(sr.Dataset(data.features, data.labels, qid=np.repeat(data.qids, 12)))


def test_join_leaves_out_or_fills_what_the_data_lacks() -> None:
    log = sr.clicks.ClickLog(**ROWS, propensity=[1, 0.5, 1, 1, 0.25], context=CONTEXT)
    data = sr.Dataset([[1.0], [2.0]], [0, 0], qid=[8, 8], docid=["c", "a"])
    with pytest.raises(sr.errors.DataError, match=r"lacks 3 of the 5 documents.*missing='drop'"):
        log.join(data)
    dropped, filled = log.join(data, missing="drop"), log.join(data, missing="nan")
    assert dropped.session_ids.tolist() == ["t"]
    assert dropped.position.tolist() == [2, 4]
    assert dropped.click.tolist() == [0.5, 1.0]
    assert dropped.propensity is not None
    assert dropped.propensity.tolist() == [1, 0.25]
    assert dropped.context["device"].tolist() == ["pc"]
    assert dropped.features is not None
    assert filled.features is not None
    assert dropped.features[dropped.document].tolist() == [[2.0], [1.0]]
    np.testing.assert_array_equal(filled.features[filled.document], [[np.nan], [np.nan], [np.nan], [2.0], [1.0]])
    with pytest.raises(sr.errors.DataError, match=r"lacks 5 of the 5.*same kind"):
        log.join(sr.Dataset([[1.0]], [0], qid=[8], docid=["z"]), missing="drop")


def test_numbers_of_clicks_are_clicks_when_asked() -> None:
    rows = with_column(click=[2, 0, 0, 3, 1])
    with pytest.raises(sr.errors.DataError, match=r"click, row 0: 2 was found.*binary=True"):
        sr.clicks.ClickLog(**rows)
    assert sr.clicks.ClickLog(**rows, binary=True).click.tolist() == [1, 0, 0, 1, 1]
    assert sr.clicks.ClickLog.from_frame(pd.DataFrame(rows), binary=True).click.sum() == 3


def test_subsets_are_the_rows_of_their_sessions() -> None:
    data = judged(5)
    log, _ = sr.datasets.clicks(data, data.column("match"), 30, random_state=0)
    chosen = [4, 0, 4, 29]
    part = log.subset(chosen)
    rows = np.concatenate([np.arange(log.indptr[s], log.indptr[s + 1]) for s in chosen])
    for field in ("document", "position", "click"):
        assert getattr(part, field).tolist() == getattr(log, field)[rows].tolist()
    assert part.session_ids[part.session].tolist() == log.session_ids[log.session[rows]].tolist()
    mask = np.arange(30) < 3
    assert log.subset(mask).document.tolist() == log.document[: log.indptr[3]].tolist()
    with pytest.raises(sr.errors.DataError, match="30 sessions"):
        log.subset([30])


@pytest.mark.parametrize("by", ["sessions", "queries"])
def test_splits_divide_sessions_or_queries(by: Any) -> None:
    data = judged(20)
    log, _ = sr.datasets.clicks(data, data.column("match"), 200, random_state=0)
    parts = log.split((0.7, 0.3), random_state=1, by=by)
    together = np.concatenate([part.session_ids for part in parts])
    assert sorted(together.tolist()) == list(range(200))
    queries = [set(part.query.tolist()) for part in parts]
    assert (queries[0] & queries[1] == set()) == (by == "queries")


def test_summary_counts_what_a_loop_counts() -> None:
    data = judged(10)
    log, _ = sr.datasets.clicks(data, data.column("match"), 40, moves=0.2, random_state=0)
    places: dict[int, set[int]] = {}
    for document, position in zip(log.document.tolist(), log.position.tolist(), strict=True):
        places.setdefault(document, set()).add(position)
    moved = {document for document, seen in places.items() if len(seen) > 1}
    found = log.summarize()
    assert found.n_moved == len(moved)
    assert found.n_documents == len(places)
    assert found.moved_share == np.mean([document in moved for document in log.document.tolist()])
    clicked = [log.click[a:b].any() for a, b in zip(log.indptr[:-1], log.indptr[1:], strict=True)]
    assert found.n_without_click == 40 - sum(clicked)
    assert found.n_repeated == sum(np.bincount(log.query) > 1)
    third = log.position == 3
    assert found.click_rate[2] == pytest.approx(log.click[third].mean())
    assert found.to_frame()["shown"].tolist() == np.bincount(log.position)[1:].tolist()
    pytest.importorskip("matplotlib")
    from swaprank.rendering.figures import new_axes

    bars = found.plot(new_axes()).patches
    assert [bar.get_height() for bar in bars] == list(found.click_rate)


def test_a_column_of_propensities_is_no_feature() -> None:
    frame = pd.DataFrame(
        {
            "session": [1, 1],
            "qid": [7, 7],
            "docid": [1, 2],
            "position": [1, 2],
            "click": [1, 0],
            "propensity": [0.5, 0.5],
        }
    )
    with pytest.raises(sr.errors.DataError, match="say so with propensity='propensity'"):
        sr.clicks.ClickLog.from_frame(frame)
    assert sr.clicks.ClickLog.from_frame(frame, propensity="propensity").propensity is not None


def test_a_log_without_clicks_teaches_nothing() -> None:
    log = sr.clicks.ClickLog(
        session=[1, 1], qid=[7, 7], docid=[1, 2], position=[1, 2], click=[0, 0], X=[[1.0], [2.0]], feature_names=["a"]
    )
    with pytest.raises(sr.errors.DataError, match="no document was clicked"):
        sr.clicks.train(sr.LambdaMART("dcg@10(gain=linear)"), log)
