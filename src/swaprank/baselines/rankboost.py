"""RankBoost: boosting of weak rankers with the exponential loss of pairs."""

from typing import ClassVar, final

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.baselines.pair_shares import Average, LabelPairs, pairs_of
from swaprank.baselines.weak_rankers import PairWeights, WeakRankerBoosting, Weighed, half_log_odds
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.threads import query_chunks, run_in_threads, thread_count

_WIDEST_RANGE = 650.0
"""The widest range of the scores of a query; wider ones are cut, because exp overflows."""


@final
class RankBoost(WeakRankerBoosting):
    """Boosting with the exponential loss of pairs [Freund2003].

    Minimizes the mean over pairs of exp(-(s_i - s_j)), document i having a larger label than j. Each round takes the
    weak ranker h, 1 where a feature exceeds a threshold and 0 elsewhere, with the largest |r|: r is the mean of
    h(x_i) - h(x_j), weighted with exp(-(s_i - s_j)). It adds alpha h to the scores, alpha = 1/2 ln((1 + r) / (1 - r)).
    The loss falls by a factor of sqrt(1 - r²) at least, and is a bound on the share of wrong pairs.

    Pairs are never listed: weights are products of a factor per document, so that a round costs about documents x
    features. Missing values are 0 or 1, whichever makes |r| larger.

    >>> import swaprank as sr
    >>> train, vali, test = sr.datasets.random_net((60, 30, 30), n_features=10, random_state=0)
    >>> ranker = sr.baselines.RankBoost(n_rounds=100).fit(train, valid=vali)
    >>> ranker.score(test) > 0.6, ranker.losses_[-1] < ranker.losses_[0]
    (True, True)
    """

    kind: ClassVar[str] = "rankboost"

    def _pair_weights(self, data: Dataset) -> PairWeights:
        return ExponentialWeights(data, self.average, self.n_threads)


@final
class ExponentialWeights(PairWeights):
    """The weight exp(-(s_i - s_j)) of every pair."""

    def __init__(self, data: Dataset, average: Average, n_threads: int | None) -> None:
        self.pairs, self.indptr = pairs_of(data, average), np.array(data.indptr)
        self.chunks = query_chunks(self.indptr, thread_count(n_threads))

    def at(self, scores: Floats) -> Weighed:
        """See `PairWeights`: the loss is the sum of all weights."""
        losses, potentials = np.empty(len(self.indptr) - 1), np.empty(len(scores))
        run_in_threads(
            lambda first, last: exponential_queries(self.pairs, self.indptr, scores, first, last, losses, potentials),
            self.chunks,
        )
        loss = float(np.sum(losses))
        return Weighed(loss, loss, potentials)

    def alpha(self, scores: Floats, weighed: Weighed, worth: float, is_one: Bools) -> float:
        """See `PairWeights`; `worth` is r times the sum of all weights."""
        return half_log_odds(weighed.total + worth, weighed.total - worth)


@kernel
def exponential_queries(
    pairs: LabelPairs, indptr: Ints, scores: Floats, first: int, last: int, losses: Floats, potentials: Floats
) -> None:
    """Compute the loss of each query and the potentials of its documents, in a pass up the labels and one down.

    exp(-(s_i - s_j)) = exp(low - s_i) exp(s_j - high) exp(high - low), so that nothing overflows.
    """
    by_label, level, shares = pairs
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        low, high = np.inf, -np.inf
        for r in range(start, stop):
            low, high = min(low, scores[r]), max(high, scores[r])
        factor = shares[query] * exp(min(high - low, _WIDEST_RANGE))
        losses[query], worse, waiting = 0.0, 0.0, 0.0
        for r in range(start, stop):
            document = by_label[r]
            if r > start and level[document] > level[by_label[r - 1]]:
                worse, waiting = worse + waiting, 0.0
            potentials[document] = factor * exp(low - scores[document]) * worse
            losses[query] += potentials[document]
            waiting += exp(scores[document] - high)
        better, waiting = 0.0, 0.0
        for r in range(stop - 1, start - 1, -1):
            document = by_label[r]
            if r < stop - 1 and level[document] < level[by_label[r + 1]]:
                better, waiting = better + waiting, 0.0
            potentials[document] -= factor * exp(scores[document] - high) * better
            waiting += exp(low - scores[document])
