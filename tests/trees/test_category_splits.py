"""Splits of categories compared with all sets of categories, and statistics with a plain loop."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import AnyArray, Features, Floats
from swaprank.collective import ALONE
from swaprank.data.document_places import random_fractions
from swaprank.models.category_sets import set_words
from swaprank.models.forest import ARRAYS, Forest
from swaprank.trees.binning import category_columns, prior_documents, target_statistics
from swaprank.trees.boosting import Booster
from tests.trees.categorical_data import categorical, leaf_numbers, walked_scores
from tests.trees.test_growing import Fixed, rules


def grown(
    X: AnyArray, grad: Floats, hess: Floats, n_categories: dict[int, int], n_threads: int = 2, **changes: Any
) -> Forest:
    data = categorical(X, np.zeros(len(X)), np.arange(len(X)) // 4, n_categories)
    return Booster(data, np.zeros(len(X)), rules(**changes), 0, n_threads).add_tree(Fixed(grad, hess), 1, 1.0).forest


def left_codes(forest: Forest, node: int, n_categories: int) -> list[int]:
    start = int(forest.n_words[:node].sum())
    words = forest.words[start : start + forest.n_words[node]]
    return [c for c in range(n_categories) if int(words[c // 32]) >> (c % 32) & 1]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("min_docs", [1, 70])
@pytest.mark.parametrize("seed", range(4))
def test_the_split_is_the_best_of_all_sets(seed: int, min_docs: int, missing: bool) -> None:
    """Categories of equal hessians, so that smoothing does not change their order."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(240) % 8).astype(np.float32)
    grad = rng.normal(size=8)[codes.astype(int)] + 0.3 * rng.normal(size=240)
    groups: list[AnyArray] = [codes == c for c in range(8)]
    if missing:
        codes[codes == 3] = np.nan
    whole, noise = grad.sum() ** 2 / (240 + 0.7), (grad**2).sum() / 240
    best = 0.0
    for members in chain.from_iterable(combinations(range(8), n) for n in range(1, 8)):
        left = np.logical_or.reduce([groups[c] for c in members])
        if min(left.sum(), (~left).sum()) >= min_docs:
            gain = sum(grad[side].sum() ** 2 / (side.sum() + 0.7) for side in (left, ~left)) - whole
            best = max(best, gain - 4 / np.pi * noise * (8 - 1))
    tree = grown(codes[:, None], grad, np.ones(240), {0: 8}, n_leaves=2, min_docs_in_leaf=min_docs, l2=0.7)
    assert tree.gain[0] == pytest.approx(best, rel=1e-3)
    assert tree.threshold.tolist() == [0.0]
    assert tree.leaf_count.min() >= min_docs
    leaves = leaf_numbers(tree, 0, codes[:, None])
    assert np.bincount(leaves).tolist() == tree.leaf_count.tolist()
    gain = sum(grad[leaves == leaf].sum() ** 2 / ((leaves == leaf).sum() + 0.7) for leaf in (0, 1)) - whole
    assert gain - 4 / np.pi * noise * 7 == pytest.approx(best, rel=1e-3)


def test_gradients_of_noise_are_not_split() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 100, (4000, 3)).astype(np.float32)
    tree = grown(X, rng.normal(size=4000), np.ones(4000), {0: 100, 1: 100, 2: 100})
    assert len(tree.leaf_value) == 1


def test_many_categories_are_split_in_several_columns() -> None:
    """Labels are all 0 and so are statistics: only sets of single categories can separate the two kinds of them."""
    rng = np.random.default_rng(1)
    codes = rng.permutation(np.arange(14_000) % 700).astype(np.float32)
    codes[codes == 650] = np.nan
    kind = rng.random(701) < 0.5
    grad = np.where(kind[np.nan_to_num(codes, nan=700).astype(int)], 1.0, -1.0)
    X = np.column_stack((rng.random(14_000), codes)).astype(np.float32)
    tree = grown(X, grad, np.ones(14_000), {1: 705}, n_leaves=2)
    assert tree.feature.tolist() == [1]
    assert sorted(tree.leaf_value.tolist()) == pytest.approx([-1, 1])
    left = left_codes(tree, 0, 705)
    low = bool(kind[left[0]])
    assert tree.missing_left[0] == (kind[700] == low)
    # The category 650 and those above 699 have no documents.
    expected = [c for c in range(700) if kind[c] == low and c != 650]
    assert left == (expected if not tree.missing_left[0] else sorted([*expected, 650, *range(700, 705)]))
    np.testing.assert_array_equal(leaf_numbers(tree, 0, X) == 0, (grad > 0) == low)


