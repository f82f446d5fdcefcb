"""Trees compared with plain Python: every split is tried, every document walks down the tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import swaprank as sr
from swaprank.arrays import AnyArray, Bools, Features, Floats
from swaprank.collective import ALONE
from swaprank.data.document_places import Places, query_keys
from swaprank.models.forest import ARRAYS, Forest
from swaprank.objectives.objective import BoundObjective
from swaprank.trees.boosting import Booster
from swaprank.trees.document_sampling import Sample, draw_sample, gather_bins, make_glance, total_sums
from swaprank.trees.histogram import BINS, BLOCK, add_rows, count_rows
from swaprank.trees.tree import count_at_nodes
from swaprank.trees.tree_rules import TreeRules


class Fixed(BoundObjective):
    """The same gradients for any scores."""

    def __init__(self, grad: Floats, hess: Floats) -> None:
        self.grad, self.hess = grad, hess

    def update(self, scores: Floats, grad: Floats, hess: Floats, taken: Bools | None = None) -> None:
        grad[:], hess[:] = self.grad, self.hess


def rules(**changes: float | None) -> TreeRules:
    standard: dict[str, float | None] = {
        "n_leaves": 8, "min_docs_in_leaf": 1, "l2": 0.0, "min_gain": 0.0, "max_depth": None,
        "max_bins": 255, "feature_fraction": 1.0, "query_fraction": 1.0, "document_fraction": 1.0,
        "score_noise": 0.0, "leaf_smoothing": 0.0,
    }  # fmt: skip
    return TreeRules(**(standard | changes))  # type: ignore[arg-type]


def grown(
    X: AnyArray, grad: Floats, hess: Floats, n_threads: int = 2, learning_rate: float = 1.0, **changes: float | None
) -> Forest:
    data = sr.Dataset(X, np.zeros(len(X)), qid=np.arange(len(X)) // 4)
    return (
        Booster(data, np.zeros(len(X)), rules(**changes), 0, n_threads)
        .add_tree(Fixed(grad, hess), 1, learning_rate)
        .forest
    )


def random_problem(seed: int, n: int = 300, d: int = 5, missing: float = 0.1) -> tuple[Features, Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (n, d)).astype(np.float32)
    X[rng.random((n, d)) < missing] = np.nan
    return X, rng.normal(size=n) + (np.nan_to_num(X[:, 0]) > 5), rng.random(n) + 0.1


def naive_best(X: Features, grad: Floats, hess: Floats, min_docs: int, l2: float) -> tuple[float, int, float, bool]:
    """The largest gain over all features, thresholds and sides of missing values."""
    best = (0.0, -1, 0.0, False)
    whole = grad.sum() ** 2 / (hess.sum() + l2)
    for f in range(X.shape[1]):
        x = X[:, f]
        values = np.unique(x[~np.isnan(x)])
        for cut in [*((a + b) / 2 for a, b in pairwise(values)), np.finfo(np.float32).max]:
            for missing_left in (False, True):
                left = np.where(np.isnan(x), missing_left, x <= cut)
                if min(left.sum(), (~left).sum()) < min_docs:
                    continue
                gain = sum(grad[s].sum() ** 2 / (hess[s].sum() + l2) for s in (left, ~left)) - whole
                if gain > best[0] * (1 + 1e-9):
                    best = (gain, f, float(cut), missing_left)
    return best


def leaf_numbers(tree: Forest, X: Features) -> list[int]:
    numbers = []
    for row in X:
        node = 0 if len(tree.feature) else -1
        while node >= 0:
            x = row[tree.feature[node]]
            left = tree.missing_left[node] if np.isnan(x) else x <= tree.threshold[node]
            node = int(tree.left[node] if left else tree.right[node])
        numbers.append(~node)
    return numbers


@pytest.mark.parametrize("min_docs", [1, 40, 100])
@pytest.mark.parametrize("seed", range(6))
def test_first_split_is_the_best_of_all(seed: int, min_docs: int) -> None:
    X, grad, hess = random_problem(seed)
    tree = grown(X, grad, hess, n_leaves=2, min_docs_in_leaf=min_docs, l2=0.7)
    gain, feature, threshold, missing_left = naive_best(X, grad, hess, min_docs, 0.7)
    assert tree.gain[0] == pytest.approx(gain, rel=1e-4)
    assert (tree.feature[0], bool(tree.missing_left[0])) == (feature, missing_left)
    assert tree.threshold[0] == pytest.approx(threshold)


def test_the_leaf_with_the_largest_gain_is_split_next() -> None:
    X, grad, hess = random_problem(7)
    tree = grown(X, grad, hess, n_leaves=3)
    first = grown(X, grad, hess, n_leaves=2)
    numbers = np.array(leaf_numbers(first, X))
    gains = [naive_best(X[numbers == leaf], grad[numbers == leaf], hess[numbers == leaf], 1, 0.0)[0] for leaf in (0, 1)]
    assert tree.gain[1] == pytest.approx(max(gains), rel=1e-4)


def test_leaf_values_are_newton_steps_of_exact_gradients() -> None:
    X, grad, hess = random_problem(8)
    tree = grown(X, grad, hess, learning_rate=0.3, l2=2.0, document_fraction=0.5)
    numbers = np.array(leaf_numbers(tree, X))
    for leaf, value in enumerate(tree.leaf_value):
        inside = numbers == leaf
        assert value == pytest.approx(-0.3 * grad[inside].sum() / (hess[inside].sum() + 2.0))
        assert tree.leaf_count[leaf] == inside.sum()
    assert tree.node_count[0] == len(X)


def test_a_tiny_tree_by_hand() -> None:
    # Residuals -1, -1, +2: the cut between the second and third document explains all.
    tree = grown(np.array([[1.0], [2.0], [3.0]]), np.array([-1.0, -1.0, 2.0]), np.ones(3), n_leaves=2)
    assert tree.threshold.tolist() == [2.5]
    assert tree.leaf_value.tolist() == pytest.approx([1.0, -2.0])
    assert tree.gain[0] == pytest.approx(2**2 / 2 + 2**2 / 1 - 0)


def test_a_split_can_separate_only_missing_values() -> None:
    X = np.array([[7.0], [np.nan], [7.0], [np.nan]])
    tree = grown(X, np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), n_leaves=2)
    assert len(set(leaf_numbers(tree, X.astype(np.float32))[::2])) == 1
    assert sorted(tree.leaf_value.tolist()) == pytest.approx([-1, 1])


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
def test_tree_is_identical_for_any_number_of_threads(n_threads: int) -> None:
    rng = np.random.default_rng(9)
    X, grad, hess = rng.normal(size=(70_000, 40)), rng.normal(size=70_000), rng.random(70_000)
    options: dict[str, float] = {"n_leaves": 31, "min_docs_in_leaf": 20, "document_fraction": 0.9}
    one, other = grown(X, grad, hess, 1, **options), grown(X, grad, hess, n_threads, **options)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_limits_are_kept() -> None:
    X, grad, hess = random_problem(10, n=1000)
    assert len(grown(X, grad, hess, n_leaves=1000, max_depth=3).leaf_value) <= 8
    assert grown(X, grad, hess, n_leaves=60, min_docs_in_leaf=50).leaf_count.min() >= 50
    assert len(grown(X, grad, hess, min_gain=1e9).leaf_value) == 1
    skewed = np.where(np.arange(1000) % 100 == 0, 1000.0, 1e-6)
    assert grown(X, grad * skewed, skewed, n_leaves=60, min_docs_in_leaf=30).leaf_count.min() >= 30


def test_histograms_are_sums() -> None:
    rng = np.random.default_rng(11)
    block = rng.integers(0, 256, (500, BLOCK)).astype(np.uint8)
    rows = np.sort(rng.choice(500, 200, replace=False)).astype(np.int32)
    grad, hess = rng.integers(-1000, 1000, 500), rng.integers(0, 1000, 500)
    histogram, documents = np.zeros(BLOCK * BINS, np.int64), np.zeros(BLOCK * BINS, np.int64)
    add_rows(block, rows, 20, 180, (grad << 32) + hess, histogram)
    for f in range(BLOCK):
        count_rows(block, f, rows, 20, 180, documents[f * BINS : (f + 1) * BINS])
        for values, found in ((grad, histogram >> 32), (hess, histogram & 0xFFFFFFFF), (np.ones(500), documents)):
            expected = np.bincount(block[rows[20:180], f], weights=values[rows[20:180]], minlength=BINS)
            np.testing.assert_array_equal(found[f * BINS : (f + 1) * BINS], expected)


def test_count_at_nodes() -> None:
    left, right = np.array([1, ~0]), np.array([~2, ~1])
    assert count_at_nodes(left, right, np.array([3, 4, 5])).tolist() == [12, 7]


def drawn(
    grad: Floats, hess: Floats, taken: AnyArray, fraction: float, seed: int, n_threads: int, by_position: bool,
    rows: AnyArray, packed: AnyArray,
) -> Sample:  # fmt: skip
    places = Places(np.arange(0, len(grad) + 1, 50), query_keys(np.arange(len(grad) // 50)))
    glance = make_glance(int(taken.sum()), seed, np.array([len(grad)]), np.array([len(places.keys)]))
    totals, some = total_sums(grad, hess, taken, places, n_threads, ALONE, glance)
    assert totals.n_documents == taken.sum()
    assert totals.gradient == pytest.approx(np.abs(grad[taken > 0]).sum())
    assert totals.hessian == pytest.approx(hess[taken > 0].sum())
    return draw_sample(
        grad, hess, taken, totals, some, places, fraction, seed, n_threads, by_position, ALONE, rows, packed
    )


def sampled(fraction: float, seed: int) -> tuple[Floats, Floats, AnyArray, float, float]:
    rng = np.random.default_rng(0)
    grad, hess = rng.standard_cauchy(40_000), rng.exponential(size=40_000)
    rows, packed = np.empty((2, 40_000), np.int32), np.zeros(40_000, np.int64)
    sample = drawn(grad, hess, np.ones(40_000, np.uint8), fraction, seed, 2, False, rows, packed)
    chosen = rows[0, : sample.n_rows].copy()
    assert (np.diff(chosen) > 0).all()
    placed = np.zeros(40_000, np.int64)
    assert drawn(grad, hess, np.ones(40_000, np.uint8), fraction, seed, 3, True, rows, placed) == sample
    np.testing.assert_array_equal(rows[0, : sample.n_rows], chosen)
    np.testing.assert_array_equal(placed[: sample.n_rows], packed[chosen])
    return (
        grad,
        hess,
        chosen,
        float((packed[chosen] >> 32).sum() / sample.grad_scale),
        float((packed[chosen] & 0xFFFFFFFF).sum() / sample.hess_scale),
    )


def test_a_sample_has_its_size_and_is_unbiased() -> None:
    draws = [sampled(0.3, seed) for seed in range(60)]
    grad, hess = draws[0][0], draws[0][1]
    assert np.mean([len(draw[2]) for draw in draws]) == pytest.approx(0.3 * 40_000, rel=0.03)
    for at, truth in ((3, grad.sum()), (4, hess.sum())):
        values = np.array([draw[at] for draw in draws])
        assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(60) + 1e-3 * abs(truth)


def test_the_whole_sample_is_nearly_exact() -> None:
    grad, hess, chosen, sum_grad, sum_hess = sampled(1.0, 0)
    assert len(chosen) == 40_000
    assert sum_grad == pytest.approx(grad.sum(), rel=1e-3)
    assert sum_hess == pytest.approx(hess.sum(), rel=1e-4)


def test_a_sample_has_its_size_for_any_order_of_gradients() -> None:
    grad = np.full(20_000 * 50, 0.01)
    grad[::50] = 1.0
    rows, packed = np.empty((2, len(grad)), np.int32), np.zeros(len(grad), np.int64)
    sample = drawn(grad, np.abs(grad), np.ones(len(grad), np.uint8), 0.3, 1, 2, False, rows, packed)
    assert sample.n_rows == pytest.approx(0.3 * len(grad), rel=0.1)


def test_a_sample_is_a_share_of_the_documents_that_were_taken() -> None:
    rng = np.random.default_rng(0)
    grad, taken = rng.normal(size=60_000), (np.arange(60_000) < 15_000).astype(np.uint8)
    grad[15_000:] *= 1000
    rows, packed = np.empty((2, 60_000), np.int32), np.zeros(60_000, np.int64)
    sample = drawn(grad, np.abs(grad), taken, 0.4, 1, 2, False, rows, packed)
    assert sample.n_rows == pytest.approx(0.4 * 15_000, rel=0.05)
    assert rows[0, : sample.n_rows].max() < 15_000


def test_bins_of_sampled_documents_are_copied_in_order() -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 256, (2, 100, BLOCK)).astype(np.uint8)
    rows, target = np.flatnonzero(rng.random(100) < 0.3).astype(np.int32), np.zeros((2, 60, BLOCK), np.uint8)
    gather_bins(blocks, rows, 3, target)
    np.testing.assert_array_equal(target[:, : len(rows)], blocks[:, rows])
    assert (target[:, len(rows) :] == 0).all()
