"""What training has seen: a few counts of every feature and of the scores, kept in the model file for `drift`.

They come from the rows whose places have the smallest hashes, at most 10,000 of them, and from cuts between bins. So
they are the same for any order of the queries, any number of threads or workers, and from bins instead of values.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Bytes, Features, Ints
from swaprank.collective import ALONE, Collective, allgather, total
from swaprank.data.binned_features import BLOCK
from swaprank.data.cuts import LARGEST_BIN, cut_points, cuts_of_sample, fill_ends, sample_of_rows
from swaprank.data.dataset import Dataset
from swaprank.errors import ModelFileError
from swaprank.models.model import Model
from swaprank.threads import thread_count
from swaprank.trees.binning import Bins

SAMPLE = 10_000
N_BINS = 10
_OUTER = 0.02
"""Outer bins with a larger share of the rows are common values, and no end of a range."""
_LARGEST = 3e38
_FLOAT32 = float(np.finfo(np.float32).max)


@final
@dataclass(frozen=True)
class Values:
    """Counts of the values of one feature, or of the scores, in the sample."""

    counts: tuple[int, ...]
    """Rows of each bin; of a categorical feature those of its most frequent categories, and of all others together."""
    missing: int
    cuts: tuple[float, ...] = ()
    """The bounds of the bins."""
    codes: tuple[int, ...] | None = None
    """The most frequent categories, by their numbers; None if the values are numbers."""
    low: float | None = None
    """The lower end of the range; None if it is not known."""
    high: float | None = None
    outside: int = 0
    """Rows outside of this range, or of categories that only one query has, as those of new ones will be."""


@final
@dataclass(frozen=True)
class Seen:
    """Counts of the values that training has seen.

    >>> import swaprank as sr
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> seen = sr.MART(n_trees=2).fit(train).learned_.seen
    >>> seen.n_queries, seen.n_rows, sum(seen.features[0].counts)
    (20, 1000, 1000)
    """

    n_queries: int
    n_rows: int
    """Rows of the sample."""
    features: tuple[Values, ...]
    scores: Values | None


def see(
    data: Dataset, model: Model | None, bins: Bins | None, n_threads: int | None, collective: Collective = ALONE
) -> Seen:
    """Count what is in the data of all workers, and the scores that a model gives it.

    Args:
        data: The training data.
        model: The model, if there is one.
        bins: Those that training has used, if it has; they save time, and change nothing.
        n_threads: The number of threads, which changes nothing.
        collective: The workers.
    """
    threads = thread_count(n_threads)
    chosen = sample_of_rows(data.places, threads, collective, SAMPLE)
    rows = np.arange(len(data))[chosen] if data.order is None else data.order[chosen]
    stored = data.stored.rows(rows)
    if bins is None:
        blocks, cuts, n_bins = _binned_sample(stored, threads, collective)
    else:
        blocks, cuts, n_bins = bins.blocks[:, chosen], bins.cuts, bins.n_bins
    counts = np.zeros((len(stored.names), LARGEST_BIN + 1), np.int64)
    for at in range(len(stored.names)):
        counts[at] = np.bincount(blocks[at // BLOCK, :, at % BLOCK], minlength=LARGEST_BIN + 1)
    collective.add(counts)
    features = tuple(
        _seen_categories(data, at, stored.column(at), collective)
        if name in stored.categories
        else _seen_numbers(counts[at], cuts[at, : int(n_bins[at]) - 1])
        for at, name in enumerate(stored.names)
    )
    scores = None if model is None else _seen_scores(model, stored, data, rows, threads, collective)
    return Seen(total(collective, data.n_queries), total(collective, len(rows)), features, scores)


def _binned_sample(stored: Any, threads: int, collective: Collective) -> tuple[Bytes, Features, Ints]:
    """The bins of the sample, their cuts, and their number per feature."""
    if stored.is_binned:
        cuts = stored.cuts
    else:
        cuts = cuts_of_sample(allgather(collective, stored.values), stored.categorical, LARGEST_BIN, threads)
    return stored.binned(cuts, threads).blocks, cuts.values, cuts.n_bins


def _seen_scores(model: Model, stored: Any, data: Dataset, rows: Ints, threads: int, collective: Collective) -> Values:
    """The counts of the scores of the sampled rows."""
    sampled = data._with(
        stored=stored, labels=data.labels[rows], order=None, sample_weight=None, base_score=None, docid=None,
        pairs=None, qids=data.qids[:1], indptr=np.array([0, len(rows)]),
    )  # fmt: skip
    found = model.by_rows(sampled, lambda x: model.score(x, threads), threads) if len(rows) else np.empty(0)
    scores = allgather(collective, score_values(found))
    bounds = cut_points(scores, LARGEST_BIN)
    counts = np.bincount(np.searchsorted(bounds, scores) + 1, minlength=LARGEST_BIN + 1).astype(np.int64)
    return _seen_numbers(counts, bounds)


def score_values(scores: AnyArray) -> Features:
    """Scores as they are counted."""
    return np.clip(scores, -_LARGEST, _LARGEST).astype(np.float32)


def _seen_numbers(counts: Ints, cuts: Features) -> Values:
    """The counts of a few bins, given those of many, from the bin of missing values on, and their cuts."""
    known, missing = counts[1 : len(cuts) + 2], int(counts[0])
    n_known = int(known.sum())
    if n_known == 0:
        return Values((0,), missing)
    ends = np.empty(N_BINS, np.int64)
    last = ends[: fill_ends(known, N_BINS, ends)] if len(known) > N_BINS else np.arange(len(known))
    first = np.concatenate(([0], last[:-1] + 1))
    rare = [int(known[end]) <= _OUTER * n_known and len(known) > 2 for end in (0, -1)]
    low, high = (_short(cuts[end]) if is_rare else None for end, is_rare in zip((0, -1), rare, strict=True))
    outside = sum(int(known[end]) for end, is_rare in zip((0, -1), rare, strict=True) if is_rare)
    return Values(
        tuple(np.add.reduceat(known, first).tolist()),
        missing,
        tuple(_short(cut) for cut in cuts[last[:-1]]),
        low=low,
        high=high,
        outside=outside,
    )


def _seen_categories(data: Dataset, feature: int, sample: Features, collective: Collective) -> Values:
    """Count the most frequent categories in the sample, and those of one query only in all of the data."""
    n = len(data.categories[data.feature_names[feature]])
    counts = np.bincount(np.nan_to_num(sample, nan=n).astype(np.int64), minlength=n + 1).astype(np.int64)
    codes = np.nan_to_num(data.by_query(data.column(feature)), nan=n).astype(np.int64)
    query = np.repeat(np.arange(data.n_queries), np.diff(data.indptr))
    pairs = np.unique(query * (n + 1) + codes) % (n + 1)
    queries, everywhere = (np.bincount(each, minlength=n + 1).astype(np.int64) for each in (pairs, codes))
    for each in (counts, queries, everywhere):
        collective.add(each)
    frequent = np.argsort(-counts[:n], kind="stable")[:N_BINS]
    of_one = int(everywhere[:n][queries[:n] == 1].sum()) * int(counts.sum()) // max(1, int(everywhere.sum()))
    rest = int(counts[:n].sum() - counts[frequent].sum())
    return Values((*counts[frequent].tolist(), rest), int(counts[n]), codes=tuple(frequent.tolist()), outside=of_one)


def _short(value: Any) -> float:
    """A float32 with as few digits as tell it apart, which a model file keeps."""
    return float(str(np.float32(value)))


def saved_seen(seen: Seen | None) -> Any:
    """The counts as plain values for a model file: short lists, because data may have thousands of features."""
    if seen is None:
        return None
    scores = None if seen.scores is None else _saved_values(seen.scores)
    return [seen.n_queries, seen.n_rows, [_saved_values(each) for each in seen.features], scores]


def _saved_values(each: Values) -> list[Any]:
    kept = each.cuts if each.codes is None else each.codes
    return [int(each.codes is not None), each.counts, kept, each.missing, each.outside, each.low, each.high]


def read_seen(value: Any) -> Seen | None:
    """The counts from a model file; ModelFileError if they are wrong."""
    if value is None:
        return None
    try:
        n_queries, n_rows, features, scores = value
        n_rows = _count(n_rows)
        found = Seen(
            _count(n_queries),
            n_rows,
            tuple(_read_values(each, n_rows) for each in features),
            None if scores is None else _read_values(scores, n_rows),
        )
    except (TypeError, ValueError):
        raise ModelFileError("what it says that training has seen is not made of counts and cuts.") from None
    if found.n_queries < 1 or n_rows < 1:
        raise ModelFileError("it says that training has seen no documents.")
    return found


def _read_values(value: Any, n_rows: int) -> Values:
    of_categories, given_counts, kept, given_missing, given_outside, low, high = value
    counts, missing, outside = tuple(map(_count, given_counts)), _count(given_missing), _count(given_outside)
    n_known = sum(counts)
    if of_categories not in (0, 1) or not counts or len(counts) != len(kept) + 1:
        raise ValueError
    if n_known + missing != n_rows or outside > n_rows:
        raise ValueError
    if of_categories:
        codes = tuple(map(_count, kept))
        if len(set(codes)) < len(codes) or (low, high) != (None, None):
            raise ValueError
        return Values(counts, missing, codes=codes, outside=outside)
    cuts = tuple(map(_bound, kept))
    ends = (None if low is None else _bound(low), None if high is None else _bound(high))
    if any(after <= before for before, after in pairwise(cuts)):
        raise ValueError
    return Values(counts, missing, cuts, low=ends[0], high=ends[1], outside=outside)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError
    return value


def _bound(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _FLOAT32:
        raise ValueError
    return float(value)
