"""The documents that a policy chooses from: those of the log, or all of a data set; and where each is placed."""

from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.clicks.evaluation.ranked_pairs import new_ranks
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
    data: Dataset | None

    @property
    def indptr(self) -> Ints:
        """Query q has the candidates `indptr[q]` to `indptr[q + 1]`."""
        return self.places.indptr


def candidates(log: ClickLog, data: Dataset | None) -> Candidates:
    """The documents of the log, or of a data set that has them all."""
    if data is None:
        places = Places(np.array(log.pair_indptr), query_keys(log.qids))
        return Candidates(places, np.arange(log.n_pairs), np.arange(log.n_queries), None)
    rows = rows_of_pairs(log.qids, log.pair_query, log.pair_docid, data)
    query = np.zeros(log.n_queries, np.int64)
    query[log.pair_query] = query_of_row(data.indptr, data.order)[rows]
    return Candidates(data.places, data.as_given(np.arange(len(data)))[rows], query, data)


def candidate_scores(log: ClickLog, ranking: Any, among: Candidates) -> Floats:
    """The scores of a fitted ranker, or given ones, in the order of the candidates."""
    predict = getattr(ranking, "predict", None)
    if among.data is not None:
        return among.data.by_query(check_scores(predict(among.data) if predict else ranking, len(among.data)))
    scores = predict(pair_data(log, np.arange(log.n_pairs), np.zeros(log.n_pairs))) if predict else ranking
    return check_scores(scores, log.n_pairs)


def ranked_placements(scores: Floats, among: Candidates, n_positions: int) -> Floats:
    """1 where a document is by falling score; ties are broken by a seeded shuffle."""
    ranks = new_ranks(scores, among.indptr, seeded_tie_order(among.places, 0))
    return np.asarray(ranks[:, None] == np.arange(1, n_positions + 1), np.float64)


def uniform_placements(among: Candidates, n_positions: int) -> Floats:
    """Every document of a query is as likely at each place, as long as there are documents."""
    sizes = np.diff(among.indptr)
    filled = np.arange(n_positions) < sizes[:, None]
    return np.repeat(filled / np.maximum(sizes, 1)[:, None], sizes, axis=0)


def plackett_luce_placements(
    scores: Floats, among: Candidates, n_positions: int, n_samples: int, rng: np.random.Generator
) -> Floats:
    """Documents are drawn for one place after the other, with probabilities proportional to exp(score).

    Rankings are sampled by adding Gumbel noise to the scores. For each place, the probabilities are exact given what
    was drawn for the places above it, and averaged over the samples; so the first place is exact.
    """
    placements = np.zeros((len(scores), n_positions))
    for start, stop in zip(among.indptr[:-1], among.indptr[1:], strict=True):
        own = scores[start:stop]
        order = np.argsort(-(own + rng.gumbel(size=(n_samples, len(own)))), axis=1, kind="stable")
        # log of the sum of exp(score) over what is left from each place on; in logs, because exp may underflow
        left = np.logaddexp.accumulate(own[order][:, ::-1], axis=1)[:, ::-1]
        remaining = np.ones((n_samples, len(own)), np.bool_)
        for place in range(min(n_positions, len(own))):
            chance = np.where(remaining, np.exp(np.minimum(own - left[:, [place]], 0.0)), 0.0)
            placements[start:stop, place] = chance.mean(axis=0)
            np.put_along_axis(remaining, order[:, [place]], False, axis=1)
    return placements


def sum_over_documents(placements: Floats, indptr: Ints) -> Floats:
    """Queries x positions: the probability that the place has a document."""
    return np.stack([sum_by_query(np.ascontiguousarray(column), indptr) for column in placements.T], axis=1)
