"""The shard of a worker: the parts that it is given, loaded and joined to one data set."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.cluster.consistency import Schema, check_whole_queries, common_schema
from swaprank.cluster.parts import DataPart, LoadedPart
from swaprank.collective import Collective, total
from swaprank.data.dataset import Dataset
from swaprank.data.dense_features import DenseFeatures
from swaprank.data.grouping import query_of_row
from swaprank.data.ids import id_text
from swaprank.data.side_columns import joined_columns
from swaprank.errors import DataError


class Shard(NamedTuple):
    """The parts of one worker."""

    rank: int
    size: int
    """The number of workers."""
    train: Sequence[DataPart]
    valid: Mapping[str, Sequence[DataPart]]
    divided: Collection[str]
    """Validation sets of which all workers are given all parts, and each takes some of the queries."""


Counts = dict[str, dict[str, int]]
"""The numbers of documents, queries and features of the training data ("train") and of each validation set."""


def make_shard(rank: int, size: int, train: Sequence[DataPart], valid: Mapping[str, Sequence[DataPart]]) -> Shard:
    """The shard of a worker: its training parts, and its turn of all parts of the validation sets.

    A validation set with fewer parts than workers is divided by queries.
    """
    divided = {name for name, parts in valid.items() if len(parts) < size}
    own = {name: parts if name in divided else parts[rank::size] for name, parts in valid.items()}
    return Shard(rank, size, train, own, divided)


def fit_on_shard(ranker: Any, collective: Collective, shard: Shard, **fit: Any) -> Counts:
    """Fit the ranker on the shard of this worker, while all other workers do the same.

    Args:
        ranker: It is fitted on all workers.
        collective: The workers.
        shard: That of this worker.
        fit: Other arguments of the ranker's `fit_shard`.

    Returns:
        The sizes of the data of all workers.
    """
    data = join_parts(collective, _loaded(shard.train), "the training data")
    sets = {name: join_parts(collective, _valid_parts(shard, name), f"the set '{name}'") for name in shard.valid}
    ranker.fit_shard(data, sets, collective, **fit)
    return {name: _counts(collective, each) for name, each in {**sets, "train": data}.items()}


def _counts(collective: Collective, data: Dataset) -> dict[str, int]:
    documents, queries = total(collective, len(data)), total(collective, data.n_queries)
    return {"documents": documents, "queries": queries, "features": data.n_features}


def join_parts(collective: Collective, parts: Sequence[LoadedPart], where: str) -> Dataset:
    """The parts of this worker as one data set, checked together with the parts of all other workers.

    Args:
        collective: All workers call this.
        parts: Those of this worker.
        where: The name of the data set in messages.

    >>> import swaprank as sr
    >>> from swaprank.cluster.parts import LoadedPart
    >>> from swaprank.cluster.shard import join_parts
    >>> from swaprank.collective import ALONE
    >>> one, two = sr.datasets.random_net((3, 2), n_features=4, random_state=0)
    >>> join_parts(ALONE, [LoadedPart("part 0", one), LoadedPart("part 1", two)], "train").n_queries
    5
    >>> join_parts(ALONE, [LoadedPart("part 0", one), LoadedPart("part 1", one)], "train")
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: train: the query '1' is in two parts, part 0 and part 1: all documents of a query ...
    """
    if total(collective, int(len(parts) > 0)) < collective.size:
        raise DataError(
            f"{where} has fewer queries than there are workers, {collective.size}: take more queries, or divide the "
            "training data into fewer parts."
        )
    schema = common_schema(collective, parts, where)
    check_whole_queries(collective, parts, where)
    return _concatenated([part.data for part in parts], schema)


def _loaded(parts: Sequence[DataPart]) -> list[LoadedPart]:
    """The parts that have documents."""
    return [loaded for part in parts if (loaded := part.load()) is not None]


def _valid_parts(shard: Shard, name: str) -> list[LoadedPart]:
    """The parts of a validation set; if all workers have them all, every so many queries of them."""
    parts = _loaded(shard.valid[name])
    if name not in shard.divided:
        return parts
    own, n_before = [], 0
    for part, data in parts:
        first = (shard.rank - n_before) % shard.size
        if first < data.n_queries:
            own.append(LoadedPart(part, data.subset(slice(first, None, shard.size))))
        n_before += data.n_queries
    return own


def _concatenated(parts: Sequence[Dataset], schema: Schema) -> Dataset:
    """Data sets with different queries as one, with the same features and the codes of the same categories."""
    names, categories = schema
    coded = [part.with_features(names, categories=categories, whose="the other parts") for part in parts]
    if len(coded) == 1:
        return coded[0]
    matrix = np.concatenate([part.features for part in coded])
    starts = np.cumsum([0, *(len(part) for part in coded)]).tolist()
    return Dataset(
        DenseFeatures(tuple(names), categories, matrix),
        np.concatenate([part.labels for part in coded]),
        qid=_row_ids(coded),
        sample_weight=_column(coded, "sample_weight"),
        base_score=_column(coded, "base_score"),
        docid=_document_ids(coded),
        pairs=None if coded[0].pairs is None else np.concatenate(list(map(_pairs, coded, starts))),
        columns=joined_columns([part.columns for part in coded]),
    )


def _row_ids(parts: Sequence[Dataset]) -> AnyArray:
    """The query id of every row; as text, unless all parts have the same integers."""
    ids = [part.qids for part in parts]
    if len({each.dtype for each in ids}) > 1 or ids[0].dtype.kind not in "iu":
        ids = [np.array([id_text(qid) for qid in each.tolist()]) for each in ids]
    return np.concatenate([each[query_of_row(part.indptr, part.order)] for each, part in zip(ids, parts, strict=True)])


def _document_ids(parts: Sequence[Dataset]) -> AnyArray | None:
    """The document id of every row as text, empty in parts that have none; None if no part has any."""
    if all(part.docid is None for part in parts):
        return None
    ids = [np.zeros(len(part), "U1") if part.docid is None else part.docid.astype(np.str_) for part in parts]
    return np.concatenate(ids)


def _column(parts: Sequence[Dataset], name: str) -> AnyArray | None:
    columns = [getattr(part, name) for part in parts]
    return None if columns[0] is None else np.concatenate(columns)


def _pairs(part: Dataset, start: int) -> AnyArray:
    """The pairs of a part whose first row gets the number `start`."""
    assert part.pairs is not None  # noqa: S101
    above, below, probability, weight = part.pairs
    return np.column_stack((above + start, below + start, probability, weight))
