import numpy as np
import pytest

import swaprank as sr

(DATA,) = sr.datasets.random_polynomial((12,), n_features=5, n_documents=9, levels=4, random_state=0)
TREES = sr.LambdaMART(n_trees=10, n_leaves=5, min_docs_in_leaf=3).fit(DATA)
LINEAR = sr.LinearRegressionRanker(regularization=0.1).fit(DATA)
K = 3


def top_rows(ranker: sr.Ranker, X: np.ndarray, k: int = K) -> list[int]:
    return [int(row) for row in np.argsort(-ranker.predict(X), kind="stable")[:k]]


def test_trees_against_all_intervals() -> None:
    counts = set()
    for query in range(4):
        rows = DATA.rows(query)
        X = np.array(DATA.features[rows])
        for at in range(len(rows)):
            result = sr.instruments.changes_to_enter(TREES, DATA, int(rows[at]), K)
            if at in top_rows(TREES, X):
                assert result.rank <= K
                assert result.changes == ()
                continue
            counts.add(len(result.changes))
            found = {change.feature: change for change in result.changes}
            for f, name in enumerate(DATA.feature_names):
                cuts = TREES.model_.threshold[TREES.model_.feature == f]
                enough = []
                for value in np.unique(np.concatenate((cuts, np.nextafter(cuts, np.float32(np.inf))))):
                    changed = X.copy()
                    changed[at, f] = value
                    if at in top_rows(TREES, changed):
                        enough.append(value)
                assert (name in found) == bool(enough)
                if enough:
                    nearest = min(enough, key=lambda value: abs(float(value) - float(X[at, f])))
                    assert np.float32(found[name].new_value) == nearest
    assert 0 in counts  # no single feature is enough for some,
    assert max(counts) > 1  # and several are for others


def test_linear_models_against_the_equation_and_the_values_beside_it() -> None:
    rows = DATA.rows(1)
    X = np.array(DATA.features[rows])
    scores = LINEAR.predict(X)
    at = int(np.argmin(scores))
    needed = np.sort(scores)[-K]
    changes = sr.instruments.changes_to_enter(LINEAR, DATA, int(rows[at]), K).changes
    assert [change.feature for change in changes] == list(DATA.feature_names)
    for f, change in enumerate(changes):
        solved = X[at, f] + (needed - scores[at]) / LINEAR.model_.feature_weights()[f]
        assert change.new_value == pytest.approx(solved, rel=1e-5)
        value = np.float32(change.new_value)
        for tried, enters in ((value, True), (np.nextafter(value, X[at, f]), False)):
            changed = X.copy()
            changed[at, f] = tried
            assert (at in top_rows(LINEAR, changed)) == enters


def test_a_sum_of_trees_and_weights_enters_by_what_it_finds() -> None:
    both = sr.MART(n_trees=5, n_leaves=5, min_docs_in_leaf=3).fit(DATA, base_ranker=LINEAR)
    rows = DATA.rows(2)
    X = np.array(DATA.features[rows])
    at = int(np.argmin(both.predict(X)))
    result = sr.instruments.changes_to_enter(both, DATA, int(rows[at]), K)
    assert result.changes
    for change in result.changes:
        f = list(DATA.feature_names).index(change.feature)
        for value, enters in ((change.new_value, True), (np.nextafter(np.float32(change.new_value), X[at, f]), False)):
            changed = X.copy()
            changed[at, f] = value
            assert (at in top_rows(both, changed)) == enters


def test_categories_and_missing_values() -> None:
    import pandas as pd

    frame = pd.DataFrame({"price": [np.nan, 2.0, 3.0] * 20, "brand": pd.Categorical(["z", "y", "x"] * 20)})
    data = sr.Dataset(frame, [0, 1, 3] * 20, qid=np.repeat(np.arange(20), 3))
    ranker = sr.MART(n_trees=5, n_leaves=4, min_docs_in_leaf=1).fit(data.with_features(["brand"]))
    (change,) = sr.instruments.changes_to_enter(ranker, data, 0, 1).changes
    assert (change.value, change.new_value, change.rank) == ("z", "x", 1)
    linear = sr.LinearRegressionRanker(regularization=0.0).fit(data.with_features(["price"]))
    (change,) = sr.instruments.changes_to_enter(linear, data.with_features(["price"]), 0, 1).changes
    assert change.value is None
    assert change.rank == 1


def test_ties_are_won_by_earlier_rows() -> None:
    data = sr.Dataset([[1.0], [2.0], [1.0]], [0, 1, 0], qid=[7, 7, 7])
    ranker = sr.LinearRegressionRanker(regularization=0.0).fit(data)
    first, last = (sr.instruments.changes_to_enter(ranker, data, row, 1).changes[0] for row in (0, 2))
    assert first.new_value == 2.0
    assert last.new_value == float(str(np.nextafter(np.float32(2), np.float32(3))))


def test_what_is_refused() -> None:
    net = sr.LambdaRank(hidden=(3,), n_epochs=1, random_state=0).fit(DATA)
    row = int(DATA.rows(0)[np.argmin(net.predict(DATA)[DATA.rows(0)])])
    with pytest.raises(sr.errors.ParameterError, match="only for trees, linear models and weighted sums"):
        sr.instruments.changes_to_enter(net, DATA, row, 1)
    with pytest.raises(sr.errors.DataError, match="features must be a list"):
        sr.instruments.changes_to_enter(TREES, DATA, 0, 1, features="1")
    with pytest.raises(sr.errors.DataError, match="no feature 'zz'"):
        sr.instruments.changes_to_enter(TREES, DATA, 0, 1, features=["zz"])
