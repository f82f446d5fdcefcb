"""LambdaRank's sums over the pairs of one long ranked list, in about n log n, with a relative error below 1e-7.

For the metrics of long_lists.py, the swap gain of rank i with a lower rank j is c(level of i, level of j) (u_i + v_j):
a level is one of the few gains of a list. A pair's gradient is this times a function of the score difference alone,
which is smooth except where the difference is near 0. So documents of near scores act alike on documents farther away:

    documents by rank     [ . . .  ..  .:.:. ..:..... :::: ]      part 1: all
                          [ . . .  ..  .:.:][ ..:.... :::: ]      parts 2 and 3: its halves
                          [ . . .][..  .:.:][ ..:..][ :::: ]      parts 4 to 7; and so on, to PART documents

1. Each part's documents become weights of NODES Chebyshev nodes between its lowest and its highest score: for each
   level their number, and the sums of their u and v.
2. From the top down, two parts are summed node by node if their scores are as far apart as either is wide. If not, the
   wider one is halved. Two smallest parts that are still too near are summed pair by pair.
3. What the nodes of a part have received is interpolated at the nodes of its halves, and in the end at the documents.

The function has poles at a difference of -LEAST_DISTANCE, and at pi i / sigma because of the exp. Wherever two parts
are summed, a part's middle is three times as far from the nearest pole as its ends are from its middle, so the error
of the interpolation falls as 5.8^-NODES.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.objectives.pair_sums import NODES, PLACES, WAVES
from swaprank.objectives.query_gradients import LEAST_DISTANCE

PART = 128
"""The smallest parts have at most this many documents."""
_WIDEST, _WIDEST_APART, _FLAT = 2.0, 5.0, 40.0
"""The widest parts, in sigma * score, whose rho is interpolated well; and if they are as far apart as either is wide.
From the last distance on, rho is 0 or 1 to the last bit, for parts of any width."""
_STACK = 1024
"""Pairs of parts that wait: at most three for each halving."""
_ONE, _U, _V = 0, 1, 2
"""What is summed for each level: documents, their u and their v. Received are the factors of 1, u and v."""


class RankedList(NamedTuple):
    """One list by descending score."""

    scores: Floats
    levels: Ints
    """The place of each document's gain among the gains of the list, from the smallest."""
    factors: Floats
    """(levels, levels): c of an upper and a lower document, not negative, and 0 for equal levels."""
    u: Floats
    v: Floats
    rows: int
    """Documents beyond this rank do not count as upper documents: their u + v is 0."""
    sigma: float
    normalize: bool


class Parts(NamedTuple):
    """The parts of a list: part p has the halves 2p and 2p + 1."""

    start: Ints
    stop: Ints
    high: Floats
    low: Floats
    smallest: int
    """The first of the parts that are not halved."""
    sums: Floats
    """(parts, levels, 3, NODES): the weights of the nodes, see _ONE."""
    grad: Floats
    hess: Floats
    """Like `sums`: what the nodes receive."""


class Pair(NamedTuple):
    """Work arrays for two parts. [k, m]: for node k of the source and node m of the target; first upper as target."""

    right: Floats
    """(2, NODES, NODES): the gradient of a pair in the right order, per weight; `wrong` in the wrong order."""
    wrong: Floats
    hess: Floats
    sums: Floats
    """(4, NODES): a source's weights, times their factors, of pairs in the right and in the wrong order."""
    received: Floats
    """(2, NODES): the sizes of gradients."""


@kernel
def node_weights(t: float, weights: Floats) -> None:
    """The weight of each node for a document at t in a part from -1 to 1."""
    for m in range(NODES):
        weights[m] = 1.0 / NODES
    before, now = 1.0, t
    for k in range(1, NODES):
        for m in range(NODES):
            weights[m] += 2.0 / NODES * now * WAVES[k, m]
        before, now = now, 2.0 * t * now - before


@kernel
def place_in(parts: Parts, part: int, score: float) -> float:
    """Where a score is between a part's lowest, -1, and highest, 1."""
    width = parts.high[part] - parts.low[part]
    return 2.0 * ((score - parts.low[part]) / width) - 1.0 if width > 0.0 else 0.0


@kernel
def node_score(parts: Parts, part: int, m: int) -> float:
    """The score of a part's node."""
    return float(parts.low[part] + 0.5 * (parts.high[part] - parts.low[part]) * (1.0 + PLACES[m]))


