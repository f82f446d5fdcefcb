import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from swaprank.metrics.conventions import CONVENTIONS
from swaprank.metrics.options import OPTIONS, Choice
from swaprank.metrics.parse import BY_NAME, NAMED

DESCENDING = [3.0, 2.0, 1.0]


def test_standard() -> None:
    # Gains 3, 0, 1 at discounts 1, 1/log2(3), 1/2; the best order has 3, 1, 0.
    value = sr.metric("ndcg").mean([2, 0, 1], DESCENDING, [0, 3])
    assert value == pytest.approx((3 + 1 / 2) / (3 + 1 / math.log2(3)))


def test_trec_gains_are_the_labels() -> None:
    value = sr.metric("ndcg", convention="trec").mean([2, 0, 1], DESCENDING, [0, 3])
    assert value == pytest.approx((2 + 1 / 2) / (2 + 1 / math.log2(3)))


def test_letor_does_not_discount_the_second_rank() -> None:
    value = sr.metric("ndcg", convention="letor").mean([2, 0, 1], DESCENDING, [0, 3])
    assert value == pytest.approx((3 + 1 / math.log2(3)) / (3 + 1))


def test_letor_gives_nothing_for_a_list_shorter_than_k() -> None:
    for k, expected in ((3, 1.0), (4, 0.0)):
        assert sr.metric(f"ndcg@{k}", convention="letor").mean([2, 1, 0], DESCENDING, [0, 3]) == expected
    assert sr.metric("ndcg@4").mean([2, 1, 0], DESCENDING, [0, 3]) == 1


def test_mslr_counts_labels_from_2_as_relevant() -> None:
    assert sr.metric("map", convention="mslr").mean([1, 2, 0], DESCENDING, [0, 3]) == 1 / 2
    assert sr.metric("p@2", convention="mslr").mean([1, 2, 0], DESCENDING, [0, 3]) == 1 / 2
    assert sr.metric("map", convention="letor").mean([1, 2, 0], DESCENDING, [0, 3]) == 1


@pytest.mark.parametrize(("convention", "expected"), [("standard", 0), ("trec", 0), ("letor", 0), ("lightgbm", 1)])
def test_a_query_without_a_relevant_document(convention: str, expected: float) -> None:
    metric = sr.metric("ndcg@2", convention=convention)
    assert metric.mean([0, 0, 0], DESCENDING, [0, 3]) == expected
    assert (metric.swap_gains([0, 0, 0]) == 0).all()


def test_skipped_queries_are_nan_and_not_in_the_mean() -> None:
    metric = sr.metric("ndcg(empty=skip)")
    values = metric.per_query([0, 0, 1, 0], [1, 2, 3, 4], [0, 2, 4])
    assert np.isnan(values[0])
    assert metric.mean([0, 0, 1, 0], [1, 2, 3, 4], [0, 2, 4]) == values[1]
    assert np.isnan(metric.mean([0, 0], [1, 2], [0, 2]))


def test_what_the_name_says_goes_before_the_convention() -> None:
    assert sr.metric("ndcg@5(ties=input)", convention="trec").ties == "input"


def test_a_metric_object_keeps_its_own_conventions() -> None:
    metric = sr.NDCG(k=3, gain="linear")
    assert sr.metric(metric, convention="letor") is metric


@st.composite
def written_metrics(draw: st.DrawFn) -> sr.Metric:
    kind = draw(st.sampled_from(NAMED))
    k = draw(st.integers(1, 1000)) if kind.needs_k or (kind.takes_k and draw(st.booleans())) else None
    own = {f.name for f in fields(kind)}
    options = {}
    for name, option in OPTIONS.items():
        if name in own and draw(st.booleans()):
            if isinstance(option, Choice):
                options[name] = draw(st.sampled_from(list(option.words)))
            else:
                options[name] = draw(
                    st.floats(max(option.low, -50), min(option.high, 50), exclude_min=True, exclude_max=True)
                )
    return kind(k=k, **options)


