"""A second simulator of clicks, which shares nothing with `sr.datasets.clicks`: no default was chosen on it.

Relevance is drawn from a Beta distribution and depends on the user's type; the production ranker is a mixture of a few
fixed rankings, so that the probability of each document at each place is known exactly. People click place by place, in
plain NumPy.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import swaprank as sr
from swaprank.arrays import Bools, Floats, Ints

People = Literal["position", "cascade", "dbn", "browsing"]


@dataclass(frozen=True)
class World:
    """Queries with the same number of documents each."""

    relevance: Floats
    """Type of user x query x document: the probability that somebody who examines the document clicks it."""
    rankings: Ints
    """Ranking x query x place: the documents in the order of each ranking of the production ranker."""
    weights: Floats
    """Type of user x ranking: how often the ranking is shown."""
    share: Floats
    """How common each type of user is."""
    features: Floats
    """Query x document x feature."""

    @property
    def mean_relevance(self) -> Floats:
        """Query x document: the relevance for a random user."""
        return np.asarray(np.einsum("t,tqd->qd", self.share, self.relevance))


def make_world(
    n_queries: int,
    n_documents: int = 12,
    *,
    n_rankings: int = 6,
    quality: float = 0.5,
    personalised: bool = False,
    seed: int = 0,
) -> World:
    """`quality` is the correlation of each ranking's scores with relevance; 0 is random. A personalised ranker knows
    the relevance for the user's type, and shows a type the rankings that were made for it."""
    rng = np.random.default_rng(seed)
    n_types = 2 if personalised else 1
    base = rng.beta(0.8, 2.5, (1, n_queries, n_documents))
    own = rng.beta(0.8, 2.5, (n_types, n_queries, n_documents))
    relevance = 0.05 + 0.9 * (0.3 * base + 0.7 * own if personalised else np.broadcast_to(base, own.shape))
    of_type = np.arange(n_rankings) % n_types
    centred = relevance - relevance.mean(axis=2, keepdims=True)
    scores = quality * centred[of_type] / centred.std()
    scores = scores + np.sqrt(1 - quality**2) * rng.standard_normal((n_rankings, n_queries, n_documents))
    liked = np.where(of_type == np.arange(n_types)[:, None], 1.0, 0.15)
    weights = liked * rng.uniform(0.5, 1.5, n_rankings)
    noise = rng.standard_normal((n_queries, n_documents, 4))
    features = np.concatenate((relevance.mean(axis=0)[..., None] * 3 + noise[..., :2], noise[..., 2:]), axis=2)
    return World(
        relevance,
        np.argsort(-scores, axis=2),
        weights / weights.sum(axis=1, keepdims=True),
        np.full(n_types, 1 / n_types),
        features,
    )


def placements(world: World, n_shown: int) -> Floats:
    """Type x query x document x place: the probability that the document is shown at the place."""
    n_types, n_queries, n_documents = world.relevance.shape
    chance = np.zeros((n_types, n_queries, n_documents, n_shown))
    for ranking, weight in zip(world.rankings, world.weights.T, strict=True):
        for place in range(n_shown):
            chance[:, np.arange(n_queries), ranking[:, place], place] += weight[:, None]
    return chance


def click_log(
    world: World,
    n_sessions: int,
    *,
    people: People = "position",
    examination: Any = None,
    n_shown: int = 6,
    stop: float = 0.7,
    patience: float = 0.9,
    seed: int = 0,
    features: bool = False,
    propensity: bool = False,
) -> sr.clicks.ClickLog:
    """A log of `n_sessions` pages. `stop` is the probability that a click ends a session of "dbn"; with "browsing",
    places are examined by the distance from the last click, too, as in the user browsing model."""
    rng = np.random.default_rng([seed, 77])
    n_types, n_queries, n_documents = world.relevance.shape
    user = rng.choice(n_types, n_sessions, p=world.share)
    query = rng.integers(n_queries, size=n_sessions)
    cumulative = np.cumsum(world.weights, axis=1)[user]
    ranking = np.minimum((rng.random((n_sessions, 1)) > cumulative).sum(axis=1), world.weights.shape[1] - 1)
    document = world.rankings[ranking, query, :n_shown]
    relevance = world.relevance[user[:, None], query[:, None], document]
    theta = 1.0 / np.arange(1, n_shown + 1) if examination is None else np.asarray(examination, dtype=float)
    click = _clicks(relevance, people, theta, stop, patience, rng)
    chance = placements(world, n_shown)[user[:, None], query[:, None], document, np.arange(n_shown)]
    more: dict[str, Any] = {}
    if features:
        more["X"] = world.features[query[:, None], document].reshape(n_sessions * n_shown, -1)
    if propensity:
        more["propensity"] = np.minimum(chance.ravel(), 1.0)  # sums may be above 1 by rounding
    return sr.clicks.ClickLog(
        session=np.repeat(np.arange(n_sessions), n_shown),
        qid=np.repeat(query, n_shown),
        docid=(query[:, None] * n_documents + document).ravel(),
        position=np.tile(np.arange(1, n_shown + 1), n_sessions),
        click=click.ravel().astype(float),
        **more,
    )


def _clicks(
    relevance: Floats, people: People, theta: Floats, stop: float, patience: float, rng: np.random.Generator
) -> Bools:
    n_sessions, n_shown = relevance.shape
    click = np.zeros(relevance.shape, np.bool_)
    reading = np.ones(n_sessions, np.bool_)
    last = np.zeros(n_sessions, np.int64)
    for place in range(n_shown):
        wants = rng.random(n_sessions) < relevance[:, place]
        if people == "position":
            click[:, place] = wants & (rng.random(n_sessions) < theta[place])
        elif people == "browsing":
            distance = place + 1 - last
            click[:, place] = wants & (rng.random(n_sessions) < theta[place] ** 0.4 / np.sqrt(distance))
            last = np.where(click[:, place], place + 1, last)
        else:
            click[:, place] = wants & reading
            ends = 1.0 if people == "cascade" else stop
            done = click[:, place] & (rng.random(n_sessions) < ends)
            reading &= ~done
            if people == "dbn":
                reading &= rng.random(n_sessions) < patience
    return click


def scores_of_pairs(log: sr.clicks.ClickLog, of_document: Floats) -> Floats:
    """Query x document numbers, as one number per (query, document) pair of a log of `click_log`."""
    return np.asarray(of_document.ravel()[log.pair_docid.astype(int)])