def test_categories_that_a_leaf_has_not_seen_go_with_most_documents() -> None:
    X = np.array([[0, 0]] * 30 + [[0, 1]] * 10 + [[1, 2]] * 40 + [[1, np.nan]] * 9, np.float32)
    grad = np.where(X[:, 0] == 1, 9.0, np.where(X[:, 1] == 0, -3.0, 3.0))
    tree = grown(X, grad, np.ones(len(X)), {1: 3}, n_leaves=3)
    node = int(np.flatnonzero(left_counts := tree.node_count == 40)[-1])
    assert left_counts.sum() == 1
    assert tree.feature[node] == 1
    assert left_codes(tree, node, 3) == [0, 2]
    assert tree.missing_left[node]


def test_words() -> None:
    members = np.isin(np.arange(40), [0, 31, 33])
    assert set_words(members, False).tolist() == [1 + 2**31, 2]
    assert set_words(members, True).tolist() == [1 + 2**31, 2 + 2**32 - 2**8]


def problem(seed: int, n_categories: int, n_queries: int = 300) -> tuple[Features, Floats, AnyArray]:
    rng = np.random.default_rng(seed)
    n = 20 * n_queries
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 1] = rng.integers(0, n_categories, n)
    X[:, 3] = rng.integers(0, 5, n)
    effect = rng.normal(size=n_categories)[X[:, 1].astype(int)]
    X[rng.random((n, 4)) < 0.05] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0]) + effect + rng.normal(size=n), [0, 1, 2]).astype(np.float64)
    return X, y, np.arange(n) // 20


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize(
    "changes",
    [{}, {"document_fraction": 0.4}, {"query_fraction": 0.5, "feature_fraction": 0.5}, {"min_docs_in_leaf": 200}],
    ids=str,
)
def test_training_scores_are_those_of_the_trees_for_few_categories(changes: dict[str, float], order: bool) -> None:
    X, y, qid = problem(0, 20, n_queries=40)
    if order:
        mixed = np.random.default_rng(0).permutation(len(y))
        X, y, qid = X[mixed], y[mixed], qid[mixed]
    data = categorical(X, y, qid, {1: 20, 3: 5})
    booster = Booster(data, np.zeros(len(X)), rules(**{"min_docs_in_leaf": 5, **changes}), 0, 2)
    objective = sr.MART()._objective().bind(data, random_state=0, n_threads=2)
    trees = [booster.add_tree(objective, number, 0.3).forest for number in range(1, 5)]
    assert sum((tree.n_words > 0).sum() for tree in trees) > 1
    expected = np.sum([walked_scores(tree, data.features) for tree in trees], axis=0)
    np.testing.assert_allclose(booster.scores, data.by_query(expected), rtol=1e-12, atol=1e-12)
    for tree in trees:
        assert np.bincount(leaf_numbers(tree, 0, data.features)).tolist() == tree.leaf_count.tolist()


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_forests_are_identical_for_any_number_of_threads(n_threads: int) -> None:
    X, y, qid = problem(1, 400)
    wide = np.column_stack((X, np.random.default_rng(0).normal(size=(len(X), 30)))).astype(np.float32)
    data = categorical(wide, y, qid, {1: 400, 3: 5})
    forests = [
        sr.LambdaMART(n_trees=4, document_fraction=fraction, n_threads=threads).fit(data).model_
        for fraction in (1.0, 0.4)
        for threads in (1, n_threads)
    ]
    assert len(forests[0].words) > 13
    for one, other in (forests[:2], forests[2:]):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.slow
