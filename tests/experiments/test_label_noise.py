"""Labels that were changed on purpose are found, and costs are what the metric says."""

from __future__ import annotations

import numpy as np
import pytest

import swaprank as sr


def data_of(seed: int, n_queries: int = 90) -> sr.Dataset:
    (data,) = sr.datasets.random_net((n_queries,), n_features=6, n_documents=12, levels=3, random_state=seed)
    # Rows in any order: costs and scores must find their rows.
    mixed = np.random.default_rng(seed).permutation(len(data))
    qid = np.repeat(np.arange(n_queries), 12)[mixed]
    return sr.Dataset(data.features[mixed], data.labels[mixed], qid=qid, docid=mixed)


def test_changed_labels_are_found() -> None:
    data = data_of(0)
    rows = np.random.default_rng(1).permutation(len(data))[:40]
    labels = data.labels.copy()
    labels[rows] = 2 - labels[rows]
    changed = rows[labels[rows] != data.labels[rows]]
    found = sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data.replace(labels=labels), n_folds=3)
    first = found.rows[: len(changed)]
    assert np.isin(first, changed).mean() > 0.75
    right = found.suggested[: len(changed)][np.isin(first, changed)] == data.labels[first[np.isin(first, changed)]]
    assert right.mean() > 0.6


def test_costs_are_changes_of_the_metric() -> None:
    data = data_of(2, 30)
    found = sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data, "ndcg@5", n_folds=3)
    from swaprank.experiments.label_noise import _out_of_fold

    scores = _out_of_fold(sr.LinearRegressionRanker(), data, 3, 0)[0]
    assert found.value == sr.evaluate(data, scores, "ndcg@5").results[0].mean
    for at in range(0, len(found.rows), 7):
        labels, row = data.labels.copy(), found.rows[at]
        labels[row] = found.suggested[at]
        after = sr.evaluate(data.replace(labels=labels), scores, "ndcg@5").results[0].per_query
        before = sr.evaluate(data, scores, "ndcg@5").results[0].per_query
        assert found.cost[at] == pytest.approx((after - before).sum(), abs=1e-12)
        assert data.labels[row] == found.label[at] != found.suggested[at]
        assert data.docid is not None
        assert found.docid is not None
        assert found.docid[at] == data.docid[row]


def test_the_check_says_what_it_finds_and_what_noise_costs() -> None:
    data = data_of(3)
    found = sr.experiments.suspicious_labels(sr.LambdaMART(n_trees=10), data, n_folds=3, change=0.1)
    assert found.n_changed == round(0.1 * len(data))
    assert found.precision is not None
    assert found.precision > 0.4
    assert found.chance == pytest.approx(0.1, abs=0.001)
    assert found.lost is not None
    assert "labels changed on purpose" in str(found)
    assert len(found.to_frame()) == len(found.rows)
    again = sr.experiments.suspicious_labels(sr.LambdaMART(n_trees=10), data, n_folds=3, change=0.1)
    assert again.to_json() == found.to_json()


def test_wrong_arguments() -> None:
    data = data_of(4, 5)
    with pytest.raises(sr.errors.ParameterError, match="change must be a share"):
        sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data, change=1.5)
    with pytest.raises(sr.errors.DataError, match="all labels are equal"):
        sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data.replace(labels=np.ones(len(data))))
    with pytest.raises(sr.errors.DataError, match="different labels"):
        sr.experiments.suspicious_labels(sr.LinearRegressionRanker(), data_of(4, 9).replace(labels=np.arange(108.0)))
