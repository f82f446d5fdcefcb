"""The documents that a policy chooses from: those of the log, or all of a data set; and where each is placed.

Rank r is at the r-th position that the log has: a log of slots between ads may have the positions 1, 3 and 7.
"""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.evaluation.ranked_pairs import new_ranks, tie_order_of_pairs
from swaprank.clicks.learning.training_data import pair_data
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.logs.log_columns import rows_of_pairs
from swaprank.data.dataset import Dataset
from swaprank.data.document_places import Places, query_keys
from swaprank.data.grouping import query_of_row, sum_by_query
from swaprank.data.row_values import check_scores
from swaprank.metrics.ordering import seeded_tie_order


class Candidates(NamedTuple):
    """Documents that are grouped by query."""

    places: Places
    pair: Ints
    """The candidate that is each (query, document) pair of the log."""
    query: Ints
    """The number of each of the log's queries among the candidates."""
    tie_order: Ints
    data: Dataset | None

    @property
    def indptr(self) -> Ints:
        """Query q has the candidates `indptr[q]` to `indptr[q + 1]`."""
        return self.places.indptr


def candidates(log: ClickLog, data: Dataset | None) -> Candidates:
    """The documents of the log, or of a data set that has them all."""
    if data is None:
        places = Places(np.array(log.pair_indptr), query_keys(log.qids))
        return Candidates(places, np.arange(log.n_pairs), np.arange(log.n_queries), tie_order_of_pairs(log), None)
    rows = rows_of_pairs(log.qids, log.pair_query, log.pair_docid, data)
    query = np.zeros(log.n_queries, np.int64)
    query[log.pair_query] = query_of_row(data.indptr, data.order)[rows]
    shuffled = seeded_tie_order(data.places, 0)
    return Candidates(data.places, data.as_given(np.arange(len(data)))[rows], query, shuffled, data)


def candidate_scores(log: ClickLog, ranking: Any, among: Candidates) -> Floats:
    """The scores of a fitted ranker, or given ones, in the order of the candidates."""
    predict = getattr(ranking, "predict", None)
    if among.data is not None:
        return among.data.by_query(check_scores(predict(among.data) if predict else ranking, len(among.data)))
    scores = predict(pair_data(log, np.arange(log.n_pairs), np.zeros(log.n_pairs))) if predict else ranking
    return check_scores(scores, log.n_pairs)


def used_places(log: ClickLog) -> Ints:
    """The positions that the log has, from 0."""
    return np.flatnonzero(np.bincount(log.position)) - 1


def ranked_placements(scores: Floats, among: Candidates, places: Ints) -> Floats:
    """1 where a document is by falling score; ties are broken by a seeded shuffle."""
    ranks = new_ranks(scores, among.indptr, among.tie_order)
    return _at_places(np.asarray(ranks[:, None] == np.arange(1, len(places) + 1), np.float64), places)


def uniform_placements(among: Candidates, places: Ints) -> Floats:
    """Every document of a query is as likely at each place, as long as there are documents."""
    sizes = np.diff(among.indptr)
    filled = np.arange(len(places)) < sizes[:, None]
    return _at_places(np.repeat(filled / np.maximum(sizes, 1)[:, None], sizes, axis=0), places)


def plackett_luce_placements(
    scores: Floats, among: Candidates, places: Ints, n_samples: int, rng: np.random.Generator
) -> Floats:
    """Documents are drawn for one place after the other, with probabilities proportional to exp(score).

    Rankings are sampled by adding Gumbel noise to the scores. For each place, the probabilities are exact given what
    was drawn for the places above it, and averaged over the samples; so the first place is exact.
    """
    by_rank = np.zeros((len(scores), len(places)))
    for start, stop in zip(among.indptr[:-1], among.indptr[1:], strict=True):
        own = scores[start:stop]
        order = np.argsort(-(own + rng.gumbel(size=(n_samples, len(own)))), axis=1, kind="stable")
        # log of the sum of exp(score) over what is left from each place on; in logs, because exp may underflow
        left = np.logaddexp.accumulate(own[order][:, ::-1], axis=1)[:, ::-1]
        remaining = np.ones((n_samples, len(own)), np.bool_)
        for rank in range(min(len(places), len(own))):
            chance = np.where(remaining, np.exp(np.minimum(own - left[:, [rank]], 0.0)), 0.0)
            by_rank[start:stop, rank] = chance.mean(axis=0)
            np.put_along_axis(remaining, order[:, [rank]], False, axis=1)
    return _at_places(by_rank, places)


def _at_places(by_rank: Floats, places: Ints) -> Floats:
    """One column per position, from one per rank."""
    placements = np.zeros((len(by_rank), places[-1] + 1))
    placements[:, places] = by_rank
    return placements


def sum_over_documents(placements: Floats, indptr: Ints) -> Floats:
    """Queries x positions: the probability that the place has a document."""
    return np.stack([sum_by_query(np.ascontiguousarray(column), indptr) for column in placements.T], axis=1)