@given(written_metrics(), st.sampled_from(sorted(CONVENTIONS)))
def test_str_reads_back_as_the_same_metric(metric: sr.Metric, convention: str) -> None:
    assert sr.metric(str(metric)) == metric
    by_convention = sr.metric(f"{metric.names[0]}@10" if metric.takes_k else metric.names[0], convention)
    assert sr.metric(str(by_convention)) == by_convention
    assert hash(sr.metric(str(metric))) == hash(metric)


@pytest.mark.parametrize("name", BY_NAME)
def test_every_metric_describes_itself(name: str) -> None:
    kind = BY_NAME[name]
    words = kind(k=5 if kind.takes_k else None).describe()
    assert kind.title in words
    assert "tied scores" in words
    assert "without a relevant document" in words


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        ("xyzzy", "there is no metric 'xyzzy'; known are "),
        ("ndcg@0", "ndcg: k must be a whole number from 1, found 0."),
        ("ndcg@-3", "ndcg: k must be a whole number from 1, found -3."),
        ("ndcg@2.5", "ndcg: k must be a whole number from 1, found 2.5."),
        ("ndcg@ten", "ndcg: k must be a whole number from 1, found ten."),
        ("p", "p needs a cut-off, for example p@10."),
        ("wta@3", "wta takes no cut-off, found @3."),
        ("map(rell=2)", "map has no option 'rell'; did you mean 'rel'?"),
        ("map(gain=linear)", "map has no option 'gain'; known are empty, rel, ties."),
        ("ndcg(gain=quadratic)", "ndcg: gain cannot be 'quadratic'; known are exp2, linear."),
        ("map(rel=many)", "map: rel cannot be 'many'; "),
        ("rbp(p=1.5)", "rbp: p cannot be 1.5; it must lie between 0 and 1."),
        ("map(rel)", "map: write rel=value, found 'rel'."),
        ("map(rel=1, rel=2)", "map: rel is given twice."),
        ("ndcg@@10", "'ndcg@@10' is not a metric's name; write for example 'ndcg@10' or 'map(rel=2)'."),
        ("", "'' is not a metric's name"),
    ],
)
def test_a_bad_name_gets_a_clear_error(name: str, message: str) -> None:
    with pytest.raises(sr.MetricError) as caught:
        sr.metric(name)
    assert str(caught.value).startswith(message)


def test_a_bad_convention_gets_a_clear_error() -> None:
    with pytest.raises(sr.MetricError, match=r"there is no convention 'leter'; did you mean 'letor'\?"):
        sr.metric("ndcg", convention="leter")


@pytest.mark.parametrize(
    ("labels", "scores", "indptr", "message"),
    [
        ([0, 1], [1.0], [0, 2], "scores must be one a document, 2; found shape (1,)"),
        ([0, 1], [1.0, np.nan], [0, 2], "scores: document 1 has NaN, 1 of 2 in all"),
        ([0, 1], ["a", "b"], [0, 2], "scores must be numbers"),
        ([0, np.nan], [1.0, 2.0], [0, 2], "labels must be finite numbers"),
        ([0, 1], [1.0, 2.0], [0, 1], "indptr must rise from 0 to the number of documents, 2; found 0, 1."),
        ([0, 1], [1.0, 2.0], [0, 2, 1, 2], "indptr must rise from 0"),
        ([0, 1], [1.0, 2.0], [0.0, 2.0], "indptr must be whole numbers"),
    ],
)
def test_bad_arrays_get_a_clear_error(
    labels: list[float], scores: list[float], indptr: list[int], message: str
) -> None:
    with pytest.raises(sr.DataError) as caught:
        sr.metric("ndcg").mean(labels, scores, indptr)
    assert str(caught.value).startswith(message)


def test_err_refuses_labels_beyond_its_scale() -> None:
    with pytest.raises(sr.MetricError, match=r"err takes labels up to 4, found 5; write err\(max_label=5\)"):
        sr.metric("err").mean([5, 0], [1, 0], [0, 2])
