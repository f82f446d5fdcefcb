"""One page of online learning: the list that is shown, and what its clicks say about the documents.

Random numbers are hashes of a seed, the number of the page and the number of the draw, so that a learner that was saved
goes on as if it had never stopped.
"""

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.data.document_places import random_bits
from swaprank.elementary import exp, log
from swaprank.kernels import kernel
from swaprank.lanes import dot

PAGE_DRAWS = 1 << 20
"""Random numbers of one page. Documents and features have the first half, and simulated people the second."""


@kernel
def random_fraction(seed: int, page: int, draw: int) -> float:
    """A number between 0 and 1, exclusive."""
    bits = random_bits(np.uint64(page) * np.uint64(PAGE_DRAWS) + np.uint64(draw), seed)
    return (np.float64(bits >> np.uint64(12)) + 0.5) / 4503599627370496.0  # 2^52


@kernel
def best_first(keys: Floats, shown: Ints) -> None:
    """Write the numbers of the largest keys, the largest first; of equal keys the first comes first."""
    for place in range(len(shown)):
        best = -1
        for i in range(len(keys)):
            taken = False
            for above in range(place):
                taken |= shown[above] == i
            if not taken and (best < 0 or keys[i] > keys[best]):
                best = i
        shown[place] = best


@kernel
def draw_ranking(scores: Floats, seed: int, page: int, shown: Ints) -> None:
    """Draw the first documents of a Plackett-Luce ranking: each next one with probability exp(score) / sum.

    Scores with Gumbel noise, -log(-log(fraction)), sorted, have this distribution [Yellott1977].
    """
    noisy = np.empty(len(scores))
    for i in range(len(scores)):
        noisy[i] = scores[i] - log(-log(random_fraction(seed, page, i)))
    best_first(noisy, shown)


@kernel
def team_draft(scores: Floats, other: Floats, seed: int, page: int, shown: Ints, credit: Floats) -> None:
    """Interleave the rankings of two scores [Radlinski2008]; credit is 1 where the other one chose, else -1."""
    rankings = np.empty((2, len(shown)), np.int64)
    best_first(scores, rankings[0])
    best_first(other, rankings[1])
    first = 0
    for place in range(len(shown)):
        if place % 2 == 0:
            first = 1 if random_fraction(seed, page, place) < 0.5 else 0
        side = first if place % 2 == 0 else 1 - first
        at, is_new = -1, False
        while not is_new:
            at += 1
            is_new = True
            for above in range(place):
                is_new &= shown[above] != rankings[side, at]
        shown[place] = rankings[side, at]
        credit[place] = 1.0 if side == 1 else -1.0


@kernel
def pair_gradients(scores: Floats, shown: Ints, click: Floats, forces: Floats) -> None:
    """Pairwise differentiable gradient: add the slope of what a page says to the force of each document.

    A clicked document k is better than a document l that was not clicked, stands above the last click or right below
    it. Each such pair pulls its documents apart with the force [Oosterhuis2018, Eqs. 6 to 9]

        w exp(f_k) exp(f_l) / (exp(f_k) + exp(f_l))²,    w = P(R*) / (P(R) + P(R*))

    where R is the page, and R* the page with k and l swapped. The weight w makes up for the place at which each of them
    happened to stand: documents that are liked alike have no force on average.
    """
    n = len(shown)
    last = -1
    for place in range(n):
        if click[place] > 0.0:
            last = place
    if last < 0:
        return
    powers, rest, highest = np.empty(len(scores)), np.empty(n), scores.max()
    for i in range(len(scores)):
        powers[i] = exp(scores[i] - highest)
    remaining_sums(powers, shown, rest)
    for k in range(last + 1):
        for other in range(min(last + 2, n)):
            if click[k] > 0.0 and click[other] == 0.0:
                better, worse = shown[k], shown[other]
                force = swap_weight(powers, rest, shown, k, other) * sigmoid_slope(scores[better] - scores[worse])
                forces[better] += click[k] * force
                forces[worse] -= click[k] * force


@kernel
def remaining_sums(powers: Floats, shown: Ints, rest: Floats) -> None:
    """At each place, the sum over all documents that could still be chosen; from the last, so as not to cancel."""
    is_shown = np.zeros(len(powers), np.bool_)
    for place in range(len(shown)):
        is_shown[shown[place]] = True
    left = 0.0
    for i in range(len(powers)):
        left += 0.0 if is_shown[i] else powers[i]
    for above in range(len(shown)):
        place = len(shown) - 1 - above
        left += powers[shown[place]]
        rest[place] = left


@kernel
def swap_weight(powers: Floats, rest: Floats, shown: Ints, one: int, two: int) -> float:
    """P(R*) / (P(R) + P(R*)): only the sums at the places between the two documents differ."""
    upper, lower = min(one, two), max(one, two)
    change = powers[shown[upper]] - powers[shown[lower]]
    ratio = 1.0
    for place in range(upper + 1, lower + 1):
        # Without the lower document and with the upper one; rounding must not make it 0.
        ratio *= rest[place] / max(rest[place] + change, powers[shown[upper]], 1e-300)
    return ratio / (1.0 + ratio) if ratio < np.inf else 1.0


@kernel
def sigmoid_slope(x: float) -> float:
    """exp(x) / (1 + exp(x))²."""
    e = exp(-abs(x))
    return e / ((1.0 + e) * (1.0 + e))


@kernel
def draw_direction(seed: int, page: int, direction: Floats) -> None:
    """A random direction of length 1: sums of four uniform numbers are nearly normal."""
    square = 0.0
    for k in range(len(direction)):
        total = -2.0
        for part in range(4):
            total += random_fraction(seed, page, PAGE_DRAWS // 4 + 4 * k + part)
        direction[k] = total
        square += total * total
    for k in range(len(direction)):
        direction[k] /= np.sqrt(square)


@kernel
def score_rows(features: Features, weights: Floats, scores: Floats) -> None:
    """Weighted sums of scaled features."""
    for row in range(len(features)):
        scores[row] = dot(features[row], weights)


@kernel
def add_forces(features: Features, shown: Ints, forces: Floats, rate: float, weights: Floats) -> None:
    """Move the weights along the features of shown documents, times their forces."""
    for place in range(len(shown)):
        force, row = rate * forces[shown[place]], features[shown[place]]
        for k in range(len(weights)):
            weights[k] += force * row[k]
