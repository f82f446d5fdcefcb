from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import swaprank as sr
from swaprank.objectives.objective_names import pairwise_objective

DATA = sr.datasets.random_polynomial((12,), n_features=5, n_documents=9, levels=4, random_state=0)[0]


@cache
def trained() -> sr.LinearRegressionRanker:
    return sr.LinearRegressionRanker(regularization=0.1).fit(DATA)


@pytest.mark.parametrize("metric", ["ndcg@3", "map(rel=2)", "mrr", "err"])
def test_forces_are_the_lambdas_of_training(metric: str) -> None:
    order = np.random.default_rng(0).permutation(len(DATA))
    qid = np.repeat([f"q{number}" for number in range(12)], 9)
    data = sr.Dataset(DATA.features[order], DATA.labels[order], qid=qid[order])
    found = sr.explain_query(trained(), data, "q5", metric)
    rows = np.flatnonzero(qid[order] == "q5")
    query = sr.Dataset(np.zeros((9, 1)), data.labels[rows], qid=np.zeros(9))
    grad, hess = np.empty(9), np.empty(9)
    scores = trained().predict(data)
    pairwise_objective(metric).bind(query, random_state=0, n_threads=1).update(scores[rows], grad, hess)
    place = [rows.tolist().index(row) for row in found.rows]
    assert_allclose(found.forces, -grad[place], atol=1e-6)
    assert_allclose(found.pair_forces, -found.pair_forces.T)
    assert_allclose(found.scores, np.sort(scores[rows])[::-1])
    assert found.value == sr.metric(metric).mean(data.labels[rows], scores[rows], [0, 9])


def test_swaps_gain_what_they_say() -> None:
    found = sr.explain_query(trained(), DATA, 3, "ndcg")
    for i, j, gain in found.best_swaps(3):
        labels = found.labels.copy()
        labels[[i - 1, j - 1]] = labels[[j - 1, i - 1]]
        assert found.value + gain == pytest.approx(sr.metric("ndcg").mean(labels, -np.arange(9.0), [0, 9]))
    pushes = [force for _, _, force in found.hardest_pairs(50)]
    assert pushes == sorted(pushes, reverse=True)
    assert pushes[0] == found.pair_forces.max()


def test_it_prints_and_draws(tmp_path: Path) -> None:
    data = sr.Dataset(DATA.features, DATA.labels, qid=np.repeat(np.arange(12), 9), docid=np.arange(len(DATA)))
    found = sr.explain_query(trained(), data, 2, "ndcg")
    text = found.to_text(n_documents=4)
    assert "document" in text
    assert "… and 5 more" in text
    assert "> up" in str(found)
    pytest.importorskip("matplotlib")
    found.draw(tmp_path / "query.svg")
    assert (tmp_path / "query.svg").read_text().startswith("<?xml")


def test_a_list_without_anything_to_push_prints() -> None:
    data = sr.Dataset(DATA.features[:2], [0, 0], qid=[1, 1])
    assert "hardest" not in str(sr.explain_query(trained(), data, 1))


def test_one_document_missing_values_and_any_ranker() -> None:
    X = DATA.features.copy()
    X[::3, 1] = np.nan
    data = sr.Dataset(X[:10], DATA.labels[:10], qid=[1] * 9 + [2])
    forest = sr.MART(n_trees=3, min_docs_in_leaf=2).fit(data)
    both = sr.combine(forest, trained(), data)
    for ranker in (forest, both, sr.combine(both, trained(), data)):
        found = sr.explain_query(ranker, data, 1)
        assert_allclose(found.scores, np.sort(ranker.predict(data)[:9])[::-1])
        alone = sr.explain_query(ranker, data, "2")
        assert alone.best_swaps() == alone.hardest_pairs() == []
        assert alone.forces.tolist() == [0.0]
        assert "rank" in str(alone)


def test_ties_stand_as_the_metric_says() -> None:
    data = sr.Dataset(np.ones((4, 5)), [0, 1, 0, 2], qid=[1] * 4, docid=["b", "d", "a", "c"])
    assert sr.explain_query(trained(), data, 1, "ndcg(ties=input)").rows.tolist() == [0, 1, 2, 3]
    by_id = sr.explain_query(trained(), data, 1, sr.metric("ndcg", convention="trec"))
    assert by_id.docids is not None
    assert by_id.docids.tolist() == ["d", "c", "b", "a"]
    drawn = sr.explain_query(trained(), data, 1, "ndcg")
    assert sorted(drawn.rows.tolist()) == [0, 1, 2, 3]
    assert drawn.value == pytest.approx(sr.metric("ndcg").mean([0, 1, 0, 2], np.zeros(4), [0, 4]))


def test_a_sigma_that_pushes_nothing_is_refused() -> None:
    with pytest.raises(sr.errors.ParameterError, match="sigma must be a number above 0; found 0"):
        sr.explain_query(trained(), DATA, 3, sigma=0)


def test_unknown_queries_are_refused() -> None:
    with pytest.raises(sr.errors.DataError, match="there is no query 99"):
        sr.explain_query(trained(), DATA, 99)


@pytest.mark.parametrize("metric", ["ndcg@5", "map", "pairwise"])
def test_forces_are_minus_the_gradients_of_training(metric: str) -> None:
    (data,) = sr.datasets.random_net((3,), n_features=4, n_documents=12, random_state=3)
    ranker = sr.LinearRegressionRanker(regularization=1.0).fit(data)
    one = data.subset([1])
    grad, hess = np.empty(len(one)), np.empty(len(one))
    objective = sr.objectives.LambdaRankObjective(sr.metric(metric), normalize=False)
    objective.bind(one, random_state=0, n_threads=1).update(np.array(ranker.predict(one)), grad, hess)
    found = sr.explain_query(ranker, data, data.qids[1], metric)
    rows = found.rows - found.rows.min()
    np.testing.assert_allclose(found.forces, -grad[rows], atol=1e-12)
