"""RankNet's forces from labels, pair by pair: exact, and quadratic in the length of a list.

The target P_ij is 1 where i has the larger label, and 1/2 between equal ones if ties count. With e_i = exp(sigma s_i),
1 - p_ij = e_j / (e_i + e_j) and 1/2 - p_ij = (e_j - e_i) / 2 (e_i + e_j): one division a pair.
"""

from __future__ import annotations

import numpy as np

from swaprank.arrays import Floats
from swaprank.kernels import kernel, vector_kernel

_WIDEST = 300.0
"""Beyond this range of sigma * score, products of two exp leave double precision, and pairs take the slower way."""


@kernel
def push_list_down(labels: Floats, x: Floats, ties: bool, e: Floats, g: Floats, h: Floats) -> None:
    """Add p - P and p (1 - p) of all pairs of a list by descending label; x = sigma * score, e is scratch."""
    highest, lowest = x[0], x[0]
    for r in range(len(x)):
        highest = max(highest, x[r])
        lowest = min(lowest, x[r])
    if highest - lowest < _WIDEST:
        for r in range(len(x)):
            e[r] = np.exp(x[r] - highest)
        push_narrow_list(labels, e, ties, g, h)
    else:
        push_wide_list(labels, x, ties, g, h)


@vector_kernel
def push_narrow_list(labels: Floats, e: Floats, ties: bool, g: Floats, h: Floats) -> None:
    """From e = exp(sigma * score). Indices are unsigned: one that might be negative keeps a loop from vectorising."""
    n, end = np.uint64(len(e)), np.uint64(0)
    for i in range(n):
        while end < n and labels[end] == labels[i]:
            end += np.uint64(1)
        mine, force, bend = e[i], 0.0, 0.0
        for j in range(end, n):
            inverse = 1.0 / (mine + e[j])
            pushed = e[j] * inverse
            bent = pushed * mine * inverse
            force += pushed
            bend += bent
            g[j] += pushed
            h[j] += bent
        if ties:
            for j in range(i + np.uint64(1), end):
                inverse = 1.0 / (mine + e[j])
                pushed = 0.5 * (e[j] - mine) * inverse
                bent = e[j] * inverse * mine * inverse
                force += pushed
                bend += bent
                g[j] += pushed
                h[j] += bent
        g[i] -= force
        h[i] += bend


@kernel
def push_wide_list(labels: Floats, x: Floats, ties: bool, g: Floats, h: Floats) -> None:
    """The same from x = sigma * score, one exp a pair."""
    n, end = len(x), 0
    for i in range(n):
        while end < n and labels[end] == labels[i]:
            end += 1
        for j in range(i + 1 if ties else end, n):
            ahead = x[i] - x[j]
            small = np.exp(-abs(ahead))
            upper, lower = 1.0 / (1.0 + small), small / (1.0 + small)
            p, q = (upper, lower) if ahead > 0.0 else (lower, upper)
            pushed = 0.5 * (q - p) if j < end else q
            g[i] -= pushed
            g[j] += pushed
            h[i] += upper * lower
            h[j] += upper * lower
