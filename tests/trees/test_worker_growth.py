"""Trees of workers that are threads: the bytes of one process, what plain Python grows, and few messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import swaprank as sr
from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.collective import ALONE, Collective
from swaprank.models.forest import ARRAYS, Forest
from swaprank.trees import boosting, document_sampling
from swaprank.trees.boosting import Booster
from swaprank.trees.constraints import NO_CONSTRAINTS, Constraints
from swaprank.trees.document_sampling import Sample, draw_sample, make_glance, sampled_fraction
from swaprank.trees.worker_sums import WorkerSums, column_owners
from swaprank.trees.workspace import N_RECOUNTED
from tests.trees.test_growing import Fixed, leaf_numbers, naive_best, random_problem, rules
from tests.workers import run_workers

LIST = 4
"""Documents of a query."""


@pytest.fixture(autouse=True, scope="module")
def _threads_for_small_data() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "_VALUES_TO_SHARE", 0)
        yield


class Problem:
    """Documents with gradients, dealt to workers by query."""

    def __init__(self, X: AnyArray, grad: Floats, hess: Floats, n_sets: int = 0, seed: int = 0) -> None:
        names = [f"f{f}" for f in range(X.shape[1])]
        rng = np.random.default_rng(seed)
        self.grad, self.hess = grad, hess
        self.data = sr.Dataset(
            X,
            rng.integers(0, 3, len(X)),
            qid=np.arange(len(X)) // LIST,
            sample_weight=rng.random(len(X)) + 0.1,
            feature_names=names,
            categorical_features=names[:n_sets],
        )

    def grow(
        self,
        size: int,
        n_threads: int = 1,
        n_trees: int = 1,
        constraints: Constraints = NO_CONSTRAINTS,
        counts: list[Counting] | None = None,
        **options: Any,
    ) -> list[list[Forest]]:
        """The trees that each worker gets."""
        n_queries = len(self.grad) // LIST
        owner = np.random.default_rng(size).integers(min(1, size - 1), size, n_queries)
        owner[:size] = np.arange(size)  # The first worker has a single query.
        owner = owner if size > 1 else np.zeros(n_queries, np.int64)

        def work(collective: Collective) -> list[Forest]:
            mine = owner == collective.rank
            rows = np.repeat(mine, LIST)
            data = self.data if size == 1 else self.data.subset(mine)
            counting = Counting(collective)
            booster = Booster(data, np.zeros(len(data)), rules(**options), 3, n_threads, constraints, counting)
            objective, trees = Fixed(self.grad[rows], self.hess[rows]), []
            for number in range(1, n_trees + 1):
                counting.calls = counting.moved = 0
                trees.append(booster.add_tree(objective, number, 0.5).forest)
                if counts is not None and collective.rank == 0:
                    counts.append(Counting(ALONE, counting.calls, counting.moved))
            return trees

        return run_workers(work, size)


@final
class Counting(Collective):
    """Another collective, whose messages are counted."""

    def __init__(self, inner: Collective, calls: int = 0, moved: float = 0.0) -> None:
        self.inner, self.rank, self.size = inner, inner.rank, inner.size
        self.calls, self.moved = calls, moved
        """Messages, and the bytes that a worker sends if each range is added up by its owner."""

    def add(self, values: Ints) -> None:
        self.calls += 1
        self.moved += 2 * values.nbytes * (self.size - 1) / self.size
        self.inner.add(values)

    def add_own(self, values: Ints, ends: Ints) -> None:
        assert len(ends) == self.size
        assert ends[-1] == len(values)
        self.calls += 1
        self.moved += values.nbytes * (self.size - 1) / self.size
        before = values.copy()
        self.inner.add_own(values, ends)
        # Nothing else may be read.
        start = ends[self.rank - 1] if self.rank else 0
        others = np.ones(len(values), np.bool_)
        others[start : ends[self.rank]] = self.size == 1
        values[others] = before[others][::-1]

    def gather(self, values: Ints) -> Ints:
        self.calls += 1
        self.moved += values.nbytes * (self.size - 1)
        return self.inner.gather(values)


def assert_same(trees: list[Forest], others: list[Forest]) -> None:
    for tree, other in zip(trees, others, strict=True):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(tree, name), getattr(other, name), name)


@st.composite
def configurations(draw: st.DrawFn) -> tuple[Problem, dict[str, Any]]:
    seed, n = draw(st.integers(0, 10**6)), LIST * draw(st.integers(6, 80))
    n_features, policy = draw(st.integers(1, 20)), draw(st.sampled_from(["leafwise", "symmetric"]))
    X, grad, hess = random_problem(seed, n, n_features, draw(st.sampled_from([0.0, 0.2])))
    rng = np.random.default_rng(seed)
    if draw(st.booleans()):
        hess *= np.where(rng.random(n) < 0.05, 1000.0, 1.0)  # Few hessians tell how many documents there are.
    if draw(st.booleans()):
        X = np.round(X + rng.normal(size=X.shape), 1).astype(np.float32)
    n_sets = 0
    constraints = NO_CONSTRAINTS
    if policy == "leafwise":
        n_sets = draw(st.integers(0, min(2, n_features)))
        X[:, :n_sets] = rng.zipf(1.3, (n, n_sets)) % draw(st.sampled_from([5, 40, 400]))
        monotone = rng.integers(-1, 2, n_features) * (np.arange(n_features) >= n_sets)
        groups = (rng.random((3, n_features)) < 0.6).astype(np.uint8)
        constraints = Constraints(
            monotone if draw(st.booleans()) else NO_CONSTRAINTS.monotone,
            groups if draw(st.booleans()) else NO_CONSTRAINTS.groups,
        )
    options = {
        "grow_policy": policy,
        "constraints": constraints,
        "n_leaves": draw(st.integers(2, 60)),
        "min_docs_in_leaf": draw(st.sampled_from([1, 2, 5, 20, n // 5])),
        "max_depth": draw(st.sampled_from([None, 1, 3, 6])),
        "min_gain": draw(st.sampled_from([0.0, 0.05])),
        "l2": draw(st.sampled_from([0.0, 2.0])),
        "split": draw(st.sampled_from(["newton", "least_squares"])),
        "split_noise": draw(st.sampled_from([0.0, 0.0, 0.7])),
        "max_bins": draw(st.sampled_from([3, 255])),
        "document_fraction": draw(st.sampled_from([1.0, 0.6, 0.3])),
        "query_fraction": draw(st.sampled_from([1.0, 1.0, 0.5])),
        "feature_fraction": draw(st.sampled_from([1.0, 1.0, 0.5])),
    }
    return Problem(X, grad, hess, n_sets, seed), options


@settings(max_examples=60, deadline=None)
@given(configurations(), st.sampled_from([2, 3, 5]), st.integers(1, 3))
def test_workers_and_threads_grow_the_trees_of_one_process(
    drawn: tuple[Problem, dict[str, Any]], size: int, n_threads: int
) -> None:
    problem, options = drawn
    (alone,) = problem.grow(1, 1, n_trees=2, **options)
    for trees in problem.grow(size, n_threads, n_trees=2, **options):
        assert_same(trees, alone)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_too_few_documents_are_found_out_later_and_change_no_tree(
    noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, grad, hess = random_problem(5, n=2000, d=6)
    X = X + np.random.default_rng(0).normal(size=X.shape).astype(np.float32)
    heavy = np.arange(2000) % 50 == 0
    problem = Problem(X, grad * np.where(heavy, 30.0, 1.0), hess * np.where(heavy, 30.0, 0.01))
    options: dict[str, Any] = {"n_leaves": 30, "min_docs_in_leaf": 25, "split_noise": noise}
    (alone,) = problem.grow(1, **options)
    recounted, call = list[int](), WorkerSums._call

    def noting(sums: WorkerSums, what: int, n_sums: int) -> None:
        recounted.append(int(sums.work.sizes[N_RECOUNTED]))
        call(sums, what, n_sums)

    monkeypatch.setattr(WorkerSums, "_call", noting)
    for trees in problem.grow(3, **options):
        assert_same(trees, alone)
    assert alone[0].leaf_count.min() >= 25
    assert max(recounted) > 0


def naive_leaves(X: AnyArray, grad: Floats, hess: Floats, n_leaves: int, min_docs: int) -> list[list[int]]:
    """The documents of each leaf if always the leaf with the largest gain is split, tried in plain Python."""
    leaves = [np.arange(len(X))]
    best = [naive_best(X, grad, hess, min_docs, 0.5)]
    while len(leaves) < n_leaves:
        at = int(np.argmax([split[0] for split in best]))
        gain, feature, threshold, missing_left = best[at]
        if gain == 0.0:
            break
        x = X[leaves[at], feature]
        left = np.where(np.isnan(x), missing_left, x <= threshold)
        parts = leaves[at][left], leaves[at][~left]
        leaves[at : at + 1] = parts
        best[at : at + 1] = [naive_best(X[part], grad[part], hess[part], min_docs, 0.5) for part in parts]
    return sorted(leaf.tolist() for leaf in leaves)


@pytest.mark.parametrize("min_docs", [1, 12])
@pytest.mark.parametrize("seed", range(4))
def test_leaves_that_are_split_ahead_are_those_with_the_largest_gains(seed: int, min_docs: int) -> None:
    X, grad, hess = random_problem(seed, n=240, d=4)
    problem = Problem(X, grad, hess)
    for trees in problem.grow(2, n_leaves=14, min_docs_in_leaf=min_docs, l2=0.5):
        numbers = np.array(leaf_numbers(trees[0], X))
        found = sorted(np.flatnonzero(numbers == leaf).tolist() for leaf in np.unique(numbers))
        assert found == naive_leaves(X, grad, hess, 14, min_docs)


@pytest.mark.parametrize("policy", ["leafwise", "symmetric"])
def test_a_tree_takes_few_messages_and_bytes(policy: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 24), dtype=np.float32)
    signal = np.tanh(X[:, :8]).sum(axis=1) + 2 * (X[:, 0] * X[:, 1] > 0.5) + X[:, 9] * X[:, 10]
    problem = Problem(X, rng.normal(size=len(X)) - signal, np.ones(len(X)))
    counts: list[Counting] = []
    options: dict[str, Any] = {"grow_policy": policy, "n_leaves": 63, "min_docs_in_leaf": 20, "document_fraction": 0.5}
    trees = problem.grow(2, n_trees=3, counts=counts, **options)[0]
    assert {len(tree.leaf_value) for tree in trees} == {63}
    # A message after the round asks whether anybody wants to stop.
    assert max(each.calls for each in counts) + 1 <= 20
    # A histogram that is sent to everyone for each split, as if one after the other.
    histogram = X.shape[1] * 256 * 8
    assert max(each.moved for each in counts) < 0.65 * 62 * histogram + 400_000


@pytest.mark.parametrize("n_workers", [1, 2, 3, 7, 40])
def test_workers_own_about_as_many_bins_and_whole_sets(n_workers: int) -> None:
    rng = np.random.default_rng(n_workers)
    for n in (1, 2, 5, 30, 200):
        n_bins, together = rng.integers(1, 256, n), np.ones(n, np.int64)
        if n >= 30:
            together[20] = 7
        owners = column_owners(n_bins, together, n_workers)
        assert owners[0] == 0
        assert owners[-1] == n
        assert len(owners) == n_workers + 1
        assert (np.diff(owners) >= 0).all()
        assert not set(owners.tolist()) & (set(range(21, 27)) if n >= 30 else set())
        if n == 200:
            bins = np.add.reduceat(n_bins + 1, owners[:-1]) if n_workers < 40 else np.zeros(1)
            assert bins.max() <= (n_bins + 1).sum() / n_workers + 7 * 256


def test_a_sample_is_never_larger_than_what_can_be_summed() -> None:
    for n in (10**6, 2**29, 2**31, 2**33, 10**13):
        for total in (1e-9, 1.0, 1e12):
            n_rows = round(sampled_fraction(1.0, n) * n)
            scale = document_sampling._scale(total, total / n_rows, n_rows, False)
            assert scale > 0
            # Rounded up everywhere, the sum still has 31 bits.
            assert total * scale + n_rows < 2**31


def test_a_large_sample_is_smaller_than_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    X, grad, hess = random_problem(0, n=4000)
    samples: list[Sample] = []

    def noting(*arguments: Any) -> Sample:
        samples.append(draw_sample(*arguments))
        return samples[-1]

    monkeypatch.setattr(boosting, "draw_sample", noting)
    monkeypatch.setattr(document_sampling, "_LARGEST_SAMPLE", 500)
    ((tree,),) = Problem(X, grad, hess).grow(1, n_leaves=20, min_docs_in_leaf=40)
    assert samples[0].n_total == pytest.approx(500, rel=0.2)
    # As with a fraction of the documents, fewer sampled ones are enough for a leaf.
    assert len(tree.leaf_value) == 20


@pytest.mark.parametrize("room", [0, 1, 40])
def test_workers_that_find_more_gradients_than_there_is_room_for_send_them_again(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = Problem(*random_problem(3, n=400, d=5))
    options: dict[str, Any] = {"document_fraction": 0.4, "n_leaves": 8, "min_docs_in_leaf": 5, "n_trees": 3}
    expected = problem.grow(1, **options)[0]
    monkeypatch.setattr(boosting, "make_glance", lambda *sizes: make_glance(*sizes)._replace(room=room))
    for trees in problem.grow(3, **options):
        assert_same(trees, expected)


def test_a_look_at_some_gradients_is_small_however_many_queries_there_are() -> None:
    for n_workers in (2, 16, 256):
        n_rows, n_queries = np.full(n_workers, 10**10 // n_workers), np.full(n_workers, 10**8 // n_workers)
        glance = make_glance(10**10, 7, n_rows, n_queries)
        # A document is found with this probability, independently of those of other queries.
        found = np.random.default_rng(n_workers).poisson(n_rows / glance.every, (1000, n_workers))
        assert (found <= glance.room).all()
        assert glance.room < 2.1 * 10**10 / n_workers / glance.every + 40
