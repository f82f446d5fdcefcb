"""The explorer over HTTP: who may read it, and what it says of queries, pairs and edited documents."""

import _thread
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest

import swaprank as sr
from swaprank.instruments.explain import explain_scores
from swaprank.reporting.explorer.exploration import make_exploration
from tests.command_line import here

N_DOCUMENTS = 10
TRAIN, TEST = sr.datasets.random_net((40, 30), n_features=5, n_documents=N_DOCUMENTS, levels=4, random_state=0)
RANKER = sr.LambdaMART(n_trees=10, n_leaves=7, min_docs_in_leaf=5).fit(TRAIN)
RANKINGS = {"new": RANKER, "old": "2"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with sr.reporting.explore(TEST, RANKINGS, ["ndcg@10", "map"], open_browser=False) as explorer:
        yield explorer.url


def get(url: str, path: str = "", host: str | None = None, **given: Any) -> tuple[int, Any]:
    place = urlsplit(url)
    connection = HTTPConnection(place.netloc)
    headers = {} if host is None else {"Host": host}
    connection.request("GET", f"{place.path}{path}?{urlencode(given)}", headers=headers)
    answer = connection.getresponse()
    content = answer.read().decode()
    is_page = "html" in answer.headers["Content-Type"]
    connection.close()
    return answer.status, content if is_page else json.loads(content)


def test_the_page_needs_nothing_from_elsewhere(url: str) -> None:
    status, page = get(url)
    assert status == 200
    assert page.startswith("<!doctype html>")
    assert "http://" not in page
    assert "https://" not in page


def test_only_this_machine_reads_it(url: str) -> None:
    place = urlsplit(url)
    assert place.hostname == "127.0.0.1"
    assert get(url, host=f"localhost:{place.port}")[0] == 200
    for host in ("evil.example", f"evil.example:{place.port}", "127.0.0.1"):
        assert get(url, host=host)[0] == 403
    assert get(f"http://{place.netloc}/")[0] == 404
    assert get(f"http://{place.netloc}/guess/", "queries")[0] == 404


@pytest.mark.parametrize("metric", ["ndcg@10", "map"])
def test_queries_are_sorted_by_their_differences(url: str, metric: str) -> None:
    new = sr.evaluate(TEST, RANKER.predict(TEST), metric).results[0].per_query
    old = sr.evaluate(TEST, TEST.column("2"), metric).results[0].per_query
    number = ["ndcg@10", "map"].index(metric)
    for order, sign in (("loss", 1), ("gain", -1)):
        found = get(url, "queries", metric=number, order=order)[1]
        assert found["total"] == TEST.n_queries
        change = [each["change"] for each in found["queries"]]
        assert change == sorted(change, key=lambda value: sign * value)
        for each in found["queries"]:
            assert each["change"] == pytest.approx(new[each["query"]] - old[each["query"]], abs=1e-12)
    page = get(url, "queries", metric=number, first=7, count=5)[1]["queries"]
    assert page == get(url, "queries", metric=number)[1]["queries"][7:12]


def test_text_filters_by_query_id(url: str) -> None:
    found = get(url, "queries", text="2", order="given")[1]["queries"]
    assert [each["id"] for each in found] == [str(qid) for qid in TEST.qids.tolist() if "2" in str(qid)]


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("query", {"query": "x"}),
        ("query", {}),
        ("query", {"query": 0, "metric": 9}),
        ("document", {"query": 0, "document": 0, "ranking": 2}),
        ("pair", {"query": 0, "a": 0, "b": 1, "ranking": 1}),
        ("edit", {"query": 0, "document": 0, "value:nope": 1}),
        ("edit", {"query": 0, "document": 0, "value:1": "many"}),
        ("edit", {"query": 0, "document": 0, "value:1": "1e99"}),
        ("queries", {"order": "nope"}),
        ("queries", {"segment:nope": "a"}),
    ],
)
def test_wrong_questions_have_an_answer(url: str, path: str, given: dict[str, Any]) -> None:
    status, answer = get(url, path, **given)
    assert status == 400
    assert answer["error"].endswith(".")


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("query", {"query": 30}),
        ("document", {"query": 30, "document": 0}),
        ("document", {"query": 0, "document": 10}),
        ("pair", {"query": 0, "a": 0, "b": 99}),
    ],
)
def test_what_is_not_there_is_not_found(url: str, path: str, given: dict[str, Any]) -> None:
    status, answer = get(url, path, **given)
    assert status == 404
    assert " no " in answer["error"]


