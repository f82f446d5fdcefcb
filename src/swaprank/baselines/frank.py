"""FRank: boosting of weak rankers with the fidelity loss of pairs."""

from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.baselines.pair_shares import Average, LabelPairs, pairs_of
from swaprank.baselines.weak_rankers import PairWeights, WeakRankerBoosting, Weighed, half_log_odds
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.parameters import parameter
from swaprank.threads import query_chunks, run_in_threads, thread_count

_PAIRS_WORTH_A_THREAD = 20_000.0


@final
class FRank(WeakRankerBoosting):
    """Boosting with the fidelity loss of pairs, which is bounded: hopeless pairs do not dominate [Tsai2007].

    Minimizes the mean over pairs of 1 - sqrt(P), P = 1 / (1 + exp(-(s_i - s_j))), document i having a larger label than
    j. Each round weighs the pairs by W = sqrt(P) (1 - P), twice the slope of the loss, and takes the weak ranker h, 1
    where a feature exceeds a threshold and 0 elsewhere, with the largest |sum of W (h(x_i) - h(x_j))|. It adds
    alpha h to the scores, alpha = 1/2 ln(sum of W where h(x_i) > h(x_j) / sum of W where h(x_i) < h(x_j)). The loss
    falls by half the squared difference of the square roots of these two sums, at least. [Tsai2007] tries all weak
    rankers instead, and takes the one after which the loss is lowest.

    Weights are computed pair by pair. Missing values are 0 or 1, whichever makes the sum larger.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 30, 30), n_features=10, random_state=0)
    >>> ranker = sr.baselines.FRank(n_rounds=100).fit(train, valid=vali)
    >>> ranker.score(test) > 0.6, ranker.losses_[-1] < ranker.losses_[0]
    (True, True)
    """

    kind: ClassVar[str] = "frank"
    n_rounds: int = parameter(default=500)
    average: Average = parameter(default="queries")

    def _pair_weights(self, data: Dataset) -> PairWeights:
        return FidelityWeights(data, self.average, self.n_threads)


@final
class FidelityWeights(PairWeights):
    """The weight sqrt(P) (1 - P) of every pair."""

    def __init__(self, data: Dataset, average: Average, n_threads: int | None) -> None:
        self.pairs, self.indptr = pairs_of(data, average), np.array(data.indptr)
        costs = np.diff(self.indptr).astype(np.float64) ** 2
        n_threads = thread_count(n_threads)
        self.chunks = query_chunks(self.indptr, n_threads, costs=costs, least_cost=_PAIRS_WORTH_A_THREAD)

    def at(self, scores: Floats) -> Weighed:
        """See `PairWeights`."""
        sums, potentials = np.empty((len(self.indptr) - 1, 2)), np.empty(len(scores))
        run_in_threads(
            lambda first, last: fidelity_queries(self.pairs, self.indptr, scores, first, last, sums, potentials),
            self.chunks,
        )
        loss, total = np.sum(sums, axis=0).tolist()
        return Weighed(loss, total, potentials)

    def alpha(self, scores: Floats, weighed: Weighed, worth: float, is_one: Bools) -> float:
        """See `PairWeights`."""
        sums = np.empty((len(self.indptr) - 1, 2))
        run_in_threads(
            lambda first, last: weigh_sides(self.pairs, self.indptr, scores, is_one, first, last, sums), self.chunks
        )
        return half_log_odds(*np.sum(sums, axis=0).tolist())


@kernel
def fidelity(lead: float) -> tuple[float, float]:
    """Return the fidelity loss of a pair, 1 - sqrt(P), and its weight, sqrt(P) (1 - P)."""
    e = exp(-abs(lead))
    p, q = 1.0 / (1.0 + e), e / (1.0 + e)
    if lead < 0.0:
        p, q = q, p
    root = np.sqrt(p)
    return q / (1.0 + root), root * q  # 1 - sqrt(p) = (1 - p) / (1 + sqrt(p))


@kernel
def fidelity_queries(
    pairs: LabelPairs, indptr: Ints, scores: Floats, first: int, last: int, sums: Floats, potentials: Floats
) -> None:
    """Compute the loss of each query, the sum of its weights, and the potentials of its documents."""
    by_label, level, shares = pairs
    for query in range(first, last):
        start, stop, worse = indptr[query], indptr[query + 1], indptr[query]
        sums[query, 0] = sums[query, 1] = 0.0
        for r in range(start, stop):
            i = by_label[r]
            if r > start and level[i] > level[by_label[r - 1]]:
                worse = r
            own_loss, own_weight = 0.0, 0.0
            for k in range(start, worse):
                loss, weight = fidelity(scores[i] - scores[by_label[k]])
                own_loss += loss
                own_weight += weight
                potentials[by_label[k]] -= shares[query] * weight
            potentials[i] = shares[query] * own_weight
            sums[query, 0] += shares[query] * own_loss
            sums[query, 1] += shares[query] * own_weight


@kernel
def weigh_sides(
    pairs: LabelPairs, indptr: Ints, scores: Floats, is_one: Bools, first: int, last: int, sums: Floats
) -> None:
    """Sum each query's weights over the pairs that a weak ranker has right, and over those it has wrong."""
    by_label, level, shares = pairs
    for query in range(first, last):
        start, stop, worse = indptr[query], indptr[query + 1], indptr[query]
        right, wrong = 0.0, 0.0
        for r in range(start, stop):
            i = by_label[r]
            if r > start and level[i] > level[by_label[r - 1]]:
                worse = r
            for k in range(start, worse):
                j = by_label[k]
                if is_one[i] != is_one[j]:
                    _, weight = fidelity(scores[i] - scores[j])
                    if is_one[i]:
                        right += weight
                    else:
                        wrong += weight
        sums[query, 0], sums[query, 1] = shares[query] * right, shares[query] * wrong
