"""Gradient boosting: gradients of the scores, a tree grown on them, new scores; and new leaf values for known trees."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Floats, Ints, read_only
from swaprank.collective import ALONE, Collective, total
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import Places, hash_places, query_keys, random_fractions
from swaprank.data.row_values import LARGEST_TERM
from swaprank.elementary import log
from swaprank.errors import DataError
from swaprank.kernels import kernel
from swaprank.models.forest import Forest
from swaprank.models.tree_walk import tree_leaves
from swaprank.objectives.objective import BoundObjective, document_weights
from swaprank.threads import row_chunks, run_in_threads, run_together, thread_count
from swaprank.trees.binning import Bins, Layout, category_columns, make_bins, plain_layout, with_categories
from swaprank.trees.constraints import NO_CONSTRAINTS, Constraints, bounded_values, by_column
from swaprank.trees.document_sampling import (
    DIVERGED,
    Glance,
    Sample,
    Totals,
    draw_sample,
    gather_bins,
    make_glance,
    sampled_fraction,
    smoothed_l2,
    total_sums,
)
from swaprank.trees.growing import grow
from swaprank.trees.histogram import BLOCK
from swaprank.trees.routing import add_leaf_values, newton_steps, route_documents, sum_leaves
from swaprank.trees.symmetric_growing import grow_symmetric
from swaprank.trees.tree import Tree, as_forest, make_tree
from swaprank.trees.tree_rules import TreeRules
from swaprank.trees.worker_sums import WorkerSums
from swaprank.trees.workspace import Columns, Limits, Workspace, make_workspace

_VALUES_TO_SHARE = 1_000_000
"""On fewer feature values, threads wait for each other longer than a thread alone takes."""
_MAX_COPIED_SHARE = 0.5
"""The bins of a sample of at most this share of the documents are copied, so that its rows are adjacent."""


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
        self.n_leaves = int(np.max(rules.n_leaves))
        self.weights = self._weights(data)
        """Of documents in least-squares splits; empty for other splits."""
        self.worker_sums = WorkerSums(collective, self.bins.n_bins, self.layout.n_columns)
        self.work: Workspace = make_workspace(
            n_rows, self.bins.n_bins, n_columns, self.n_leaves, self.n_threads, self.layout.set_size, n_groups,
            self.worker_sums.messages,
        )  # fmt: skip
        self.worker_sums.work = self.work
        self.grad, self.hess = np.zeros(n_rows), np.zeros(n_rows)
        self.packed, self.leaf_of = np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int32)
        self.feature_keys = query_keys(np.arange(1, self.n_features + 1))[self.layout.feature]
        """A hash of the feature's number, for each column."""
        self.taken = np.ones(n_rows, np.uint8)
        self.queries: Bools | None = None
        """The queries to learn from; None: all."""
        self.worker_sizes = collective.gather(np.array([n_rows, len(self.places.keys)]))
        """The documents and the queries of each worker."""
        self.n_learned = self.n_taken = int(self.worker_sizes[:, 0].sum())
        """The documents to learn from, and those that this tree learns from."""
        self.sample_blocks = np.empty((len(self.bins.blocks), 0, BLOCK), np.uint8)
        """Bins of a small sample's documents."""

    def _weights(self, data: Dataset) -> Floats:
        if self.rules.split != "least_squares":
            return np.empty(0)
        given = document_weights(data)
        return given if len(given) else np.ones(len(data))

    def add_tree(
        self, objective: BoundObjective, number: int, learning_rate: float, max_leaves: int | None = None
    ) -> GrownTree:
        """Grow a tree on the objective's gradients and add its leaf values to the scores."""
        rules, max_leaves = self.rules, self.n_leaves if max_leaves is None else max_leaves
        rng = np.random.default_rng((self.random_state, number))
        taken = self._choose_queries(number)
        ranked = ranking_scores(self.scores, self.places, rules.score_noise, self.random_state, number, self.n_threads)
        objective.update(ranked, self.grad, self.hess, taken)
        seed = int(rng.integers(2**62))
        fraction = sampled_fraction(rules.document_fraction, self.n_taken)
        glance = make_glance(self.n_taken, seed, *self.worker_sizes.T) if fraction < 1.0 else None
        least_squares = len(self.weights) > 0
        totals, some = self._total_sums(self.hess, None if least_squares else glance)
        l2 = smoothed_l2(rules.l2, rules.leaf_smoothing, totals)
        # Least-squares splits: weights take the place of hessians, also in the size of the regularization.
        curvature, split_totals, split_l2 = self.hess, totals, l2
        if least_squares:
            curvature = self.weights
            split_totals, some = self._total_sums(curvature, glance)
            split_l2 = l2 * split_totals.hessian / totals.hessian if totals.hessian > 0 else 0.0
        share = fraction * rules.query_fraction
        copy = share <= _MAX_COPIED_SHARE
        sample = draw_sample(
            self.grad, curvature, self.taken, split_totals, some, self.places, fraction, seed, self.n_threads, copy,
            self.collective, self.work.rows, self.packed, least_squares,
        )  # fmt: skip
        columns = Columns(
            self.bins.n_bins, self.layout.n_columns, self._allowed_columns(rng), self.constraints, self.feature_keys
        )
        # The integer gains G² / H (or G² / n) are in units of hess_scale / grad_scale².
        with np.errstate(over="ignore", under="ignore"):
            unit = float(np.float64(sample.grad_scale) ** 2 / sample.hess_scale)
        if not (np.isfinite(unit) and unit > 0):
            raise DataError(DIVERGED)
        limits = Limits(
            max_leaves=max_leaves,
            min_docs=max(1, round(rules.min_docs_in_leaf * share)),
            max_depth=np.iinfo(np.int64).max if rules.max_depth is None else rules.max_depth,
            min_gain=rules.min_gain * unit,
            l2=split_l2 * sample.hess_scale,
            largest_hessian=sample.largest_hessian,
            split_noise=rules.split_noise,
            noise_seed=int(np.random.default_rng((self.random_state, number, 3)).integers(2**62)),
            squares=self._squares(sample, copy),
        )
        tree = make_tree(max_leaves, self.layout.set_size)
        n_leaves = 1
        if sample.n_total > 0:
            blocks = self._copy_sample(sample.n_rows) if copy else self.bins.blocks
            n_leaves = self._grow(blocks, columns, sample, limits, tree)
        values, counts = self._fit_leaves(tree, n_leaves, l2, learning_rate)
        add_leaf_values(self.leaf_of, values, self.n_threads, self.scores)
        forest = as_forest(tree, n_leaves, self.n_features, self.bins, self.layout, values, counts, unit)
        return GrownTree(tree, n_leaves, forest)

    def learn_from(self, queries: Bools | None) -> None:
        """Learn from these queries from now on, or from all. Trees give scores to all of them in any case."""
        self.queries = queries
        self.taken[:] = 1 if queries is None else np.repeat(queries, np.diff(self.places.indptr))
        self.n_learned = self.n_taken = total(self.collective, int(self.taken.sum()))

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

    def _squares(self, sample: Sample, by_position: bool) -> int:
        """The sum of the squares of the sample's rounded gradients, of this worker; 0 if nobody asks for it."""
        if self.layout.set_size == 0 and self.rules.split_noise == 0:
            return 0
        n_rows = sample.n_rows
        packed = self.packed[:n_rows] if by_position else self.packed[self.work.rows[0, :n_rows]]
        # Gradients have at most 24 bits, and their absolute values together at most 31: no square overflows.
        return int(np.sum((packed >> 32) ** 2))

    def _choose_queries(self, number: int) -> Bools | None:
        """The queries that a tree is grown on, or None for all.

        All queries are shuffled, the trees take a fraction of the queries each, one after the other, and then from the
        next shuffle, so that every query is used equally often.
        """
        fraction = self.rules.query_fraction
        if fraction == 1.0:
            return self.queries
        first, last = number * fraction, (number + 1) * fraction
        taken = np.zeros(len(self.places.keys), np.bool_)
        for shuffle in range(int(first), int(last) + 1):
            seed = int(np.random.default_rng((self.random_state, shuffle, 2)).integers(2**62))
            at = shuffle + random_fractions(self.places.keys, seed)
            taken |= (at >= first) & (at < last)
        allowed = True if self.queries is None else self.queries
        taken &= allowed
        lengths = np.diff(self.places.indptr)
        self.n_taken = total(self.collective, int(lengths[taken].sum()))
        if self.n_taken == 0:  # there are few queries
            taken[:] = allowed
            self.n_taken = self.n_learned
        self.taken[:] = np.repeat(taken, lengths)
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

    def _total_sums(self, curvature: Floats, glance: Glance | None) -> tuple[Totals, Floats]:
        return total_sums(self.grad, curvature, self.taken, self.places, self.n_threads, self.collective, glance)

    def _grow(self, blocks: Bytes, columns: Columns, sample: Sample, limits: Limits, tree: Tree) -> int:
        self.work.barrier_state[:] = 0
        grow_tree = grow_symmetric if self.rules.grow_policy == "symmetric" else grow

        def work(thread: int) -> int:
            return grow_tree(
                blocks, columns, self.packed, sample.n_rows, sample.n_total, limits, self.work, tree, thread,
                self.n_threads,
            )  # fmt: skip

        n_leaves = run_together(work, self.n_threads, self.pool)[0]
        self.worker_sums.check()
        return n_leaves


