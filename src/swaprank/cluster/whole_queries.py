"""Check that all documents of a query are in one part: lambdas compare the documents of a query.

Query ids are compared as hashes of 64 bits, one range of all possible hashes after the other, so that no worker ever
holds all of them. Only ids whose hashes are equal are then exchanged as text.
"""

from collections.abc import Sequence

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.cluster.parts import LoadedPart
from swaprank.collective import Collective, allgather_json, gathered, total
from swaprank.data.document_places import query_keys
from swaprank.data.ids import id_text
from swaprank.errors import DataError, Wording

_HASHES_AT_ONCE = 2**22
_MOST_IDS = 100
"""Query ids that are exchanged as text at most."""


def check_whole_queries(collective: Collective, parts: Sequence[LoadedPart], where: str) -> None:
    """Raise the same DataError on all workers if a query is in two parts; `parts` are those of this worker."""
    hashes = [query_keys(part.data.qids) for part in parts]
    own = np.concatenate([*hashes, np.empty(0, np.uint64)])
    n_turns = max(collective.size, -(-total(collective, len(own)) // _HASHES_AT_ONCE))
    for turn in range(n_turns):
        in_turn = own[own % np.uint64(n_turns) == np.uint64(turn)]
        found, counts = np.unique(gathered(collective, in_turn), return_counts=True)
        repeated = found[counts > 1][:_MOST_IDS]
        if len(repeated):
            _compare_ids(collective, parts, hashes, repeated, where)


def _compare_ids(
    collective: Collective, parts: Sequence[LoadedPart], hashes: Sequence[AnyArray], repeated: AnyArray, where: str
) -> None:
    """Raise DataError if two parts have the same id among those whose hashes are repeated."""
    own = [
        (id_text(qid), part.name)
        for part, of_part in zip(parts, hashes, strict=True)
        for qid in part.data.qids[np.isin(of_part, repeated)].tolist()
    ]
    part_of: dict[str, str] = {}
    for qid, part in (tuple(entry) for entries in allgather_json(collective, own) for entry in entries):
        if qid in part_of:
            raise DataError(
                f"{where}: the query '{qid}' is in two parts, {part_of[qid]} and {part}: all documents of a query must "
                "be in one part. Sort the data by query id and divide it between queries",
                Wording(", such as with frame.set_index('qid') in Dask or partition_by in Polars", ""),
                ".",
            )
        part_of[qid] = part
