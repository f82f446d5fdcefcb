"""Random numbers of documents that do not depend on where the documents are stored.

Every random choice about a document comes from a hash of its place: its query id and its position in the list of the
query. So the choices are the same in whatever order the queries come, and on whichever machine a query is. If documents
have ids, trees take the positions in the order of hashes of these, see `Dataset.by_docid`: then the order of the rows
does not matter either.

    place of a document    key of its query + position in the query, from 0        key = hash of the id as text
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.data.ids import id_text
from swaprank.kernels import kernel

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset

_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
"""Constants of the hash FNV-1a, here over code points."""


class Places(NamedTuple):
    """The places of documents that are numbered query after query."""

    indptr: Ints
    keys: AnyArray
    """uint64, one per query."""


def sampled_places(data: "Dataset", offset: int = 0) -> Places:
    """The places by which rows are sampled; `offset` documents of the first query came before.

    Documents with ids are sampled by these: a block of rows may have a part of a query, and then not know their order.

    >>> import swaprank as sr
    >>> from swaprank.data.document_places import sampled_places
    >>> one, other = (sr.Dataset([[1.0], [2.0]], [0, 1], qid=[7, 7], docid=ids) for ids in (["a", "b"], ["b", "a"]))
    >>> bool((sampled_places(one).keys == sampled_places(other).keys[::-1]).all())
    True
    """
    indptr, keys = data.places
    if data.docid is None:
        return Places(indptr, np.concatenate((keys[:1] + np.uint64(offset), keys[1:])))
    query = np.repeat(np.arange(len(keys)), np.diff(indptr))
    position = np.arange(len(query)) - indptr[query] + np.where(query == 0, offset, 0)
    ids = data.by_query(data.docid).astype(np.str_)
    return Places(
        np.arange(len(query) + 1), keys[query] + np.where(ids == "", position.astype(np.uint64), query_keys(ids))
    )


def query_keys(qids: AnyArray) -> AnyArray:
    """A hash of each query id; the integer 7 and the text "7" have the same.

    >>> import numpy as np
    >>> from swaprank.data.document_places import query_keys
    >>> bool((query_keys(np.array([7, 12])) == query_keys(np.array(["7", "12"]))).all())
    True
    """
    if qids.dtype.kind in "OS":
        qids = np.array([id_text(each) for each in qids.tolist()])
    texts = np.ascontiguousarray(qids.astype(np.str_))
    points = texts.view(np.uint32).reshape(len(texts), -1)
    keys = np.full(len(texts), _OFFSET)
    for column in points.T:
        longer = (keys ^ column.astype(np.uint64)) * _PRIME
        keys = np.where(column > 0, longer, keys)
    # Neighbouring ids get keys far from each other.
    return mixed(keys)


def mixed(bits: AnyArray) -> AnyArray:
    """The last step of splitmix64: each bit of a number changes half of the bits of its hash."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashes: AnyArray = bits ^ (bits >> np.uint64(31))
    return hashes


def random_fractions(keys: AnyArray, seed: int) -> Floats:
    """A random number from 0 to 1 for each query, given its key.

    >>> import numpy as np
    >>> from swaprank.data.document_places import query_keys, random_fractions
    >>> random_fractions(query_keys(np.array(["shoes", "hats"])), 0).round(3).tolist()
    [0.778, 0.254]
    """
    bits = np.empty(len(keys), np.uint64)
    hash_places(Places(np.arange(len(keys) + 1), keys), seed, 0, len(keys), bits)
    fractions: Floats = (bits >> np.uint64(11)) / 2.0**53
    return fractions


@kernel
def random_bits(place: np.uint64, seed: int) -> np.uint64:
    """splitmix64 of a place and a seed."""
    z = np.uint64(place) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def query_at(indptr: Ints, row: int) -> int:
    """The query of a row."""
    return int(np.searchsorted(indptr, row, side="right")) - 1


@kernel
def first_place(places: Places, query: int) -> np.uint64:
    """The number that is added to that of a row of this query to get its place."""
    return np.uint64(places.keys[query] - np.uint64(places.indptr[query]))


@kernel
def hash_places(places: Places, seed: int, start: int, stop: int, hashes: AnyArray) -> None:
    """Write the random bits of the rows from start to stop."""
    query, begin = query_at(places.indptr, start), start
    while begin < stop:
        end, first = min(places.indptr[query + 1], stop), first_place(places, query)
        for row in range(np.uint64(begin), np.uint64(end)):
            hashes[row] = random_bits(first + row, seed)
        begin = end
        query += 1
