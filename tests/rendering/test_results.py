"""Every result prints, and becomes a dict, JSON, data frames and HTML with the same content."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.experiments.tuning_result import Trial
from swaprank.rendering.result import Backend, Result, json_text, make_frame, plain
from swaprank.rendering.tables import Table, blocks_html

NAMES = ["evaluation", "left out", "comparison", "cross-validation", "tuning", "certificate", "explanation", "pairs",
         "Jacobian"]  # fmt: skip


@cache
def results() -> dict[str, Result]:
    (data,) = sr.datasets.random_net((12,), n_features=3, n_documents=6, random_state=0)
    linear = sr.LinearRegressionRanker(regularization=0.1).fit(data)
    scores = linear.predict(data)
    trials = [
        Trial(1, 0.5, None, 2.0, "10 trees", {"n_leaves": 7, "hidden": (10,), "truncation": "auto"}),
        Trial(2, None, 3, 1.0, "", {"n_leaves": 31, "hidden": (5, 5), "truncation": 10}),
    ]
    nothing = sr.Dataset([[1.0], [2.0]], [0, 0], qid=[1, 1])
    found: list[Result] = [
        sr.evaluate(data, scores, ["ndcg@3", "map"]),
        sr.evaluate(nothing, [1, 2], "map(empty=skip)"),
        sr.compare(data, {"<b>one</b>": data.column(0), "two & three": scores}, ["ndcg@3", "mrr"]),
        sr.cross_validate(data, {"linear": linear, "mart": sr.MART(n_trees=2)}, ["map", "mrr"], n_folds=3),
        sr.experiments.Tuning(linear, "map", trials[0], trials),
        sr.certify(linear, data, epsilon=0.5),
        sr.explain_query(linear, data, qid=3),
        sr.instruments.effective_pairs("map", data, scores),
        sr.instruments.lambda_jacobian("ranknet", [2, 1, 0], [0.5, 0.1, 0.3]),
    ]
    return dict(zip(NAMES, found, strict=True))


class Text(HTMLParser):
    """The text of a page, and its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags = "", list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.text += "\n" if tag == "br" else " "

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", NAMES)
def test_json_is_the_dict_as_text(name: str) -> None:
    result = results()[name]
    assert json.loads(result.to_json()) == result.to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_all_backends_have_the_same_columns_and_values(name: str) -> None:
    result = results()[name]
    frames = {backend: result.to_frame(backend=backend) for backend in ("pandas", "polars", "pyarrow")}
    columns = {
        "pandas": {name: frames["pandas"][name].tolist() for name in frames["pandas"].columns},
        "polars": frames["polars"].to_dict(as_series=False),
        "pyarrow": frames["pyarrow"].to_pydict(),
    }
    for values in columns.values():
        assert list(values) == list(columns["polars"])
        for column, expected in columns["polars"].items():
            assert plain(values[column]) == plain(expected), column
    assert len(frames["pandas"]) == len(frames["polars"]) == len(frames["pyarrow"]) > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_is_printed(name: str) -> None:
    result = results()[name]
    page = Text()
    page.feed(result._repr_html_())
    without_rules = [line for line in str(result).splitlines() if not re.fullmatch("[- ]+", line)]
    assert page.text.split() == " ".join(without_rules).split()
    assert set(page.tags) <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p", "br"}
    assert repr(result) == str(result)


def test_names_are_escaped() -> None:
    html = results()["comparison"]._repr_html_()
    assert "&lt;b&gt;one&lt;/b&gt;" in html
    assert "two &amp; three" in html
    assert "<b>" not in html


def test_pages_have_no_colors_and_load_nothing() -> None:
    html = "".join(result._repr_html_() for result in results().values())
    assert not re.search(r"background|[^-]color:|#[0-9a-f]{3}|http|src=|<script|<link", html)


def test_numbers_are_right_aligned() -> None:
    html = blocks_html([Table(["name", "value"], [["a", "1"], ["b", "2"]], note="two rows")])
    assert re.findall(r"text-align:(\w+)[^>]*>(\w+)<", html) == [
        ("left", "name"), ("right", "value"), ("left", "a"), ("right", "1"), ("left", "b"), ("right", "2"),
    ]  # fmt: skip
    assert "two rows" in html


def test_plain_values() -> None:
    given = {"a": (1, 2.5), 2: np.float32(0.5), "nan": [float("nan"), np.inf], "m": sr.metric("map"), "x": np.arange(2)}
    expected = {"a": [1, 2.5], "2": 0.5, "nan": [None, None], "m": "map", "x": [0, 1]}
    assert plain(given) == expected
    assert json.loads(json_text(given)) == expected
    assert plain([True, None, np.bool_(False)]) == [True, None, False]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_columns_of_mixed_types(backend: Backend) -> None:
    columns: dict[str, list[Any]] = {
        "numbers": [1, 2.5, None],
        "mixed": ["auto", 10, None],
        "flags": [True, False, None],
        "hidden": [(10,), (5, 5), ()],
    }
    frame = make_frame(columns, backend)
    found = {
        name: plain(frame[name].to_pylist() if backend == "pyarrow" else frame[name].to_list()) for name in columns
    }
    assert found == {
        "numbers": [1.0, 2.5, None],
        "mixed": ["auto", "10", None],
        "flags": [True, False, None],
        "hidden": ["(10,)", "(5, 5)", "()"],
    }


def test_frames_hold_the_values_of_the_result() -> None:
    found = results()
    explanation, pairs, certificate = found["explanation"], found["pairs"], found["certificate"]
    assert isinstance(explanation, sr.instruments.QueryExplanation)
    assert isinstance(pairs, sr.instruments.EffectivePairs)
    assert isinstance(certificate, sr.instruments.Certificate)
    frame = explanation.to_frame()
    assert frame["row"].tolist() == explanation.rows.tolist()
    assert frame["lambda"].tolist() == explanation.forces.tolist()
    assert frame["score"].tolist() == sorted(frame["score"].tolist(), reverse=True)
    assert pairs.to_frame()["effective"].sum() == pairs.n_effective
    grid = certificate.to_frame().pivot(index="direction", columns="step", values="value")
    np.testing.assert_array_equal(grid.to_numpy(), certificate.curves[:, np.argsort(certificate.steps)])
    trials = found["tuning"].to_frame()
    assert trials["truncation"].tolist() == ["auto", "10"]
    assert trials["hidden"].tolist() == ["(10,)", "(5, 5)"]
