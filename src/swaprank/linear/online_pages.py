"""Pages that teach a linear ranker: what is shown, and how the weights follow the clicks."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.linear.online_kernels import (
    add_forces,
    draw_direction,
    draw_ranking,
    pair_gradients,
    score_rows,
    team_draft,
)


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
