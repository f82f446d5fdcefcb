from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swaprank as sr
from tests.metrics.lists import all_lists, flatten
from tests.metrics.naive import TWINS, ndcg, ndcg_by_trying_all

LISTS = all_lists((0, 1, 2, 3), longest=6)


@pytest.mark.parametrize("name", TWINS)
def test_value_equals_the_definition_on_every_small_list(name: str) -> None:
    labels, scores, indptr = flatten(LISTS)
    values = sr.metric(name).per_query(labels, scores, indptr)
    np.testing.assert_allclose(values, [TWINS[name](x) for x in LISTS], atol=1e-14)


def test_sorting_labels_gives_the_best_dcg() -> None:
    for labels in all_lists((0, 1, 3), longest=5):
        assert ndcg(labels, 3) == pytest.approx(ndcg_by_trying_all(labels, 3))


@pytest.mark.parametrize("name", [name for name in TWINS if not name.startswith(("pairwise", "bpref"))])
def test_negative_labels_are_worth_nothing(name: str) -> None:
    labels, scores, indptr = flatten(all_lists((-2, 0, 1), longest=4))
    metric = sr.metric(name)
    np.testing.assert_array_equal(
        metric.per_query(labels, scores, indptr), metric.per_query(np.maximum(labels, 0), scores, indptr)
    )


def test_bpref_passes_over_unjudged_documents() -> None:
    judged = sr.metric("bpref").mean([0, 1, 0, 1], [4, 3, 2, 1], [0, 4])
    with_unjudged = sr.metric("bpref").mean([-1, 0, -1, 1, 0, -1, 1], [7, 6, 5, 4, 3, 2, 1], [0, 7])
    assert judged == with_unjudged == ((1 - 1 / 2) + (1 - 2 / 2)) / 2


def test_real_valued_labels_are_taken_as_they_are() -> None:
    value = sr.metric("dcg@2").mean([0.5, 1.5, 2.5], [3, 2, 1], [0, 3])
    assert value == pytest.approx((2**0.5 - 1) + (2**1.5 - 1) / np.log2(3))


def test_documents_are_ranked_by_score_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 40, 200)
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    labels, scores = rng.integers(0, 5, indptr[-1]), rng.normal(size=indptr[-1])
    lists = [
        tuple(labels[a:b][np.argsort(-scores[a:b])]) for a, b in zip(indptr[:-1], indptr[1:], strict=True) if b > a
    ]
    for name, twin in TWINS.items():
        if name == "err(max_label=3)":
            continue
        values = sr.metric(name).per_query(labels, scores, indptr)
        np.testing.assert_allclose(values[sizes > 0], [twin(x) for x in lists], atol=1e-12, err_msg=name)


def test_a_query_without_documents_counts_as_one_without_relevant_documents() -> None:
    indptr = [0, 0, 1]
    for name in TWINS:
        if "max_label=3" not in name:
            metric = sr.metric(name)
            assert metric.per_query([1], [1.0], indptr)[0] == 0
            skipping = replace(metric, empty="skip")
            assert np.isnan(skipping.per_query([1], [1.0], indptr)[0])


@pytest.mark.parametrize("name", ["ndcg@10", "map", "err", "pairwise", "bpref"])
def test_values_do_not_depend_on_threads(name: str) -> None:
    rng = np.random.default_rng(1)
    indptr = np.concatenate(([0], np.cumsum(rng.integers(1, 90, 1500))))
    labels, scores = rng.integers(0, 5, indptr[-1]), rng.integers(0, 9, indptr[-1])
    one = sr.metric(name).per_query(labels, scores, indptr, n_threads=1)
    for n_threads in (2, 3, 7):
        np.testing.assert_array_equal(one, sr.metric(name).per_query(labels, scores, indptr, n_threads=n_threads))


def test_infinite_scores_rank_first_and_last() -> None:
    assert sr.metric("mrr").mean([0, 1, 0], [-np.inf, np.inf, 5.0], [0, 3]) == 1


@pytest.mark.slow
@given(st.lists(st.integers(0, 4), min_size=1, max_size=300), st.integers(0, 2**32))
def test_every_normalised_metric_lies_between_0_and_1_and_is_1_for_the_ideal_order(
    labels: list[int], seed: int
) -> None:
    scores = np.random.default_rng(seed).integers(0, 5, len(labels)).astype(float)
    indptr = [0, len(labels)]
    for name in ("ndcg", "ndcg@5", "map", "pairwise", "bpref"):
        metric = sr.metric(f"{name}(empty=1)")
        assert -1e-12 <= metric.mean(labels, scores, indptr) <= 1 + 1e-12
        assert metric.mean(labels, labels, indptr) == pytest.approx(1)
        assert metric.mean(labels, np.array(labels) + np.linspace(0, 0.5, len(labels)), indptr) == pytest.approx(1)
