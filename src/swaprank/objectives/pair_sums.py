"""RankNet's sums over pairs in about n log n, with a relative error below 1e-7.

With z = -sigma * score and rho(x) = 1 / (1 + exp(x)), a document u that should be above v gets the gradient
-rho(z_v - z_u), v gets the opposite, and both get the hessian rho (1 - rho). Between two sets of documents, one with
larger labels:

    documents, sorted      . .. ...:.. .   .:::::.  .        .   .
    cells                 [           ][         ]          [      ]       begin at a document, WIDTH long
    nodes                  |  |  |  |   |  |  |  |            |   |        NODES per cell, or its documents if fewer

1. A cell's documents become weights of a few nodes: rho(z - z') is interpolated in z' by Chebyshev polynomials, whose
   error falls as 6.4^-NODES, because rho has no pole nearer than pi, and a cell extends 1 to either side of its middle.
2. Nodes of near cells are summed pair by pair. From NEAR on, rho(x) = e^-x - e^-2x + e^-3x - …, so the far cells are
   TERMS sums of exponentials, carried along from cell to cell.
3. The gradients at a cell's nodes are interpolated at its documents.

Many label levels are halved again and again: the upper half with the lower half, then each half by itself. So n
documents with L levels cost about n log L, at most n log n, besides sorting. All terms have one sign, and errors are
relative to each, so no spread of the scores, no cluster and no tie costs a digit. Only the hessian between equal labels
has an absolute error of 1e-16, because a document's pair with itself is subtracted from it at the end.
"""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.elementary import exp
from swaprank.kernels import kernel
from swaprank.metrics.ordering import rank_documents
from swaprank.objectives.ranknet_pairs import add_list

WIDTH, NODES = 2.0, 12
"""Largest relative error of the interpolation that was found: 2e-9 for gradients, 7e-9 for hessians."""
NEAR, TERMS = 5.0, 4
"""Relative error of the series: exp(-TERMS * NEAR) for gradients, TERMS + 1 times that for hessians, 1e-8."""
BLOCK = 256
"""Up to this many documents are summed pair by pair."""
_DEEPEST = 512
"""Size of the stack of halves: two splits at least halve a list, and no list has 2^64 documents."""


def _chebyshev_nodes() -> tuple[Floats, Floats]:
    """cos((m + 1/2) pi / 12) and the polynomials there, by square roots and products: cosines differ between CPUs."""
    doubled = np.array([np.sqrt(6.0) + np.sqrt(2.0), np.sqrt(8.0), np.sqrt(6.0) - np.sqrt(2.0)]) / 4.0
    positive = np.sqrt((1.0 + np.concatenate((doubled, -doubled[::-1]))) / 2.0)
    places = np.concatenate((positive, -positive[::-1]))
    waves = [np.ones(NODES), places]
    while len(waves) < NODES:
        waves.append(2.0 * places * waves[-1] - waves[-2])
    return places, np.array(waves)


PLACES, WAVES = _chebyshev_nodes()
"""Places of the nodes in a cell from -1 to 1, the zeros of the Chebyshev polynomial T_12; T_0 to T_11 (rows) there."""


class Cells(NamedTuple):
    """One set of documents, sorted by z, in cells of nodes."""

    base: Floats
    """The beginning of each cell."""
    width: Floats
    """From a cell's first document to its last."""
    first: Ints
    """Cell c has the documents from first[c] to first[c + 1]."""
    node: Ints
    """Cell c has the nodes from node[c] to node[c + 1]."""
    e: Floats
    """exp(z - base) of each node."""
    weight: Floats
    """The number of documents that a node stands for; may be fractional or negative."""


