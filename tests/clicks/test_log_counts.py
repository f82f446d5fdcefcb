"""Counts of logs: they add up, whatever the division of a log, and give the bias of the whole log."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.data import id_numbers
from swaprank.data.grouping import query_of_row
from swaprank.data.id_numbers import numbered_ids
from tests.clicks.click_worlds import judged

FIELDS = ("qids", "pair_query", "pair_docid", "pair_indptr", "document", "position", "shown", "clicks")


def practice_log() -> Any:
    data = judged(10)
    log, _ = sr.datasets.clicks(data, data.column("match"), 300, n_shown=4, moves=0.5, random_state=0)
    return log


def as_frame(log: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "session": log.session_ids[log.session],
            "qid": log.qids[log.pair_query[log.document]],
            "docid": log.pair_docid[log.document],
            "position": log.position,
            "click": log.click,
            "device": np.where(log.session % 3 == 0, "phone", "desktop"),
        }
    )


def check_same(found: sr.clicks.LogCounts, wanted: sr.clicks.LogCounts) -> None:
    for field in FIELDS:
        assert getattr(found, field).tolist() == getattr(wanted, field).tolist(), field
    assert {name: values.tolist() for name, values in found.context.items()} == {
        name: values.tolist() for name, values in wanted.context.items()
    }


def test_counts_are_what_a_loop_counts() -> None:
    frame = as_frame(practice_log())
    counts = sr.clicks.count_clicks(practice_log())
    wanted = frame.groupby(["qid", "docid", "position"])["click"].agg(["size", "sum"]).reset_index()
    columns = counts.columns()
    for name, column in (("qid", "qid"), ("docid", "docid"), ("position", "position")):
        assert columns[name].tolist() == wanted[column].tolist()
    assert counts.shown.tolist() == wanted["size"].tolist()
    assert counts.clicks.tolist() == wanted["sum"].tolist()
    sessions = frame.groupby("qid")["session"].nunique()
    assert dict(zip(counts.qids.tolist(), counts.sessions.tolist(), strict=True)) == sessions.to_dict()
    assert counts.n_sessions == 300


@settings(max_examples=20)
@given(st.lists(st.integers(1, 1199), max_size=4, unique=True), st.randoms(use_true_random=False))
def test_any_division_in_any_order_gives_the_counts_of_the_whole(cuts: list[int], random: Any) -> None:
    frame = as_frame(practice_log())
    whole = sr.clicks.ClickLog.from_frame(frame, features=[], context=["device"])
    wanted = sr.clicks.count_clicks(whole, context=["device"])
    bounds = [0, *sorted(cuts), len(frame)]
    # Sessions are cut in two. What is left of a page need not be a page, so the parts are counts, not logs.
    parts = [
        sr.clicks.LogCounts.from_frame(frame[first:last].assign(shown=1), clicks="click", context=["device"])
        for first, last in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    random.shuffle(parts)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    check_same(total, wanted)
    check_same(total.in_context(), sr.clicks.count_clicks(whole))
    devices = [total.in_context(device=device) for device in ("desktop", "phone")]
    check_same(devices[0] + devices[1], total.in_context())


def test_files_and_folders_in_small_blocks_give_the_counts_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = as_frame(practice_log())
    wanted = sr.clicks.count_clicks(practice_log())
    half = len(frame) // 2 + 1
    frame[:half].to_parquet(tmp_path / "part-0.parquet", index=False)
    frame[half:].to_csv(tmp_path / "part-1.csv", index=False)
    monkeypatch.setattr("swaprank.clicks.logs.table_files.BLOCK", 37)
    monkeypatch.setattr("swaprank.clicks.logs.log_counting._CELLS_AT_ONCE", 50)
    check_same(sr.clicks.count_clicks(tmp_path), wanted)
    check_same(sr.clicks.count_clicks([tmp_path / "part-1.csv", tmp_path / "part-0.parquet"]), wanted)
    log = sr.clicks.read_clicks(tmp_path / "part-0.parquet", features=[], context=["device"])
    pages = sr.clicks.ClickLog.from_frame(frame[:half], features=[], context=["device"])
    for field in ("session_ids", "qids", "pair_docid", "document", "position", "click"):
        assert getattr(log, field).tolist() == getattr(pages, field).tolist(), field
    assert log.context["device"].tolist() == pages.context["device"].tolist()
    frame[half:].assign(click=lambda part: part["click"].where(part.index != half + 100, 2)).to_csv(
        tmp_path / "bad.csv", index=False
    )
    with pytest.raises(sr.errors.DataError, match=r"bad\.csv: click, line 102: 2 was found"):
        sr.clicks.count_clicks(tmp_path / "bad.csv")
    (tmp_path / "bad.csv").unlink()
    by_device = sr.clicks.count_clicks(tmp_path, context=["device"])
    check_same(by_device.in_context(), wanted)
    by_device.save(tmp_path / "counts.parquet")
    check_same(sr.clicks.LogCounts.load(tmp_path / "counts.parquet", context=["device"]), by_device)
    check_same(sr.clicks.LogCounts.load(tmp_path / "counts.parquet"), wanted)


def test_ids_of_different_kinds_are_matched_as_text() -> None:
    numbers = sr.clicks.LogCounts(qid=[7], docid=[5], position=[1], shown=[2], clicks=[1])
    texts = sr.clicks.LogCounts(qid=["7"], docid=["x"], position=[1], shown=[3], clicks=[0])
    check_same(numbers + texts, texts + numbers)
    assert (numbers + texts).pair_docid.tolist() == ["5", "x"]
    assert (numbers + texts).n_sessions == 5


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"clicks": [3, 0]}, "row 0 was shown 2 times and clicked 3 times"),
        ({"shown": [2, 1.5]}, "row 1 was shown 1.5 times"),
        ({"position": [1, 0]}, "position, row 1: 0 was found"),
        ({"docid": ["a", None]}, "row 1: None"),
        ({"context": {"device": ["tv"]}}, "one value for each of the 2 rows"),
    ],
)
def test_contradictions_are_errors(changed: dict[str, Any], message: str) -> None:
    rows: dict[str, Any] = {"qid": [7, 7], "docid": ["a", "b"], "position": [1, 2], "shown": [2, 2], "clicks": [1, 0]}
    with pytest.raises(sr.errors.DataError, match=message):
        sr.clicks.LogCounts(**{**rows, **changed})


def test_errors_of_files_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("qid,docid,position,click\n7,a,1,0\n7,b,2,3\n")
    with pytest.raises(sr.errors.DataError, match=r"log\.csv: click, line 3: 3 was found.*binary=True"):
        sr.clicks.count_clicks(path)
    assert sr.clicks.count_clicks(path, binary=True).clicks.tolist() == [0, 1]
    path.write_text("qid,docid,position,click\n")
    with pytest.raises(sr.errors.DataError, match="the files have no rows"):
        sr.clicks.count_clicks(path)
    with pytest.raises(sr.errors.DataError, match="no context 'device'"):
        sr.clicks.count_clicks(practice_log(), context=["device"])


@settings(max_examples=50)
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=300))
def test_ids_are_numbered_in_order_of_appearance(ids: list[int]) -> None:
    wanted = list(dict.fromkeys(ids))
    for column in (np.array(ids, np.int64), np.array([str(each) for each in ids])):
        found = numbered_ids("docid", column, len(ids))
        assert found.ids.tolist() == [column.dtype.type(each) for each in wanted]
        assert found.ids[found.number].tolist() == column.tolist()


def test_numbers_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.random.default_rng(0).integers(0, 5000, 20_000).astype(np.uint64) << np.uint64(50)
    whole = numbered_ids("docid", ids, len(ids))
    monkeypatch.setattr(id_numbers, "BLOCK", 777)
    blocks = numbered_ids("docid", ids, len(ids))
    assert whole.ids.tolist() == blocks.ids.tolist() == list(dict.fromkeys(ids.tolist()))
    assert whole.number.tolist() == blocks.number.tolist()


def test_the_bias_of_counts_is_that_of_the_log() -> None:
    data = judged(40)
    log, _ = sr.datasets.clicks(data, data.column("match"), 8000, n_shown=4, moves=0.5, random_state=0)
    counts = sr.clicks.count_clicks(log)
    methods: list[Any] = ["harvest", "trust"]
    for method in methods:
        found = sr.clicks.position_bias(counts, method, n_resamples=0)
        wanted = sr.clicks.position_bias(log, method, n_resamples=0)
        # Documents are in another order, and so are sums of them.
        np.testing.assert_allclose(found.examination, wanted.examination, rtol=1e-6)
    found, wanted = sr.clicks.position_bias(counts, max_position=3), sr.clicks.position_bias(log, max_position=3)
    frames = [each.to_frame() for each in (found, wanted)]
    np.testing.assert_allclose(found.examination, wanted.examination, rtol=1e-9)
    # Clicks of this log are independent within a page, so both bootstraps estimate the same spread.
    widths = [np.log(each["high"][1:] / each["low"][1:]) for each in frames]
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.3)
    assert str(found).endswith("95% intervals from 200 resamples of the shown documents.")
    with pytest.raises(sr.errors.DataError, match="counts do not tell which documents were neighbours"):
        sr.clicks.position_bias(counts, "swaps")


def test_the_bias_of_groups_of_counts_is_that_of_the_log() -> None:
    data = judged(40)
    log, _ = sr.datasets.clicks(data, data.column("match"), 8000, n_shown=4, moves=0.5, random_state=0)
    log = sr.clicks.ClickLog.from_frame(as_frame(log), features=[], context=["device"])
    counts = sr.clicks.count_clicks(log, context=["device"])
    found, wanted = (sr.clicks.position_bias(each, by="device") for each in (counts, log))
    assert list(found.groups) == list(wanted.groups) == ["desktop", "phone"]
    for name, each in wanted.groups.items():
        np.testing.assert_allclose(found.groups[name].examination, each.examination, rtol=1e-6)
    alpha, _ = found.of_rows(counts)
    at = [
        found.groups[device].alpha[place - 1]
        for device, place in zip(counts.context["device"], counts.position, strict=True)
    ]
    np.testing.assert_array_equal(alpha, at)


def test_training_data_of_counts_is_that_of_the_log() -> None:
    data = judged(10)
    log, _ = sr.datasets.clicks(data, data.column("match"), 300, n_shown=4, moves=0.5, random_state=0)
    bias = sr.clicks.Propensities([1.0, 0.5, 0.3, 0.2], epsilon_plus=np.ones(4), epsilon_minus=[0.1, 0.1, 0.0, 0.0])
    wanted, found = sr.clicks.unbiased(log, bias), sr.clicks.unbiased(sr.clicks.count_clicks(log), bias, data=data)
    assert wanted.docid is not None
    assert found.docid is not None

    def by_document(each: sr.Dataset) -> dict[Any, list[float]]:
        assert each.docid is not None
        assert each.sample_weight is not None
        rows = np.column_stack((each.labels, each.sample_weight, each.features))
        qid = each.qids[query_of_row(each.indptr, each.order)]
        return dict(zip(zip(qid.tolist(), each.docid.tolist(), strict=True), rows.tolist(), strict=True))

    assert by_document(found) == {key: pytest.approx(row) for key, row in by_document(wanted).items()}
    default = sr.clicks.unbiased(sr.clicks.count_clicks(log), data=data)
    assert by_document(default) == {
        key: pytest.approx(row) for key, row in by_document(sr.clicks.unbiased(log)).items()
    }
    counts = sr.clicks.count_clicks(log)
    with pytest.warns(sr.errors.SwaprankWarning, match=r"lacks \d+ of the"):
        assert sr.clicks.unbiased(counts, bias, data=data.subset([0, 1])).n_queries == 2
    with pytest.raises(sr.errors.DataError, match="counts have no features"):
        sr.clicks.unbiased(counts, bias)
    with pytest.raises(sr.errors.ParameterError, match="data is for counts"):
        sr.clicks.unbiased(log, bias, data=data)
