"""Costs of whole lists: ListNet and SoftRank.

ListNet: the cross entropy of two distributions over a query's documents, one from the labels, one from the scores.

P(d) = exp(s_d) / sum of exp(s)      the probability that d is at the top [Cao2007]; T(d) is the same of the labels
C    = -sum over d of T(d) log P(d)
grad = P - T                         hess = P (1 - P)

SoftRank: the expected metric of scores with normal noise [Taylor2008].

pi_ij   = Phi((s_i - s_j) / (sqrt(2) sigma))                the probability that i ranks above j
p_j(r)  : the probability that j has rank r, from 0. Alone it has rank 0. Every other document i is added in turn:
          p_j(r) <- p_j(r - 1) pi_ij + p_j(r) (1 - pi_ij)
cost    = -sum over j of gain_j sum over r of D(r) p_j(r)

The gradient goes back through these steps. a(r) is what it is worth to have rank r at one step, and D(r) at the end:

a(r)   <- a(r + 1) pi_ij + a(r) (1 - pi_ij)
d / d pi_ij = sum over r of p_j(r) (a(r + 1) - a(r))        p_j of before the step, a of after it

With a cut-off k, only the first k ranks matter: n² k steps for a list of n documents, and n³ without.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np

from swaprank.arrays import Floats, Ints, contiguous_floats
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import sum_by_query
from swaprank.elementary import exp, normal_cdf
from swaprank.errors import DataError, MetricError, ParameterError
from swaprank.kernels import kernel
from swaprank.lanes import dot_range
from swaprank.metrics.metric import Metric, bind_metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.metrics.terms import CUMULATIVE, MetricTerms
from swaprank.objectives.objective import BoundKernelObjective, Objective, bind_kernel
from swaprank.objectives.query_gradients import LONGEST_STEP, gradients_of, longest_of

MOST_STEPS = 2e9
"""The most steps for one list, about two seconds."""
_SQRT_2, _SQRT_2_PI = 1.4142135623730951, 2.5066282746310002


class ListNetArrays(NamedTuple):
    """ListNet on one data set."""

    targets: Floats
    """T of each document."""


@kernel
def write_top_probabilities(values: Floats, indptr: Ints, first: int, last: int, probabilities: Floats) -> None:
    """The share of exp(value) of each document in the sum over its query."""
    for query in range(first, last):
        start, stop, highest, total = indptr[query], indptr[query + 1], -np.inf, 0.0
        for r in range(start, stop):
            highest = max(highest, values[r])
        for r in range(start, stop):
            probabilities[r] = exp(values[r] - highest)  # Without the highest, large values would overflow.
            total += probabilities[r]
        for r in range(start, stop):
            probabilities[r] /= total


@gradients_of(ListNetArrays)
@kernel
def listnet_queries(
    arrays: ListNetArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    write_top_probabilities(scores, indptr, first, last, hess)
    for r in range(indptr[first], indptr[last]):
        p = hess[r]
        grad[r] = p - arrays.targets[r]
        hess[r] = max(p * (1.0 - p), abs(grad[r]) / LONGEST_STEP)


@final
@dataclass(frozen=True)
class ListNetObjective(Objective):
    """The cross entropy of the top-one probabilities softmax(labels) and softmax(scores) of every query [Cao2007].

    The hessian of a document that should be at the top and is far below, where it vanishes, has a lower bound, so that
    Newton steps have an upper one.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> sr.objectives.ListNetObjective().bind(data, random_state=0, n_threads=1).update(np.zeros(2), grad, hess)
    >>> grad.round(3).tolist(), hess.tolist()
    ([0.231, -0.231], [0.25, 0.25])
    >>> train, vali = sr.datasets.random_net((50, 20), n_features=5, random_state=0)
    >>> sr.LambdaMART(n_trees=20, objective=sr.objectives.ListNetObjective()).fit(train, valid=vali).score(vali) > 0.8
    True
    """

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`; ListNet draws nothing at random."""
        targets = np.empty(len(data))
        write_top_probabilities(contiguous_floats(data.by_query(data.labels)), data.indptr, 0, data.n_queries, targets)
        return bind_kernel(ListNetArrays(targets), data, np.zeros(data.n_queries), n_threads)


class SoftRankArrays(NamedTuple):
    """The expected metric on one data set."""

    terms: MetricTerms
    sigma: float


