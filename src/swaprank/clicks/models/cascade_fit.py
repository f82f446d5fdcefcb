"""Fit the models of the cascade family: what each makes of how often people went on."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.models.cascade_em import Heads, Reading, count_heads, expected_reading, known_likelihood
from swaprank.clicks.models.click_model_names import Assumptions
from swaprank.clicks.models.em_rounds import repeat_rounds
from swaprank.clicks.models.shown_pages import Pages
from swaprank.clicks.models.shrinkage import PairRates, context_rates, pair_rates, within


class Cascade(NamedTuple):
    """A fitted model of the cascade family."""

    attraction: PairRates
    patience: float
    """P(next one is examined | examined, not clicked)."""
    satisfaction: PairRates | None
    """P(satisfied | clicked) of the dynamic Bayesian models: who is satisfied stops."""
    after_click: Floats
    """P(next one is examined | clicked) of each place; in the click chain model of relevance 0, and 1."""
    rounds: int


class _Round(NamedTuple):
    """The numbers of a round, and how people read if they are right."""

    attraction: Floats
    after_numbers: Floats
    """Satisfaction of each pair, or `Cascade.after_click`."""
    after: Floats
    heads: Heads
    reading: Reading
    pair_query: Ints
    n_queries: int


def going_on(kind: Assumptions, attraction: Floats, after_numbers: Floats, patience: float, n_places: int) -> Floats:
    """P(next one is examined | clicked), one number per unit: a place, or a pair with this attraction."""
    if kind.after_click == "document":
        return patience * (1.0 - after_numbers)
    if kind.after_click == "relevance":
        unlike, like = float(after_numbers[0]), float(after_numbers[1])
        return unlike + (like - unlike) * attraction
    return after_numbers if kind.after_click == "place" else np.zeros(n_places)


def fit_cascade(
    pages: Pages, kind: Assumptions, n_places: int, pair_query: Ints, n_queries: int, n_threads: int
) -> Cascade:
    """The model of some pages."""
    n_pairs = len(pair_query)
    by_place = kind.after_click in ("place", "never")
    unit, n_units = (pages.place, n_places) if by_place else (pages.pair, n_pairs)
    heads = count_heads(pages, unit, n_pairs, n_units, first_click_only=kind.after_click == "never")

    def next_round(now: Floats) -> tuple[Cascade, float]:
        patience, after_numbers, attraction = _split(kind, now, n_pairs)
        after = going_on(kind, attraction, after_numbers, patience, n_places)
        reading = expected_reading(heads, attraction, after, patience, n_threads)
        likelihood = known_likelihood(heads, attraction, after, patience) + float(reading.likelihood[0])
        return _next(kind, _Round(attraction, after_numbers, after, heads, reading, pair_query, n_queries)), likelihood

    def improve(now: Floats) -> tuple[Floats, float]:
        model, likelihood = next_round(now)
        after = model.after_click if model.satisfaction is None else model.satisfaction.rate
        return _joined(kind, model.patience, after, model.attraction.rate), likelihood

    n_after = {"never": 0, "place": n_places, "document": n_pairs, "relevance": 2}[kind.after_click]
    start = pair_rates(heads.clicks, heads.reading.examined, pair_query, n_queries).rate
    n_shared = kind.impatient + (n_after if kind.after_click != "document" else 0)
    now, rounds = repeat_rounds(improve, _joined(kind, 0.9, np.full(n_after, 0.5), start), n_shared)
    return next_round(now)[0]._replace(rounds=rounds)


def _joined(kind: Assumptions, patience: float, after_numbers: Floats, attraction: Floats) -> Floats:
    """All numbers that a round changes in one array, those of all pages first."""
    return np.concatenate((np.full(int(kind.impatient), patience), after_numbers, attraction))


def _split(kind: Assumptions, now: Floats, n_pairs: int) -> tuple[float, Floats, Floats]:
    patience = float(now[0]) if kind.impatient else 1.0
    return patience, now[int(kind.impatient) : -n_pairs], now[-n_pairs:]


def _next(kind: Assumptions, now: _Round) -> Cascade:
    """The model that makes the expected reading most likely."""
    reading, clicked = now.reading, now.heads.clicked
    went_on = reading.after_click
    stopped = clicked - went_on
    kept, chances = float(reading.after_skip[0]), float(reading.skipped[0])
    clicks, examined = now.heads.clicks, reading.examined
    satisfaction, after_click = None, np.empty(0)
    if kind.after_click == "place":
        after_click = context_rates(went_on, clicked)
    elif kind.after_click == "document":
        # Who stops after a click is satisfied, or has lost patience.
        satisfied = stopped * now.after_numbers / (1.0 - now.after)
        satisfaction = pair_rates(satisfied, clicked, now.pair_query, now.n_queries)
        kept, chances = kept + float(went_on.sum()), chances + float((clicked - satisfied).sum())
    elif kind.after_click == "relevance":
        # A click leads to one of two branches: the document was liked, with the probability of its attraction, or not.
        like = float(now.after_numbers[1])
        stayed = went_on * now.attraction * like / now.after
        left = stopped * now.attraction * (1.0 - like) / (1.0 - now.after)
        liked = stayed + left
        after_click = context_rates(
            np.array([(went_on - stayed).sum(), stayed.sum()]), np.array([(clicked - liked).sum(), liked.sum()])
        )
        clicks, examined = clicks + liked, examined + clicked
    patience = float(within(np.asarray(kept / max(chances, 1.0)))) if kind.impatient else 1.0
    attraction = pair_rates(clicks, examined, now.pair_query, now.n_queries)
    return Cascade(attraction, patience, satisfaction, after_click, 0)
