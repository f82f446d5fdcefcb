import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from swaprank.metrics.metric_options import CONVENTIONS, OPTIONS, Choice, GainChoice
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
    metric = sr.metrics.NDCG(k=3, gain="linear")
    assert sr.metric(metric, convention="letor") is metric


@st.composite
def written_metrics(draw: st.DrawFn) -> sr.metrics.Metric:
    kind = draw(st.sampled_from(NAMED))
    k = draw(st.integers(1, 1000)) if kind.needs_k or (kind.takes_k and draw(st.booleans())) else None
    own = {f.name for f in fields(kind)}
    options = {}
    for name, option in OPTIONS.items():
        if name in own and draw(st.booleans()):
            if isinstance(option, Choice):
                options[name] = draw(st.sampled_from(list(option.words)))
            elif isinstance(option, GainChoice):
                gains = st.lists(st.floats(0, 1e300), min_size=2).map(sorted)
                options[name] = draw(st.sampled_from(list(option.named.words)) | gains)
            else:
                options[name] = draw(
                    st.floats(max(option.low, -50), min(option.high, 50), exclude_min=True, exclude_max=True)
                )
    return kind(k=k, **options)


@given(written_metrics(), st.sampled_from(sorted(CONVENTIONS)))
def test_str_reads_back_as_the_same_metric(metric: sr.metrics.Metric, convention: str) -> None:
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
    assert f"without {kind.needs} " in words


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", "there is no metric 'ndgc'; did you mean 'ndcg'?"),
        ("xyzzy", "there is no metric 'xyzzy'; known are "),
        ("ndcg@0", "ndcg: k must be a whole number from 1, found 0."),
        ("ndcg@-3", "ndcg: k must be a whole number from 1, found -3."),
        ("ndcg@2.5", "ndcg: k must be a whole number from 1, found 2.5."),
        ("ndcg@ten", "ndcg: k must be a whole number from 1, found ten."),
        ("map(over=all)", "map: over cannot be 'all'; known are reachable, relevant."),
        ("p", "p needs a cut-off, for example p@10."),
        ("wta@3", "wta has no cut-off, found @3."),
        ("map(rell=2)", "map has no option 'rell'; did you mean 'rel'?"),
        ("map(gain=linear)", "map has no option 'gain'; known are empty, over, rel, ties."),
        ("ndcg(gain=2x)", "ndcg: gain cannot be '2x'; known are exp2, linear."),
        ("map(rel=many)", "map: rel cannot be 'many'; "),
        ("map(rel=inf)", "map: rel cannot be inf; it must be a finite number."),
        ("err(max_label=0)", "err: max_label cannot be 0; it must be finite and above 0."),
        ("rbp(p=1.5)", "rbp: p cannot be 1.5; it must be between 0 and 1."),
        ("map(rel)", "map: write rel=value, found 'rel'."),
        ("map(rel=1, rel=2)", "map: rel is given twice."),
        ("ndcg@@10", "'ndcg@@10' is not the name of a metric; write for example 'ndcg@10' or 'map(rel=2)'."),
        ("ndcg_10", "there is no metric 'ndcg_10'; did you mean 'ndcg@10'?"),
        ("ndcg_ctu_5", "there is no metric 'ndcg_ctu_5'; did you mean 'ndcg_cut_5'?"),
        ("ndcg_cut", "there is no metric 'ndcg_cut'; did you mean 'ndcg_cut_10'?"),
        ("P_0", "p: k must be a whole number from 1, found 0."),
        (
            "set_F",
            "there is no metric 'set_F'; swaprank does not have this one of trec_eval. Known are alpha_ndcg, ap, ",
        ),
        ("ndcg(gain=0/x)", "ndcg: gain cannot be '0/x'; "),
        ("ndcg(gain=own)", "ndcg: gain cannot be 'own'; known are exp2, linear."),
        ("", "'' is not the name of a metric"),
    ],
)
def test_a_bad_name_gets_a_clear_error(name: str, message: str) -> None:
    with pytest.raises(sr.errors.MetricError) as caught:
        sr.metric(name)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("ndcg_cut_10", "ndcg@10"),
        ("ndcg_cut.10", "ndcg@10"),
        ("map_cut_5", "map@5"),
        ("P_10", "p@10"),
        ("P.10", "p@10"),
        ("recall_100", "recall@100"),
        ("success_1", "success@1"),
        ("recip_rank", "mrr"),
        ("P_10(rel=2)", "p@10(rel=2)"),
        ("ndcg_cut_10(ties=expected)", "ndcg@10(ties=expected)"),
    ],
)
def test_names_that_only_trec_eval_has_mean_its_convention(name: str, ours: str) -> None:
    for convention in CONVENTIONS:
        assert sr.metric(name, convention=convention) == sr.metric(ours, convention="trec")


def test_names_of_xgboost() -> None:
    assert sr.metric("pre@5") == sr.metrics.Precision(5)
    assert sr.metric("ndcg@10-", convention="lightgbm") == sr.metric("ndcg@10(empty=0)", convention="lightgbm")
    assert sr.metric("map-") == sr.metric("map")