@pytest.mark.parametrize("n_categories", [20, 300, 2000])
def test_categories_explain_other_queries(n_categories: int) -> None:
    """Against the same trees without the categories, and without taking ids of noise for categories with a meaning."""
    X, y, qid = problem(2, n_categories)
    noise = np.random.default_rng(0).integers(0, n_categories, len(X))
    X = np.column_stack((X, noise)).astype(np.float32)
    train, test = qid < 200, qid >= 200
    forest = sr.LambdaMART(n_trees=40).fit(
        categorical(X[train], y[train], qid[train], {1: n_categories, 3: 5, 4: n_categories})
    )
    plain = sr.LambdaMART(n_trees=40).fit(X[train][:, [0, 2]], y[train], qid=qid[train])
    others = sr.Dataset(X[test], y[test], qid=qid[test])
    found = sr.evaluate(others, walked_scores(forest.model_, others.features), "ndcg@10")["ndcg@10"].mean
    without = sr.evaluate(others, plain.predict(X[test][:, [0, 2]]), "ndcg@10")["ndcg@10"].mean
    assert found > without + 0.03
    gains = forest.importances()
    assert gains["5"] < 2 * gains["3"], "noise ids against noise numbers"


def test_statistics_know_earlier_queries_only() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack((rng.integers(0, 40, 600), rng.normal(size=600)))
    y, qid = rng.integers(0, 5, 600).astype(float), np.arange(600) // 20
    data = categorical(X, y, qid, {0: 40})
    codes, counts = X[:, 0].astype(int), np.bincount(X[:, 0].astype(int), minlength=41)
    found, of_categories = target_statistics(data, 0, codes, counts, 7, ALONE)
    deviation = y - y.reshape(-1, 20).mean(axis=1).repeat(20)
    sums, squares = (np.bincount(codes, each, 41).astype(np.float64) for each in (deviation, deviation**2))
    prior = prior_documents(sums, counts, squares)
    np.testing.assert_allclose(of_categories, sums / (counts + prior), rtol=1e-6, atol=1e-9)
    seed = int(np.random.default_rng((7, 0)).integers(2**62))
    block = np.floor(64 * random_fractions(data.places.keys, seed))[qid]
    assert len(np.unique(block)) > 20
    for row in range(600):
        earlier = (block < block[row]) & (codes == codes[row])
        assert found[row] == pytest.approx(deviation[earlier].sum() / (earlier.sum() + prior), rel=1e-6, abs=1e-7)


def test_the_prior_is_a_ratio_of_variances() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3000, 60_000)
    noise = 1.5 * rng.normal(size=60_000)
    for values, expected in ((0.5 * rng.normal(size=3000)[codes] + noise, 9.0), (noise, 100.0)):
        sums, squares = (np.bincount(codes, weights).astype(np.float64) for weights in (values, values**2))
        assert prior_documents(sums, np.bincount(codes), squares) == pytest.approx(expected, rel=0.1)


def test_a_category_has_the_statistic_of_all_its_documents() -> None:
    X, y, qid = problem(5, 50)
    statistic, own = category_columns(categorical(X, y, qid, {1: 60}), 40, 0, 2, ALONE)
    code = np.nan_to_num(X[:, 1], nan=60).astype(int)
    deviation = y - y.reshape(-1, 20).mean(axis=1).repeat(20)
    mean = np.array([deviation[code == c].mean() if (code == c).any() else np.nan for c in range(61)])
    seen = np.flatnonzero(~np.isnan(mean))
    # Categories of about equally many documents: the order of statistics is that of means.
    assert np.corrcoef(mean[seen].argsort().argsort(), statistic.categories[seen])[0, 1] > 0.95
    assert 30 < statistic.documents.max() <= 40
    assert (statistic.documents >= 1).all()
    assert set(statistic.categories[50:60]) == {statistic.categories[60]}
    assert sorted(own.categories[seen]) == list(range(1, 52))
    np.testing.assert_array_equal(own.documents, own.categories[code])
