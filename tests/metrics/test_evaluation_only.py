"""Metrics without swap gains equal those of ir_measures (ndeval, trec_eval, …) and SciPy on random runs."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.metrics import roc_auc_score

import swaprank as sr
from swaprank.arrays import AnyArray
from swaprank.metrics.diversity import greedy_order, novelty_gains
from swaprank.metrics.parse import NAMED
from tests.metrics.test_peers import parsed_measure

# By ir_measures, from Python 3.12.
pytestmark = pytest.mark.filterwarnings(r"ignore:.* is deprecated and will be removed in Python:DeprecationWarning")
EVALUATING = [kind for kind in NAMED if issubclass(kind, sr.metrics.EvaluationMetric)]


def random_run(seed: int, labels: tuple[int, ...] = (0, 0, 1, 2), depth: int = 30) -> tuple[sr.trec.Qrels, sr.trec.Run]:
    """Runs that miss judged documents and retrieve others."""
    rng = np.random.default_rng(seed)
    judged, answers = (
        [(f"q{query}", f"d{doc}") for query in range(25) for doc in rng.permutation(40)[: rng.integers(1, most)]]
        for most in (40, depth)
    )
    (qids, docids), (asked, found) = (map(np.array, zip(*pairs, strict=True)) for pairs in (judged, answers))
    qrels = sr.trec.Qrels(qids, docids, rng.choice(labels, len(judged)))
    return qrels, sr.trec.Run(asked, found, 1 + rng.random(len(answers)))


def random_diversity(seed: int) -> sr.trec.Qrels:
    rng = np.random.default_rng(seed)
    rows = [
        (f"q{query}", f"d{doc}", int(rng.choice([0, 0, 0, 1, 2])), str(subtopic))
        for query in range(25)
        for subtopic in range(1, rng.integers(2, 7))
        for doc in rng.permutation(40)[:20]
    ]
    return sr.trec.Qrels(*map(np.array, zip(*rows, strict=True)))


def theirs(measure: Any, qrels: sr.trec.Qrels, run: sr.trec.Run) -> dict[str, float]:
    import ir_measures

    given: Any = qrels.to_dict()
    if qrels.subtopic is not None:
        columns = (qrels.qid, qrels.docid, qrels.label, qrels.subtopic)
        given = [ir_measures.Qrel(*row) for row in zip(*(each.tolist() for each in columns), strict=True)]
    return {each.query_id: each.value for each in ir_measures.iter_calc([measure], given, run.to_dict())}


def check_equal(measure: Any, qrels: sr.trec.Qrels, run: sr.trec.Run, atol: float = 1e-12) -> None:
    found = sr.evaluate(qrels, run, measure)
    ours = dict(zip(found.qids.tolist(), found.results[0].per_query.tolist(), strict=True))
    expected = theirs(measure, qrels, run)
    assert len(expected) > 20
    for qid, value in expected.items():
        assert ours[qid] == pytest.approx(value, abs=atol), qid


@pytest.mark.parametrize("name", ["Judged@10", "Judged", "SetP", "SetP(rel=2)", "infAP", "infAP(rel=2)", "Compat",
                                  "Compat(p=0.8)", "Compat(p=0.8,normalize=False)"])  # fmt: skip
def test_values_are_those_of_ir_measures(name: str) -> None:
    measure = parsed_measure(name)
    pytest.importorskip("pytrec_eval")
    for seed in range(3):
        check_equal(measure, *random_run(seed), atol=1e-7)


def test_inferred_average_precision_with_documents_that_were_pooled_and_not_judged() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("pytrec_eval")
    check_equal(ir_measures.infAP, *random_run(7, labels=(-1, -1, 0, 1)), atol=1e-7)


@pytest.mark.parametrize("name", ["alpha_nDCG@5", "alpha_nDCG(alpha=0.3)@10", "alpha_nDCG(rel=2)@20", "ERR_IA@5",
                                  "ERR_IA(rel=2)@20", "StRecall@5", "StRecall(rel=2)@10"])  # fmt: skip
def test_diversity_is_that_of_ndeval(name: str) -> None:
    measure = parsed_measure(name)
    pytest.importorskip("pyndeval")
    for seed in range(3):
        check_equal(measure, random_diversity(seed), random_run(seed)[1])


def naive_alpha_dcg(covers: AnyArray, alpha: float) -> float:
    value, seen = 0.0, np.zeros(covers.shape[1])
    for rank, row in enumerate(covers, 1):
        value += sum((1 - alpha) ** seen[s] for s in np.flatnonzero(row)) / np.log2(1 + rank)
        seen += row
    return value


def test_alpha_ndcg_by_hand() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        covers = rng.random((6, 3)) < 0.4
        gains = novelty_gains(covers, 0.4) / np.log2(np.arange(2, 8))
        assert gains.sum() == pytest.approx(naive_alpha_dcg(covers, 0.4))
        greedy = naive_alpha_dcg(covers[greedy_order(covers, 0.4, 6)], 0.4)
        best = max(naive_alpha_dcg(covers[list(order)], 0.4) for order in permutations(range(6)))
        assert 0.9 * best <= greedy <= best + 1e-12


def test_subtopics_of_a_data_set_and_of_judgements_are_the_same(tmp_path: Path) -> None:
    lines = ["1 a x 1", "1 b x 0", "1 a y 1", "1 b z 2", "2 a x 0", "2 b y 1"]
    (tmp_path / "div.qrels").write_text("\n".join(lines))
    qrels = sr.trec.read_qrels(tmp_path / "div.qrels")
    assert qrels.to_dict() == {"1": {"x": 1, "y": 1, "z": 2}, "2": {"x": 0, "y": 1}}
    data = sr.Dataset(np.zeros((5, 1)), [1, 1, 2, 0, 1], qid=[1, 1, 1, 2, 2], docid=["x", "y", "z", "x", "y"])
    table = [[1, 0], [1, np.nan], [np.nan, 2], [0, np.nan], [np.nan, 1]]
    run = sr.trec.Run(["1", "1", "1", "2", "2"], ["x", "y", "z", "x", "y"], [3.0, 2.0, 1.0, 2.0, 1.0])  # type: ignore[arg-type]
    names = ["alpha_ndcg@2", "err_ia@3", "strec@1", "alpha-ndcg"]
    for first, second in zip(
        sr.evaluate(qrels, run, names), sr.evaluate(data, run, names, subtopics=table), strict=True
    ):
        np.testing.assert_array_equal(first.per_query, second.per_query)
        assert 0 < first.mean < 1


def test_judgements_without_subtopics_are_refused(tmp_path: Path) -> None:
    data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    with pytest.raises(sr.errors.DataError, match="here are no subtopics: give evaluate"):
        sr.evaluate(data, [1, 2], "alpha_ndcg@5")
    with pytest.raises(sr.errors.DataError, match="a table with 2 rows"):
        sr.evaluate(data, [1, 2], "alpha_ndcg@5", subtopics=[[1, 0]])
    (tmp_path / "plain.qrels").write_text("1 0 x 1\n1 1 y 1\n")
    assert sr.trec.read_qrels(tmp_path / "plain.qrels").subtopic is None
    found = sr.trec.read_qrels(tmp_path / "plain.qrels", subtopics=True).subtopic
    assert found is not None
    assert found.tolist() == ["0", "1"]
    (tmp_path / "twice.qrels").write_text("1 0 x 1\n1 0 x 0\n")
    with pytest.raises(sr.errors.DataError, match="document 'x' of query '1' is already in line 1"):
        sr.trec.read_qrels(tmp_path / "twice.qrels")


@pytest.mark.parametrize("kind", EVALUATING)
def test_nobody_trains_for_a_metric_that_only_evaluates(kind: type[sr.metrics.Metric]) -> None:
    metric = kind(k=5 if kind.takes_k else None)
    with pytest.raises(sr.errors.MetricError, match="it has no swap gains"):
        metric.swap_gains([1, 0])
    (data,) = sr.datasets.random_net((5,), n_features=2, n_documents=4, random_state=0)
    with pytest.raises(sr.errors.SwaprankError, match=r"has no swap gains to train with|here are no subtopics"):
        sr.LambdaMART(metric, n_trees=1).fit(data)


def test_a_metric_that_only_evaluates_stops_early_and_pickles() -> None:
    import pickle

    train, vali = sr.datasets.random_net((20, 20), n_features=3, n_documents=8, levels=3, random_state=0)
    ranker = sr.LambdaMART("ndcg", n_trees=3).fit(train, valid=vali, metrics=["kendall", "ndcg"])
    assert ranker.history_ is not None
    bound = sr.metric("compat").bind([1, 0, 2], [0, 3])
    assert pickle.loads(pickle.dumps(bound)).mean([1, 2, 3]) == bound.mean([1, 2, 3])


def test_correlations_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 4, 300).astype(float), rng.integers(0, 9, 300).astype(float)
    indptr = np.arange(0, 301, 20)
    tau, rho = (sr.metric(name).per_query(labels, scores, indptr) for name in ("kendall", "spearman"))
    for query, (a, b) in enumerate(zip(indptr[:-1], indptr[1:], strict=True)):
        assert tau[query] == pytest.approx(kendalltau(scores[a:b], labels[a:b]).statistic)
        assert rho[query] == pytest.approx(spearmanr(scores[a:b], labels[a:b]).statistic)
    assert sr.metric("kendall").mean([0, 1, -1], [1, 2, 0], [0, 3]) == 1  # without the document that nobody judged
    assert sr.metric("spearman").mean([0, 1], [1, 1], [0, 2]) == 0


def test_auc_is_binary_and_counts_ties_half() -> None:
    rng = np.random.default_rng(1)
    labels, scores = rng.integers(0, 4, 60).astype(float), rng.integers(0, 9, 60).astype(float)
    assert sr.metric("auc(rel=2)").mean(labels, scores, [0, 60]) == pytest.approx(roc_auc_score(labels >= 2, scores))
    assert sr.metric("auc") != sr.metric("pairwise")
    assert sr.metric("hit@3") == sr.metric("success@3")


@pytest.mark.parametrize("name", ["judged@2", "alpha_ndcg@2", "compat", "infap"])
def test_ties(name: str) -> None:
    table, labels = [[1, 0], [0, 1], [0, 0], [1, 1]], [1, 0, -1, 2]
    metric = sr.metric(name)
    kinds = {ties: sr.metric(f"{name}(ties={ties})") for ties in ("input", "docid")}
    every = [
        metric.bind(labels, [0, 4], subtopics=table).mean([-order.index(d) for d in range(4)])
        for order in permutations(range(4))
    ]
    tied = metric.bind(labels, [0, 4], subtopics=table).mean([0, 0, 0, 0])
    assert tied == pytest.approx(np.mean(every), abs=0.08)
    by_input = kinds["input"].bind(labels, [0, 4], subtopics=table).mean([0, 0, 0, 0])
    assert by_input == metric.bind(labels, [0, 4], subtopics=table).mean([4, 3, 2, 1])
    by_id = kinds["docid"].bind(labels, [0, 4], subtopics=table, docid=["a", "b", "c", "d"]).mean([0, 0, 0, 0])
    assert by_id == metric.bind(labels, [0, 4], subtopics=table).mean([1, 2, 3, 4])
    with pytest.raises(sr.errors.DataError, match="breaks ties by document id"):
        kinds["docid"].bind(labels, [0, 4], subtopics=table).mean([0, 0, 0, 0])


def test_objects_of_ir_measures_mean_its_values() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    data = sr.Dataset(np.zeros((3, 1)), [0, 1, 2], qid=[1, 1, 1], docid=["a", "b", "c"])
    found = sr.evaluate(data, [1.0, 3.0, 2.0], [ir_measures.nDCG @ 10, ir_measures.AP(rel=2)])
    assert found[ir_measures.nDCG @ 10].metric == sr.metric("ndcg_cut_10")
    assert found.results[1].mean == 0.5
    with pytest.raises(sr.errors.MetricError, match="there is no metric 'NumRet'"):
        sr.metric(ir_measures.NumRet)
