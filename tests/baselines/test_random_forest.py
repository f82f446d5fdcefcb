"""A random forest against that of scikit-learn, and what follows from trees that know nothing of each other."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import swaprank as sr

TRAIN, VALI, TEST = sr.datasets.random_polynomial((60, 20, 40), n_features=8, n_documents=20, random_state=0)
FOREST = sr.baselines.RandomForest(n_trees=60, min_docs_in_leaf=3, feature_fraction=0.5).fit(TRAIN)


def ndcg(scores: object) -> float:
    return sr.evaluate(TEST, scores, "ndcg@10")["ndcg@10"].mean


@pytest.mark.slow
def test_it_ranks_as_well_as_the_forest_of_scikit_learn() -> None:
    # With all features, because scikit-learn draws features for each split, and we do so for each tree.
    other = RandomForestRegressor(60, max_leaf_nodes=100, min_samples_leaf=3, random_state=0)
    other.fit(TRAIN.features, TRAIN.labels)
    forest = sr.baselines.RandomForest(n_trees=60, min_docs_in_leaf=3, feature_fraction=1.0).fit(TRAIN)
    ours, theirs = ndcg(forest.predict(TEST)), ndcg(other.predict(TEST.features))
    assert ours == pytest.approx(theirs, abs=0.02)
    assert np.corrcoef(forest.predict(TEST), other.predict(TEST.features))[0, 1] > 0.95
    assert ours > ndcg(np.zeros(len(TEST))) + 0.1


def test_a_leaf_has_the_mean_label_of_its_documents() -> None:
    one = sr.baselines.RandomForest(n_trees=1, feature_fraction=1.0, query_fraction=1.0, min_docs_in_leaf=5).fit(TRAIN)
    leaves = one.apply(TRAIN)[:, 0]
    for leaf in np.unique(leaves):
        assert one.model_.leaf_value[leaf] == pytest.approx(TRAIN.labels[leaves == leaf].mean())


def test_trees_do_not_depend_on_each_other() -> None:
    few = sr.baselines.RandomForest(n_trees=20, min_docs_in_leaf=3, feature_fraction=0.5).fit(TRAIN)
    same = FOREST.model_.part(0, 20)
    np.testing.assert_array_equal(few.model_.threshold, same.threshold)
    np.testing.assert_allclose(few.model_.leaf_value, same.leaf_value * 3)
    assert len({FOREST.to_text(tree) for tree in range(20)}) == 20


def test_the_best_number_of_trees_is_kept_and_their_mean_is_measured(tmp_path: Path) -> None:
    forest = sr.baselines.RandomForest(n_trees=15).fit(TRAIN, valid=VALI)
    assert forest.score(VALI) == pytest.approx(max(forest.history_["valid"]["ndcg@10"]))
    assert forest.n_trees_ == forest.best_round_
    assert TRAIN.labels.min() <= forest.predict(TEST).min() <= forest.predict(TEST).max() <= TRAIN.labels.max()
    forest.save(tmp_path / "model.swaprank")
    np.testing.assert_array_equal(sr.load(tmp_path / "model.swaprank").predict(TEST), forest.predict(TEST))
    again = sr.baselines.RandomForest(n_trees=15, n_threads=3).fit(TRAIN, valid=VALI)
    np.testing.assert_array_equal(again.predict(TEST), forest.predict(TEST))


def test_with_base_scores_it_learns_the_rest() -> None:
    based = sr.Dataset(TRAIN.features, TRAIN.labels, group=np.diff(TRAIN.indptr), base_score=TRAIN.labels - 1.0)
    forest = sr.baselines.RandomForest(n_trees=5).fit(based)
    np.testing.assert_allclose(forest.predict(TEST), 1.0)
    base = sr.MART(n_trees=5).fit(TRAIN)
    both = sr.baselines.RandomForest(n_trees=10).fit(TRAIN, base_ranker=base, valid=VALI)
    assert both.n_trees_ == 5 + both.best_round_
    assert both.score(VALI) == pytest.approx(max([base.score(VALI), *both.history_["valid"]["ndcg@10"]]))


def test_refit_finds_the_means_of_other_data() -> None:
    other = sr.Dataset(TRAIN.features, TRAIN.labels + 2.0, group=np.diff(TRAIN.indptr))
    moved = FOREST.refit(other, decay_rate=0.0)
    whole = (
        sr.baselines.RandomForest(n_trees=60, min_docs_in_leaf=3, feature_fraction=0.5)
        .fit(TRAIN)
        .refit(TRAIN, decay_rate=0)
    )
    np.testing.assert_allclose(moved.predict(TEST), whole.predict(TEST) + 2.0)
    assert np.corrcoef(whole.predict(TEST), FOREST.predict(TEST))[0, 1] > 0.97
