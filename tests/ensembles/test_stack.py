from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import swaprank as sr
from swaprank.model_files.container import read_model, write_model
from swaprank.rankers.ranker import Ranker


@pytest.fixture(scope="module")
def parts() -> tuple[sr.Dataset, sr.Dataset, list[Ranker]]:
    train, vali, test = sr.datasets.random_polynomial((80, 60, 40), n_features=6, n_documents=15, random_state=0)
    kinds = sr.MART(n_trees=15), sr.LambdaRank(hidden=(5,), n_epochs=10), sr.LinearRegressionRanker(regularization=0.1)
    return vali, test, [ranker.fit(train) for ranker in kinds]


def test_a_stack_is_a_weighted_sum_of_scaled_scores_at_least_as_good_as_its_parts(
    parts: tuple[sr.Dataset, sr.Dataset, list[Ranker]],
) -> None:
    vali, test, rankers = parts
    stacked = sr.stack(rankers, vali, "ndcg@5")
    scores = np.stack([ranker.predict(test) for ranker in rankers])
    expected = stacked.weights_ @ stacked.model_.scale.apply(scores)
    np.testing.assert_allclose(stacked.predict(test), expected, rtol=1e-4, atol=1e-5)
    ndcg = sr.metric("ndcg@5").bind(vali.labels, vali.indptr)
    assert stacked.score(vali) >= max(ndcg.mean(ranker.predict(vali)) for ranker in rankers)


def test_rows_in_any_order(parts: tuple[sr.Dataset, sr.Dataset, list[Ranker]]) -> None:
    vali, test, rankers = parts
    shuffle = np.random.default_rng(0).permutation(len(vali))
    qid = np.repeat(vali.qids, np.diff(vali.indptr))
    moved = sr.Dataset(vali.features[shuffle], vali.labels[shuffle], qid=qid[shuffle])
    stacked = sr.stack(rankers, moved, "ndcg@5", valid=test, hidden=(3,), n_epochs=5, early_stopping_rounds=3)
    assert len(stacked.history_["valid"]["ndcg@5"]) <= 5
    assert stacked.score(moved) > 0.5


def test_a_saved_stack_is_the_same(parts: tuple[sr.Dataset, sr.Dataset, list[Ranker]], tmp_path: Path) -> None:
    vali, test, rankers = parts
    path = tmp_path / "model.swaprank"
    stacked = sr.stack(rankers, vali, "map", n_epochs=3)
    stacked.save(path)
    again = sr.load(path)
    assert isinstance(again, sr.ensembles.Stacked)
    assert_array_equal(again.predict(test), stacked.predict(test))
    again.save(tmp_path / "twin.swaprank")
    assert (tmp_path / "twin.swaprank").read_bytes() == path.read_bytes()
    kind, meta, arrays = read_model(path)
    models = meta["model"]["models"]
    for damaged in (models[1:], models[:3], models[2:], [], [1, 2, 3]):
        write_model(path, kind, {**meta, "model": {**meta["model"], "models": damaged}}, arrays)
        with pytest.raises(sr.errors.ModelFileError):
            sr.load(path)


def test_rankers_that_cannot_be_stacked_are_errors(parts: tuple[sr.Dataset, sr.Dataset, list[Ranker]]) -> None:
    vali, _, rankers = parts
    with pytest.raises(sr.errors.ParameterError, match="2 or more fitted rankers"):
        sr.stack(rankers[:1], vali)
    with pytest.raises(TypeError, match="n_trees"):
        sr.stack(rankers, vali, n_trees=3)


def test_a_ranker_with_one_score_per_query_has_no_effect() -> None:
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(40), 47)
    X = np.stack((rng.normal(size=len(qid)), rng.normal(size=40)[qid]), axis=1)
    data = sr.Dataset(X, np.digitize(X[:, 0] + 3 * X[:, 1], [0, 2]), qid=qid)
    useful = sr.LinearRegressionRanker(regularization=0.1).fit(sr.Dataset(X * [1, 0], data.labels, qid=qid))
    by_query = sr.LinearRegressionRanker(regularization=0.1).fit(sr.Dataset(X * [0, 1], data.labels, qid=qid))
    both = sr.stack([useful, by_query], data, "ndcg@10")
    assert both.score(data) == pytest.approx(useful.set_params(metric="ndcg@10").score(data), abs=1e-6)
