"""The shard of a worker: the parts that it is given, read part by part and joined to one data set.

first pass     every part     ─► labels, queries, weights; a sample of the rows of all workers ─► cuts
second pass    every part     ─► bins, one byte a value
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from swaprank.cluster.consistency import check_whole_queries, common_schema
from swaprank.cluster.part_scanning import ScannedPart, scanned_parts
from swaprank.cluster.parts import DataPart
from swaprank.collective import Collective, total
from swaprank.data.block_binning import binned_blocks, cuts_of_rows, second_pass
from swaprank.data.blocks import Scanned, joined_scans
from swaprank.data.cut_sample import CutSample
from swaprank.data.cuts import Cuts, cuts_of, cuts_of_bins
from swaprank.data.dataset import Dataset
from swaprank.data.dense_features import DenseFeatures
from swaprank.data.stored_features import StoredFeatures
from swaprank.errors import DataError
from swaprank.threads import thread_count


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
    threads = getattr(ranker, "n_threads", None)
    # Another model may have other thresholds than the cuts, and needs the values.
    keeps_values = fit.get("base_ranker") is not None or ranker.base_ranker is not None
    max_bins = None if keeps_values else getattr(ranker, "max_bins", None)
    data = join_parts(collective, shard.train, "the training data", max_bins, threads)
    like = cuts_of(data) if data.is_binned and not keeps_values else None
    sets = {
        name: join_parts(collective, parts, f"the set '{name}'", like, threads, divided=name in shard.divided)
        for name, parts in shard.valid.items()
    }
    ranker.fit_shard(data, sets, collective, **fit)
    return {name: _counts(collective, each) for name, each in {**sets, "train": data}.items()}


def _counts(collective: Collective, data: Dataset) -> dict[str, int]:
    documents, queries = total(collective, len(data)), total(collective, data.n_queries)
    return {"documents": documents, "queries": queries, "features": data.n_features}


def join_parts(
    collective: Collective,
    parts: Sequence[DataPart],
    where: str,
    bins: int | Cuts | None = None,
    n_threads: int | None = None,
    *,
    divided: bool = False,
) -> Dataset:
    """The parts of this worker as one data set, checked together with the parts of all other workers.

    Args:
        collective: All workers call this.
        parts: Those of this worker.
        where: The name of the data set in messages.
        bins: How many bins a feature has at most, or the cuts of other data; None keeps the values. Parts that are
            binned already keep their bins.
        n_threads: The number of threads. The default is all cores.
        divided: All workers have the same parts, and each takes some of their queries.

    >>> import swaprank as sr
    >>> from swaprank.cluster.parts import DataPart
    >>> from swaprank.cluster.shard import join_parts
    >>> from swaprank.collective import ALONE
    >>> one, two = sr.datasets.random_net((3, 2), n_features=4, random_state=0)
    >>> join_parts(ALONE, [DataPart("part 0", one), DataPart("part 1", two)], "train", bins=255)
    Dataset(250 documents, 5 queries, 4 features, labels 0 to 5, binned)
    >>> join_parts(ALONE, [DataPart("part 0", one), DataPart("part 1", one)], "train")
    Traceback (most recent call last):
    ...
    swaprank.errors.DataError: train: the query '1' is in two parts, part 0 and part 1: all documents of a query ...
    """
    sample = CutSample(thread_count(n_threads)) if isinstance(bins, int) else None
    scans = scanned_parts(parts, sample, n_threads)
    share = slice(collective.rank, None, collective.size) if divided else slice(None)
    _check_enough(collective, scans, where, share)
    schema = common_schema(collective, scans, where)
    check_whole_queries(collective, scans, where, share)
    found = joined_scans([each.found for each in scans], *schema)
    stored = _stored(collective, scans, found, bins, sample, n_threads)
    # The parts of one worker may have no weights above 0, and a set that is divided some of the queries.
    data = found.data(stored)
    _check_weights(collective, data)
    return data.subset(share) if divided else data


def _stored(
    collective: Collective,
    scans: Sequence[ScannedPart],
    found: Scanned,
    bins: int | Cuts | None,
    sample: CutSample | None,
    n_threads: int | None,
) -> StoredFeatures:
    """The second pass: bins, or values."""
    sources = [each.source for each in scans]
    binned = next((each.bins for each in scans if each.bins is not None), None)
    if binned is not None:
        if len(scans) == 1:
            # Where it lies: in a file that is mapped.
            return binned.matched(found.feature_names, found.categories, False, "the other parts", scans[0].name)
        return binned_blocks(sources, found, cuts_of_bins(binned), n_threads)
    if bins is not None:
        cuts = cuts_of_rows(sample, found, bins, collective) if isinstance(bins, int) else bins
        return binned_blocks(sources, found, cuts, n_threads)
    matrix = np.empty((len(found.labels), len(found.feature_names)), np.float32)
    for start, stored in second_pass(sources, found):
        matrix[start : start + stored.n_rows] = stored.values
    return DenseFeatures(found.feature_names, found.categories, matrix)


def _check_enough(collective: Collective, scans: Sequence[ScannedPart], where: str, share: slice) -> None:
    """Raise the same DataError on all workers if one of them has no queries."""
    n_queries = sum(len(each.found.grouping.qids) for each in scans)
    n_own = len(range(n_queries)[share])
    if total(collective, int(n_own > 0)) == collective.size:
        return
    if total(collective, n_own) >= collective.size:
        raise DataError(
            f"{where}: a worker has no queries, because its parts have no documents: leave empty parts out."
        )
    raise DataError(
        f"{where} has fewer queries than there are workers, {collective.size}: take more queries, or divide the "
        "training data into fewer parts."
    )


def _check_weights(collective: Collective, data: Dataset) -> None:
    weights = data.sample_weight
    if total(collective, int(weights is None or bool(weights.any()))) == 0:
        raise DataError("all weights are zero: there is nothing to learn from.")
