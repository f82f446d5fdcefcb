"""Gradient boosting: compute the gradients of the current scores, grow a tree on them, update the scores, repeat."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Floats, Ints, read_only
from swaprank.collective import ALONE, Collective, total
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import random_fractions
from swaprank.data.row_values import LARGEST_TERM
from swaprank.errors import DataError
from swaprank.models.category_sets import set_words
from swaprank.models.forest import ARRAYS, Forest
from swaprank.objectives.objective import BoundObjective
from swaprank.threads import run_together, thread_count
from swaprank.trees.binning import Bins, make_bins
from swaprank.trees.category_bins import Layout, category_columns, plain_layout, with_categories
from swaprank.trees.constraints import NO_CONSTRAINTS, Constraints, bounded_values, by_column
from swaprank.trees.document_sampling import DIVERGED, Sample, draw_sample, gather_bins, smoothed_l2, total_sums
from swaprank.trees.growing import grow
from swaprank.trees.histogram import BLOCK
from swaprank.trees.routing import add_leaf_values, left_sets, newton_steps, route_documents, sum_leaves
from swaprank.trees.score_noise import ranking_scores
from swaprank.trees.tree import Tree, make_tree
from swaprank.trees.tree_rules import TreeRules
from swaprank.trees.worker_sums import WorkerSums
from swaprank.trees.workspace import Columns, Limits, Workspace, make_workspace

_VALUES_TO_SHARE = 500_000
"""On fewer feature values, threads wait for each other longer than a thread alone takes."""
_MAX_COPIED_SHARE = 0.5
"""The bins of a sample of at most this share of the documents are copied, so that its rows are adjacent."""
_SMOOTHING_DOCUMENTS = 10.0
"""The smoothing of `best_set_split` in documents of mean hessian."""


@final
@dataclass(frozen=True)
class GrownTree:
    """A tree that was grown: its splits by bins, and the same as a forest of one tree."""

    tree: Tree
    n_leaves: int
    forest: Forest


@final
class Booster:
    """Binned documents, their current scores, and the work arrays of all trees."""

    def __init__(
        self,
        data: Dataset,
        scores: Floats,
        rules: TreeRules,
        random_state: int,
        n_threads: int | None,
        constraints: Constraints = NO_CONSTRAINTS,
        collective: Collective = ALONE,
    ) -> None:
        self.rules = rules
        self.scores = scores
        self.n_threads = thread_count(n_threads) if len(data) * data.n_features >= _VALUES_TO_SHARE else 1
        self.pool = ThreadPoolExecutor(self.n_threads)
        self.random_state = random_state
        self.collective = collective
        self.places = data.places
        self.n_features = data.n_features
        self.bins: Bins = make_bins(data, rules.max_bins, n_threads, collective)
        self.layout: Layout = plain_layout(self.n_features)
        if data.categories:
            columns = category_columns(data, rules.max_bins, random_state, self.n_threads, collective)
            self.bins, self.layout = with_categories(self.bins, columns, collective)
        self.constraints = by_column(constraints, self.layout.feature)
        n_rows, n_columns, n_groups = len(data), len(self.bins.blocks) * BLOCK, len(constraints.groups)
        self.worker_sums = WorkerSums(collective, self.bins.n_bins)
        self.work: Workspace = make_workspace(
            n_rows, n_columns, rules.n_leaves, self.n_threads, self.layout.set_size, n_groups, self.worker_sums.address
        )
        self.worker_sums.work = self.work
        self.grad, self.hess = np.zeros(n_rows), np.zeros(n_rows)
        self.packed, self.leaf_of = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int32)
        self.taken = np.ones(n_rows, np.uint8)
        self.sample_blocks = np.empty((len(self.bins.blocks), 0, BLOCK), np.uint8)
        """Bins of a small sample's documents."""

    def add_tree(self, objective: BoundObjective, number: int, learning_rate: float) -> GrownTree:
        """Grow a tree on the objective's gradients and add its leaf values to the scores."""
        rules = self.rules
        rng = np.random.default_rng((self.random_state, number))
        taken = self._choose_queries(number)
        ranked = ranking_scores(self.scores, self.places, rules.score_noise, self.random_state, number, self.n_threads)
        objective.update(ranked, self.grad, self.hess, taken)
        totals = total_sums(self.grad, self.hess, self.taken, self.places.indptr, self.n_threads, self.collective)
        l2 = smoothed_l2(rules.l2, rules.leaf_smoothing, totals)
        share = rules.document_fraction * rules.query_fraction
        copy = share <= _MAX_COPIED_SHARE
        sample = draw_sample(
            self.grad, self.hess, self.taken, totals, self.places, rules.document_fraction, int(rng.integers(2**62)),
            self.n_threads, copy, self.collective, self.work.rows, self.packed,
        )  # fmt: skip
        columns = Columns(self.bins.n_bins, self.layout.n_columns, self._allowed_columns(rng), self.constraints)
        # The integer gains G² / H are in units of hess_scale / grad_scale².
        with np.errstate(over="ignore", under="ignore"):
            unit = float(np.float64(sample.grad_scale) ** 2 / sample.hess_scale)
        if not (np.isfinite(unit) and unit > 0):
            raise DataError(DIVERGED)
        limits = Limits(
            min_docs=max(1, round(rules.min_docs_in_leaf * share)),
            max_depth=np.iinfo(np.int64).max if rules.max_depth is None else rules.max_depth,
            min_gain=rules.min_gain * unit,
            l2=l2 * sample.hess_scale,
            largest_hessian=sample.largest_hessian,
            **self._noise(sample, copy),
        )
        tree = make_tree(rules.n_leaves, self.layout.set_size)
        n_leaves = 1
        if sample.n_total > 0:
            blocks = self._copy_sample(sample.n_rows) if copy else self.bins.blocks
            n_leaves = self._grow(blocks, columns, sample, limits, tree)
        values, counts = self._fit_leaves(tree, n_leaves, l2, learning_rate)
        add_leaf_values(self.leaf_of, values, self.n_threads, self.scores)
        return GrownTree(tree, n_leaves, self._as_forest(tree, n_leaves, values, counts, unit))

    def add_known_tree(self, grown: GrownTree) -> None:
        """Add the leaf values of a tree that was grown on the same data before to the scores."""
        route_documents(
            self.bins.blocks, self.layout.n_columns, grown.tree, grown.n_leaves, self.n_threads, self.leaf_of
        )
        add_leaf_values(self.leaf_of, grown.forest.leaf_value, self.n_threads, self.scores)

    def _fit_leaves(self, tree: Tree, n_leaves: int, l2: float, learning_rate: float) -> tuple[Floats, Ints]:
        """Leaf values by the exact gradients of all documents taken, and the number of documents in each leaf."""
        route_documents(self.bins.blocks, self.layout.n_columns, tree, n_leaves, self.n_threads, self.leaf_of)
        sums = sum_leaves(self.leaf_of, n_leaves, self.grad, self.hess, self.taken, self.n_threads, self.collective)
        with np.errstate(over="ignore", invalid="ignore"):
            values = newton_steps(sums, l2, learning_rate)
            if len(self.constraints.monotone):
                nodes = slice(0, n_leaves - 1)
                direction = self.constraints.monotone[tree.feature[nodes]]
                values = bounded_values(tree.left[nodes], tree.right[nodes], direction, values, sums.hessian)
        if not (np.abs(values) <= LARGEST_TERM).all():
            raise DataError(DIVERGED)
        return values, sums.n_documents

    def _noise(self, sample: Sample, by_position: bool) -> dict[str, float]:
        """What splits into sets of bins need to know about the rounded gradients of the sample."""
        if self.layout.set_size == 0 or sample.n_total == 0:
            return {"smoothing": 0.0, "noise": 0.0}
        n_rows = sample.n_rows
        packed = self.packed[:n_rows] if by_position else self.packed[self.work.rows[0, :n_rows]]
        # Gradients have at most 24 bits, and their absolute values together at most 31: no square overflows.
        sums = np.array([np.sum(packed & 0xFFFFFFFF), np.sum((packed >> 32) ** 2)])
        self.collective.add(sums)
        hessian, squares = sums.tolist()
        return {
            "smoothing": _SMOOTHING_DOCUMENTS * hessian / sample.n_total,
            "noise": squares / max(1, hessian),
        }

    def _choose_queries(self, number: int) -> Bools | None:
        """The queries that a tree is grown on, or None for all.

        All queries are shuffled, the trees take a fraction of the queries each, one after the other, and then from the
        next shuffle, so that every query is used equally often.
        """
        fraction = self.rules.query_fraction
        if fraction == 1.0:
            return None
        first, last = number * fraction, (number + 1) * fraction
        taken = np.zeros(len(self.places.keys), np.bool_)
        for shuffle in range(int(first), int(last) + 1):
            seed = int(np.random.default_rng((self.random_state, shuffle, 2)).integers(2**62))
            at = shuffle + random_fractions(self.places.keys, seed)
            taken |= (at >= first) & (at < last)
        if total(self.collective, int(taken.sum())) == 0:
            taken[:] = True  # there are few queries
        self.taken[:] = np.repeat(taken, np.diff(self.places.indptr))
        return taken

    def _allowed_columns(self, rng: np.random.Generator) -> Ints:
        allowed = (self.bins.n_bins > 1).astype(np.int64)
        # A feature with one known value can still separate missing values from known ones.
        allowed |= self.bins.has_missing
        if self.rules.feature_fraction < 1.0:
            candidates = np.unique(self.layout.feature[allowed > 0])
            wanted = min(len(candidates), max(1, round(self.rules.feature_fraction * len(candidates))))
            allowed &= np.isin(self.layout.feature, rng.choice(candidates, wanted, replace=False))
        return allowed * self.layout.use

    def _copy_sample(self, n_rows: int) -> Bytes:
        """Copy the bins of the sampled documents next to each other, and renumber the documents by position."""
        if self.sample_blocks.shape[1] < n_rows:
            self.sample_blocks = np.empty((len(self.bins.blocks), n_rows + n_rows // 20, BLOCK), np.uint8)
        rows = self.work.rows[0, :n_rows]
        gather_bins(self.bins.blocks, rows, self.n_threads, self.sample_blocks)
        rows[:] = np.arange(n_rows, dtype=rows.dtype)
        return read_only(self.sample_blocks)

    def _grow(self, blocks: Bytes, columns: Columns, sample: Sample, limits: Limits, tree: Tree) -> int:
        self.work.barrier_state[:] = 0

        def work(thread: int) -> int:
            return grow(
                blocks, columns, self.packed, sample.n_rows, sample.n_total, limits, self.work, tree, thread,
                self.n_threads,
            )  # fmt: skip

        n_leaves = run_together(work, self.n_threads, self.pool)[0]
        self.worker_sums.check()
        return n_leaves

    def _as_forest(self, tree: Tree, n_leaves: int, values: Floats, counts: Ints, unit: float) -> Forest:
        """The tree with thresholds and sets of categories instead of bins, as a forest of one tree."""
        nodes = slice(0, n_leaves - 1)
        column, cut = tree.feature[nodes], tree.bin[nodes]
        feature = self.layout.feature[column].astype(np.int32)
        # The cut above the highest bin separates known from missing values: no known value exceeds it.
        above = cut >= self.bins.n_bins[column]
        threshold = self.bins.cuts[feature, np.minimum(cut, 255) - 1]
        threshold = np.where(above, np.finfo(np.float32).max, threshold).astype(np.float32)
        left, right = tree.left[nodes], tree.right[nodes]
        missing_left = tree.missing_left[nodes].copy()
        words = [np.empty(0, np.uint32)] * (n_leaves - 1)
        goes_left = left_sets(tree, n_leaves) if self.layout.categories else None
        for node in range(n_leaves - 1):
            numbers = self.layout.categories.get(int(column[node]))
            if numbers is not None and goes_left is not None:
                *categories, missing_left[node] = goes_left[node, numbers]
                # Training that is continued may have new categories: they go where missing values go.
                words[node] = set_words(np.array(categories, np.bool_), others=missing_left[node])
                threshold[node] = 0.0
        return Forest(
            n_features=self.n_features,
            base_score=0.0,
            tree_nodes=np.array([0, n_leaves - 1]),
            tree_leaves=np.array([0, n_leaves]),
            feature=feature,
            threshold=threshold,
            missing_left=missing_left,
            left=left,
            right=right,
            gain=tree.gain[nodes] / unit,
            node_count=count_at_nodes(left, right, counts),
            leaf_value=values,
            leaf_count=counts,
            n_words=np.array([len(each) for each in words], np.int32),
            words=np.concatenate((np.empty(0, np.uint32), *words)),
        )


def count_at_nodes(left: AnyArray, right: AnyArray, leaf_count: Ints) -> Ints:
    """Sum the leaves' documents at each node, from the last node up, because children come after their parents."""
    counts, in_leaf, children = [0] * len(left), leaf_count.tolist(), (left.tolist(), right.tolist())
    for node in range(len(left) - 1, -1, -1):
        for child in (children[0][node], children[1][node]):
            counts[node] += counts[child] if child >= 0 else in_leaf[~child]
    return np.array(counts, np.int64)


def make_forest(trees: Sequence[Forest], n_features: int) -> Forest:
    """Join forests of one tree each."""
    arrays: dict[str, AnyArray] = {}
    for name, (dtype, owner) in ARRAYS.items():
        parts = [getattr(tree, name) for tree in trees]
        if owner == "tree":
            arrays[name] = np.cumsum([0, *(part[-1] for part in parts)], dtype=dtype)
        else:
            arrays[name] = np.concatenate([np.empty(0, dtype), *parts])
    return Forest(n_features=n_features, base_score=0.0, **arrays)