def ranking_scores(
    scores: Floats, places: Places, scale: float, random_state: int, number: int, n_threads: int
) -> Floats:
    """The scores that tree `number` takes its gradients from: the same noise for any number of threads or workers.

    The ranks of a list, and so the pairs that weigh most, depend on small differences of the scores, which a few
    documents decide. With Gumbel noise of scale b, the list is instead a sample from the Plackett-Luce distribution
    with the weights exp(score / b), another one for each tree, so that the trees maximize the metric expected over
    random orders [Lyzhin2023]. This holds for every objective, because the noise is added before it.
    """
    if scale == 0.0:
        return scores
    seed = int(np.random.default_rng((random_state, number, 1)).integers(2**62))
    bits, noisy = np.empty(len(scores), np.uint64), np.empty(len(scores))

    def add(start: int, stop: int) -> None:
        hash_places(places, seed, start, stop, bits)
        add_noise(scores, scale, bits, start, stop, noisy)

    run_in_threads(add, row_chunks(len(scores), n_threads))
    return noisy


@kernel
def add_noise(scores: Floats, scale: float, bits: AnyArray, start: int, stop: int, noisy: Floats) -> None:
    """Add the noise of the rows from start to stop: -log(-log(u)) of a uniform u is Gumbel-distributed."""
    for row in range(start, stop):
        uniform = (np.float64(bits[row] >> np.uint64(12)) + 0.5) / 2.0**52
        noisy[row] = scores[row] - scale * log(-log(uniform))


