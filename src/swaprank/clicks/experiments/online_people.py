"""Simulated people who search, one session after the other, while a ranker learns from their clicks."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.kernels import kernel
from swaprank.linear.online_kernels import PAGE_DRAWS, random_fraction
from swaprank.linear.online_pages import Rules, learn_page, show_page


class People(NamedTuple):
    """Simulated people, as arrays for kernels."""

    appeal: Floats
    """The probability that somebody who examines the document clicks it, one per document."""
    satisfaction: Floats
    """The probability that a click on the document ends the session."""
    examination: Floats
    """The probability that somebody who is still reading examines a place."""
    persistence: float
    """The probability to go on to the next place."""


@kernel
def simulate_page(people: People, start: int, shown: Ints, seed: int, page: int, click: Floats) -> None:
    """Click on documents of a page, given their numbers in a query that starts at row `start`; click is 0 or 1."""
    reading = True
    for place in range(len(shown)):
        row = start + shown[place]
        draw = PAGE_DRAWS // 2 + 3 * place
        looks = reading and random_fraction(seed, page, draw) < people.examination[place] * people.appeal[row]
        click[place] = 1.0 if looks else 0.0
        if looks and random_fraction(seed, page, draw + 1) < people.satisfaction[row]:
            reading = False
        if random_fraction(seed, page, draw + 2) >= people.persistence:
            reading = False


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
        query = int(random_fraction(rules.seed, page, PAGE_DRAWS - 1) * (len(indptr) - 1))
        start, stop = indptr[query], indptr[query + 1]
        rows, n = features[start:stop], min(n_shown, stop - start)
        shown, credit, click = np.empty(n, np.int64), np.zeros(n), np.empty(n)
        show_page(rules, rows, weights, page, shown, credit)
        simulate_page(people, start, shown, rules.seed, page, click)
        learn_page(rules, rows, page, shown, credit, click, weights)
        clicks += click.sum()
    return clicks