@kernel
def make_parts(ranked: RankedList) -> Parts:
    """Halve the list, and sum up each part's documents at its nodes."""
    n, n_levels = len(ranked.scores), len(ranked.factors)
    smallest = 1
    while n > PART * smallest:
        smallest *= 2
    count = 2 * smallest
    start, stop, high, low = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count), np.zeros(count)
    shape = (count, n_levels, 3, NODES)
    parts = Parts(start, stop, high, low, smallest, np.zeros(shape), np.zeros(shape), np.zeros(shape))
    first = 1
    while first <= smallest:
        for k in range(first):
            part = first + k
            start[part], stop[part] = n * k // first, n * (k + 1) // first
            high[part], low[part] = ranked.scores[start[part]], ranked.scores[stop[part] - 1]
        first *= 2
    weights = np.empty(NODES)
    for part in range(smallest, count):
        for r in range(start[part], stop[part]):
            node_weights(place_in(parts, part, ranked.scores[r]), weights)
            level = ranked.levels[r]
            for m in range(NODES):
                parts.sums[part, level, _ONE, m] += weights[m]
                parts.sums[part, level, _U, m] += weights[m] * ranked.u[r]
                parts.sums[part, level, _V, m] += weights[m] * ranked.v[r]
    for half in range(count - 1, 1, -1):
        for m in range(NODES):
            node_weights(place_in(parts, half // 2, node_score(parts, half, m)), weights)
            for level in range(n_levels):
                for what in range(3):
                    mine = parts.sums[half, level, what, m]
                    for k in range(NODES):
                        parts.sums[half // 2, level, what, k] += mine * weights[k]
    return parts


@kernel
def node_pairs(ranked: RankedList, parts: Parts, upper: int, lower: int, pair: Pair) -> None:
    """Gradients and hessians of all pairs of an upper part's nodes with a lower part's, of weight 1."""
    sigma, gap = ranked.sigma, parts.low[upper] - parts.high[lower]
    half_upper = 0.5 * (parts.high[upper] - parts.low[upper])
    half_lower = 0.5 * (parts.high[lower] - parts.low[lower])
    for k in range(NODES):
        for m in range(NODES):
            x = gap + half_upper * (1.0 + PLACES[m]) + half_lower * (1.0 - PLACES[k])
            small = exp(-sigma * x)
            wrong = sigma / ((1.0 + small) * (LEAST_DISTANCE + x if ranked.normalize else 1.0))
            pair.wrong[0, k, m] = wrong
            pair.right[0, k, m] = wrong * small
            pair.hess[0, k, m] = sigma * (wrong * small / (1.0 + small))
    for k in range(NODES):
        for m in range(NODES):
            pair.wrong[1, m, k] = pair.wrong[0, k, m]
            pair.right[1, m, k] = pair.right[0, k, m]
            pair.hess[1, m, k] = pair.hess[0, k, m]


@kernel
def weigh_source(ranked: RankedList, parts: Parts, source: int, of_upper: bool, level: int, pair: Pair) -> None:
    """Sum up a source's levels for the documents of one level; of_upper: these are of the upper part."""
    own = _V if of_upper else _U
    for row in range(4):
        for k in range(NODES):
            pair.sums[row, k] = 0.0
    for other in range(len(ranked.factors)):
        factor = ranked.factors[level, other] if of_upper else ranked.factors[other, level]
        if factor > 0.0:
            row = 0 if (other < level) == of_upper else 2
            for k in range(NODES):
                pair.sums[row, k] += factor * parts.sums[source, other, _ONE, k]
                pair.sums[row + 1, k] += factor * parts.sums[source, other, own, k]


@kernel
def add_part(ranked: RankedList, parts: Parts, target: int, source: int, of_upper: bool, pair: Pair) -> float:
    """Add to the nodes of one part what they receive from another; return the sum of the sizes of the gradients."""
    side, mine, sign = (0, _U, -1.0) if of_upper else (1, _V, 1.0)
    total = 0.0
    for level in range(len(ranked.factors)):
        weigh_source(ranked, parts, source, of_upper, level, pair)
        for m in range(NODES):
            pair.received[0, m] = pair.received[1, m] = 0.0
        for k in range(NODES):
            right_one, right_own = pair.sums[0, k], pair.sums[1, k]
            wrong_one, wrong_own = pair.sums[2, k], pair.sums[3, k]
            for m in range(NODES):
                right, wrong, bend = pair.right[side, k, m], pair.wrong[side, k, m], pair.hess[side, k, m]
                parts.grad[target, level, mine, m] += sign * (right * right_one - wrong * wrong_one)
                parts.grad[target, level, _ONE, m] += sign * (right * right_own - wrong * wrong_own)
                parts.hess[target, level, mine, m] += bend * (right_one + wrong_one)
                parts.hess[target, level, _ONE, m] += bend * (right_own + wrong_own)
                pair.received[0, m] += right * right_one + wrong * wrong_one
                pair.received[1, m] += right * right_own + wrong * wrong_own
        for m in range(NODES):
            total += parts.sums[target, level, mine, m] * pair.received[0, m]
            total += parts.sums[target, level, _ONE, m] * pair.received[1, m]
    return total


@kernel
def add_near(ranked: RankedList, start: int, stop: int, first: int, last: int, g: Floats, h: Floats) -> float:
    """Add the pairs of ranks from start to stop with lower ones from first to last; return the sum of their sizes."""
    sigma, total = ranked.sigma, 0.0
    grads, bends = np.empty(last - first), np.empty(last - first)
    for i in range(start, min(stop, ranked.rows)):
        level, score, u = ranked.levels[i], ranked.scores[i], ranked.u[i]
        begin = max(first, i + 1)
        for place in range(last - begin):
            j = begin + place
            x, other = score - ranked.scores[j], ranked.levels[j]
            weight = ranked.factors[level, other] * (u + ranked.v[j])
            small = exp(-sigma * x)
            scaled = sigma * weight / ((1.0 + small) * (LEAST_DISTANCE + x if ranked.normalize else 1.0))
            grads[place] = scaled * small if level > other else -scaled
            bends[place] = sigma * (scaled * small / (1.0 + small))
        own_grad, own_hess = 0.0, 0.0
        for place in range(last - begin):
            own_grad += grads[place]
            own_hess += bends[place]
            total += abs(grads[place])
            g[begin + place] += grads[place]
            h[begin + place] += bends[place]
        g[i] -= own_grad
        h[i] += own_hess
    return total


@kernel
def are_apart(ranked: RankedList, parts: Parts, upper: int, lower: int) -> bool:
    """Whether two parts can be summed node by node."""
    gap = parts.low[upper] - parts.high[lower]
    widest = max(parts.high[upper] - parts.low[upper], parts.high[lower] - parts.low[lower])
    if ranked.normalize and widest > gap + LEAST_DISTANCE:
        return False
    limit = _WIDEST_APART if widest <= gap else _WIDEST
    return bool(ranked.sigma * widest <= limit or ranked.sigma * gap >= _FLAT)


@kernel
def hand_down(ranked: RankedList, parts: Parts, g: Floats, h: Floats) -> None:
    """Interpolate what each part has received at its halves' nodes, and that of the smallest parts at the documents."""
    weights, n_levels = np.empty(NODES), len(ranked.factors)
    for half in range(2, 2 * parts.smallest):
        for m in range(NODES):
            node_weights(place_in(parts, half // 2, node_score(parts, half, m)), weights)
            for level in range(n_levels):
                for what in range(3):
                    grad, hess = 0.0, 0.0
                    for k in range(NODES):
                        grad += weights[k] * parts.grad[half // 2, level, what, k]
                        hess += weights[k] * parts.hess[half // 2, level, what, k]
                    parts.grad[half, level, what, m] += grad
                    parts.hess[half, level, what, m] += hess
    for part in range(parts.smallest, 2 * parts.smallest):
        for r in range(parts.start[part], parts.stop[part]):
            node_weights(place_in(parts, part, ranked.scores[r]), weights)
            level, u, v = ranked.levels[r], ranked.u[r], ranked.v[r]
            own_grad, own_hess = parts.grad[part, level], parts.hess[part, level]
            for k in range(NODES):
                g[r] += weights[k] * (own_grad[_ONE, k] + u * own_grad[_U, k] + v * own_grad[_V, k])
                h[r] += weights[k] * (own_hess[_ONE, k] + u * own_hess[_U, k] + v * own_hess[_V, k])


@kernel
def add_ranked_sums(ranked: RankedList, g: Floats, h: Floats) -> float:
    """Add gradients and hessians of all pairs to g and h, by rank; return the sum of the sizes of the gradients."""
    parts, square = make_parts(ranked), (2, NODES, NODES)
    pair = Pair(np.empty(square), np.empty(square), np.empty(square), np.empty((4, NODES)), np.empty((2, NODES)))
    uppers, lowers = np.empty(_STACK, np.int64), np.empty(_STACK, np.int64)
    uppers[0], lowers[0], waiting, total = 1, 1, 1, 0.0
    while waiting > 0:
        waiting -= 1
        upper, lower = uppers[waiting], lowers[waiting]
        if parts.start[upper] >= ranked.rows:
            continue
        if upper != lower and are_apart(ranked, parts, upper, lower):
            node_pairs(ranked, parts, upper, lower, pair)
            total += add_part(ranked, parts, upper, lower, True, pair)
            add_part(ranked, parts, lower, upper, False, pair)
        elif upper >= parts.smallest and lower >= parts.smallest:
            total += add_near(
                ranked, parts.start[upper], parts.stop[upper], parts.start[lower], parts.stop[lower], g, h
            )  # fmt: skip
        elif upper == lower:
            for side in range(3):
                uppers[waiting + side] = 2 * upper + side // 2
                lowers[waiting + side] = 2 * upper + (side + 1) // 2
            waiting += 3
        else:
            width_upper, width_lower = parts.high[upper] - parts.low[upper], parts.high[lower] - parts.low[lower]
            halve_upper = lower >= parts.smallest or (upper < parts.smallest and width_upper >= width_lower)
            for side in range(2):
                uppers[waiting + side] = 2 * upper + side if halve_upper else upper
                lowers[waiting + side] = lower if halve_upper else 2 * lower + side
            waiting += 2
    hand_down(ranked, parts, g, h)
    return total
