from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import swaprank as sr
from swaprank.objectives.by_name import pairwise_objective

DATA = sr.datasets.random_polynomial((12,), n_features=5, n_documents=9, levels=4, random_state=0)[0]
RANKER = sr.LinearRegressionRanker(regularization=0.1).fit(DATA)


@pytest.mark.parametrize("metric", ["ndcg@3", "map(rel=2)", "mrr", "err"])
def test_forces_are_the_lambdas_of_training(metric: str) -> None:
    order = np.random.default_rng(0).permutation(len(DATA))
    qid = np.repeat([f"q{number}" for number in range(12)], 9)
    data = sr.Dataset(DATA.features[order], DATA.labels[order], qid=qid[order])
    found = sr.explain_query(RANKER, data, "q5", metric)
    rows = np.flatnonzero(qid[order] == "q5")
    query = sr.Dataset(np.zeros((9, 1)), data.labels[rows], qid=np.zeros(9))
    grad, hess = np.empty(9), np.empty(9)
    scores = RANKER.predict(data)
    pairwise_objective(metric).bind(query, random_state=0, n_threads=1).update(scores[rows], grad, hess)
    place = [rows.tolist().index(row) for row in found.rows]
    assert_allclose(found.forces, -grad[place], atol=1e-6)
    assert_allclose(found.pair_forces, -found.pair_forces.T)
    assert_allclose(found.scores, np.sort(scores[rows])[::-1])
    assert found.value == sr.metric(metric).mean(data.labels[rows], scores[rows], [0, 9])


def test_swaps_gain_what_they_say() -> None:
    found = sr.explain_query(RANKER, DATA, 3, "ndcg")
    for i, j, gain in found.best_swaps(3):
        labels = found.labels.copy()
        labels[[i - 1, j - 1]] = labels[[j - 1, i - 1]]
        assert found.value + gain == pytest.approx(sr.metric("ndcg").mean(labels, -np.arange(9.0), [0, 9]))
    pushes = [force for _, _, force in found.hardest_pairs(50)]
    assert pushes == sorted(pushes, reverse=True)
    assert pushes[0] == found.pair_forces.max()


def test_it_prints_and_draws(tmp_path: Path) -> None:
    data = sr.Dataset(DATA.features, DATA.labels, qid=np.repeat(np.arange(12), 9), docid=np.arange(len(DATA)))
    found = sr.explain_query(RANKER, data, 2, "ndcg")
    text = found.to_text(n_documents=4)
    assert "document" in text
    assert "… and 5 more" in text
    assert "> up" in str(found)
    pytest.importorskip("matplotlib")
    found.draw(tmp_path / "query.svg")
    assert (tmp_path / "query.svg").read_text().startswith("<?xml")


def test_a_list_without_anything_to_push_prints() -> None:
    data = sr.Dataset(DATA.features[:2], [0, 0], qid=[1, 1])
    assert "hardest" not in str(sr.explain_query(RANKER, data, 1))


def test_unknown_queries_are_refused() -> None:
    with pytest.raises(sr.DataError, match="there is no query 99"):
        sr.explain_query(RANKER, DATA, 99)
