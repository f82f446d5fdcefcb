"""Permutation importances equal those of data sets that are shuffled, scored and measured one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import swaprank as sr

TRAIN, TEST = sr.datasets.random_net((60, 20), n_features=4, n_documents=10, levels=3, random_state=0)


@pytest.mark.parametrize("scattered", [False, True])
@pytest.mark.parametrize("ranker", [sr.MART(n_trees=5), sr.LinearRegressionRanker()], ids=["trees", "linear"])
def test_shuffled_data_sets_are_scored_with_their_base_scores(ranker: Any, scattered: bool) -> None:
    rng = np.random.default_rng(1)
    ranker.fit(TRAIN)
    order = rng.permutation(len(TEST)) if scattered else np.arange(len(TEST))
    qid = np.repeat(TEST.qids, np.diff(TEST.indptr))[order]
    # Base scores as large as what the ranker adds: leaving them out changes every number.
    base = rng.normal(0, ranker.predict(TEST).std(), len(TEST))

    def measured(X: Any) -> float:
        data = sr.Dataset(X, TEST.labels[order], qid=qid, base_score=base)
        return sr.evaluate(data, ranker.predict(data), "ndcg@10")["ndcg@10"].mean

    X = TEST.features[order]
    shuffles = np.random.default_rng(7)
    expected = {}
    for f in range(4):
        shuffled = X.copy()
        values = []
        for _ in range(3):
            shuffled[:, f] = shuffles.permutation(X[:, f])
            values.append(measured(shuffled))
        expected[str(f + 1)] = measured(X) - np.mean(values)
    data = sr.Dataset(X, TEST.labels[order], qid=qid, base_score=base)
    found = ranker.permutation_importances(data, "ndcg@10", n_repeats=3, random_state=7)
    assert found == pytest.approx(expected)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    without = sr.Dataset(X, TEST.labels[order], qid=qid)
    assert ranker.permutation_importances(without, "ndcg@10", n_repeats=3, random_state=7) != pytest.approx(expected)
