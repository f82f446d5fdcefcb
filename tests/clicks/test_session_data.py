"""Sessions as lists: features may differ between sessions, and labels are right on average."""

import numpy as np
import pandas as pd
import pytest

import swaprank as sr

EXAMINATION = np.array([1.0, 0.5, 0.25])
RELEVANCE = np.array([[0.8, 0.2], [0.4, 0.4], [0.1, 0.9]])
"""Of three documents in the morning and in the evening."""


def day_log(n_sessions: int) -> pd.DataFrame:
    """Pages of three documents in any order, at one of two times."""
    rng = np.random.default_rng(0)
    document = rng.permuted(np.tile(np.arange(3), (n_sessions, 1)), axis=1).ravel()
    evening = np.repeat(rng.integers(2, size=n_sessions), 3)
    place = np.tile(np.arange(3), n_sessions)
    return pd.DataFrame(
        {
            "page": np.repeat(np.arange(n_sessions), 3),
            "query": "coffee",
            "docid": np.array(["a", "b", "c"])[document],
            "position": place + 1,
            "click": rng.random(len(place)) < EXAMINATION[place] * RELEVANCE[document, evening],
            "document": document,
            "evening": evening,
        }
    )


def test_session_features_are_learned_without_position_bias() -> None:
    frame = day_log(6000)
    with pytest.raises(sr.errors.DataError, match=r"has different features in row 0 .* give the session as qid, too"):
        sr.clicks.ClickLog.from_frame(frame, session="page", qid="query", features=["document", "evening"])
    bias = sr.clicks.position_bias(sr.clicks.ClickLog.from_frame(frame, "page", "query", features=[]), n_resamples=0)
    np.testing.assert_allclose(bias.examination, EXAMINATION, rtol=0.15)
    pages = sr.clicks.ClickLog.from_frame(frame, session="page", qid="page", features=["document", "evening"])
    data = sr.clicks.session_data(pages, sr.clicks.Propensities(EXAMINATION))
    clicked = frame.groupby("page")["click"].transform("any")
    assert data.n_queries == frame.loc[clicked, "page"].nunique()
    labels = data.labels.sum() / len(frame)
    assert labels == pytest.approx(RELEVANCE.mean(), rel=0.05)
    for document in range(3):
        for evening in range(2):
            chosen = (data.column("document") == document) & (data.column("evening") == evening)
            shown = ((frame["document"] == document) & (frame["evening"] == evening)).sum()
            # The standard error is at most sqrt(relevance x mean of 1 / examination / shown), about 0.05.
            assert data.labels[chosen].sum() / shown == pytest.approx(RELEVANCE[document, evening], abs=0.15)
    ranker = sr.LambdaMART(metric="dcg@3(gain=linear)", n_trees=20, min_docs_in_leaf=20).fit(data)
    for evening, best in ((0, 0), (1, 2)):
        scores = ranker.predict(np.array([[0.0, evening], [1.0, evening], [2.0, evening]]))
        assert int(np.argmax(scores)) == best


def test_train_takes_sessions_for_lists_if_every_query_was_asked_once() -> None:
    frame = day_log(400)
    pages = sr.clicks.ClickLog.from_frame(frame, session="page", qid="page", features=["document", "evening"])
    bias = sr.clicks.Propensities(EXAMINATION)
    rankers = [sr.LambdaMART("dcg@3(gain=linear)", n_trees=5, n_leaves=4) for _ in range(3)]
    sr.clicks.train(rankers[0], pages, bias)
    rankers[1].fit(sr.clicks.session_data(pages, bias))
    sr.clicks.train(rankers[2], pages, sr.clicks.Propensities(np.ones(3)))
    scores = [ranker.predict(pages.features) for ranker in rankers]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])  # it was corrected


def test_position_bias_may_be_learned_together_with_session_features() -> None:
    frame = day_log(3000)
    pages = sr.clicks.ClickLog.from_frame(frame, session="page", qid="page", features=["document", "evening"])
    ranker = sr.LambdaMART("dcg@3(gain=linear)", n_trees=20, n_leaves=6)
    trained = sr.clicks.train(ranker, pages, n_rounds=5)
    np.testing.assert_allclose(trained.propensities.examination, EXAMINATION, rtol=0.2)
    again = sr.LambdaMART("dcg@3(gain=linear)", n_trees=20, n_leaves=6)
    again.fit(sr.clicks.session_data(pages, trained.propensities))
    np.testing.assert_array_equal(ranker.predict(pages.features), again.predict(pages.features))


def test_trust_is_subtracted_and_small_propensities_are_clipped() -> None:
    log = sr.clicks.ClickLog(
        session=[1, 1, 2], qid=[1, 1, 2], docid=["a", "b", "a"], position=[1, 2, 1], click=[0, 1, 0], X=[[1], [2], [3]]
    )
    bias = sr.clicks.Propensities([1.0, 0.5], epsilon_plus=[1.0, 1.0], epsilon_minus=[0.2, 0.2])
    assert sr.clicks.session_data(log, bias).labels.tolist() == pytest.approx([0.0, (1 - 0.1) / 0.4])
    assert sr.clicks.session_data(log, bias, clip=0.9).labels.tolist() == pytest.approx([0.0, (1 - 0.1) / 0.9])
    with pytest.raises(sr.errors.DataError, match="no document was clicked"):
        sr.clicks.session_data(log.subset([1]), bias)