@kernel
def make_cells(z: Floats) -> Cells:
    """Cut sorted z into cells, and put nodes and their weights into each."""
    n = len(z)
    base, width = np.empty(n), np.empty(n)
    first, node = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    e, weight = np.empty(n), np.empty(n)
    moments = np.empty(NODES)
    start, cells, nodes = 0, 0, 0
    while start < n:
        stop = start + 1
        while stop < n and z[stop] - z[start] <= WIDTH:
            stop += 1
        base[cells], width[cells] = z[start], z[stop - 1] - z[start]
        first[cells], node[cells] = start, nodes
        if width[cells] == 0.0:
            e[nodes], weight[nodes] = 1.0, stop - start
            nodes += 1
        elif stop - start <= NODES:
            for r in range(start, stop):
                e[nodes], weight[nodes] = exp(z[r] - z[start]), 1.0
                nodes += 1
        else:
            wave_moments(z[start:stop], z[start], width[cells], moments)
            for m in range(NODES):
                e[nodes] = exp(0.5 * width[cells] * (1.0 + PLACES[m]))
                total = 0.5 * moments[0]
                for k in range(1, NODES):
                    total += WAVES[k, m] * moments[k]
                weight[nodes] = 2.0 / NODES * total
                nodes += 1
        start = stop
        cells += 1
    first[cells], node[cells] = n, nodes
    return Cells(base[:cells], width[:cells], first[: cells + 1], node[: cells + 1], e[:nodes], weight[:nodes])


@kernel
def wave_moments(z: Floats, base: float, width: float, moments: Floats) -> None:
    """moments[k]: the sum of the Chebyshev polynomial T_k over a cell's documents."""
    for k in range(NODES):
        moments[k] = 0.0
    moments[0] = len(z)
    for r in range(len(z)):
        t = 2.0 * ((z[r] - base) / width) - 1.0
        before, now = 1.0, t
        for k in range(1, NODES):
            moments[k] += now
            before, now = now, 2.0 * t * now - before


@kernel
def interpolate_at_documents(
    cells: Cells, z: Floats, order: Ints, g_nodes: Floats, h_nodes: Floats, sign: float, g: Floats, h: Floats
) -> None:
    """Interpolate the nodes' values at the documents; add them to h[order], and with the sign to g[order]."""
    g_waves, h_waves = np.empty(NODES), np.empty(NODES)
    for c in range(len(cells.base)):
        start, stop, node = cells.first[c], cells.first[c + 1], cells.node[c]
        n_nodes = cells.node[c + 1] - node
        if n_nodes == 1 or n_nodes == stop - start:
            for r in range(start, stop):
                own = node if n_nodes == 1 else node + r - start
                g[order[r]] += sign * g_nodes[own]
                h[order[r]] += h_nodes[own]
            continue
        for k in range(NODES):
            g_waves[k] = h_waves[k] = 0.0
            for m in range(NODES):
                g_waves[k] += 2.0 / NODES * WAVES[k, m] * g_nodes[node + m]
                h_waves[k] += 2.0 / NODES * WAVES[k, m] * h_nodes[node + m]
        for r in range(start, stop):
            t = 2.0 * ((z[r] - cells.base[c]) / cells.width[c]) - 1.0
            g_last, g_now, h_last, h_now = 0.0, 0.0, 0.0, 0.0
            for k in range(NODES - 1, 0, -1):
                g_last, g_now = g_now, g_waves[k] + 2.0 * t * g_now - g_last
                h_last, h_now = h_now, h_waves[k] + 2.0 * t * h_now - h_last
            g[order[r]] += sign * (0.5 * g_waves[0] + t * g_now - g_last)
            h[order[r]] += 0.5 * h_waves[0] + t * h_now - h_last


@kernel
def add_node_pairs(
    mine: float, weight: float, half: float, q: float, e: Floats, weights: Floats, pairs: Floats, g: Floats, h: Floats
) -> tuple[float, float]:
    """Add the pairs of an upper node and a lower cell; q converts the lower cell's e to the base of the upper one.

    pairs: A work array, two numbers per lower node. The first loop vectorizes, the sums of the second are in order.
    """
    n = len(e)
    for j in range(n):
        other = q * e[j]
        inverse = 1.0 / (mine + other)
        pairs[j] = ((1.0 - half) * mine - half * other) * inverse
        pairs[n + j] = (other * inverse) * (mine * inverse)
    own_grad, own_hess = 0.0, 0.0
    for j in range(n):
        own_grad += weights[j] * pairs[j]
        own_hess += weights[j] * pairs[n + j]
        g[j] += weight * pairs[j]
        h[j] += weight * pairs[n + j]
    return own_grad, own_hess


