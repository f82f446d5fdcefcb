"""Click logs in other forms: the wide one, and User Behavior Insights; both give the log of its rows."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import swaprank as sr

Rows = list[tuple[str, str, str, int, float]]
WANTED: Rows = [
    ("p1", "red shoes", "a", 1, 0.0),
    ("p1", "red shoes", "b", 2, 1.0),
    ("p1", "red shoes", "c", 3, 0.0),
    ("p2", "red shoes", "b", 1, 1.0),
    ("p2", "red shoes", "a", 2, 1.0),
    ("p3", "hats", "x", 1, 0.0),
]


def rows_of(log: sr.clicks.ClickLog) -> Rows:
    return list(
        zip(
            log.session_ids[log.session].tolist(),
            log.qids[log.query[log.session]].tolist(),
            log.pair_docid[log.document].tolist(),
            log.position.tolist(),
            log.click.tolist(),
            strict=True,
        )
    )


@pytest.mark.parametrize("clicks", [("b", "b a", ""), ("2", "1 2", ""), ("0 1 0", "1,1", "[0]")])
def test_a_wide_csv_is_the_log_of_its_rows(tmp_path: Path, clicks: tuple[str, ...]) -> None:
    path = tmp_path / "wide.csv"
    lines = [("p1", "red shoes", "a b c"), ("p2", "red shoes", "['b', 'a']"), ("p3", "hats", "x"), ("p4", "caps", "")]
    text = [
        f'{page},{query},"{shown}","{marks}",tv'
        for (page, query, shown), marks in zip(lines, (*clicks, ""), strict=True)
    ]
    path.write_text("\n".join(["session,qid,documents,clicks,device", *text]))
    log = sr.clicks.read_clicks(path, schema="wide", context=["device"])
    assert rows_of(log) == WANTED
    assert log.context["device"].tolist() == ["tv"] * 3


@pytest.mark.parametrize("clicks", [[["b"], ["a", "b"], []], [[2], [2, 1], None], [[0, 1, 0], [1, 1], [0]]])
def test_a_wide_parquet_file_has_lists(tmp_path: Path, clicks: list[Any]) -> None:
    table = {
        "page": ["p1", "p2", "p3"],
        "q": ["red shoes"] * 2 + ["hats"],
        "shown": [["a", "b", "c"], ["b", "a"], ["x"]],
    }
    pl.DataFrame({**table, "clicked": clicks}).write_parquet(tmp_path / "wide.parquet")
    names: dict[str, Any] = {"session": "page", "qid": "q", "docid": "shown", "click": "clicked"}
    assert rows_of(sr.clicks.read_clicks(tmp_path / "wide.parquet", schema="wide", **names)) == WANTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("qid,documents,clicks\nq,a b,c\n", r"line 2: the clicks c fit none of its 2 documents a b"),
        ("qid,documents,clicks\nq,1 2 3,3\nq,2 3 1,1\n", "may be documents or positions"),
        ("qid,documents,click\nq,a b,a\n", "no column 'clicks' with the clicks"),
        ("qid,documents,clicks\nq,a a,\n", "shows document a more than once"),
        ("query,documents,clicks\nq,a b,\n", "no column 'qid'"),
    ],
)
def test_malformed_pages_are_errors(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "wide.csv").write_text(content)
    with pytest.raises(sr.errors.DataError, match=message):
        sr.clicks.read_clicks(tmp_path / "wide.csv", schema="wide")


def query(page: str, text: Any, hits: Any = None, **more: Any) -> dict[str, Any]:
    return {"query_id": page, "user_query": text, "query_response_hit_ids": hits, "timestamp": "2025-02-26", **more}


def event(action: str, page: Any, document: Any, ordinal: Any = None) -> dict[str, Any]:
    attributes = {"object": {"object_id": document}, "position": {"ordinal": ordinal}}
    return {"action_name": action, "query_id": page, "timestamp": "2025-02-26", "event_attributes": attributes}


QUERIES = [
    query("p1", "Red  shoes", ["a", "b", "c"], client_id="me", query_attributes={"device": "tv"}),
    query("p2", "red shoes ", ["b", "a"], client_id="you"),
    query("p3", "hats", ["x"]),
    query("p4", "nothing found", []),
]
CLICKS = [
    event("click", "p1", "b", 2),
    event("click", "p1", "b", 2),
    event("click", "p2", "a"),
    event("click", "p2", "b"),
]


def write_lines(path: Path, records: list[Any]) -> Path:
    text = "\n".join(json.dumps(record) for record in records).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def test_queries_and_events_of_ubi_are_the_log_of_their_rows(tmp_path: Path) -> None:
    other = [event("add_to_cart", "p3", "x", 1), {"action_name": "page_exit", "timestamp": "2025-02-26"}]
    files = [
        write_lines(tmp_path / "ubi_queries.jsonl", QUERIES),
        write_lines(tmp_path / "ubi_events.ndjson.gz", CLICKS + other),
    ]
    log = sr.clicks.read_clicks(files, schema="ubi", context=["client_id", "device"])
    assert rows_of(log) == WANTED
    assert log.context["client_id"].tolist() == ["me", "you", "missing"]
    assert log.context["device"].tolist() == ["tv", "missing", "missing"]
    assert rows_of(sr.clicks.read_clicks(tmp_path, schema="ubi")) == WANTED
    carts = sr.clicks.read_clicks(tmp_path, schema="ubi", actions=["add_to_cart"])
    assert carts.click.tolist() == [0, 0, 0, 0, 0, 1]


def test_ubi_in_parquet_and_in_files_for_bulk_loading(tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    folder.mkdir()
    pl.DataFrame(QUERIES, strict=False).write_parquet(folder / "queries.parquet")
    pl.DataFrame(CLICKS, strict=False).write_parquet(folder / "events.parquet")
    assert rows_of(sr.clicks.read_clicks(folder, schema="ubi")) == WANTED
    bulk = [line for record in CLICKS + QUERIES for line in ({"index": {"_index": "ubi"}}, record)]
    assert rows_of(sr.clicks.read_clicks(write_lines(tmp_path / "bulk.ndjson", bulk), schema="ubi")) == WANTED
    export = [{"_index": "ubi", "_source": record} for record in QUERIES + CLICKS]
    assert rows_of(sr.clicks.read_clicks(write_lines(tmp_path / "export.json", export), schema="ubi")) == WANTED


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("action", ["impression", "view"])
def test_without_logged_results_impressions_say_what_was_shown(tmp_path: Path, first: int, action: str) -> None:
    queries = [{**each, "query_response_hit_ids": None} for each in QUERIES]
    shown = [event(action, page, document, place - 1 + first) for page, _, document, place, _ in WANTED]
    path = write_lines(tmp_path / "ubi.jsonl", [*queries, *shown, *shown[:2], *CLICKS])
    assert rows_of(sr.clicks.read_clicks(path, schema="ubi")) == WANTED
    with pytest.raises(sr.errors.DataError, match=rf"line 2: an {action} needs a whole number .*ordinal, found None"):
        sr.clicks.read_clicks(write_lines(path, [queries[0], event(action, "p1", "a")]), schema="ubi")


def test_clicks_on_what_was_not_shown_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "ubi.jsonl", [*QUERIES, *CLICKS, event("click", "p1", "z"), event("click", "p9", "a")]
    )
    with pytest.warns(sr.errors.SwaprankWarning, match="2 of 6 clicks are on documents that their query did not show"):
        assert rows_of(sr.clicks.read_clicks(path, schema="ubi")) == WANTED


def test_the_next_page_of_a_query_continues_its_list(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "ubi.jsonl", [query("p", "q", ["a", "b"]), query("p", "q", ["c"]), CLICKS[0] | {"query_id": "p"}]
    )
    assert rows_of(sr.clicks.read_clicks(path, schema="ubi"))[2] == ("p", "q", "c", 3, 0.0)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([query("p1", None, ["a"])], "line 1: a query needs a user_query"),
        ([{"user_query": "hats"}], "line 1: a query needs a query_id"),
        ([query("p1", "hats", "a b")], "line 1: the ids of the results must be a list, found 'a b'"),
        (QUERIES, "no event with a query_id and the action click"),
        ([query("p1", "hats", []), CLICKS[0]], "no query shows a document"),
        ([["p1"]], "line 1: expected an object of JSON"),
    ],
)
def test_malformed_records_are_errors(tmp_path: Path, records: list[Any], message: str) -> None:
    with pytest.raises(sr.errors.DataError, match=message):
        sr.clicks.read_clicks(write_lines(tmp_path / "ubi.jsonl", records), schema="ubi")


def test_files_that_are_not_ubi_are_errors(tmp_path: Path) -> None:
    (tmp_path / "ubi.jsonl").write_text('{"query_id": "p1",\n "user_query": "hats"}')
    with pytest.raises(sr.errors.DataError, match="line 1 is not JSON"):
        sr.clicks.read_clicks(tmp_path / "ubi.jsonl", schema="ubi")
    (tmp_path / "ubi.csv").write_text("query_id\n1\n")
    with pytest.raises(sr.errors.DataError, match="in JSON lines or Parquet"):
        sr.clicks.read_clicks(tmp_path / "ubi.csv", schema="ubi")
    with pytest.raises(sr.errors.ParameterError, match="schema"):
        sr.clicks.read_clicks(tmp_path / "ubi.csv", schema="long")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        ("rows", {"actions": ["buy"]}),
        ("wide", {"binary": True}),
        ("ubi", {"propensity": "p"}),
        ("ubi", {"features": ["bm25"]}),
    ],
)
def test_what_a_form_has_no_use_for_is_an_error(tmp_path: Path, schema: Any, given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(sr.errors.ParameterError, match=f"{name} has no use for schema='{schema}'"):
        sr.clicks.read_clicks(tmp_path / "any.csv", schema=schema, **given)
