"""Drift: no alarm on fresh data of the same distribution, an alarm on changed data, the same counts everywhere."""

import json
from pathlib import Path

import numpy as np
import pytest

import swaprank as sr
from tests.command_line import here


def dependent(n_queries: int, seed: int, shift: float = 0.0) -> sr.Dataset:
    """Ten documents a query, which share the value of the first feature, and most of that of the second."""
    rng = np.random.default_rng(seed)
    of_query = np.repeat(rng.normal(size=(n_queries, 2)), 10, axis=0)
    X = of_query + rng.normal(size=of_query.shape) * [0.0, 0.3] + shift
    return sr.Dataset(X, rng.integers(3, size=len(X)), qid=np.repeat(np.arange(n_queries), 10))


@pytest.mark.parametrize("n_queries", [20, 100, 400])
def test_fresh_samples_of_the_same_distribution_rarely_alarm(n_queries: int) -> None:
    alarms = [bool(sr.drift(dependent(200, 2 * s), dependent(n_queries, 2 * s + 1)).drifted) for s in range(30)]
    assert sum(alarms) <= 2  # alpha is .01


def test_a_shift_is_found() -> None:
    found = [sr.drift(dependent(200, 2 * s), dependent(200, 2 * s + 1, shift=0.7)).drifted for s in range(20)]
    assert all(len(each) == 2 for each in found)


def test_missing_values_and_new_categories_are_found() -> None:
    rng = np.random.default_rng(0)

    def shop(brands: list[str], missing: float) -> sr.Dataset:
        price = np.where(rng.random(1000) < missing, np.nan, rng.normal(size=1000))
        rows = [[value, brand] for value, brand in zip(price.tolist(), rng.choice(brands, 1000).tolist(), strict=True)]
        qid = np.repeat(np.arange(100), 10)
        return sr.Dataset(rows, rng.integers(2, size=1000), qid=qid, feature_names=["price", "brand"],
                          categorical_features=["brand"])  # fmt: skip

    ranker = sr.LambdaMART(n_trees=3).fit(shop(["a", "b", "c"], 0.1))
    assert sr.drift(ranker, shop(["c", "b", "a"], 0.1)).drifted == ()
    result = sr.drift(ranker, shop(["a", "b", "c", "new"], 0.4))
    change = {each.name: each for each in result.changes}
    assert change["price"].drifted
    assert change["brand"].drifted
    assert 0.2 < change["brand"].outside < 0.3
    assert change["brand"].new_categories == ("new",)
    assert "New values of brand: 'new'." in str(result)
    assert 0.35 < change["price"].missing < 0.45


def test_counts_are_the_same_from_bins_in_any_order_and_in_the_file(tmp_path: Path) -> None:
    data = dependent(60, 0)
    order = np.random.default_rng(0).permutation(60)
    rows = np.concatenate([data.rows(q) for q in order])
    mixed = sr.Dataset(data.features[rows], data.labels[rows], qid=np.repeat(data.qids[order], 10))
    ranker = sr.MART(n_trees=3).fit(data)
    for other in (data.binned(), mixed):
        assert sr.MART(n_trees=3).fit(other).learned_.seen == ranker.learned_.seen
    ranker.save(tmp_path / "model.swaprank")
    assert sr.load(tmp_path / "model.swaprank").learned_.seen == ranker.learned_.seen


def test_a_table_is_no_data_set() -> None:
    data = dependent(60, 0)
    with pytest.raises(sr.errors.DataError, match=r"drift takes new data as a Dataset, .* found ndarray"):
        sr.drift(sr.MART(n_trees=3).fit(data), data.features)  # type: ignore[arg-type]


def test_a_model_without_counts_says_how_to_compare(tmp_path: Path) -> None:
    data = dependent(60, 0)
    sr.MART(n_trees=3).fit(data).export(tmp_path / "model.txt", to="lightgbm")
    imported = sr.import_model(tmp_path / "model.txt")
    with pytest.raises(sr.errors.DataError, match="reference=train"):
        sr.drift(imported, data)
    assert sr.drift(imported, data, reference=data).drifted == ()


def test_the_command_ends_with_3_on_drift(tmp_path: Path) -> None:
    sr.MART(n_trees=3).fit(dependent(100, 0)).save(tmp_path / "model.swaprank")
    for name, shift in (("same", 0.0), ("moved", 2.0)):
        sr.write_letor(dependent(100, 1, shift), tmp_path / f"{name}.txt")
    assert here("drift", "model.swaprank", "same.txt", folder=tmp_path).code == 0
    assert here("drift", "model.swaprank", "moved.txt", folder=tmp_path).code == 3
    values = [f"qid:{row // 10} 1:{a} 2:{b}\n" for row, (a, b) in enumerate(dependent(100, 1).features.tolist())]
    (tmp_path / "no_labels.txt").write_text("".join(values))
    told = here("drift", "model.swaprank", "no_labels.txt", "--json", folder=tmp_path)
    assert told.code == 0
    assert json.loads(told.out)["drifted"] == []


ODD = {
    "one query": sr.Dataset([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]], [1, 0, 2], qid=[1, 1, 1]),
    "constant features": sr.Dataset(np.ones((6, 2)), [1, 0] * 3, qid=[1, 1, 2, 2, 3, 3]),
    "all missing": sr.Dataset(np.full((6, 2), np.nan), [1, 0] * 3, qid=[1, 1, 2, 2, 3, 3]),
    "one category": sr.Dataset([["a", 1]] * 4, [1, 0] * 2, qid=[1, 1, 2, 2], categorical_features=[0]),
    "missing categories": sr.Dataset([[None, 1]] * 4, [1, 0] * 2, qid=[1, 1, 2, 2], categorical_features=[0]),
    "largest values": sr.Dataset([[3e38, -3e38], [-3e38, 3e38]] * 2, [1, 0] * 2, qid=[1, 1, 2, 2]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.filterwarnings("ignore")
def test_odd_data_trains_and_is_like_itself(name: str, tmp_path: Path) -> None:
    data = ODD[name]
    rankers = (
        [sr.MART(n_trees=1)] if data.categories else [sr.MART(n_trees=1), sr.LinearRegressionRanker(regularization=1.0)]
    )
    for ranker in rankers:
        ranker.fit(data).save(tmp_path / "model.swaprank")
        loaded = sr.load(tmp_path / "model.swaprank")
        assert loaded.learned_.seen == ranker.learned_.seen
        if data.n_queries > 1:
            assert sr.drift(loaded, data).drifted == ()
        else:
            with pytest.raises(sr.errors.DataError, match="2 queries or more"):
                sr.drift(loaded, data)


def test_bins_with_other_cuts_are_refused() -> None:
    ranker = sr.MART(n_trees=2).fit(dependent(100, 0))
    new = dependent(100, 1)
    like = new.binned(like=dependent(100, 0).binned())
    by_values = {each.name: each for each in sr.drift(ranker, new).changes}
    for each in sr.drift(ranker, like).changes:
        assert each.distance == pytest.approx(by_values[each.name].distance)
    with pytest.raises(sr.errors.DataError, match=r"other cuts of '1' than the training data"):
        sr.drift(ranker, new.binned())


def test_nothing_but_a_feature_that_training_lacked_values_of() -> None:
    empty = dependent(100, 0)
    missing = empty.replace(features=np.full(empty.features.shape, np.nan))
    found = sr.drift(missing, empty)
    assert set(found.drifted) == {"1", "2"}
    assert all(each.missing_before == 1 and each.missing == 0 for each in found.changes)
