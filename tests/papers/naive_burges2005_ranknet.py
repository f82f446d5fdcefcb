"""RankNet from the text of [Burges2005], sections 3 to 5, in plain Python and NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pair = tuple[int, int, float]
"""Two samples and the target probability that the first is to be ranked above the second."""


def posterior(o: float) -> float:
    """The modeled probability, Eq. 2."""
    return float(np.exp(o) / (1 + np.exp(o)))


def cross_entropy(o: float, target: float) -> float:
    """The cost of a pair, Eq. 1."""
    p = posterior(o)
    return float(-target * np.log(p) - (1 - target) * np.log(1 - p))


def cost(o: float, target: float) -> float:
    """The cost of a pair, Eq. 3."""
    return float(-target * o + np.log(1 + np.exp(o)))


def combined(p_ij: float, p_jk: float) -> float:
    """The target of the pair (i, k) from those of (i, j) and (j, k), Eq. 5."""
    return p_ij * p_jk / (1 + 2 * p_ij * p_jk - p_ij - p_jk)


def log_odds(p: float) -> float:
    """The ideal difference of outputs, Eq. 6."""
    return float(np.log(p / (1 - p)))


def number_of_pairs(labels: Sequence[int]) -> int:
    """The number of pairs of a query, section 5.1: documents of a level times those of all lower levels."""
    counts = [list(labels).count(level) for level in sorted(set(labels))]
    return sum(counts[j] * sum(counts[:j]) for j in range(1, len(counts)))


def pairs_of(labels: Sequence[float], ties: bool = False) -> list[Pair]:
    """Every pair of a query with different labels once, the better one first, from the best label down.

    With ties, pairs of equal labels have the target 1/2, section 5.2.
    """
    order = sorted(range(len(labels)), key=lambda i: -labels[i])
    pairs = [(i, j, 1.0 if labels[i] > labels[j] else 0.5) for at, i in enumerate(order) for j in order[at + 1 :]]
    return pairs if ties else [pair for pair in pairs if pair[2] == 1.0]


def ndcg_at_15(labels: Sequence[float], scores: Sequence[float]) -> float:
    """NDCG of a query, Eq. 16; the base of the logarithms cancels."""

    def sum_of_gains(ranked: Sequence[float]) -> float:
        return float(sum((2.0**r - 1) / np.log(1 + j) for j, r in enumerate(ranked[:15], 1)))

    by_score = sorted(range(len(labels)), key=lambda i: -scores[i])
    return sum_of_gains([labels[i] for i in by_score]) / sum_of_gains(sorted(labels, reverse=True))


@dataclass
class TwoLayerNet:
    """The net of Eq. 7 with one output; the transfer functions are tanh in the hidden nodes and none in the output."""

    w21: Floats
    b2: Floats
    w32: Floats
    b3: float = 0.0

    def hidden(self, x: Floats) -> Floats:
        """g^2 of each hidden node."""
        return np.array([np.tanh(sum(w * x_k for w, x_k in zip(row, x, strict=True)) + b)
                         for row, b in zip(self.w21, self.b2, strict=True)])  # fmt: skip

    def output(self, x: Floats) -> float:
        """o, Eq. 7."""
        return float(sum(self.w32 * self.hidden(x)) + self.b3)

    def document_gradient(self, x: Floats, df_do: float) -> TwoLayerNet:
        """The derivatives of f by all weights and offsets, by back-propagation of one sample, Eqs. 8 to 11."""
        g2 = self.hidden(x)
        delta3 = df_do  # g'^3 is 1
        delta2 = (1 - g2**2) * (delta3 * self.w32)
        return TwoLayerNet(np.array([[x_n * d for x_n in x] for d in delta2]), delta2, delta3 * g2, delta3)

    def pair_gradient(self, x1: Floats, x2: Floats, target: float = 1.0) -> TwoLayerNet:
        """The same for a pair, the first of which should be above, Eqs. 12 to 15."""
        apart = self.output(x2) - self.output(x1)
        f = target - 1 / (1 + np.exp(apart))  # f'(o2 - o1), of the cost -P (o1 - o2) + log(1 + exp(o1 - o2))
        one, two = self.hidden(x1), self.hidden(x2)
        b3 = f * (1.0 - 1.0)
        w32 = f * two - f * one
        delta1, delta2 = f * self.w32 * (1 - one**2), f * self.w32 * (1 - two**2)
        w21 = np.array([[delta2[m] * x2[n] - delta1[m] * x1[n] for n in range(len(x1))] for m in range(len(one))])
        return TwoLayerNet(w21, delta2 - delta1, w32, b3)

    def stepped(self, gradients: Iterable[TwoLayerNet], rate: float) -> TwoLayerNet:
        """One step of gradient descent down the sum of gradients."""
        w21, b2, w32, b3 = self.w21.copy(), self.b2.copy(), self.w32.copy(), self.b3
        for each in gradients:
            w21 -= rate * each.w21
            b2 -= rate * each.b2
            w32 -= rate * each.w32
            b3 -= rate * each.b3
        return TwoLayerNet(w21, b2, w32, b3)


@dataclass
class Query:
    """The samples of one query, and its pairs in the order in which they are presented."""

    X: Floats
    pairs: list[Pair]


def train(
    net: TwoLayerNet, queries: Sequence[Query], orders: Sequence[Sequence[int]], rate: float, *, per_pair: bool,
    decay: float = 1.0,
) -> tuple[TwoLayerNet, float]:  # fmt: skip
    """Train one epoch per order of the queries, with a step per pair or per query. Returns the net and the last rate.

    The rate is multiplied by `decay` if the average cost of an epoch is greater than that of the epoch before, the
    pairs of a query being measured when the query is presented.
    """
    before = np.inf
    for order in orders:
        costs = []
        for q in order:
            X, pairs = queries[q].X, queries[q].pairs
            costs += [cost(net.output(X[i]) - net.output(X[j]), target) for i, j, target in pairs]
            if per_pair:
                for i, j, target in pairs:
                    net = net.stepped([net.pair_gradient(X[i], X[j], target)], rate)
            else:
                net = net.stepped([net.pair_gradient(X[i], X[j], target) for i, j, target in pairs], rate)
        now = float(np.mean(costs))
        if now > before:
            rate *= decay
        before = now
    return net, rate
