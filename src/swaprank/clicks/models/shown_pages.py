"""The pages of a click log as kernels of click models take them."""

from typing import NamedTuple

import numpy as np

from swaprank.arrays import Bools, Floats, Ints
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.data.grouping import first_appearance_codes
from swaprank.kernels import kernel

MOST_PLACES = 100
"""Places beyond the hundredth that occurs are taken together."""


class Pages(NamedTuple):
    """Documents from top to bottom of each page. A click is any grade above 0."""

    indptr: Ints
    """Page s has the rows `indptr[s]` to `indptr[s + 1]`."""
    pair: Ints
    """The number of each row's (query, document) pair in the log."""
    place: Ints
    """The number of each row's place among those that the model knows, from 0."""
    click: Bools


def pages_of(log: ClickLog, places: Ints) -> Pages:
    """The pages of a log. A place that is not among the given ones counts as the next one above."""
    place = np.searchsorted(places, log.position, side="right") - 1
    return Pages(log.indptr, log.document, np.maximum(place, 0).astype(np.int64), log.click > 0)


def places_of(log: ClickLog) -> Ints:
    """The places that occur in a log, sorted; not more than kernels can hold tables for."""
    shown = np.bincount(log.position)
    return np.flatnonzero(shown)[:MOST_PLACES].astype(np.int64)


def same_pairs(known: tuple[object, Ints, object], log: ClickLog) -> tuple[Ints, Ints]:
    """For each pair and each query of the log its number among the known ones; -1 for those that are new.

    Known are the ids of queries, the query of each pair, and its document id. Ids are matched as text.
    """
    qids, pair_query, pair_docid = (np.asarray(each) for each in known)
    if qids is log.qids and pair_docid is log.pair_docid:
        return np.arange(log.n_pairs), np.arange(log.n_queries)
    query, own_query = _codes_of_both(qids, log.qids)
    document, own_document = _codes_of_both(pair_docid, log.pair_docid)
    n_documents = int(max(document.max(), own_document.max())) + 1
    pairs = _places_among(
        query[pair_query] * n_documents + document, own_query[log.pair_query] * n_documents + own_document
    )
    return pairs, _places_among(query, own_query)


def _codes_of_both(first: Floats | Ints, second: Floats | Ints) -> tuple[Ints, Ints]:
    same_kind = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    both = (first, second) if same_kind else (first.astype(str), second.astype(str))
    codes = first_appearance_codes(np.concatenate(both))
    return codes[: len(first)], codes[len(first) :]


def _places_among(known: Ints, wanted: Ints) -> Ints:
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[at] == wanted, at, -1).astype(np.int64)


@kernel
def clicks_above(pages: Pages, last: Ints, n_above: Ints) -> None:
    """Write for each row the number of the place of the last click above it, plus 1, or 0; and the number of clicks."""
    for page in range(len(pages.indptr) - 1):
        latest, n = 0, 0
        for row in range(pages.indptr[page], pages.indptr[page + 1]):
            last[row], n_above[row] = latest, n
            if pages.click[row]:
                latest, n = pages.place[row] + 1, n + 1
