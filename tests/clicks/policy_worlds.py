"""Policies of the worlds of people.py, and the clicks that they truly get, by enumeration of their rankings."""

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from tests.clicks.people import World


def all_documents(world: World) -> sr.Dataset:
    """Every document of a world, also those that a log never showed, with the document ids of `click_log`."""
    n_queries, n_documents = world.mean_relevance.shape
    docid = np.arange(n_queries * n_documents)
    return sr.Dataset(docid[:, None], np.zeros(len(docid)), qid=docid // n_documents, docid=docid)


def mixture(world: World, log: sr.clicks.ClickLog, weights: Floats) -> sr.clicks.Policy:
    """The rankings of a world's production ranker, with other weights."""
    data = all_documents(world)
    scores = -np.argsort(world.rankings, axis=2).reshape(len(weights), -1)
    used = np.flatnonzero(weights)
    policies = [sr.clicks.Policy.ranking(log, scores[ranking].astype(float), data=data) for ranking in used]
    return sr.clicks.Policy.mixture(policies, weights[used].tolist())


def true_clicks(world: World, weights: Floats, examination: Floats) -> float:
    """Clicks per session of that policy, with people who examine each place with the given probability.

    `weights` are those of the rankings, for all users or (type x ranking) for each type.
    """
    n_queries = world.relevance.shape[1]
    clicks = 0.0
    for user, of_type in enumerate(np.broadcast_to(weights, world.weights.shape)):
        for ranking, weight in zip(world.rankings, of_type, strict=True):
            page = world.relevance[user][np.arange(n_queries)[:, None], ranking[:, : len(examination)]]
            clicks += world.share[user] * weight * float((page * examination).sum(axis=1).mean())
    return clicks