@kernel
def add_near_cells(
    upper: Cells, lower: Cells, half: float, g_up: Floats, h_up: Floats, g_low: Floats, h_low: Floats
) -> None:
    """Add the pairs of nodes in cells whose beginnings are less than NEAR + WIDTH apart."""
    begin, pairs = 0, np.empty(2 * NODES)
    for a in range(len(upper.base)):
        while begin < len(lower.base) and upper.base[a] - lower.base[begin] >= NEAR + WIDTH:
            begin += 1
        for b in range(begin, len(lower.base)):
            distance = lower.base[b] - upper.base[a]
            if distance >= NEAR + WIDTH:
                break
            q, i, j = exp(distance), lower.node[b], lower.node[b + 1]
            for u in range(upper.node[a], upper.node[a + 1]):
                own_grad, own_hess = add_node_pairs(
                    upper.e[u], upper.weight[u], half, q, lower.e[i:j], lower.weight[i:j], pairs, g_low[i:j], h_low[i:j]
                )
                g_up[u] += own_grad
                h_up[u] += own_hess


@kernel
def add_far_cells(targets: Cells, sources: Cells, onward: bool, small: bool, half: float, g: Floats, h: Floats) -> None:
    """Add the pairs with all cells that begin NEAR + WIDTH or more before (onward: going up in z) or behind.

    `small`: whether rho of these pairs is near 0, else near 1.
    """
    sums, moments = np.zeros(TERMS), np.empty(TERMS)
    count, taken, way = 0.0, 0, 1.0 if onward else -1.0
    n_targets, n_sources = len(targets.base), len(sources.base)
    for step in range(n_targets):
        a = step if onward else n_targets - 1 - step
        if step > 0:
            decay = exp(-abs(targets.base[a] - targets.base[a - 1 if onward else a + 1]))
            power = 1.0
            for k in range(TERMS):
                power *= decay
                sums[k] *= power
        while taken < n_sources:
            b = taken if onward else n_sources - 1 - taken
            distance = way * (targets.base[a] - sources.base[b])
            if distance < NEAR + WIDTH:
                break
            far_moments(sources, b, way, distance, moments)
            for k in range(TERMS):
                sums[k] += moments[k]
            count += sources.first[b + 1] - sources.first[b]
            taken += 1
        if taken == 0:
            continue
        for u in range(targets.node[a], targets.node[a + 1]):
            x = 1.0 / targets.e[u] if onward else targets.e[u]
            power, rho, own_hess = -1.0, 0.0, 0.0
            for k in range(TERMS):
                power *= -x
                rho += power * sums[k]
                own_hess += (k + 1) * power * sums[k]
            g[u] += rho - half * count if small else (1.0 - half) * count - rho
            h[u] += own_hess


@kernel
def far_moments(sources: Cells, b: int, way: float, distance: float, moments: Floats) -> None:
    """moments[k - 1]: the sum of exp(-k distance) over a cell's nodes, from a base at this distance from its own."""
    for k in range(TERMS):
        moments[k] = 0.0
    decay = exp(-distance)
    for v in range(sources.node[b], sources.node[b + 1]):
        x = decay * (sources.e[v] if way > 0.0 else 1.0 / sources.e[v])
        power = sources.weight[v]
        for k in range(TERMS):
            power *= x
            moments[k] += power


