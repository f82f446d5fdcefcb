"""Several models on one port: by name, by a split of sessions, in the shadow; pages that `swaprank clicks` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.errors import ParameterError
from tests.command_line import here
from tests.exchange.fitted_models import NAMES, documents, fitted
from tests.serving.running import BINARY, running, saved, until

TWO = {"old": "trees", "new": "trees of missing values"}


def rows() -> Any:
    return np.asarray(documents("trees"))[:20]


def named(values: Any) -> list[dict[str, float | None]]:
    return [
        {name: None if np.isnan(value) else value for name, value in zip(NAMES, row, strict=True)}
        for row in values.tolist()
    ]


def page(session: str | None, query: str = "shoes", k: int = 3) -> dict[str, Any]:
    given = {} if session is None else {"session": session}
    return {"documents": named(rows()), "ids": [f"d{at}" for at in range(20)], "query": query, "k": k, **given}


def places(name: str, k: int) -> list[int]:
    ranked: list[int] = sr.Scorer(fitted(TWO[name])).rank(rows(), k).tolist()
    return ranked


def test_models_answer_by_name_and_the_first_answers_others(tmp_path: Path) -> None:
    with running(saved(tmp_path, **TWO)) as server:
        for name in TWO:
            body = {"content": rows().tobytes(), "headers": BINARY}
            answer = server.client.post(f"/models/{name}/rank?k=4", **body).json()
            assert (answer["model"], answer["places"]) == (name, places(name, 4))
        assert server.client.post("/rank", json=page("s")).json()["model"] == "old"
        assert [each["name"] for each in server.client.get("/models").json()] == ["old", "new"]


def test_a_session_always_meets_the_same_model_and_shares_are_kept(tmp_path: Path) -> None:
    with running(saved(tmp_path, **TWO), split={"new": 0.3}) as server:
        content = rows()[:1].tobytes()

        def model_of(session: str) -> Any:
            return server.client.post(f"/rank?session={session}", content=content, headers=BINARY).json()["model"]

        first = {f"s{number}": model_of(f"s{number}") for number in range(300)}
        assert {session: model_of(session) for session in list(first)[:50]}.items() <= first.items()
        # 300 sessions: 30% with a standard deviation of 2.6%.
        assert 0.2 < np.mean([model == "new" for model in first.values()]) < 0.4
        assert server.client.post("/score", json={"documents": [{}]}).json()["model"] == "old"
        assert [each["share"] for each in server.client.get("/models").json()] == [0.7, 0.3]
        answer = server.client.post("/models/old/rank?session=s1", content=content, headers=BINARY)
        assert answer.json()["model"] == "old"


def test_served_pages_and_clicks_are_an_ab_test(tmp_path: Path) -> None:
    pages = tmp_path / "log" / "pages.jsonl"
    pages.parent.mkdir()
    models = {}
    with (
        running(saved(tmp_path, **TWO), split={"new": 0.5}, pages=pages) as server,
        (tmp_path / "log" / "events.jsonl").open("w") as events,
    ):
        for number in range(80):
            answer = server.client.post("/rank", json=page(f"s{number % 40}", f"query {number % 7}")).json()
            models[answer["query_id"]] = answer["model"]
            # The user clicks the first document of the new model, and nothing of the old one.
            if answer["model"] == "new":
                attributes = {"object": {"object_id": answer["ids"][0]}}
                click = {"action_name": "click", "query_id": answer["query_id"], "event_attributes": attributes}
                events.write(json.dumps(click) + "\n")
        # Neither without a session, nor without ids or a query.
        unlogged = [page(None), {**page("s"), "ids": None}, {**page("s"), "query": None}]
        assert all("query_id" not in server.client.post("/rank", json=each).json() for each in unlogged)
        until(lambda: server.sample("swaprank_requests_in_progress") == 0)
        logged = sum(server.sample("swaprank_pages_logged_total", model=name) for name in TWO)
    assert logged == len(models) == 80
    log = sr.clicks.read_clicks(pages.parent, schema="ubi", context=["variant", "client_id"])
    assert len(log.session_ids) == 80
    variants = dict(zip(log.session_ids.tolist(), log.context["variant"].tolist(), strict=True))
    assert variants == models
    for name in TWO:
        of_name = np.isin(log.session, np.flatnonzero(log.context["variant"] == name))
        shown = log.pair_docid[log.document][of_name][:3].tolist()
        assert shown == [f"d{place}" for place in places(name, 3)]
    options = ("--schema", "ubi", "--unit", "client_id", "--metric", "clicked", "--json")
    ended = here("clicks", "abtest", pages.parent, *options)
    assert ended.code == 0, ended.err
    result = json.loads(ended.out)
    (clicked,) = result["differences"]
    assert (clicked["baseline"], clicked["baseline_mean"], clicked["mean"]) == ("new", 1.0, 0.0)
    assert sum(result["n_units"].values()) == 40
    assert sum(result["n_sessions"].values()) == 80
    assert here("clicks", "info", pages.parent, "--schema", "ubi").code == 0


def test_a_shadow_ranks_and_never_answers(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    with running(saved(tmp_path, **TWO), shadow="new", pages=pages) as server:
        answer = server.client.post("/rank", json=page(None)).json()
        assert (answer["model"], answer["places"]) == ("old", places("old", 3))
        server.client.post("/models/new/rank", json=page(None))
        until(lambda: server.sample("swaprank_pages_logged_total", model="new") == 1)
        assert server.sample("swaprank_shadowed_total", model="new") == 1
        same = places("old", 1) == places("new", 1)
        assert server.sample("swaprank_shadow_same_first_total", model="new") == same
    logged = map(json.loads, pages.read_text().splitlines())
    # A page is logged after its shadow, so the second request may be the first line.
    first, second = sorted(logged, key=lambda line: "shadow" not in line["query_attributes"])
    assert first["query_response_hit_ids"] == [f"d{place}" for place in places("old", 3)]
    hits = [f"d{place}" for place in places("new", 3)]
    assert first["query_attributes"]["shadow"] == {"model": "new", "hit_ids": hits}
    assert "shadow" not in second["query_attributes"]


def test_a_shadow_that_fails_and_a_log_that_cannot_be_written_harm_no_answer(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    files = saved(tmp_path, old="trees")
    (train,) = sr.datasets.random_net((20,), n_features=2, random_state=0)
    files["other"] = tmp_path / "other.swaprank"
    sr.MART(n_trees=2).fit(train).save(files["other"])
    with running(files, shadow="other", pages=tmp_path / "folder") as server:
        assert server.client.post("/rank", json=page("s")).json()["places"] == places("old", 3)
        until(lambda: server.sample("swaprank_errors_total", kind="pages") == 1)
        assert server.sample("swaprank_errors_total", kind="shadow") == 1
        assert server.sample("swaprank_errors_total", kind="internal") == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"split": {"nwe": 0.1}}, "no model is named 'nwe'; did you mean 'new'?"),
        ({"split": {"old": 0.1}}, "'old' is the first model"),
        ({"split": {"new": 1.1}}, "the share of 'new' must be"),
        ({"split": {"new": 0}}, "the share of 'new' must be"),
        ({"shadow": "nobody"}, "no model is named 'nobody'"),
    ],
)
def test_settings_that_do_not_fit_the_models(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said), running(saved(tmp_path, **TWO), **settings):
        pass
