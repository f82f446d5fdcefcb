"""Check that all documents of a query are in one part: lambdas compare the documents of a query.

Query ids are compared as hashes of 64 bits, one share of all possible hashes after the other, so that no worker ever
holds all of them. Only ids whose hashes meet are then told as text.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.cluster.messages import told_by_each
from swaprank.collective import Collective, gathered, total
from swaprank.data.document_places import query_keys
from swaprank.data.ids import id_text
from swaprank.errors import DataError

_KEYS_AT_ONCE = 2**22
_TOLD = 100
"""Queries that are told as text at most."""


class QueriesOfPart(NamedTuple):
    """The query ids of one part."""

    part: str
    """What the part is called in messages."""
    qids: AnyArray


def check_whole_queries(collective: Collective, parts: Sequence[QueriesOfPart], where: str) -> None:
    """Raise the same DataError on all workers if a query is in two parts; `parts` are those of this worker."""
    keys = [query_keys(each.qids) for each in parts]
    mine = np.concatenate([*keys, np.empty(0, np.uint64)])
    n_shares = max(collective.size, -(-total(collective, len(mine)) // _KEYS_AT_ONCE))
    for share in range(n_shares):
        in_share = mine[mine % np.uint64(n_shares) == np.uint64(share)]
        found, counts = np.unique(gathered(collective, in_share), return_counts=True)
        met = found[counts > 1][:_TOLD]
        if len(met):
            _compare(collective, parts, keys, met, where)


def _compare(
    collective: Collective, parts: Sequence[QueriesOfPart], keys: Sequence[AnyArray], met: AnyArray, where: str
) -> None:
    """Raise DataError if two parts have the same id among those whose hashes met."""
    mine = [
        (id_text(qid), each.part)
        for each, of_part in zip(parts, keys, strict=True)
        for qid in each.qids[np.isin(of_part, met)].tolist()
    ]
    part_of: dict[str, str] = {}
    for qid, part in (tuple(entry) for entries in told_by_each(collective, mine) for entry in entries):
        if qid in part_of:
            raise DataError(
                f"{where}: the query '{qid}' is in two parts, {part_of[qid]} and {part}: all documents of a query must "
                "be in one part. Sort the data by query id and divide it between queries, such as with "
                "frame.set_index('qid') in Dask or partition_by in Polars."
            )
        part_of[qid] = part
