"""Pages that teach a linear ranker: what is shown, and how the weights follow the clicks; one by one, or simulated."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.clicks.online_kernels import (
    People,
    add_forces,
    draw_direction,
    draw_ranking,
    pair_gradients,
    random_fraction,
    score_rows,
    simulate_page,
    team_draft,
)
from swaprank.kernels import kernel

_QUERY_DRAW = (1 << 20) - 1


class Rules(NamedTuple):
    """How a learner shows and moves, as plain values for kernels."""

    duels: bool
    """True: dueling bandit gradient descent. False: pairwise differentiable gradient descent."""
    rate: float
    """Step size: of a gradient, or along a direction that won."""
    distance: float
    """Of duels: the distance of the ranker that is tried from the present one."""
    seed: int


@kernel
def show_page(rules: Rules, features: Features, weights: Floats, page: int, shown: Ints, credit: Floats) -> None:
    """Choose the documents of a page among all rows. Duels also give the credit that a click on each of them has."""
    scores = np.empty(len(features))
    score_rows(features, weights, scores)
    if rules.duels:
        direction, other = np.empty(len(weights)), np.empty(len(features))
        draw_direction(rules.seed, page, direction)
        score_rows(features, weights + rules.distance * direction, other)
        team_draft(scores, other, rules.seed, page, shown, credit)
    else:
        draw_ranking(scores, rules.seed, page, shown)


@kernel
def learn_page(
    rules: Rules, features: Features, page: int, shown: Ints, credit: Floats, click: Floats, weights: Floats
) -> None:
    """Move the weights by the clicks on a page.

    A duel is won by the ranker with more clicks; if that is the other one, weights move toward it [Yue2009].
    """
    if rules.duels:
        votes = 0.0
        for place in range(len(shown)):
            votes += credit[place] * click[place]
        if votes > 0.0:
            direction = np.empty(len(weights))
            draw_direction(rules.seed, page, direction)
            weights += rules.rate * direction
    else:
        scores, forces = np.empty(len(features)), np.zeros(len(features))
        score_rows(features, weights, scores)
        pair_gradients(scores, shown, click, forces)
        add_forces(features, shown, forces, rules.rate, weights)


@kernel
def simulate_sessions(
    rules: Rules,
    features: Features,
    indptr: Ints,
    people: People,
    n_shown: int,
    first: int,
    last: int,
    weights: Floats,
) -> float:
    """Sessions from `first` to `last`, each of a random query; moves the weights, and returns the number of clicks."""
    clicks = 0.0
    for page in range(first, last):
        query = int(random_fraction(rules.seed, page, _QUERY_DRAW) * (len(indptr) - 1))
        start, stop = indptr[query], indptr[query + 1]
        rows, n = features[start:stop], min(n_shown, stop - start)
        shown, credit, click = np.empty(n, np.int64), np.zeros(n), np.empty(n)
        show_page(rules, rows, weights, page, shown, credit)
        simulate_page(people, start, shown, rules.seed, page, click)
        learn_page(rules, rows, page, shown, credit, click, weights)
        clicks += click.sum()
    return clicks
