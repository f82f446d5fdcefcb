import numpy as np
import pytest

import swaprank as sr

(DATA,) = sr.datasets.random_polynomial((12,), n_features=5, n_documents=9, levels=4, random_state=0)
RANKERS = [sr.LambdaMART(n_trees=10, n_leaves=5, min_docs_in_leaf=3), sr.LinearRegressionRanker(regularization=0.1)]


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("method", ["contributions", "exchange"])
def test_shares_sum_to_the_difference(ranker: sr.Ranker, method: str) -> None:
    scores = ranker.fit(DATA).predict(DATA)
    pair = sr.explain_pair(ranker, DATA, 0, 4, method=method)
    assert pair.difference == scores[0] - scores[4]
    assert abs(pair.contributions.sum() - pair.difference) < 1e-12


def test_a_change_lifts_a_document_and_no_smaller_one_does() -> None:
    ranker = RANKERS[0].fit(DATA)
    rows = DATA.rows(0)
    row = int(rows[np.argsort(-ranker.predict(DATA)[rows], kind="stable")[4]])
    X = np.array(DATA.features[rows])
    at = rows.tolist().index(row)
    found = {c.feature: c for c in sr.instruments.changes_to_enter(ranker, DATA, row, 3).changes}
    for f, name in enumerate(DATA.feature_names):
        cuts = ranker.model_.threshold[ranker.model_.feature == f]
        enough = []
        for value in np.unique(np.concatenate((cuts, np.nextafter(cuts, np.float32(np.inf))))):
            changed = X.copy()
            changed[at, f] = value
            if at in ranker.rank(changed, k=3)["row"].tolist():
                enough.append(value)
        assert (name in found) == bool(enough)
        if enough:
            assert np.float32(found[name].new_value) == min(enough, key=lambda v: abs(float(v) - float(X[at, f])))
