"""The parts of one worker as one data set: its share."""

from collections.abc import Sequence

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.cluster.agreement import Agreed, NamedPart, agreed_features
from swaprank.cluster.whole_queries import QueriesOfPart, check_whole_queries
from swaprank.collective import Collective, total
from swaprank.data.categories import CodedFeatures
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import query_of_row
from swaprank.data.ids import id_text
from swaprank.errors import DataError


def share_of(collective: Collective, parts: Sequence[NamedPart], where: str) -> Dataset:
    """This worker's share of a data set, checked together with the parts of all other workers.

    Args:
        collective: All workers call this.
        parts: Those of this worker.
        where: What the data set is called in messages.

    >>> import swaprank as sr
    >>> from swaprank.cluster.agreement import NamedPart
    >>> from swaprank.cluster.joining import share_of
    >>> from swaprank.collective import ALONE
    >>> one, two = sr.datasets.random_net((3, 2), n_features=4, random_state=0)
    >>> share_of(ALONE, [NamedPart("part 0", one), NamedPart("part 1", two)], "train").n_queries
    5
    >>> share_of(ALONE, [NamedPart("part 0", one), NamedPart("part 1", one)], "train")
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: train: the query '1' is in two parts, part 0 and part 1: all documents of a query ...
    """
    if total(collective, int(len(parts) > 0)) < collective.size:
        raise DataError(
            f"{where} has fewer queries than there are workers, {collective.size}: take more queries, or divide the "
            "training data into fewer parts."
        )
    agreed = agreed_features(collective, parts, where)
    check_whole_queries(collective, [QueriesOfPart(part.name, part.data.qids) for part in parts], where)
    return joined([part.data for part in parts], agreed)


def joined(parts: Sequence[Dataset], agreed: Agreed) -> Dataset:
    """Data sets with different queries as one, with the same features and the codes of the same categories."""
    names, categories = agreed
    coded = [part.with_features(names, categories=categories, whose="the other parts") for part in parts]
    if len(coded) == 1:
        return coded[0]
    matrix = np.concatenate([part.features for part in coded])
    positions = {names.index(name): texts for name, texts in categories.items()}
    starts = np.cumsum([0, *(len(part) for part in coded)]).tolist()
    return Dataset(
        CodedFeatures(matrix, names, positions),
        np.concatenate([part.labels for part in coded]),
        qid=_row_ids(coded),
        sample_weight=_column(coded, "sample_weight"),
        base_score=_column(coded, "base_score"),
        pairs=None if coded[0].pairs is None else np.concatenate(list(map(_pairs, coded, starts))),
    )


def _row_ids(parts: Sequence[Dataset]) -> AnyArray:
    """The query id of every row; as text, unless all parts have the same integers."""
    ids = [part.qids for part in parts]
    if len({each.dtype for each in ids}) > 1 or ids[0].dtype.kind not in "iu":
        ids = [np.array([id_text(qid) for qid in each.tolist()]) for each in ids]
    return np.concatenate([each[query_of_row(part.indptr, part.order)] for each, part in zip(ids, parts, strict=True)])


def _column(parts: Sequence[Dataset], name: str) -> AnyArray | None:
    columns = [getattr(part, name) for part in parts]
    return None if columns[0] is None else np.concatenate(columns)


def _pairs(part: Dataset, start: int) -> AnyArray:
    """The pairs of a part whose first row gets the number `start`."""
    assert part.pairs is not None  # noqa: S101
    above, below, probability = part.pairs
    return np.column_stack((above + start, below + start, probability))
