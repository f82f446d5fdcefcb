"""Naive implementations of every metric for one list of labels in rank order, to test the kernels against."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np

from swaprank.arrays import Floats

Labels = Sequence[float]
Value = Callable[[Labels], float]


def dcg(labels: Labels, k: int | None = None, gain: str = "exp2", discount: str = "log2") -> float:
    total = 0.0
    for rank, label in enumerate(labels[:k], start=1):
        worth = 2.0**label - 1 if gain == "exp2" else label
        weight = 1 / math.log2(1 + rank) if discount == "log2" else 1.0 if rank < 3 else 1 / math.log2(rank)
        total += worth * weight
    return total


def ndcg(labels: Labels, k: int | None = None, **options: str) -> float:
    best = max((dcg(p, k, **options) for p in [sorted(labels, reverse=True)]), default=0.0)
    return dcg(labels, k, **options) / best if best > 0 else 0.0


def ndcg_by_trying_all(labels: Labels, k: int | None = None) -> float:
    best = max(dcg(p, k) for p in permutations(labels))
    return dcg(labels, k) / best if best > 0 else 0.0


def average_precision(labels: Labels, k: int | None = None, rel: float = 1) -> float:
    hits = [label >= rel for label in labels]
    if not any(hits):
        return 0.0
    precisions = [sum(hits[: r + 1]) / (r + 1) for r in range(len(hits[:k])) if hits[r]]
    return sum(precisions) / sum(hits)


def reciprocal_rank(labels: Labels, k: int | None = None, rel: float = 1) -> float:
    return next((1 / r for r, label in enumerate(labels[:k], 1) if label >= rel), 0.0)


def success(labels: Labels, k: int) -> float:
    return float(any(label >= 1 for label in labels[:k]))


def err(labels: Labels, k: int | None = None, max_label: float = 4) -> float:
    """As in gdeval: the probability of being satisfied here and at no rank above, divided by the rank."""
    value, unsatisfied = 0.0, 1.0
    for rank, label in enumerate(labels[:k], start=1):
        satisfied = (2**label - 1) / 2**max_label
        value += unsatisfied * satisfied / rank
        unsatisfied *= 1 - satisfied
    return value


def precision(labels: Labels, k: int, rel: float = 1) -> float:
    return sum(label >= rel for label in labels[:k]) / k


def recall(labels: Labels, k: int, rel: float = 1) -> float:
    relevant = sum(label >= rel for label in labels)
    return sum(label >= rel for label in labels[:k]) / relevant if relevant else 0.0


def wta(labels: Labels) -> float:
    return float(labels[0] >= 1)


def pairwise(labels: Labels) -> float:
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :] if a != b]
    return sum(a > b for a, b in pairs) / len(pairs) if pairs else 0.0


def auc(labels: Labels, rel: float = 1) -> float:
    return pairwise([float(label >= rel) for label in labels])


def bpref(labels: Labels, rel: float = 1) -> float:
    relevant = sum(label >= rel for label in labels)
    others = sum(0 <= label < rel for label in labels)
    value, above = 0.0, 0
    for label in labels:
        if label >= rel:
            value += 1 - min(above, relevant) / min(others, relevant) if above else 1.0
        elif label >= 0:
            above += 1
    return value / relevant if relevant else 0.0


def r_precision(labels: Labels, rel: float = 1) -> float:
    relevant = sum(label >= rel for label in labels)
    return precision(labels, relevant, rel) if relevant else 0.0


def rbp(labels: Labels, p: float = 0.8) -> float:
    return (1 - p) * sum(p**r for r, label in enumerate(labels) if label >= 1)


TWINS: dict[str, Value] = {
    "ndcg": ndcg,
    "ndcg@1": lambda x: ndcg(x, 1),
    "ndcg@3": lambda x: ndcg(x, 3),
    "ndcg@3(gain=linear)": lambda x: ndcg(x, 3, gain="linear"),
    "ndcg@4(discount=letor)": lambda x: ndcg(x, 4, discount="letor"),
    "dcg": dcg,
    "dcg@2": lambda x: dcg(x, 2),
    "map": average_precision,
    "map@3": lambda x: average_precision(x, 3),
    "map(rel=2)": lambda x: average_precision(x, rel=2),
    "mrr": reciprocal_rank,
    "mrr@2": lambda x: reciprocal_rank(x, 2),
    "mrr(rel=3)": lambda x: reciprocal_rank(x, rel=3),
    "success@2": lambda x: success(x, 2),
    "err": err,
    "err@3": lambda x: err(x, 3),
    "err(max_label=3)": lambda x: err(x, max_label=3),
    "p@3": lambda x: precision(x, 3),
    "p@2(rel=2)": lambda x: precision(x, 2, rel=2),
    "recall@2": lambda x: recall(x, 2),
    "wta": wta,
    "pairwise": pairwise,
    "auc": auc,
    "auc(rel=2)": lambda x: auc(x, 2),
    "bpref": bpref,
    "bpref(rel=2)": lambda x: bpref(x, rel=2),
    "rprec": r_precision,
    "rprec(rel=2)": lambda x: r_precision(x, rel=2),
    "rbp": rbp,
    "rbp(p=0.5)": lambda x: rbp(x, 0.5),
}


def swap_gains(value: Value, labels: Labels) -> Floats:
    """value(labels with i and j swapped) - value(labels), for all pairs of ranks."""
    gains, now = np.zeros((len(labels), len(labels))), value(labels)
    for i in range(len(labels)):
        for j in range(i):
            other = list(labels)
            other[i], other[j] = other[j], other[i]
            gains[i, j] = gains[j, i] = value(other) - now
    return gains


class AtRanks(NamedTuple):
    """A metric that is made of gains at ranks: what a label and a rank count, and what divides their sum."""

    family: Literal["sum", "precisions", "cascade"]
    gain: Callable[[float], float]
    discount: Callable[[int], float]
    k: int | None = None
    divisor: Literal["one", "best", "relevant"] = "one"


def exp2_gain(label: float) -> float:
    return float(2.0**label - 1)


def relevance(label: float) -> float:
    return float(label >= 1)


def log2_discount(rank: int) -> float:
    return 1 / math.log2(1 + rank)


def reciprocal(rank: int) -> float:
    return 1 / rank


AT_RANKS = {
    "ndcg": AtRanks("sum", exp2_gain, log2_discount, divisor="best"),
    "ndcg@3": AtRanks("sum", exp2_gain, log2_discount, 3, "best"),
    "ndcg@50": AtRanks("sum", exp2_gain, log2_discount, 50, "best"),
    "dcg@5": AtRanks("sum", exp2_gain, log2_discount, 5),
    "p@2": AtRanks("sum", relevance, lambda r: 1 / 2, 2),
    "recall@4": AtRanks("sum", relevance, lambda r: 1.0, 4, "relevant"),
    "rbp": AtRanks("sum", relevance, lambda r: 0.2 * 0.8 ** (r - 1)),
    "wta": AtRanks("sum", relevance, lambda r: 1.0, 1),
    "map": AtRanks("precisions", relevance, reciprocal, divisor="relevant"),
    "map@4": AtRanks("precisions", relevance, reciprocal, 4, "relevant"),
    "mrr": AtRanks("cascade", relevance, reciprocal),
    "err": AtRanks("cascade", lambda label: exp2_gain(label) / 16, reciprocal),
    "success@2": AtRanks("cascade", relevance, lambda r: 1.0, 2),
}