def refitted_values(
    forest: Forest,
    learning_rates: Sequence[float],
    data: Dataset,
    scores: Floats,
    objective: BoundObjective,
    rules: TreeRules,
    decay_rate: float,
    monotone: Ints,
    n_threads: int | None,
    gradients_at: Callable[[int, Floats], Floats],
) -> Floats:
    """The leaf values of all trees, one tree after the other: `decay_rate` x old + (1 - `decay_rate`) x new value.

    A leaf that no document reaches keeps its value. There is one learning rate per tree. `scores` are what the first
    tree starts from, grouped by query, and in the end what the trees with the new values give. `monotone` has the
    direction of each feature, or nothing. `gradients_at` gives the scores at which a tree, counted from 0, takes its
    gradients.
    """
    threads = thread_count(n_threads)
    grad, hess, taken = np.zeros(len(data)), np.zeros(len(data)), np.ones(len(data), np.uint8)
    fitted = []
    for tree, learning_rate in enumerate(learning_rates):
        objective.update(gradients_at(tree, scores), grad, hess)
        one = forest.part(tree, tree + 1)
        leaf_of = np.ascontiguousarray(data.by_query(tree_leaves(one, data, threads)))
        totals, _ = total_sums(grad, hess, taken, data.places, threads, ALONE)
        sums = sum_leaves(leaf_of, len(one.leaf_value), grad, hess, taken, threads, ALONE)
        steps = newton_steps(sums, smoothed_l2(rules.l2, rules.leaf_smoothing, totals), learning_rate)
        values = np.where(
            sums.n_documents > 0, decay_rate * one.leaf_value + (1.0 - decay_rate) * steps, one.leaf_value
        )
        if len(monotone):
            values = bounded_values(one.left, one.right, monotone[one.feature], values, sums.hessian)
        if not (np.abs(values) <= LARGEST_TERM).all():
            raise DataError(DIVERGED)
        add_leaf_values(leaf_of, values, threads, scores)
        fitted.append(values)
    return np.concatenate([np.empty(0), *fitted])
