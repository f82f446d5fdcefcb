"""Tree after tree: gradients of the scores so far, a tree that follows them, new scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Floats, Ints
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError
from swaprank.models.forest import Forest
from swaprank.objectives.objective import BoundObjective
from swaprank.threads import run_together, thread_count
from swaprank.trees.binning import Bins, make_bins
from swaprank.trees.document_sampling import draw_sample, gather_bins
from swaprank.trees.growing import Columns, Rules, Workspace, grow, make_workspace
from swaprank.trees.histogram import BLOCK
from swaprank.trees.routing import settle_leaves
from swaprank.trees.tree import GrownTree, Tree, make_tree

_BLOCKS_OF_QUERIES = 200
_WORTH_A_COPY = 0.5
"""A sample of at most this share of the documents is copied, so that its rows lie side by side."""


@final
@dataclass(frozen=True)
class TreeRules:
    """How trees are grown; the names are those of the rankers' parameters."""

    n_leaves: int
    learning_rate: float
    min_docs_in_leaf: int
    l2: float
    min_gain: float
    max_depth: int | None
    max_bins: int
    feature_fraction: float
    query_fraction: float
    document_fraction: float


@final
class Booster:
    """Binned documents, their scores so far, and the workspace that all trees share."""

    def __init__(
        self, data: Dataset, scores: Floats, rules: TreeRules, random_state: int, n_threads: int | None
    ) -> None:
        self.rules = rules
        self.scores = scores
        self.n_threads = thread_count(n_threads)
        self.random_state = random_state
        self.indptr = data.indptr
        self.bins: Bins = make_bins(data.features, data.order, rules.max_bins, random_state, n_threads)
        n_rows = len(data)
        self.work: Workspace = make_workspace(n_rows, len(self.bins.blocks) * BLOCK, rules.n_leaves, self.n_threads)
        self.grad, self.hess = np.zeros(n_rows), np.zeros(n_rows)
        self.packed, self.leaf_of = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int32)
        self.taken = np.ones(n_rows, np.uint8)
        self.copied = np.empty((len(self.bins.blocks), 0, BLOCK), np.uint8)
        """Bins of the sampled documents, where these are few."""

    def add_tree(self, objective: BoundObjective, number: int) -> GrownTree:
        """Grow a tree on the objective's gradients and add its values to the scores."""
        rules = self.rules
        rng = np.random.default_rng((self.random_state, number))
        taken = self._take_queries(number)
        objective.update(self.scores, self.grad, self.hess, taken)
        share = rules.document_fraction * rules.query_fraction
        copy = share <= _WORTH_A_COPY
        sample = draw_sample(
            self.grad, self.hess, self.taken, rules.document_fraction, int(rng.integers(2**62)), self.n_threads, copy,
            self.work.rows, self.packed,
        )  # fmt: skip
        columns = Columns(self.bins.n_bins, self._allowed_features(rng))
        # A gain G² / H is in steps of grad_scale² / hess_scale.
        with np.errstate(over="ignore", under="ignore"):
            unit = float(np.float64(sample.grad_scale) ** 2 / sample.hess_scale)
        if not (np.isfinite(unit) and unit > 0):
            raise DataError("the gradients are too large or too small to be added up: scale the labels or the weights.")
        limits = Rules(
            min_docs=max(1, round(rules.min_docs_in_leaf * share)),
            max_depth=np.iinfo(np.int64).max if rules.max_depth is None else rules.max_depth,
            min_gain=rules.min_gain * unit,
            l2=rules.l2 * sample.hess_scale,
            largest_hessian=sample.largest_hessian,
        )
        tree = make_tree(rules.n_leaves)
        n_leaves = 1
        if sample.n_rows > 0:
            blocks = self._copy_sample(sample.n_rows) if copy else self.bins.blocks
            n_leaves = self._grow(blocks, columns, sample.n_rows, limits, tree)
        values, counts = settle_leaves(
            self.bins.blocks, tree, n_leaves, self.grad, self.hess, self.taken, rules.l2, rules.learning_rate,
            self.n_threads, self.leaf_of, self.scores,
        )  # fmt: skip
        return self._finished(tree, n_leaves, values, counts, unit)

    def _take_queries(self, number: int) -> Bools | None:
        """The queries that a tree learns from, None for all.

        Trees go through shuffled blocks of queries one after the other, then through another shuffle: each query has
        its turn as often as any other. Blocks, because gradients of neighbours are computed in one go.
        """
        if self.rules.query_fraction == 1.0:
            return None
        n_queries = len(self.indptr) - 1
        block = max(1, n_queries // _BLOCKS_OF_QUERIES)
        n_blocks = -(-n_queries // block)
        wanted = max(1, round(self.rules.query_fraction * n_blocks))
        first, last = number * wanted, (number + 1) * wanted
        chosen = np.zeros(n_blocks, np.bool_)
        for shuffle in range(first // n_blocks, (last - 1) // n_blocks + 1):
            order = np.random.default_rng((self.random_state, shuffle)).permutation(n_blocks)
            begin = shuffle * n_blocks
            chosen[order[max(first - begin, 0) : last - begin]] = True
        taken = np.repeat(chosen, block)[:n_queries]
        self.taken[:] = np.repeat(taken, np.diff(self.indptr))
        return taken

    def _allowed_features(self, rng: np.random.Generator) -> Ints:
        allowed = (self.bins.n_bins > 1).astype(np.int64)
        # A feature that is missing in places can be split even if it has one value elsewhere.
        allowed |= self.bins.has_missing
        if self.rules.feature_fraction < 1.0:
            candidates = np.flatnonzero(allowed)
            wanted = min(len(candidates), max(1, round(self.rules.feature_fraction * len(candidates))))
            allowed[:] = 0
            allowed[rng.choice(candidates, wanted, replace=False)] = 1
        return allowed

    def _copy_sample(self, n_rows: int) -> Bytes:
        """The bins of the sampled documents side by side; they are known by their places from now on."""
        if self.copied.shape[1] < n_rows:
            self.copied = np.empty((len(self.bins.blocks), n_rows + n_rows // 20, BLOCK), np.uint8)
        rows = self.work.rows[0, :n_rows]
        gather_bins(self.bins.blocks, rows, self.n_threads, self.copied)
        rows[:] = np.arange(n_rows, dtype=rows.dtype)
        return self.copied

    def _grow(self, blocks: Bytes, columns: Columns, n_rows: int, limits: Rules, tree: Tree) -> int:
        self.work.meeting[:] = 0

        def work(thread: int) -> int:
            return grow(blocks, columns, self.packed, n_rows, limits, self.work, tree, thread, self.n_threads)

        return run_together(work, self.n_threads)[0]

    def _finished(self, tree: Tree, n_leaves: int, values: Floats, counts: Ints, unit: float) -> GrownTree:
        nodes = slice(0, n_leaves - 1)
        feature, cut = tree.feature[nodes].copy(), tree.bin[nodes]
        # The cut above the highest bin parts what is known from what is missing: nothing known exceeds it.
        above = cut >= self.bins.n_bins[feature]
        threshold = self.bins.cuts[feature, np.minimum(cut, 255) - 1]
        threshold = np.where(above, np.finfo(np.float32).max, threshold).astype(np.float32)
        left, right = tree.left[nodes].copy(), tree.right[nodes].copy()
        return GrownTree(
            feature=feature,
            threshold=threshold,
            missing_left=tree.missing_left[nodes].copy(),
            left=left,
            right=right,
            gain=tree.gain[nodes] / unit,
            node_count=documents_at_nodes(left, right, counts),
            leaf_value=values,
            leaf_count=counts,
        )


def documents_at_nodes(left: AnyArray, right: AnyArray, leaf_count: Ints) -> Ints:
    """Documents at each node: those of its leaves, from the last node up, since children come after their parents."""
    counts = np.zeros(len(left), np.int64)
    for node in range(len(left) - 1, -1, -1):
        for child in (left[node], right[node]):
            counts[node] += counts[child] if child >= 0 else leaf_count[~child]
    return counts


def make_forest(trees: list[GrownTree], n_features: int) -> Forest:
    """Trees one after the other, as a forest."""

    def joined(name: str, dtype: type[np.generic]) -> AnyArray:
        parts = [getattr(tree, name) for tree in trees]
        return np.concatenate(parts).astype(dtype) if parts else np.empty(0, dtype)

    return Forest(
        n_features=n_features,
        base_score=0.0,
        tree_nodes=np.concatenate(([0], np.cumsum([len(tree.feature) for tree in trees]))).astype(np.int64),
        tree_leaves=np.concatenate(([0], np.cumsum([len(tree.leaf_value) for tree in trees]))).astype(np.int64),
        feature=joined("feature", np.int32),
        threshold=joined("threshold", np.float32),
        missing_left=joined("missing_left", np.bool_),
        left=joined("left", np.int32),
        right=joined("right", np.int32),
        gain=joined("gain", np.float64),
        node_count=joined("node_count", np.int64),
        leaf_value=joined("leaf_value", np.float64),
        leaf_count=joined("leaf_count", np.int64),
    )
