"""[Chapelle2010] from its equations, with plain loops: smooth metrics, gradients, objective, annealing and bound."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def gain(label: float) -> float:
    """G(l), section 2.1."""
    return float(2.0**label - 1.0)


def discount(rank: float) -> float:
    """D(r), section 2.1."""
    return 1.0 / math.log2(1.0 + rank)


def best_dcg(labels: Sequence[float], k: int | None = None) -> float:
    """Z, section 2.1: the DCG of the best ranking, to rank k."""
    best = sorted(labels, reverse=True)[: k or len(labels)]
    return sum(gain(label) * discount(rank) for rank, label in enumerate(best, 1))


def order(f: Sequence[float]) -> list[int]:
    """d(j): the document at rank j."""
    return sorted(range(len(f)), key=lambda i: -f[i])


def e(f: Sequence[float], sigma: float) -> Floats:
    """e_ij, Eq. 11."""
    d = order(f)
    return np.array([[math.exp(-((f[i] - f[d[j]]) ** 2) / sigma) for j in range(len(f))] for i in range(len(f))])


def h(f: Sequence[float], sigma: float) -> Floats:
    """h_ij, Eq. 7."""
    each = e(f, sigma)
    return np.array([[each[i, j] / sum(each[:, j]) for j in range(len(f))] for i in range(len(f))])


def smooth_ndcg(labels: Sequence[float], f: Sequence[float], sigma: float, k: int | None = None) -> float:
    """A_q, Eq. 8, with D(r) = 0 beyond k and divided by Z."""
    soft, m = h(f, sigma), len(f)
    total = sum(gain(labels[i]) * discount(j + 1) * soft[i, j] for i in range(m) for j in range(min(m, k or m)))
    return float(total / best_dcg(labels, k))


def smooth_ndcg_slopes(labels: Sequence[float], f: Sequence[float], sigma: float, k: int | None = None) -> list[float]:
    """dA_q / df_p, Eqs. 10 and 12."""
    m, d, each = len(f), order(f), e(f, sigma)
    slopes = [0.0] * m
    for j in range(min(m, k or m)):
        total, mean = sum(each[:, j]), sum(each[t, j] * f[t] for t in range(m))
        for i in range(m):
            for p in range(m):
                inner = each[p, j] * (f[p] - f[d[j]]) * (each[i, j] - (i == p) * total)
                inner += (d[j] == p) * each[i, j] * (f[i] * total - mean)
                slope = 2.0 / (sigma * total**2) * inner
                slopes[p] += gain(labels[i]) * discount(j + 1) * slope / best_dcg(labels, k)
    return slopes


def smooth_ndcg_at_1(labels: Sequence[float], f: Sequence[float], sigma: float) -> float:
    """Section 4.1: NDCG@1 by the soft argmax of Eq. 6."""
    powers = [math.exp((x - max(f)) / sigma) for x in f]
    total = sum(gain(label) * power for label, power in zip(labels, powers, strict=True))
    return discount(1) * total / sum(powers) / best_dcg(labels, 1)


def smooth_precision(relevant: Sequence[float], f: Sequence[float], sigma: float, k: int) -> float:
    """Prec@k, section 4.2."""
    soft, m = h(f, sigma), len(f)
    return float(sum(relevant[i] * soft[i, j] for j in range(min(k, m)) for i in range(m)) / k)


def smooth_ap(relevant: Sequence[float], f: Sequence[float], sigma: float) -> float:
    """AP by indicators, section 4.2."""
    soft, m = h(f, sigma), len(f)
    total = 0.0
    for j in range(m):
        total += smooth_precision(relevant, f, sigma, j + 1) * sum(relevant[i] * soft[i, j] for i in range(m))
    return float(total / sum(relevant))


def above(f: Sequence[float], i: int, j: int, sigma: float) -> float:
    """1 / (1 + exp((f_i - f_j) / sigma)): is j above i?"""
    return 1.0 / (1.0 + math.exp((f[i] - f[j]) / sigma))


def soft_rank(f: Sequence[float], i: int, sigma: float) -> float:
    """r_i of Eq. 5."""
    return 1.0 + sum(above(f, i, j, sigma) for j in range(len(f)) if j != i)


def smooth_dcg_by_ranks(labels: Sequence[float], f: Sequence[float], sigma: float) -> float:
    """Eq. 5."""
    return sum(gain(labels[i]) * discount(soft_rank(f, i, sigma)) for i in range(len(f)))


def smooth_ap_by_ranks(relevant: Sequence[float], f: Sequence[float], sigma: float) -> float:
    """Eq. 9: the sum over all i and j, also j = i."""
    m = len(f)
    total = sum(
        relevant[i] * relevant[j] * above(f, i, j, sigma) / soft_rank(f, i, sigma) for i in range(m) for j in range(m)
    )
    return total / sum(relevant)


def numeric_gradient(value: Callable[[Sequence[float]], float], f: Sequence[float], step: float = 1e-5) -> list[float]:
    """Central differences of fourth order."""
    slopes = []
    for p in range(len(f)):

        def at(times: int, p: int = p) -> float:
            moved = [float(x) for x in f]
            moved[p] += times * step
            return value(moved)

        slopes.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    return slopes


Query = tuple[Floats, list[float]]
"""The feature vectors and the labels of one query."""


def start(queries: Sequence[Query]) -> Floats:
    """w0, section 4.4.1: least squares on the gains, nothing else."""
    X = np.vstack([x for x, _ in queries])
    y = np.array([gain(label) for _, labels in queries for label in labels])
    return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0])


def objective(
    w: Floats, w0: Floats, lam: float, queries: Sequence[Query], sigma: float, k: int
) -> tuple[float, Floats]:
    """Eq. 13 and its gradient by w."""
    value, slope = lam * float(sum((w - w0) ** 2)), 2 * lam * (w - w0)
    for x, labels in queries:
        f = [float(sum(w * row)) for row in x]
        value -= smooth_ndcg(labels, f, sigma, k)
        slope = slope - np.array(smooth_ndcg_slopes(labels, f, sigma, k)) @ x
    return value, slope


def conjugate_gradients(cost: Callable[[Floats], tuple[float, Floats]], w: Floats, n_steps: int = 300) -> Floats:
    """Section 4.4: nonlinear conjugate gradients with the Polak-Ribière update, and a line search by bisection."""
    _, g = cost(w)
    way = -g
    for _ in range(n_steps):
        if np.abs(g).max() < 1e-7:
            break
        low, high = 0.0, 1e-3
        while float(cost(w + high * way)[1] @ way) < 0 and high < 1e6:
            low, high = high, 2 * high
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if float(cost(w + middle * way)[1] @ way) < 0 else (low, middle)
        w = w + low * way
        _, new = cost(w)
        beta = max(0.0, float(new @ (new - g)) / float(g @ g))
        way, g = beta * way - new, new
        if float(way @ g) >= 0:
            way = -g
    return w


def smoothrank(queries: Sequence[Query], lam: float, k: int, sigmas: Sequence[float]) -> Floats:
    """Algorithm 1."""
    w0 = start(queries)
    w = w0
    for sigma in sigmas:

        def cost(at: Floats, sigma: float = sigma) -> tuple[float, Floats]:
            return objective(at, w0, lam, queries, sigma, k)

        w = conjugate_gradients(cost, w)
    return w


def bound(training: float, L: float, B: float, R: float, m: int, n: int, delta: float) -> float:
    """Theorem 1, Eq. 14: the right-hand side."""
    return training + 3 * L * B * R * math.sqrt(m / n) + math.sqrt(8 * math.log(2 / delta) / n)


def lipschitz_constant(B: float, R: float, sigma: float, m: int) -> float:
    """Section 5.2: the bound of L for the smooth NDCG."""
    return 8 * B * R / sigma * math.pow(m, 1.5)