@kernel
def add_two_sets(x: Floats, up: Ints, low: Ints, half: float, g: Floats, h: Floats) -> None:
    """Add the pairs between documents of larger labels and others, both by descending x = sigma * score.

    With half = 1/2, `up` and `low` are the same documents, of one label, whose pairs have the target 1/2.
    """
    z_up, z_low = descending(x, up), descending(x, low)
    upper, lower = make_cells(z_up), make_cells(z_low)
    g_up, h_up = np.zeros(len(upper.e)), np.zeros(len(upper.e))
    g_low, h_low = np.zeros(len(lower.e)), np.zeros(len(lower.e))
    add_near_cells(upper, lower, half, g_up, h_up, g_low, h_low)
    for side in range(2 if half == 0.0 else 1):
        of_upper = side == 0
        targets, sources = (upper, lower) if of_upper else (lower, upper)
        g_nodes, h_nodes = (g_up, h_up) if of_upper else (g_low, h_low)
        for onward in (False, True):
            # Where z is smaller, lower documents rank above: rho is nearly 1.
            add_far_cells(targets, sources, onward, onward != of_upper, half, g_nodes, h_nodes)
        z, order, sign = (z_up, up, -1.0) if of_upper else (z_low, low, 1.0)
        interpolate_at_documents(targets, z, order, g_nodes, h_nodes, sign, g, h)
    if half > 0.0:
        for r in range(len(up)):
            h[up[r]] -= 0.25  # the document's pair with itself


@kernel
def descending(x: Floats, order: Ints) -> Floats:
    """z = -x of documents by descending x."""
    z = np.empty(len(order))
    for r in range(len(order)):
        z[r] = -x[order[r]]
    return z


@kernel
def add_pair_sums(
    labels: Floats, x: Floats, ties: bool, order: Ints, scratch: Ints, e: Floats, g: Floats, h: Floats
) -> None:
    """Add p - P and p (1 - p) of all pairs of a list by descending label; x = sigma * score.

    `order`, `scratch` and `e` are as long as the list. Goes depth first over the halves of the labels' order, with an
    explicit stack, because Numba crashes on cached recursion.
    """
    starts, stops, middles = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    for r in range(len(x)):
        order[r] = r
    starts[0], stops[0], middles[0] = 0, len(x), -1
    top = 0
    while top >= 0:
        start, stop, middle = starts[top], stops[top], middles[top]
        own = order[start:stop]
        if stop - start <= BLOCK or labels[start] == labels[stop - 1]:
            add_block(labels, x, ties, start, stop, own, scratch, e, g, h)
            top -= 1
        elif middle < 0:
            middle = level_near_the_middle(labels, start, stop)
            middles[top] = middle
            starts[top + 1], stops[top + 1], middles[top + 1] = start, middle, -1
            starts[top + 2], stops[top + 2], middles[top + 2] = middle, stop, -1
            top += 2
        else:
            add_two_sets(x, order[start:middle], order[middle:stop], 0.0, g, h)
            merge_sorted(x, own, middle - start, scratch)
            top -= 1


@kernel
def add_block(
    labels: Floats, x: Floats, ties: bool, start: int, stop: int, order: Ints, scratch: Ints, e: Floats, g: Floats,
    h: Floats,
) -> None:  # fmt: skip
    """Sort the documents from start to stop, a block or all of one label, and add the pairs among them."""
    rank_documents(x, order, scratch, e)
    if stop - start <= BLOCK:
        add_list(labels[start:stop], x[start:stop], ties, e[start:stop], g[start:stop], h[start:stop])
    elif ties:
        add_two_sets(x, order, order, 0.5, g, h)


@kernel
def level_near_the_middle(labels: Floats, start: int, stop: int) -> int:
    """The end of a run of equal labels that is nearest to the middle."""
    middle = (start + stop) // 2
    up, down = middle, middle
    while up > start and labels[up - 1] == labels[middle]:
        up -= 1
    while down < stop and labels[down] == labels[middle]:
        down += 1
    return up if down == stop or (up > start and middle - up <= down - middle) else down


@kernel
def merge_sorted(x: Floats, order: Ints, middle: int, scratch: Ints) -> None:
    """Merge two parts of `order`, each by descending x, into one."""
    for r in range(middle):  # not a slice: assigning one takes Numba seconds to compile
        scratch[r] = order[r]
    left, right = 0, middle
    for place in range(len(order)):
        if left == middle:
            break
        if right == len(order) or x[scratch[left]] >= x[order[right]]:
            order[place] = scratch[left]
            left += 1
        else:
            order[place] = order[right]
            right += 1