@kernel
def rank_steps(scores: Floats, document: int, sigma: float, wins: Floats, steps: Floats) -> None:
    """The distribution of a document's rank: steps[i] before document i is added, and steps[n] in the end.

    Writes to `wins` the probabilities that each other document ranks above it.
    """
    n, depth = len(scores), steps.shape[1]
    steps[0] = 0.0
    steps[0, 0] = 1.0
    for i in range(n):
        wins[i] = 0.0 if i == document else normal_cdf((scores[i] - scores[document]) / (_SQRT_2 * sigma))
        win, lose = wins[i], 1.0 - wins[i]
        before, after = steps[i], steps[i + 1]
        after[0] = before[0] * lose
        for r in range(1, depth):
            after[r] = before[r - 1] * win + before[r] * lose


@gradients_of(SoftRankArrays)
@kernel
def softrank_queries(
    arrays: SoftRankArrays, indptr: Ints, scores: Floats, first: int, last: int, grad: Floats, hess: Floats
) -> None:
    """Write grad and hess of the queries from first to last."""
    terms, width = arrays.terms, _SQRT_2 * arrays.sigma
    longest = longest_of(indptr, first, last)
    wins = np.empty(longest)
    for query in range(first, last):
        start, stop = indptr[query], indptr[query + 1]
        n = stop - start
        depth = min(n, len(terms.discounts))
        s, g = scores[start:stop], grad[start:stop]
        g[:] = 0.0
        steps, worth, change = np.empty((n + 1, depth)), np.empty(depth + 1), np.empty(depth)
        for j in range(n):
            gain = terms.gains[start + j] / terms.divisors[query]
            if gain == 0.0:
                continue
            rank_steps(s, j, arrays.sigma, wins, steps)
            worth[:depth] = terms.discounts[:depth]
            worth[depth] = 0.0
            for i in range(n - 1, -1, -1):
                for r in range(depth):
                    change[r] = worth[r + 1] - worth[r]
                if i != j:
                    away = (s[i] - s[j]) / width
                    density = exp(-0.5 * away * away) / (_SQRT_2_PI * width)
                    pull = gain * density * dot_range(steps[i], change, 0, depth)
                    g[i] -= pull
                    g[j] += pull
                for r in range(depth):
                    worth[r] += wins[i] * change[r]
        for r in range(start, stop):
            hess[r] = abs(grad[r]) / width


@final
@dataclass(frozen=True)
class SoftRankObjective(Objective):
    """Minus a metric of ranks that are random, because scores have normal noise [Taylor2008].

    For sums of discounted gains such as NDCG. A list of n documents takes n² steps for each rank down to the cut-off of
    the metric: n³ without a cut-off. The hessian is |gradient| / (sqrt(2) sigma), as in SmoothObjective.

    Args:
        metric: The metric, or its name.
        sigma: Standard deviation of the noise, in units of the scores. Towards 0 this becomes the metric itself.

    >>> import numpy as np, swaprank as sr
    >>> data = sr.Dataset([[1.0], [2.0]], [0, 1], qid=[1, 1])
    >>> grad, hess = np.empty(2), np.empty(2)
    >>> objective = sr.objectives.SoftRankObjective(sr.metric("ndcg"), sigma=1.0)
    >>> objective.bind(data, random_state=0, n_threads=1).update(np.zeros(2), grad, hess)
    >>> grad.round(3).tolist()  # (1 - 1 / log2(3)) / (2 sqrt(pi))
    [0.104, -0.104]
    """

    metric: Metric
    sigma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", parse_metric(self.metric))
        if isinstance(self.sigma, bool) or not isinstance(self.sigma, int | float | np.number) or not self.sigma > 0:
            raise ParameterError(f"sigma must be a number above 0; found {self.sigma!r}.")

    def bind(self, data: Dataset, *, random_state: int, n_threads: int | None) -> BoundKernelObjective:
        """See `Objective`; nothing is drawn at random."""
        terms = bind_metric(self.metric, data).terms
        if terms.family != CUMULATIVE:
            raise MetricError(f"SoftRank takes sums of discounted gains, such as ndcg, dcg or p; found {self.metric}.")
        lengths = np.diff(data.indptr).astype(np.float64)
        steps = lengths**2 * np.minimum(lengths, len(terms.discounts))
        if steps.max(initial=0.0) > MOST_STEPS:
            raise DataError(
                f"a query has {int(lengths.max()):,} documents: SoftRank takes n² steps for each rank of a list of n, "
                f"here {steps.max():.0e}, which is too slow. Choose a metric with a cut-off such as ndcg@10, shorter "
                "lists, or SmoothRank, which takes n² in all."
            )
        bound = bind_kernel(SoftRankArrays(terms, float(self.sigma)), data, steps, n_threads)
        if data.sample_weight is None:
            return bound
        # One weight per query: with several, the gradient would not be that of any cost.
        means = sum_by_query(data.by_query(data.sample_weight), data.indptr) / np.maximum(lengths, 1.0)
        return replace(bound, weights=np.repeat(means, np.diff(data.indptr)))
