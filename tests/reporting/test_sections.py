"""The numbers in the sections equal those of naive implementations."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit

import swaprank as sr
from swaprank.reporting import calibration
from swaprank.reporting.calibration import best_sigma, reliability, scored_pairs
from swaprank.reporting.distributions import label_groups
from swaprank.reporting.features import effect_of, features_section, importances_of
from swaprank.reporting.learning_curves import curves, staged_line
from swaprank.reporting.plots import Scale, scale_of, thinned, written
from swaprank.reporting.subject import best_feature, column_baseline, make_subject, query_sample, row_sample
from swaprank.reporting.win_loss import in_groups

TRAIN, TEST = sr.datasets.random_net((40, 30), n_features=5, n_documents=9, levels=3, random_state=0)
NUMBERS = st.floats(-1e30, 1e30)


def test_pairs_are_all_pairs_of_different_labels() -> None:
    rng = np.random.default_rng(0)
    data = sr.Dataset(np.zeros((30, 1)), rng.integers(0, 3, 30), qid=rng.integers(0, 4, 30))
    scores = rng.integers(0, 4, 30).astype(float)
    expected = []
    for query in range(data.n_queries):
        rows = data.rows(query)
        for at, i in enumerate(rows):
            for j in rows[at + 1 :]:
                if data.labels[i] != data.labels[j]:
                    better, worse = (i, j) if data.labels[i] > data.labels[j] else (j, i)
                    margin = scores[better] - scores[worse]
                    expected.append((abs(margin), 0.5 if margin == 0 else float(margin > 0)))
    margins, correct = scored_pairs(data, scores)
    assert sorted(zip(margins.tolist(), correct.tolist(), strict=True)) == sorted(expected)


def test_drawn_pairs_are_like_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = TEST.column(0).astype(np.float64)
    every = scored_pairs(TEST, scores)
    monkeypatch.setattr(calibration, "MOST_PAIRS", 1000)
    drawn = scored_pairs(TEST, scores)
    assert 500 < len(drawn[0]) < 1000
    assert drawn[1].mean() == pytest.approx(every[1].mean(), abs=0.06)
    assert set(drawn[0].tolist()) <= set(every[0].tolist())


def test_reliability_is_the_mean_of_every_bin() -> None:
    rng = np.random.default_rng(1)
    margins, correct = rng.exponential(2, 500), rng.integers(0, 2, 500).astype(float)
    found = reliability(margins, correct)
    p = expit(margins)
    for at in range(10):
        inside = (p >= 0.5 + at / 20) & ((p < 0.5 + (at + 1) / 20) | (at == 9))
        assert found.counts[at] == inside.sum()
        assert found.predicted[at] == pytest.approx(p[inside].mean())
        assert found.observed[at] == pytest.approx(correct[inside].mean())
    gaps = np.abs(found.predicted - found.observed)
    assert found.error == pytest.approx((gaps * found.counts).sum() / 500)


def test_probabilities_that_are_right_are_on_the_diagonal() -> None:
    rng = np.random.default_rng(2)
    margins = rng.exponential(2, 100_000)
    correct = (rng.random(100_000) < expit(0.7 * margins)).astype(float)
    sigma = best_sigma(margins, correct)
    assert sigma == pytest.approx(0.7, abs=0.02)
    assert reliability(sigma * margins, correct).error < 0.01
    twin = minimize_scalar(lambda s: np.logaddexp(0, s * margins).mean() - (correct * s * margins).mean(), (0.1, 2.0))
    assert sigma == pytest.approx(float(twin.x), rel=1e-4)
    assert best_sigma(margins, 1 - correct) == 0.0


def test_an_effect_is_the_mean_over_documents() -> None:
    ranker = sr.LambdaMART(n_trees=5, n_leaves=5, min_docs_in_leaf=5).fit(TRAIN)
    effect = effect_of(ranker, TEST, 3)
    for value, score in zip(effect.grid[::5], effect.scores[::5], strict=True):
        changed = TEST.features.copy()
        changed[:, 3] = value
        assert score == pytest.approx(ranker.predict(changed).mean() - ranker.predict(TEST).mean())
    assert effect.missing is None


def test_missing_values_have_an_effect_of_their_own() -> None:
    X = np.array(TRAIN.features)
    X[::3, 1] = np.nan
    data = sr.Dataset(X.copy(), TRAIN.labels, qid=np.repeat(TRAIN.qids, 9))
    ranker = sr.LambdaMART(n_trees=5, n_leaves=5, min_docs_in_leaf=5).fit(data)
    X[:, 1] = np.nan
    assert effect_of(ranker, data, 1).missing == pytest.approx(ranker.predict(X).mean() - ranker.predict(data).mean())


def test_importances_are_what_each_ranker_says() -> None:
    ndcg = sr.metric("ndcg@10")
    forest = sr.LambdaMART(n_trees=5, n_leaves=5, min_docs_in_leaf=5).fit(TRAIN)
    shares, gains = importances_of(forest, TEST, ndcg).values, forest.importances()
    assert list(shares) == list(gains)
    assert list(shares.values()) == pytest.approx([gain / sum(gains.values()) for gain in gains.values()])
    linear = sr.LinearRegressionRanker(regularization=0.1).fit(TRAIN)
    moved = importances_of(linear, TEST, ndcg).values
    deviations = TEST.features.astype(np.float64).std(axis=0)
    assert [moved[name] for name in TEST.feature_names] == pytest.approx(linear.coef_ * deviations)
    net = sr.RankNet(hidden=(), n_epochs=2).fit(TRAIN)
    assert importances_of(net, TEST, ndcg).values == net.permutation_importances(TEST, ndcg, n_repeats=3)


def test_a_forest_is_measured_at_its_stages() -> None:
    ranker = sr.LambdaMART(n_trees=50, n_leaves=3, min_docs_in_leaf=5).fit(TRAIN)
    line = staged_line(ranker, TEST, sr.metric("map"))
    assert line is not None
    assert (line.x[0], line.x[-1], len(line.x)) == (1, 50, 40)
    for n_trees, value in zip(line.x, line.y, strict=True):
        scores = ranker.predict(TEST, n_trees=int(n_trees))
        assert value == sr.evaluate(TEST, scores, "map")["map"].mean


def test_every_metric_has_a_line_per_set() -> None:
    history: dict[str, dict[str, list[float]]] = {
        "a b": {"ndcg@10(gain=linear, ties=input)": [0.1]},
        "c": {"map": [0.2, 0.3]},
        "odd": {"thing": [0.5]},
        "empty": {"map": []},
    }
    found = {metric: [(line.name, line.y.tolist()) for line in lines] for metric, lines in curves(history).items()}
    assert found == {
        "ndcg@10(gain=linear, ties=input)": [("a b", [0.1])],
        "map": [("c", [0.2, 0.3])],
        "thing": [("odd", [0.5])],
    }


@given(st.lists(NUMBERS, min_size=1, max_size=20))
def test_scales_hold_their_values_and_have_ticks(values: list[float]) -> None:
    scale = scale_of(values)
    assert scale.low < scale.high
    assert all(-1e-9 <= scale.share(value) <= 1 + 1e-9 for value in values)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 12
    assert len(written(ticks)) == len(ticks)


def test_ticks_are_round() -> None:
    assert Scale(0.13, 0.87).ticks() == [0.2, 0.4, 0.6, 0.8]
    assert written(Scale(0.0, 1.0).ticks()) == ["0", "0.25", "0.50", "0.75", "1.00"]
    assert written([1e-6, 2e-6]) == ["1e-06", "2e-06"]


@given(st.integers(1, 2000), st.integers(2, 500))
def test_thinned_positions_keep_both_ends(n: int, most: int) -> None:
    kept = thinned(n, most)
    assert (kept[0], kept[-1]) == (0, n - 1)
    assert len(kept) <= most
    assert (np.diff(kept) > 0).all()


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=60), st.integers(1, 20))
def test_groups_have_every_query_once_in_order(values: list[float], most: int) -> None:
    array = np.array(values)
    groups = in_groups(array, most)
    assert len(groups) <= most
    together = np.concatenate(groups)
    assert sorted(together.tolist()) == list(range(len(values)))
    assert (np.diff(array[together]) <= 0).all()


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_label_groups_have_every_document_once(labels: list[float]) -> None:
    groups = label_groups(np.array(labels))
    assert len(groups) <= 8
    assert sorted(np.concatenate([rows for _, rows in groups]).tolist()) == list(range(len(labels)))


def test_samples_are_bounded_and_always_the_same() -> None:
    part = query_sample(TEST, 50)
    assert 50 <= len(part) <= 60
    assert part.qids.tolist() == query_sample(TEST, 50).qids.tolist()
    assert query_sample(TEST, 10**6) is TEST
    long = sr.Dataset(np.zeros((1000, 1)), np.zeros(1000), qid=np.zeros(1000))
    assert len(query_sample(long, 100)) == 100
    assert row_sample(1000, 10).tolist() == row_sample(1000, 10).tolist()


def categorical_data() -> sr.Dataset:
    rng = np.random.default_rng(0)
    brands = np.array([f"brand {at}" for at in range(12)], dtype=object)
    X = np.column_stack([brands[rng.integers(0, 12, 300) * rng.integers(0, 2, 300)], rng.random(300)])
    X[:5, 0] = None
    labels = (X[:, 0] == "brand 0").astype(int) + (X[:, 1].astype(float) > 0.5)
    names = ["brand", "price"]
    return sr.Dataset(X, labels, qid=np.arange(300) // 10, feature_names=names, categorical_features=["brand"])


def test_effects_of_categories_are_those_of_the_most_frequent_ones() -> None:
    data = categorical_data()
    ranker = sr.MART(n_trees=5, n_leaves=4, min_docs_in_leaf=3).fit(data)
    effect = effect_of(ranker, data, 0)
    counts = {name: int((data.column("brand") == code).sum()) for code, name in enumerate(data.categories["brand"])}
    most = sorted(counts, key=lambda name: -counts[name])[:8]
    assert effect.categories[0] == most[0] == "brand 0"
    assert sorted(counts[name] for name in effect.categories) == sorted(counts[name] for name in most)
    scores = ranker.predict(data).mean()
    for name, score in zip(effect.categories, effect.scores, strict=True):
        alike = data.features.copy()
        alike[:, 0] = data.categories["brand"].index(name)
        assert score == pytest.approx(ranker.model_.score(alike).mean() - scores)
    html = str(features_section(make_subject(ranker, data, "ndcg@10")).body)
    for name, score in zip(effect.categories, effect.scores, strict=True):
        assert re.search(rf"<bdi>{name}</bdi></th><td[^>]*>{re.escape(f'{score:+.3f}')}", html)
    assert f"(missing)</th><td>{effect.missing:+.3f}" in html


def test_a_category_is_no_baseline() -> None:
    data = categorical_data()
    assert best_feature(data, sr.metric("ndcg@10")).name == "feature price"
    for name in ("brand", "-brand"):
        with pytest.raises(sr.errors.DataError, match="'brand' holds no numbers: documents cannot be ranked by it"):
            column_baseline(data, name)
    only = data.with_features(["brand"])
    assert best_feature(only, sr.metric("ndcg@10")).name == "all documents tied"
    ranker = sr.MART(n_trees=2).fit(only)
    assert "all documents tied" in sr.report(ranker, only).html


def test_samples_keep_categories() -> None:
    data = categorical_data()
    one_list = sr.Dataset(data.stored, data.labels, qid=[1] * 300)
    assert query_sample(one_list, 20).categories == data.categories