def test_binned_documents_are_explained_but_not_edited() -> None:
    train = TRAIN.binned()
    ranker = sr.LambdaMART(n_trees=3, n_leaves=4, min_docs_in_leaf=5).fit(train)
    with pytest.raises(sr.errors.DataError, match="give a second ranking"):
        sr.reporting.explore(train, {"new": ranker}, open_browser=False)
    with sr.reporting.explore(train, {"new": ranker, "old": np.arange(len(train))}, open_browser=False) as explorer:
        pair = get(explorer.url, "pair", query=1, a=2, b=5)[1]
        assert sum(each["contribution"] for each in pair["features"]) == pytest.approx(pair["difference"])
        status, found = get(explorer.url, "document", query=0, document=0)
        assert status == 200
        assert "nothing can be edited" in found["html"]
        assert "<input" not in found["html"]
        status, found = get(explorer.url, "edit", query=0, document=0, **{"value:1": "2"})
        assert status == 400
        assert "nothing can be edited" in found["error"]


def test_segments_filter_queries() -> None:
    of_query = np.array(["mobile", "desktop", "tablet"])[np.arange(TEST.n_queries) % 3]
    columns = {"device": np.repeat(of_query, N_DOCUMENTS), "price": np.arange(len(TEST))}
    with sr.reporting.explore(TEST.replace(columns=columns), {"new": "1", "old": "price"}, open_browser=False) as made:
        page = get(made.url)[1]
        assert 'data-segment="device"' in page
        assert 'data-segment="price"' not in page
        for device in ("mobile", "tablet"):
            found = get(made.url, "queries", order="given", **{"segment:device": device})[1]["queries"]
            assert [each["query"] for each in found] == np.flatnonzero(of_query == device).tolist()
        assert get(made.url, "queries", **{"segment:device": "watch"})[1]["total"] == 0
        assert get(made.url, "queries", text="DESK")[1]["total"] == (of_query == "desktop").sum()
        assert "price" in get(made.url, "document", query=0, document=0)[1]["html"]


def test_lists_are_in_the_order_of_the_scores(url: str) -> None:
    for query in (0, 3):
        new, old = get(url, "query", query=query)[1]["lists"]
        rows = TEST.rows(query)
        for found, scores in ((new, RANKER.predict(TEST)), (old, TEST.column("2"))):
            assert (np.diff(scores[rows][found["documents"]]) <= 0).all()
            assert sorted(found["documents"]) == list(range(N_DOCUMENTS))


def test_a_pair_is_explained_by_shares_that_sum_to_the_difference(url: str) -> None:
    pair = get(url, "pair", query=1, a=2, b=5)[1]
    scores = RANKER.predict(TEST)[TEST.rows(1)]
    assert scores[pair["above"]] >= scores[pair["below"]]
    assert pair["difference"] == pytest.approx(scores[pair["above"]] - scores[pair["below"]])
    assert sum(each["contribution"] for each in pair["features"]) == pytest.approx(pair["difference"])
    swapped = np.array(scores)
    swapped[[pair["above"], pair["below"]]] = scores[[pair["below"], pair["above"]]]
    part = TEST.subset([1])
    if len(set(scores.tolist())) == N_DOCUMENTS:
        gain = explain_scores(part, swapped, "ndcg@10").value - explain_scores(part, scores, "ndcg@10").value
        assert pair["swap_gain"] == pytest.approx(gain)


