"""Metrics agree with other tools where the conventions agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, dcg_score, ndcg_score, roc_auc_score

import swaprank as sr
from swaprank.arrays import Floats, Ints
from swaprank.metrics.parse import BY_NAME
from tests.metrics.naive import err

pytrec_eval = pytest.importorskip("pytrec_eval")
# By ir_measures, from Python 3.12.
pytestmark = pytest.mark.filterwarnings(r"ignore:.* is deprecated and will be removed in Python:DeprecationWarning")


def random_lists(
    seed: int, n_queries: int = 60, labels: tuple[int, ...] = (0, 0, 0, 1, 2, 3), levels: int | None = None
) -> tuple[Floats, Floats, Ints]:
    rng = np.random.default_rng(seed)
    indptr = np.concatenate(([0], np.cumsum(rng.integers(1, 60, n_queries)))).astype(np.int64)
    scores = rng.normal(size=indptr[-1]) if levels is None else rng.integers(0, levels, indptr[-1]).astype(float)
    return rng.choice(labels, indptr[-1]).astype(float), scores, indptr


def trec_eval(labels: Floats, scores: Floats, indptr: Ints, docid: list[str], measure: str) -> list[float]:
    bounds = list(zip(indptr[:-1], indptr[1:], strict=True))
    qrels = {str(q): {docid[d]: int(labels[d]) for d in range(a, b)} for q, (a, b) in enumerate(bounds)}
    run = {str(q): {docid[d]: float(scores[d]) for d in range(a, b)} for q, (a, b) in enumerate(bounds)}
    found = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    return [found[str(q)][measure] for q in range(len(bounds))]


@pytest.mark.parametrize("levels", [None, 4], ids=["no ties", "many ties"])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndcg", "ndcg"),
        ("ndcg@10", "ndcg_cut_10"),
        ("map", "map"),
        ("map@10", "map_cut_10"),
        ("mrr", "recip_rank"),
        ("p@5", "P_5"),
        ("recall@10", "recall_10"),
        ("success@5", "success_5"),
        ("bpref", "bpref"),
        ("rprec", "Rprec"),
    ],
)
def test_trec_convention_equals_trec_eval(ours: str, theirs: str, levels: int | None) -> None:
    labels, scores, indptr = random_lists(3, levels=levels)
    # Ids whose order as text differs from their order as numbers, and from that of the rows.
    docid = [f"doc{(d * 7919) % 1000}é" if d % 3 else f"d{d}" for d in range(len(labels))]
    values = sr.metric(ours, convention="trec").per_query(labels, scores, indptr, docid=docid)
    expected = trec_eval(labels, scores, indptr, docid, theirs)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    if theirs.lower() not in BY_NAME:
        by_their_name = sr.metric(theirs).per_query(labels, scores, indptr, docid=docid)
        np.testing.assert_allclose(by_their_name, expected, atol=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), [("ndcg", "ndcg"), ("map", "map"), ("bpref", "bpref")])
def test_trec_convention_with_negative_judgements(ours: str, theirs: str) -> None:
    labels, scores, indptr = random_lists(4, labels=(-1, 0, 1, 2))
    docid = [f"d{d}" for d in range(len(labels))]
    values = sr.metric(ours, convention="trec").per_query(labels, scores, indptr, docid=docid)
    np.testing.assert_allclose(values, trec_eval(labels, scores, indptr, docid, theirs), atol=1e-12)


def test_scores_closer_than_single_precision_are_ties_for_trec_eval() -> None:
    labels, scores, indptr = random_lists(5)
    scores = 1.0 + 1e-9 * scores
    docid = [f"d{d * 31 % 977}-{d}" for d in range(len(labels))]
    values = sr.metric("map", convention="trec").per_query(labels, scores, indptr, docid=docid)
    np.testing.assert_allclose(values, trec_eval(labels, scores, indptr, docid, "map"), atol=1e-12)


@pytest.mark.parametrize("levels", [None, 3], ids=["no ties", "many ties"])
def test_expected_ndcg_equals_scikit_learn(levels: int | None) -> None:
    labels, scores, indptr = random_lists(6, levels=levels)
    for k in (None, 5):
        name = "" if k is None else f"@{k}"
        ndcg = sr.metric(f"ndcg{name}(gain=linear)").per_query(labels, scores, indptr)
        dcg = sr.metric(f"dcg{name}(gain=linear)").per_query(labels, scores, indptr)
        for q, (a, b) in enumerate(zip(indptr[:-1], indptr[1:], strict=True)):
            if b - a > 1:
                truth, guess = labels[None, a:b], scores[None, a:b]
                assert ndcg[q] == pytest.approx(ndcg_score(truth, guess, k=k), abs=1e-12)
                assert dcg[q] == pytest.approx(dcg_score(truth, guess, k=k), abs=1e-12)


def test_average_precision_and_area_under_the_curve_equal_scikit_learn() -> None:
    labels, scores, indptr = random_lists(7, labels=(0, 0, 1))
    tied = np.round(scores)
    ap = sr.metric("map").per_query(labels, scores, indptr)
    auc = sr.metric("pairwise").per_query(labels, tied, indptr)
    for q, (a, b) in enumerate(zip(indptr[:-1], indptr[1:], strict=True)):
        if 0 < labels[a:b].sum() < b - a:
            assert ap[q] == pytest.approx(average_precision_score(labels[a:b], scores[a:b]))
            assert auc[q] == pytest.approx(roc_auc_score(labels[a:b], tied[a:b]))


@pytest.mark.parametrize("name", ["ndcg", "map"])
@pytest.mark.parametrize("levels", [None, 3], ids=["no ties", "many ties"])
def test_lightgbm_convention_equals_lightgbm(levels: int | None, name: str) -> None:
    lgb = pytest.importorskip("lightgbm")
    labels, scores, indptr = random_lists(8, labels=(0, 0, 0, 0, 1, 2, 3), levels=levels)
    assert sr.metric(name).bind(labels, indptr).terms.is_empty.any()
    group = np.diff(indptr)
    data = lgb.Dataset(np.zeros((len(labels), 1)), labels, group=group, init_score=scores)
    history: dict[str, dict[str, list[float]]] = {}
    lgb.train(
        {"objective": "lambdarank", "metric": name, "eval_at": [1, 5, 10], "verbose": -1},
        data,
        num_boost_round=1,
        valid_sets=[data],
        callbacks=[lgb.record_evaluation(history)],
    )
    for k in (1, 5, 10):
        ours = sr.metric(f"{name}@{k}", convention="lightgbm").mean(labels, scores, indptr)
        assert ours == pytest.approx(history["training"][f"{name}@{k}"][0], abs=1e-9)


def test_a_list_of_gains_is_label_gain_of_lightgbm() -> None:
    lgb = pytest.importorskip("lightgbm")
    labels, scores, indptr = random_lists(12)
    gains = [0, 2, 3, 10]
    data = lgb.Dataset(np.zeros((len(labels), 1)), labels, group=np.diff(indptr), init_score=scores)
    history: dict[str, dict[str, list[float]]] = {}
    parameters = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [5], "label_gain": gains, "verbose": -1}
    watch = lgb.record_evaluation(history)
    lgb.train(parameters, data, num_boost_round=1, valid_sets=[data], callbacks=[watch])
    ours = sr.metric("ndcg@5(gain=0/2/3/10)", convention="lightgbm").mean(labels, scores, indptr)
    assert ours == pytest.approx(history["training"]["ndcg@5"][0], abs=1e-9)


def test_err_equals_gdeval_on_five_grades() -> None:
    labels, scores, indptr = random_lists(9, labels=(0, 1, 2, 3, 4))
    values = sr.metric("err@20").per_query(labels, scores, indptr)
    for q, (a, b) in enumerate(zip(indptr[:-1], indptr[1:], strict=True)):
        assert values[q] == pytest.approx(err(list(labels[a:b][np.argsort(-scores[a:b])]), k=20))


def parsed_measure(name: str) -> Any:
    """A measure of ir_measures."""
    ir_measures = pytest.importorskip("ir_measures")
    try:
        return ir_measures.parse_measure(name)
    except AttributeError:
        pytest.skip("this version of ir_measures needs ast.Num, which Python has until 3.13")


def by_ir_measures(name: str, labels: Floats, scores: Floats, indptr: Ints, docid: list[str]) -> list[float]:
    ir_measures = pytest.importorskip("ir_measures")
    bounds = list(zip(indptr[:-1], indptr[1:], strict=True))
    qrels = {str(q): {docid[d]: int(labels[d]) for d in range(a, b)} for q, (a, b) in enumerate(bounds)}
    run = {str(q): {docid[d]: float(scores[d]) for d in range(a, b)} for q, (a, b) in enumerate(bounds)}
    found = {m.query_id: m.value for m in ir_measures.iter_calc([parsed_measure(name)], qrels, run)}
    return [found[str(q)] for q in range(len(bounds))]


@pytest.mark.parametrize(
    "name", ["nDCG@10", "nDCG", "AP", "AP@5", "AP(rel=2)", "AP(rel=2)@5", "RR", "RR(rel=2)", "RR@3", "RR(rel=2)@3",
             "P@5", "P(rel=2)@5", "R@10", "R(rel=3)@10", "Success@1", "Success(rel=3)@5", "Bpref", "Bpref(rel=2)",
             "Rprec"],
)  # fmt: skip
def test_names_of_ir_measures_mean_its_values(name: str) -> None:
    labels, scores, indptr = random_lists(10)
    docid = [f"d{d}" for d in range(len(labels))]
    values = sr.metric(name, convention="trec").per_query(labels, scores, indptr, docid=docid)
    np.testing.assert_allclose(values, by_ir_measures(name, labels, scores, indptr, docid), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("ERR@20", sr.metrics.ERR(k=20)),
        ("nDCG(dcg='exp-log2')@5", sr.metrics.NDCG(k=5, gain="exp2")),
        ("nDCG(dcg='log2')@5", sr.metrics.NDCG(k=5, gain="linear")),
        ("RBP(p=0.5)", sr.metrics.RBP(p=0.5)),
        ("RBP(rel=2)", sr.metrics.RBP(rel=2)),
    ],
)
def test_names_of_ir_measures_that_need_other_tools(name: str, ours: sr.metrics.Metric) -> None:
    assert sr.metric(name) == ours


def test_ir_measures_breaks_ties_of_rr_at_k_the_other_way_round() -> None:
    # RR@k goes to MS MARCO's script, ties by ascending id; RR to trec_eval, ties by descending id.
    labels, scores, indptr = random_lists(11, levels=4)
    docid = [f"{d:06}" for d in range(len(labels))]
    reversed_ids = [f"{999_999 - d:06}" for d in range(len(labels))]
    theirs = by_ir_measures("RR@3", labels, scores, indptr, docid)
    metric = sr.metric("RR@3", convention="trec")
    np.testing.assert_allclose(metric.per_query(labels, scores, indptr, docid=reversed_ids), theirs)
    assert not np.allclose(metric.per_query(labels, scores, indptr, docid=docid), theirs)
