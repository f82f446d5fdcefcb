import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import swaprank as sr
from swaprank.rendering.result import Backend

DATA = sr.Dataset(
    np.zeros((7, 1)), [0, 1, 0, 2, 0, 0, 1], qid=["a", "a", "b", "b", "c", "c", "d"], docid=list("tuvwxyz")
)
SCORES = [0.3, 0.1, 0.2, 0.9, 0.5, 0.4, 0.0]


def test_means_intervals_and_counts() -> None:
    result = sr.evaluate(DATA, SCORES, ["ndcg", "map(empty=skip)"])["ndcg"]
    expected = [1 / math.log2(3), 1, 0, 1]
    assert result.per_query.tolist() == pytest.approx(expected)
    assert result.mean == pytest.approx(np.mean(expected))
    low, high = result.interval
    # Wilson's score interval: its ends are as far from the mean as Student's t allows if the truth were there.
    share = np.var(expected) / (result.mean * (1 - result.mean))
    for end in (low, high):
        deviation = math.sqrt(share * end * (1 - end) / 4)
        assert abs(end - result.mean) / deviation == pytest.approx(stats.t.ppf(0.975, 3))
    dcg = sr.evaluate(DATA, SCORES, "dcg")["dcg"]
    assert dcg.interval == pytest.approx(stats.t.interval(0.95, 3, dcg.mean, stats.sem(dcg.per_query)))
    assert (result.n_queries, result.n_without_relevant, result.n_left_out) == (4, 1, 0)
    skipping = sr.evaluate(DATA, SCORES, "map(empty=skip)")["map(empty=skip)"]
    assert (skipping.n_queries, skipping.n_without_relevant, skipping.n_left_out) == (3, 1, 1)
    assert skipping.mean == pytest.approx((1 / 2 + 1 + 1) / 3)


def test_short_lists_are_not_taken_for_hopeless_ones() -> None:
    result = sr.evaluate(DATA, SCORES, "ndcg@2", convention="letor").results[0]
    assert result.per_query[3] == 0
    assert result.n_without_relevant == 1


def test_a_metric_given_twice_is_measured_once() -> None:
    assert len(sr.evaluate(DATA, SCORES, ["map", "AP", sr.metrics.AveragePrecision()]).results) == 1


def test_own_metric() -> None:
    own = sr.metrics.CumulativeMetric(gain=lambda label: label, name="clicks")
    assert sr.evaluate(DATA, SCORES, [own, "map"])["clicks"].mean > 0
    with pytest.raises(sr.errors.MetricError, match="'mapp' was not evaluated; did you mean 'map'"):
        sr.evaluate(DATA, SCORES, [own, "map"])["mapp"]


def test_any_spelling_finds_a_metric() -> None:
    evaluation = sr.evaluate(DATA, SCORES, ["ndcg@10", "AP"])
    for name in ("map", "AP", "ap", "MAP", sr.metrics.AveragePrecision()):
        assert evaluation[name].metric == sr.metrics.AveragePrecision()
    assert evaluation["nDCG@10"] is evaluation["ndcg@10"]


def test_a_name_means_what_it_meant_when_it_was_measured() -> None:
    standard = sr.metric("ndcg@10")
    evaluation = sr.evaluate(DATA, SCORES, ["ndcg@10", standard], convention="letor")
    letor = sr.metric("ndcg@10", convention="letor")
    assert evaluation["ndcg@10"].metric == evaluation["nDCG@10"].metric == letor
    assert evaluation[str(letor)].metric == evaluation[letor].metric == letor
    assert evaluation[standard].metric == standard


def test_an_own_metric_is_not_taken_for_its_namesake() -> None:
    one = sr.metrics.CumulativeMetric(gain=lambda label: label, name="clicks")
    other = sr.metrics.CumulativeMetric(gain=lambda label: 2 * label, name="clicks")
    evaluation = sr.evaluate(DATA, SCORES, [one, "map"])
    assert evaluation[one].metric is evaluation["clicks"].metric is one
    with pytest.raises(sr.errors.MetricError, match="another metric with the name 'clicks' was"):
        evaluation[other]
    with pytest.raises(sr.errors.MetricError, match="have the name clicks"):
        sr.evaluate(DATA, SCORES, [one, other])


def test_one_query_has_no_interval() -> None:
    evaluation = sr.evaluate(DATA.subset([0]), [0.3, 0.1], "map")
    assert np.isnan(evaluation["map"].interval).all()
    assert "- to -" in str(evaluation)
    assert json.loads(evaluation.to_json())["results"][0]["low"] is None


def test_no_query_left() -> None:
    evaluation = sr.evaluate(DATA.subset([2]), [0.5, 0.4], "map(empty=skip)")
    assert np.isnan(evaluation.results[0].mean)
    assert evaluation.results[0].n_left_out == 1
    assert json.loads(evaluation.to_json(per_query=True))["results"][0]["per_query"] == {"c": None}


def test_table_says_the_conventions() -> None:
    text = str(sr.evaluate(DATA, SCORES, "ndcg@10", convention="letor"))
    assert "ndcg@10(discount=letor, short=zero, ties=input)" in text
    assert "discount 1, 1, then 1/log2(r); a list shorter than k counts 0" in text


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames(backend: Backend) -> None:
    evaluation = sr.evaluate(DATA, SCORES, ["ndcg", "map"])
    frame = evaluation.to_frame(backend=backend)
    assert frame.shape == (2, 8)
    per_query = evaluation.to_frame(per_query=True, backend=backend)
    assert per_query.shape == (4, 3)
    if backend == "pandas":
        assert isinstance(frame, pd.DataFrame)
        assert per_query["qid"].tolist() == ["a", "b", "c", "d"]


def test_text_with_every_query() -> None:
    evaluation = sr.evaluate(DATA, SCORES, ["map(empty=skip)", "p@1"])
    shown = evaluation.to_text(per_query=True)
    assert shown.startswith(f"{evaluation}\n\n")
    assert [line.split() for line in shown.splitlines()[-4:]] == [
        ["a", "0.5000", "0.0000"],
        ["b", "1.0000", "1.0000"],
        ["c", "-", "0.0000"],
        ["d", "1.0000", "1.0000"],
    ]


def test_unknown_frame_backend() -> None:
    with pytest.raises(sr.errors.SwaprankError, match="there is no frame backend 'panda'; did you mean 'pandas'"):
        sr.evaluate(DATA, SCORES, "map").to_frame(backend="panda")  # type: ignore[arg-type]


def test_json() -> None:
    result = json.loads(sr.evaluate(DATA, SCORES, "map").to_json(per_query=True))["results"][0]
    assert result["metric"] == "map"
    assert result["per_query"] == {"a": 0.5, "b": 1.0, "c": 0.0, "d": 1.0}
    assert "average precision" in result["conventions"]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, 2.0], "scores must be one number per document, 7 in all; found shape (2,)"),
        ([np.nan] * 7, "scores: document 0 has NaN (7 of 7"),
        (["x"] * 7, "scores must be numbers"),
    ],
)
def test_bad_scores(scores: list[float], message: str) -> None:
    with pytest.raises(sr.errors.DataError) as caught:
        sr.evaluate(DATA, scores, "map")
    assert str(caught.value).startswith(message)


def test_something_else_than_data() -> None:
    with pytest.raises(sr.errors.DataError, match="expected a Dataset or Qrels, found list"):
        sr.evaluate([1, 2], [1, 2], "map")
    with pytest.raises(sr.errors.MetricError, match="at least one metric is needed"):
        sr.evaluate(DATA, SCORES, [])