def test_a_list_of_gains() -> None:
    # Labels 2, 0, 1 in rank order: gains 5, 0, 1; the best order has 5, 1, 0. A negative label has gain 0.
    metric = sr.metrics.NDCG(gain=[0, 1, 5])
    assert metric.mean([2, 0, 1], DESCENDING, [0, 3]) == pytest.approx((5 + 1 / 2) / (5 + 1 / math.log2(3)))
    assert sr.metrics.DCG(gain=(3, 4)).mean([-1, 0, 1], DESCENDING, [0, 3]) == pytest.approx(3 / math.log2(3) + 4 / 2)
    assert metric == sr.metric("ndcg(gain=0/1/5)") == sr.metrics.NDCG(gain=np.array([0.0, 1.0, 5.0]).tolist())
    assert str(metric) == "ndcg(gain=0/1/5)"
    assert "gains 0, 1, 5 of the labels 0 to 2" in metric.describe()


def test_the_usual_gains_as_a_list_or_a_function_change_nothing() -> None:
    labels, scores, indptr = [0, 3, 1, 2, 4, 0, 1], [1, 2, 3, 3, 4, 5, 6], [0, 5, 7]
    for name in ("ndcg@3", "dcg"):
        kind: Any = sr.metrics.NDCG if name == "ndcg@3" else sr.metrics.DCG
        k = sr.metric(name).k
        expected = sr.metric(name).per_query(labels, scores, indptr)
        np.testing.assert_array_equal(kind(k, gain=[0, 1, 3, 7, 15]).per_query(labels, scores, indptr), expected)
        np.testing.assert_array_equal(kind(k, gain=lambda x: 2**x - 1).per_query(labels, scores, indptr), expected)
    by_function = sr.metrics.NDCG(discount=lambda rank: 1 / rank)
    expected = sr.metrics.NDCG(discount="reciprocal").per_query(labels, scores, indptr)
    np.testing.assert_array_equal(by_function.per_query(labels, scores, indptr), expected)


@pytest.mark.parametrize(
    ("gain", "labels", "message"),
    [
        ([0, 1, 3], [0, 3], r"label 3 has no gain; the list has those of the labels 0 to 2\."),
        ([0, 1, 3], [0, 0.5], r"label 0.5 has no gain, because a list has those of whole labels"),
        ([0, 1, math.nan], None, "it must be a finite number"),
        ([0, 1, math.inf], None, "it must be a finite number"),
        ([-1, 0], None, "must be 0 or more"),
        ([0, 3, 1], None, "must not fall"),
        ([0], None, "two labels or more"),
        (["a", "b"], None, "it must be a number"),
        ({0: 1}, None, r"known are exp2, linear\. Or list the gains of the labels from 0"),
        (lambda label: label - 1, [0, 1], r"gain\(0.0\) returned -1; a sum with losses|gain\(0\) returned -1; a sum"),
        (lambda label: math.nan, [0, 1], r"gain\(0.0\) returned nan"),
    ],
)
def test_bad_gains_get_a_clear_error(gain: Any, labels: list[float] | None, message: str) -> None:
    with pytest.raises(sr.errors.MetricError, match=message):
        sr.metrics.NDCG(gain=gain).mean(labels or [0, 1], [2, 1], [0, 2])


def test_losses_may_be_summed_but_not_divided() -> None:
    assert sr.metrics.DCG(k=1, gain=lambda label: label - 1).mean([0, 1], [2, 1], [0, 2]) == -1


def test_a_bad_convention_gets_a_clear_error() -> None:
    with pytest.raises(sr.errors.MetricError, match=r"there is no convention 'leter'; did you mean 'letor'\?"):
        sr.metric("ndcg", convention="leter")


@pytest.mark.parametrize(
    ("labels", "scores", "indptr", "message"),
    [
        ([0, 1], [1.0], [0, 2], "scores must be one number per document, 2 in all; found shape (1,)"),
        ([0, 1], [1.0, np.nan], [0, 2], "scores: document 1 has NaN (1 of 2"),
        ([0, 1], ["a", "b"], [0, 2], "scores must be numbers"),
        ([0, np.nan], [1.0, 2.0], [0, 2], "labels must be finite numbers"),
        ([0, 1], [1.0, 2.0], [0, 1], "indptr must rise from 0 to the number of documents, 2; found 0, 1."),
        ([0, 1], [1.0, 2.0], [0, 2, 1, 2], "indptr must rise from 0"),
        ([0, 1], [1.0, 2.0], [0.0, 2.0], "indptr must be integers"),
    ],
)
def test_bad_arrays_get_a_clear_error(
    labels: list[float], scores: list[float], indptr: list[int], message: str
) -> None:
    with pytest.raises(sr.errors.DataError) as caught:
        sr.metric("ndcg").mean(labels, scores, indptr)
    assert str(caught.value).startswith(message)


