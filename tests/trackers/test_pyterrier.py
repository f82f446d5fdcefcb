"""A ranker is a learned model of a PyTerrier pipeline; pipelines without a retriever need no Java."""

import numpy as np
import pytest

import swaprank as sr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # PyTerrier's advice about plans, and other libraries' future
def test_a_pipeline_learns() -> None:
    pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    qid = np.repeat([f"q{number}" for number in range(40)], 8)
    docno = [f"d{number}" for number in range(len(qid))]
    features = rng.normal(size=(len(qid), 3))
    relevant = (features[:, 0] + 0.3 * rng.normal(size=len(qid)) > 0.8).astype(int)
    shown = pd.DataFrame(
        {"qid": qid, "query": qid, "docno": docno, "score": features[:, 1], "features": list(features)}
    )
    topics = shown[["qid", "query"]].drop_duplicates()
    qrels = pd.DataFrame({"qid": qid, "docno": docno, "label": relevant})
    retrieved = pt.Transformer.from_df(shown)
    ranker = sr.LambdaMART(n_trees=20)
    pipeline = retrieved >> pt.ltr.apply_learned_model(ranker, form="ltr")
    pipeline.fit(topics[:25], qrels, topics[25:30], qrels)
    found = pipeline(topics[30:]).sort_values("docno")
    own = shown[shown["qid"].isin(topics["qid"][30:])].sort_values("docno")
    np.testing.assert_array_equal(found["score"], ranker.predict(np.stack(own["features"])))
    table = pt.Experiment([retrieved, pipeline], topics[30:], qrels, ["ndcg_cut_5"])
    assert table["ndcg_cut_5"][1] > table["ndcg_cut_5"][0]