def test_an_edited_document_gets_the_score_that_the_model_predicts(url: str) -> None:
    features = np.array(TEST.features)
    row = int(TEST.rows(4)[6])
    features[row, 1], features[row, 2] = 2.5, np.nan
    edited = TEST.replace(features=features)
    scores = RANKER.predict(edited)
    found = get(url, "edit", query=4, document=6, **{"value:2": "2.5", "value:3": ""})[1]
    assert found["scores"] == [RANKER.predict(TEST)[row], scores[row]]
    value = sr.evaluate(edited, scores, "ndcg@10").results[0].per_query[4]
    assert found["values"][1] == pytest.approx(value)
    above = int((scores[TEST.rows(4)] > scores[row]).sum())
    tied = int((scores[TEST.rows(4)] == scores[row]).sum())
    assert above + 1 <= found["ranks"][1] <= above + tied


def test_names_are_escaped() -> None:
    bad = "<script>alert(1)</script>"
    data = sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[bad, bad], docid=[bad, "b"], feature_names=[bad, "x"])
    with sr.reporting.explore(data, {bad: "x", "old": bad}, "mrr", open_browser=False) as explorer:
        for content in (get(explorer.url)[1], get(explorer.url, "query", query=0)[1]["html"]):
            assert "<script>alert" not in content


def test_ten_thousand_queries_are_sorted_and_searched() -> None:
    (data,) = sr.datasets.random_net((10_000,), n_features=2, n_documents=4, random_state=0)
    made = make_exploration(data, {"new": "1", "old": "2"}, "ndcg@10")
    change = made.changes(0)
    assert change[made.chosen(order="gain")[0]] == change.max()
    assert len(made.chosen(text="99")) == sum("99" in str(qid) for qid in data.qids.tolist())


def test_a_busy_port_is_an_error(url: str) -> None:
    with pytest.raises(sr.errors.ParameterError, match="cannot be used: address already in use"):
        sr.reporting.explore(TEST, RANKINGS, port=urlsplit(url).port or 0, open_browser=False)


def test_ctrl_c_ends_the_page() -> None:
    explorer = sr.reporting.explore(TEST, RANKINGS, open_browser=False)
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    explorer.wait()
    timer.join()
    with pytest.raises(ConnectionRefusedError):
        get(explorer.url)


def test_the_command_reads_rankings_and_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(explorer: sr.reporting.Explorer) -> None:
        found.append(get(explorer.url, "queries", **{"segment:device": "mobile"})[1])
        found.append(get(explorer.url, "document", query=0, document=0)[1])
        explorer.close()

    found: list[Any] = []
    monkeypatch.setattr(sr.reporting.Explorer, "wait", look)
    table: dict[str, Any] = {name: TEST.column(name) for name in TEST.feature_names}
    table |= {"qid": np.arange(len(TEST)) // N_DOCUMENTS, "label": TEST.labels, "bm25": TEST.column("2")}
    table["device"] = np.where(table["qid"] % 2, "mobile", "desktop")
    header, rows = ",".join(table), zip(*table.values(), strict=True)
    (tmp_path / "test.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    RANKER.save(tmp_path / "m.swaprank")
    rankings, columns = ["new=m.swaprank", "old=bm25"], ["--columns", "device"]
    ended = here("explore", "test.csv", *rankings, *columns, "--no-browser", folder=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("http://127.0.0.1:")
    queries, document = found
    assert queries["total"] == TEST.n_queries // 2
    change = sr.compare(TEST, {"old": "2", "new": RANKER}, "ndcg@10").evaluations
    new, old = (change[name].results[0].per_query for name in ("new", "old"))
    for each in queries["queries"]:
        assert each["change"] == pytest.approx(new[each["query"]] - old[each["query"]])
    assert "<input" in document["html"]