def test_err_refuses_labels_beyond_its_scale() -> None:
    with pytest.raises(
        sr.errors.MetricError, match=r"err: labels must be at most 4, found 5; write err\(max_label=5\)"
    ):
        sr.metric("err").mean([5, 0], [1, 0], [0, 2])


def test_lightgbm_divides_average_precision_by_what_k_ranks_can_hold() -> None:
    # Relevant at ranks 1 and 3, four in all; two ranks can hold two of them.
    labels, scores, indptr = [1, 0, 1, 1, 1], [5, 4, 3, 2, 1], [0, 5]
    assert sr.metric("map@2").mean(labels, scores, indptr) == 1 / 4
    by_lightgbm = sr.metric("map@2", convention="lightgbm")
    assert str(by_lightgbm) == "map@2(over=reachable, empty=1, ties=input)"
    assert by_lightgbm.mean(labels, scores, indptr) == 1 / 2
    assert "divided by the number of relevant documents, at most k" in by_lightgbm.describe()
    assert sr.metric("map(over=reachable)").mean(labels, scores, indptr) == sr.metric("map").mean(
        labels, scores, indptr
    )


@pytest.mark.parametrize("k", [10, 10.0, np.int32(10), np.float64(10)])
def test_equal_cut_offs_print_alike(k: int) -> None:
    assert str(sr.metrics.NDCG(k)) == "ndcg@10"
    assert sr.metrics.NDCG(k) == sr.metric("ndcg@10")


@pytest.mark.parametrize("k", ["abc", "10", float("nan"), float("inf"), 2.5, [1], True, 0, -1, np.array([1, 2])])
def test_a_bad_cut_off_gets_a_clear_error(k: int) -> None:
    with pytest.raises(sr.errors.MetricError, match="ndcg: k must be a whole number from 1, found "):
        sr.metrics.NDCG(k)


@pytest.mark.parametrize("option", [{"empty": True}, {"empty": 1.0}, {"empty": [0]}, {"gain": None}, {"ties": {}}])
def test_options_of_another_type_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(sr.errors.MetricError, match=r"ndcg: \w+ cannot be .*; known are "):
        sr.metrics.NDCG(**option)


def test_whole_numbers_are_kept_whole() -> None:
    assert str(sr.metric(f"map(rel={2**60 + 1})")) == f"map(rel={2**60 + 1})"
    assert str(sr.metrics.AveragePrecision(rel=2.0)) == "map(rel=2)"
    assert str(sr.metrics.AveragePrecision(rel=np.float64(0.5))) == "map(rel=0.5)"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("metric", "labels", "message"),
    [
        (sr.metrics.NDCG(), [2000, 0], r"ndcg: label 2000 has a gain of inf, too large to sum.*; choose gain=linear"),
        (sr.metrics.DCG(), [0, 1024], r"dcg: label 1024 has a gain of inf"),
        (
            sr.metrics.NDCG(),
            [1023, 1023],
            r"ndcg: label 1023 has a gain of 8.98847e\+307, too large to sum over 2 documents",
        ),
        (
            sr.metrics.NDCG(gain="linear"),
            [1e308, 1e308],
            r"label 1e\+308 has a gain of 1e\+308.*; choose smaller gains",
        ),
        (
            sr.metrics.CumulativeMetric(gain=lambda x: x * 1e308, normalize=False),
            [1, 1],
            r"label 1 has a gain of 1e\+308",
        ),
        (sr.metrics.CumulativeMetric(discount=lambda r: 1e300), [100, 0], r"label 100 has a gain of 1.26765e\+30"),
    ],
)
def test_gains_that_cannot_be_added_up_are_refused(
    metric: sr.metrics.Metric, labels: list[float], message: str
) -> None:
    with pytest.raises(sr.errors.MetricError, match=message):
        metric.per_query(labels, [2, 1], [0, 2])


@pytest.mark.filterwarnings("error")
def test_large_labels_that_can_be_added_up_are_measured() -> None:
    assert sr.metric("ndcg").mean([1000, 0], [1, 2], [0, 2]) == pytest.approx(1 / math.log2(3))
    assert sr.metric("err(max_label=3000)").mean([0, 3000], [2, 1], [0, 2]) == 0.5


def test_terms_say_which_queries_have_nothing_to_gain() -> None:
    labels, indptr = [0, 0, 2, 0, 1, 1], [0, 2, 4, 4, 6]
    for empty in (0, 1, "skip"):
        for name, expected in (
            ("ndcg", [True, False, True, False]),
            ("ndcg@2(short=zero)", [True, False, True, False]),
            ("map(rel=2)", [True, False, True, True]),
            ("err", [True, False, True, False]),
            ("pairwise", [True, False, True, True]),
            ("bpref", [True, False, True, False]),
            ("rprec", [True, False, True, False]),
        ):
            terms = replace(sr.metric(name), empty=empty).bind(labels, indptr).terms
            assert terms.is_empty.tolist() == expected, (name, empty)
