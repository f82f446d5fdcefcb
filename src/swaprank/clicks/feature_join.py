"""Find the documents of a click log in a data set, by query id and document id."""

import numpy as np

from swaprank.arrays import AnyArray, Ints
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import first_appearance_codes, query_of_row
from swaprank.errors import DataError


def rows_of_pairs(qids: AnyArray, pair_query: Ints, pair_docid: AnyArray, data: Dataset) -> Ints:
    """The row of each (query, document) pair in a data set. Ids are matched as text: 7 and "7" are the same."""
    if data.docid is None:
        raise DataError("a click log is joined by document ids, but this data set has none: read it with document ids.")
    query, row_query = _codes_of_both(qids, data.qids)
    document, row_document = _codes_of_both(pair_docid, data.docid)
    n_documents = int(max(document.max(), row_document.max())) + 1
    wanted = query[pair_query] * n_documents + document
    found = row_query[query_of_row(data.indptr, data.order)] * n_documents + row_document
    rows = np.argsort(found, kind="stable")
    keys = found[rows]
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        first, second = rows[twice[0]], rows[twice[0] + 1]
        raise DataError(f"rows {first} and {second} of the data set are the same document of the same query: keep one.")
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    missing = np.flatnonzero(keys[at] != wanted)
    if len(missing):
        pair = missing[0]
        raise DataError(
            f"the data set lacks {len(missing):,} of the {len(wanted):,} documents of the click log; the first is "
            f"document {pair_docid[pair]} of query {qids[pair_query[pair]]}."
        )
    return rows[at].astype(np.int64)


def _codes_of_both(first: AnyArray, second: AnyArray) -> tuple[Ints, Ints]:
    """The numbers of ids such that equal ids of both arrays have the same number."""
    same_kind = first.dtype.kind in "iu" and second.dtype.kind in "iu"
    both = (first, second) if same_kind else (first.astype(str), second.astype(str))
    codes = first_appearance_codes(np.concatenate(both))
    return codes[: len(first)], codes[len(first) :]
