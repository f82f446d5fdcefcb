"""Click models by their definitions: all hidden states of a page are enumerated, in plain Python."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple


class CascadePage(NamedTuple):
    """One page of a cascade: numbers for each of its rows."""

    attraction: Sequence[float]
    patience: float
    after_click: Sequence[float]
    """P(next one is examined | clicked) of each row."""


def cascade_states(page: CascadePage, clicks: Sequence[int]) -> Iterator[tuple[int, float]]:
    """How many rows were examined, and the probability of this together with the clicks."""
    n = len(clicks)
    for examined in range(1, n + 1):
        if any(clicks[examined:]):
            continue
        chance = 1.0
        for k in range(examined):
            chance *= page.attraction[k] if clicks[k] else 1 - page.attraction[k]
            goes_on = page.after_click[k] if clicks[k] else page.patience
            if k + 1 < n:
                chance *= goes_on if k + 1 < examined else 1 - goes_on
        yield examined, chance


def browsing_states(
    examination: Sequence[float], attraction: Sequence[float], clicks: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """Which rows were examined and which attract, and the probability of this; examination given the clicks above."""
    n = len(clicks)
    for examined, attracts in product(product((0, 1), repeat=n), repeat=2):
        if all(e * a == c for e, a, c in zip(examined, attracts, clicks, strict=True)):
            chance = 1.0
            for k in range(n):
                chance *= examination[k] if examined[k] else 1 - examination[k]
                chance *= attraction[k] if attracts[k] else 1 - attraction[k]
            yield examined, attracts, chance
