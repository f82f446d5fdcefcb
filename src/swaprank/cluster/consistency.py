"""Consistency of the parts of all workers: a common schema, and whole queries.

Categories are the union over all parts, numbered as in one data set in memory. All documents of a query are in one
part, because lambdas compare them. Query ids are compared as hashes of 64 bits, one range of all possible hashes after
the other, so that no worker ever holds all of them; only ids whose hashes are equal are then exchanged as text.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.cluster.part_scanning import ScannedPart
from swaprank.collective import Collective, allgather, allgather_json, total
from swaprank.data.categories import Categories, encoded
from swaprank.data.cuts import cuts_of_bins
from swaprank.data.document_places import query_keys
from swaprank.data.ids import id_text
from swaprank.errors import DataError, Wording

_COLUMNS = ("sample_weight", "base_score", "pairs")
_HASHES_AT_ONCE = 2**22
_MOST_IDS = 100
"""Query ids that are exchanged as text at most."""


class Schema(NamedTuple):
    """Features and categories of all parts of all workers."""

    feature_names: tuple[str, ...]
    categories: dict[str, Categories]


def common_schema(collective: Collective, parts: Sequence[ScannedPart], where: str) -> Schema:
    """The schema of all parts; raises the same DataError on all workers if they differ."""
    # A worker sends each kind of part once.
    kinds: dict[str, list[Any]] = {}
    for kind in map(_described, parts):
        kinds.setdefault(str(kind[1:]), kind)
    categories = _union_of(part.found.categories for part in parts)
    of_workers = allgather_json(collective, [list(kinds.values()), categories])
    described = [kind for of_worker, _ in of_workers for kind in of_worker]
    for other in described[1:]:
        _check_same(described[0], other, where)
    names = tuple(described[0][1])
    union = _union_of(of_worker for _, of_worker in of_workers)
    return Schema(names, {name: _numbered(union[name], name) for name in names if name in union})


def _described(part: ScannedPart) -> list[Any]:
    """The name of a part, its features, the optional columns that it has, and a hash of its cuts if it has bins."""
    has = [name for name in _COLUMNS if getattr(part.found, name) is not None]
    cuts = None if part.bins is None else hashlib.sha256(cuts_of_bins(part.bins).values.tobytes()).hexdigest()
    return [part.name, list(part.found.feature_names), has, cuts]


def _check_same(first: Sequence[Any], other: Sequence[Any], where: str) -> None:
    (one, names, columns, cuts), (two, other_names, other_columns, other_cuts) = first, other
    if len(names) != len(other_names):
        raise DataError(
            f"{where}: {two} has {len(other_names)} features, but {one} has {len(names)}: all parts must have the "
            "same. For LETOR text, whose last features may be absent, give n_features."
        )
    if names != other_names:
        at = next(at for at, (a, b) in enumerate(zip(names, other_names, strict=True)) if a != b)
        hint = " For LETOR text, give zero_based." if "0" in (names[0], other_names[0]) else ""
        raise DataError(
            f"{where}: feature {at} of {two} is '{other_names[at]}', but of {one} it is '{names[at]}': all parts must "
            f"have the same features in the same order.{hint}"
        )
    for name in _COLUMNS:
        if (name in columns) != (name in other_columns):
            with_it, without = (one, two) if name in columns else (two, one)
            raise DataError(f"{where}: {with_it} has {name}, but {without} has none: give it in all parts or in none.")
    if (cuts is None) != (other_cuts is None):
        with_bins, without = (two, one) if cuts is None else (one, two)
        raise DataError(f"{where}: {with_bins} has bins, but {without} has values: give bins in all parts or in none.")
    if cuts != other_cuts:
        raise DataError(
            f"{where}: {two} was binned with other cuts than {one}: bin all parts with the same cuts, ",
            Wording(
                "swaprank bin PARTS -o FOLDER on the command line or sr.read(…, binned=sr.read(…)) part by part",
                "swaprank bin PARTS -o FOLDER",
            ),
            "; or give the files that they were made from.",
        )


def _union_of(all_categories: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """The texts of each categorical feature; a feature may be categorical in some parts only."""
    union: dict[str, dict[str, None]] = {}
    for categories in all_categories:
        for name, texts in categories.items():
            union.setdefault(name, {}).update(dict.fromkeys(texts))
    return {name: list(texts) for name, texts in union.items()}


def _numbered(texts: Sequence[str], name: str) -> Categories:
    return encoded(np.array([*texts, None], dtype=object), f"feature '{name}'")[1]


def check_whole_queries(
    collective: Collective, parts: Sequence[ScannedPart], where: str, share: slice = slice(None)
) -> None:
    """Raise the same DataError on all workers if a query is in two parts.

    `parts` are those of this worker, and `share` says which of their queries, one part after the other, it takes.
    """
    taken = np.zeros(sum(len(part.found.grouping.qids) for part in parts), np.bool_)
    taken[share] = True
    ids, start = list[AnyArray](), 0
    for part in parts:
        of_part = part.found.grouping.qids
        ids.append(of_part[taken[start : start + len(of_part)]])
        start += len(of_part)
    hashes = [query_keys(each) if len(each) else np.empty(0, np.uint64) for each in ids]
    own = np.concatenate([*hashes, np.empty(0, np.uint64)])
    n_turns = max(collective.size, -(-total(collective, len(own)) // _HASHES_AT_ONCE))
    for turn in range(n_turns):
        in_turn = own[own % np.uint64(n_turns) == np.uint64(turn)]
        found, counts = np.unique(allgather(collective, in_turn), return_counts=True)
        repeated = found[counts > 1][:_MOST_IDS]
        if len(repeated):
            _compare_ids(collective, parts, ids, hashes, repeated, where)


def _compare_ids(
    collective: Collective,
    parts: Sequence[ScannedPart],
    ids: Sequence[AnyArray],
    hashes: Sequence[AnyArray],
    repeated: AnyArray,
    where: str,
) -> None:
    """Raise DataError if two parts have the same id among those whose hashes are repeated."""
    own = [
        (id_text(qid), part.name)
        for part, own_ids, of_part in zip(parts, ids, hashes, strict=True)
        for qid in own_ids[np.isin(of_part, repeated)].tolist()
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
