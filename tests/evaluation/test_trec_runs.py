"""A run against judgements: unretrieved judged documents, unjudged retrieved documents, queries without results."""

from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr

pytrec_eval = pytest.importorskip("pytrec_eval")


def judgements_and_run(seed: int) -> tuple[sr.trec.Qrels, sr.trec.Run]:
    rng = np.random.default_rng(seed)
    judged, retrieved = [], []
    for query in range(25):
        documents = [f"d{d}" for d in rng.permutation(60)]
        judged += [
            (f"q{query}", d, int(label)) for d, label in zip(documents[:30], rng.integers(0, 3, 30), strict=True)
        ]
        retrieved += [
            (f"q{query}", d, float(s)) for d, s in zip(documents[15:50], rng.integers(0, 20, 35), strict=True)
        ]
    qid, docid, label = zip(*judged, strict=True)
    run_qid, run_docid, score = zip(*retrieved, strict=True)
    return (
        sr.trec.Qrels(np.array(qid), np.array(docid), np.array(label)),
        sr.trec.Run(np.array(run_qid), np.array(run_docid), np.array(score)),
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("ndcg", "ndcg"),
        ("ndcg@10", "ndcg_cut_10"),
        ("map", "map"),
        ("map@5", "map_cut_5"),
        ("mrr", "recip_rank"),
        ("p@10", "P_10"),
        ("recall@10", "recall_10"),
        ("success@1", "success_1"),
        ("bpref", "bpref"),
        ("rprec", "Rprec"),
    ],
)
def test_a_run_is_measured_as_trec_eval_does(ours: str, theirs: str) -> None:
    qrels, run = judgements_and_run(0)
    found = pytrec_eval.RelevanceEvaluator(qrels.to_dict(), {theirs}).evaluate(run.to_dict())
    result = sr.evaluate(qrels, run, ours, convention="trec")
    for qid, value in zip(result.qids, result.results[0].per_query, strict=True):
        assert value == pytest.approx(found[qid][theirs], abs=1e-12)


def test_an_unanswered_query_counts_as_an_empty_list() -> None:
    qrels = sr.trec.Qrels(np.array(["a", "b", "c"]), np.array(["x", "y", "z"]), np.array([1, 1, 0]))
    run = sr.trec.Run(np.array(["a"]), np.array(["x"]), np.array([1.0]))
    result = sr.evaluate(qrels, run, ["map", "map(empty=skip)"])
    assert result["map"].per_query.tolist() == [1, 0, 0]
    assert result["map(empty=skip)"].n_left_out == 1


def test_what_a_document_without_a_judgement_counts() -> None:
    """It has label -1: see docs/comparing.md."""
    qrels = sr.trec.Qrels(np.array(["q", "q"]), np.array(["good", "bad"]), np.array([1, 0]))
    run = sr.trec.Run(np.array(["q"] * 3), np.array(["unjudged", "good", "bad"]), np.array([3.0, 2.0, 1.0]))
    own = sr.metrics.CumulativeMetric(gain=lambda label: label, discount="reciprocal", normalize=False)
    result = sr.evaluate(qrels, run, ["dcg", "mrr", "p@2", "p@2(rel=-1)", "bpref", "pairwise", own])
    assert result["dcg"].mean == pytest.approx(1 / np.log2(3))
    assert result["mrr"].mean == result["p@2"].mean == 1 / 2
    assert result["p@2(rel=-1)"].mean == 1
    assert result["bpref"].mean == 1
    assert result["pairwise"].mean == pytest.approx(1 / 3)  # good above bad; both below the unjudged one
    assert result[own].mean == pytest.approx(-1 + 1 / 2)


def test_two_runs_are_compared() -> None:
    qrels, run = judgements_and_run(1)
    other = sr.trec.Run(run.qid, run.docid, -run.score)
    (row,) = sr.compare(qrels, {"run": run, "upside down": other}, "ndcg@10")
    assert row.wins + row.ties + row.losses == 25


def test_no_query_in_common() -> None:
    qrels, run = judgements_and_run(2)
    with pytest.raises(sr.errors.DataError, match="the run and the judgements have no query in common"):
        sr.evaluate(qrels, sr.trec.Run(np.char.add("x", run.qid), run.docid, run.score), "map")
