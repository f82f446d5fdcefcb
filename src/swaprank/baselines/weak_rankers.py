"""Weak rankers, and the boosting of them: 1 where a feature exceeds a threshold, else 0 [Freund2003, section 3.2].

For weights W of the pairs, i better than j, a weak ranker h is worth  r = sum of W (h(x_i) - h(x_j)). With a potential
of each document

    p_d = sum of W over its pairs as the better one  -  sum of W over its pairs as the worse one

r is the sum of p_d over the documents with h = 1: one histogram of potentials per feature has the r of all
thresholds. Potentials are summed as integers, which gives the same sums in any order.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats
from swaprank.baselines.pair_shares import AVERAGES, Average
from swaprank.data.dataset import Dataset
from swaprank.elementary import log
from swaprank.models.forest import Forest, join_forests
from swaprank.parameters import parameter
from swaprank.rankers.forest_methods import ForestMethods
from swaprank.rankers.learned import Capabilities, found
from swaprank.rankers.rounds import Measured, Progress, run_rounds
from swaprank.rankers.shared_parameters import EarlyStopping, RandomChoices
from swaprank.rankers.training import FitRequest, TrainableRanker, Trained, base_model
from swaprank.seeds import RandomState
from swaprank.threads import run_strided, thread_count
from swaprank.trees.binning import Bins, make_bins
from swaprank.trees.histogram import BINS, BLOCK, add_rows
from swaprank.trees.routing import add_tree_scores
from swaprank.trees.tree import make_forest

_NOTHING = 1e-12
"""A weak ranker that is worth a smaller share of all weights is worth nothing but rounding errors."""
_LARGEST_ALPHA = 7.0
"""Limits the value of a weak ranker that is never wrong."""


class WeakRanker(NamedTuple):
    """1 where the bin of a feature is above the last bin of 0, else 0; missing values, bin 0, are 0 or 1."""

    feature: int
    last_bin: int
    missing: bool
    worth: float
    """The r above."""

    def __call__(self, bins: Bins) -> Bools:
        """Return True for the documents that are 1."""
        own = bins.blocks[self.feature // BLOCK, :, self.feature % BLOCK]
        is_one: Bools = own > self.last_bin
        return is_one | (own == 0) if self.missing else is_one


def best_weak_ranker(bins: Bins, potentials: Floats, n_threads: int | None) -> WeakRanker:
    """Return the weak ranker with the largest absolute worth."""
    n_rows, n_features = len(potentials), len(bins.cuts)
    shift = 61 - int(np.frexp(np.sum(np.abs(potentials)))[1])  # their sum has 61 bits
    packed, rows = np.rint(np.ldexp(potentials, shift)).astype(np.int64), np.arange(n_rows, dtype=np.int32)
    sums = np.zeros((len(bins.blocks), BLOCK * BINS), np.int64)
    run_strided(
        lambda b: add_rows(bins.blocks[b], rows, 0, n_rows, packed, sums[b]), len(sums), thread_count(n_threads)
    )
    of_bin = sums.reshape(-1, BINS)[:n_features]
    above = of_bin[:, 1:].sum(axis=1)[:, None] - np.cumsum(of_bin, axis=1) + of_bin[:, :1]
    # Bins above the last one of a feature are empty. If values are missing, they alone may be 1.
    last = np.arange(BINS)
    above[(last < 1) | (last >= bins.n_bins[:, None])] = 0
    with_missing = np.where((last >= 1) & (last <= bins.n_bins[:, None]), above + of_bin[:, :1], 0)
    with_missing[bins.has_missing == 0] = 0
    worth = np.stack((above, with_missing))
    missing, feature, last_bin = np.unravel_index(int(np.abs(worth).argmax()), worth.shape)
    best = np.ldexp(float(worth[missing, feature, last_bin]), -shift)
    return WeakRanker(int(feature), int(last_bin), bool(missing), float(best))


def half_log_odds(right: float, wrong: float) -> float:
    """Return 1/2 ln(right / wrong), limited where nothing is wrong, or nothing is right.

    >>> from swaprank.baselines.weak_rankers import half_log_odds
    >>> round(half_log_odds(0.9, 0.1), 4), half_log_odds(0.2, 0.0)
    (1.0986, 7.0)
    """
    if right <= 0.0 or wrong <= 0.0:
        return _LARGEST_ALPHA if right > wrong else -_LARGEST_ALPHA
    return min(max(0.5 * log(right / wrong), -_LARGEST_ALPHA), _LARGEST_ALPHA)


class Weighed(NamedTuple):
    """The pairs of a data set, weighed at some scores."""

    loss: float
    """The loss that boosting lowers."""
    total: float
    """The sum of the weights of all pairs."""
    potentials: Floats


class PairWeights(ABC):
    """The weights of the pairs of a data set, for any scores."""

    @abstractmethod
    def at(self, scores: Floats) -> Weighed:
        """Return the weights at these scores."""

    @abstractmethod
    def alpha(self, scores: Floats, weighed: Weighed, worth: float, is_one: Bools) -> float:
        """Return the factor of a weak ranker."""


class WeakRankerBoosting(EarlyStopping, RandomChoices, ForestMethods, TrainableRanker):
    """A weighted sum of weak rankers, as a forest of trees with one split each."""

    can: ClassVar[Capabilities] = Capabilities(models=(Forest,), rounds_parameter="n_rounds", needs="order")
    n_rounds: int = parameter(
        default=300, low=0, high=10**7, tuned_at=1000, text="Maximum number of rounds: of weak rankers."
    )
    average: Average = parameter(
        default="pairs",
        words=AVERAGES,
        tune=[*AVERAGES],
        text='"pairs": all pairs have the same weight at first. "queries": all queries have.',
    )
    max_bins: int = parameter(
        default=255,
        low=2,
        high=255,
        tune=(8, 255),
        also="max_bin border_count",
        text="Maximum number of bins per feature: thresholds are between bins.",
    )
    early_stopping_rounds: int | None = parameter(default=None, tuned_at=100)
    base_ranker: Any = parameter(default=None, text="A fitted ranker of trees, to which weak rankers are added.")
    random_state: RandomState = parameter(
        default=0, text="Seed of the sample of rows that thresholds are found from, if there are more than 200,000."
    )

    losses_ = found(lambda losses: [float(loss) for loss in losses])
    """The training loss before the first round, and after every round."""

    @abstractmethod
    def _pair_weights(self, data: Dataset) -> PairWeights:
        """Return the weights of the pairs of a data set."""

    def _fit(self, request: FitRequest) -> Trained:
        data, valid, metrics, base, callbacks, *_ = request
        start = None if base is None else base_model(base, Forest, "a fitted ranker of trees", data.n_features)

        def start_scores(other: Dataset) -> Floats:
            zero = np.zeros(len(other)) if start is None else self._scores_by(start, other)
            return self._plus_base_score(zero, other)

        measured = Measured(valid, metrics, start_scores, self.n_threads)
        if start is not None or data.base_score is not None:
            measured.measure_start()
        trees, losses, interrupted = self._boost(data, np.array(data.by_query(start_scores(data))), measured, callbacks)
        measured.drop_partial_round()
        kept = len(trees) if measured.best_round is None else measured.best_round
        forest = make_forest(trees[:kept], data.n_features)
        model = forest if start is None else join_forests(start, forest)
        found = {"losses": losses[: len(trees) + 1]}
        return Trained(model, measured.history, len(trees), kept, interrupted, found)

    def _boost(
        self, data: Dataset, scores: Floats, measured: Measured, callbacks: Any
    ) -> tuple[list[Forest], list[float], bool]:
        bins = make_bins(data, self.max_bins, self.n_threads)
        pairs = self._pair_weights(data)
        weighed = pairs.at(scores)
        best = best_weak_ranker(bins, weighed.potentials, self.n_threads)
        trees: list[Forest] = []
        losses = [weighed.loss]

        def one_round(number: int) -> None:
            nonlocal weighed, best
            is_one = best(bins)
            alpha = pairs.alpha(scores, weighed, best.worth, is_one)
            scores[is_one] += alpha
            weighed = pairs.at(scores)
            losses.append(weighed.loss)
            tree = as_tree(best, bins, alpha, is_one, losses[-2] - losses[-1])
            for name, other in measured.sets.items():
                add_tree_scores(tree, other, thread_count(self.n_threads), measured.scores[name])
            trees.append(tree)
            best = best_weak_ranker(bins, weighed.potentials, self.n_threads)

        def is_finished(progress: Progress | None = None) -> bool:
            return not abs(best.worth) > _NOTHING * weighed.total

        if is_finished():
            return trees, losses, False
        interrupted = run_rounds(
            self.n_rounds, one_round, measured, [*callbacks, is_finished], self.early_stopping_rounds
        )
        return trees, losses, interrupted


def as_tree(weak: WeakRanker, bins: Bins, alpha: float, is_one: Bools, gain: float) -> Forest:
    """Return alpha times a weak ranker, as a forest of one tree with one split."""
    above = weak.last_bin >= bins.n_bins[weak.feature]
    threshold = np.finfo(np.float32).max if above else bins.cuts[weak.feature, weak.last_bin - 1]
    n_ones = int(np.count_nonzero(is_one))
    return Forest(
        n_features=len(bins.cuts),
        base_score=0.0,
        tree_nodes=np.array([0, 1]),
        tree_leaves=np.array([0, 2]),
        feature=np.array([weak.feature], np.int32),
        threshold=np.array([threshold], np.float32),
        missing_left=np.array([not weak.missing]),
        left=np.array([~0], np.int32),
        right=np.array([~1], np.int32),
        gain=np.array([gain]),
        node_count=np.array([len(is_one)]),
        leaf_value=np.array([0.0, alpha]),
        leaf_count=np.array([len(is_one) - n_ones, n_ones]),
        n_words=np.zeros(1, np.int32),
        words=np.empty(0, np.uint32),
    )
