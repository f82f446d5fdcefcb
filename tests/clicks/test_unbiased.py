"""Training data from clicks has the right labels on average, and what is learned from it approaches the truth."""

from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import swaprank as sr
from swaprank.clicks.learning.relevance_estimates import Estimator, relevance_of_pairs, row_shares
from tests.clicks.click_worlds import judged


@pytest.mark.parametrize("trust", [0.0, 0.3])
@pytest.mark.parametrize("estimator", ["self_normalized", "ips"])
def test_relevance_is_right_on_average(estimator: Estimator, trust: float) -> None:
    data = judged(4)
    totals = []
    for seed in range(150):
        log, known = sr.datasets.clicks(data, data.column("match"), 200, trust=trust, moves=0.3, random_state=seed)
        relevance, chance = relevance_of_pairs(log, row_shares(log, known.propensities, estimator))
        # Only documents that are shown about always: whether a document is shown must not depend on its clicks.
        often = chance > (20 if estimator == "ips" else 4)
        totals.append(np.bincount(log.pair_query[often], (relevance - known.relevance)[often], 4))
    errors = np.mean(totals, axis=0) / (np.std(totals, axis=0) / np.sqrt(len(totals)))
    assert (np.abs(errors) < 4).all()


def test_self_normalized_estimates_vary_less() -> None:
    data = judged(20)
    log, known = sr.datasets.clicks(data, data.column("match"), 20_000, moves=1, random_state=0)
    errors = {
        estimator: np.mean(
            (relevance_of_pairs(log, row_shares(log, known.propensities, estimator))[0] - known.relevance) ** 2
        )
        for estimator in get_args(Estimator)
    }
    assert errors["self_normalized"] < errors["ips"]


def test_data_has_one_row_per_document_with_features_ids_and_weights() -> None:
    data = judged(10)
    log, known = sr.datasets.clicks(data, data.column("match"), 500, random_state=0)
    part = log.subset(log.query < 3)
    learned = sr.clicks.unbiased(part, known.propensities)
    assert learned.n_queries == 3
    assert learned.feature_names == data.feature_names
    assert learned.labels.min() >= 0
    assert learned.labels.max() <= 1
    assert data.docid is not None
    assert learned.docid is not None
    assert learned.sample_weight is not None
    by_id = {docid: row for row, docid in enumerate(data.docid.tolist())}
    rows = [by_id[docid] for docid in learned.docid.tolist()]
    np.testing.assert_array_equal(learned.features, data.features[rows])
    sessions = np.bincount(part.query)
    np.testing.assert_allclose(learned.sample_weight, np.repeat(sessions / sessions.mean(), np.diff(learned.indptr)))


def test_categories_keep_their_names() -> None:
    log = sr.clicks.ClickLog.from_frame(
        pd.DataFrame(
            {
                "session": [1, 1],
                "qid": [1, 1],
                "docid": [1, 2],
                "position": [1, 2],
                "click": [1, 0],
                "brand": ["x", "y"],
            }
        ),
        features=["brand"],
    )
    data = sr.clicks.unbiased(log, sr.clicks.Propensities([1.0, 0.5]))
    assert data.categories == log.categories == {"brand": ("x", "y")}


def test_training_approaches_the_truth_as_sessions_grow_and_naive_training_does_not() -> None:
    train, test = sr.datasets.random_search((80, 80), n_documents=15, random_state=2)
    shown = train.column("match")
    settings: dict[str, Any] = {"metric": "dcg@10(gain=linear)", "n_trees": 40, "n_leaves": 7, "n_threads": 1}

    def quality(data: sr.Dataset) -> float:
        return sr.evaluate(test, sr.LambdaMART(**settings).fit(data).predict(test), "ndcg@10")["ndcg@10"].mean

    few, _ = sr.datasets.clicks(train, shown, 300, random_state=0)
    many, known = sr.datasets.clicks(train, shown, 100_000, random_state=0)
    flat = sr.clicks.Propensities(np.ones(10))
    labels = sr.LambdaMART(**{**settings, "metric": "dcg@10"}).fit(train)
    best = sr.evaluate(test, labels.predict(test), "ndcg@10")["ndcg@10"].mean
    naive, unbiased = quality(sr.clicks.unbiased(many, flat)), quality(sr.clicks.unbiased(many, known.propensities))
    assert quality(sr.clicks.unbiased(few, known.propensities)) < unbiased
    assert unbiased > naive + 0.5 * (best - naive)


def test_bad_requests_are_refused() -> None:
    log = sr.clicks.ClickLog(session=[1, 1], qid=[1, 1], docid=[1, 2], position=[1, 2], click=[1, 0])
    bias = sr.clicks.Propensities([1.0, 0.5])
    with pytest.raises(sr.errors.DataError, match=r"add them with log.join"):
        sr.clicks.unbiased(log, bias)
    with pytest.raises(sr.errors.ParameterError, match="no estimator 'snips'"):
        sr.clicks.unbiased(log, bias, estimator="snips")  # type: ignore[arg-type]
    with pytest.raises(sr.errors.ParameterError, match="no weights to clip"):
        sr.clicks.unbiased(log, bias, clip=0.1)
    with pytest.raises(sr.errors.DataError, match="positions 1 to 1"):
        sr.clicks.unbiased(log, sr.clicks.Propensities([1.0]))


def test_counts_give_the_bias_and_the_labels_of_the_log() -> None:
    data = judged(10)
    log, _ = sr.datasets.clicks(data, data.column("match"), 3000, n_shown=5, random_state=0)
    counts = sr.clicks.LogCounts(
        qid=log.qids[log.query[log.session]],
        docid=log.pair_docid[log.document],
        position=log.position,
        shown=np.ones(log.n_rows),
        clicks=log.click,
        context={"device": np.where(log.session % 3 == 0, "phone", "desktop")},
    )
    bias = sr.clicks.position_bias(counts)
    np.testing.assert_allclose(bias.examination, sr.clicks.position_bias(log, n_resamples=0).examination, rtol=1e-9)
    assert bias.low is not None
    assert "resamples of the shown documents" in bias.method
    learned, wanted = sr.clicks.unbiased(counts, data=data), sr.clicks.unbiased(log)
    by_id = dict(zip(wanted.docid.tolist(), wanted.labels.tolist(), strict=True))  # type: ignore[union-attr]
    assert learned.docid is not None
    np.testing.assert_allclose(learned.labels, [by_id[docid] for docid in learned.docid.tolist()], rtol=1e-9)
    assert data.docid is not None
    np.testing.assert_array_equal(learned.features, data.features[np.searchsorted(data.docid, learned.docid)])
    assert set(sr.clicks.position_bias(counts, by="device").groups) == {"desktop", "phone"}
    with pytest.raises(sr.errors.DataError, match="counts have no features"):
        sr.clicks.unbiased(counts)
