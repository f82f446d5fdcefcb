"""What training has seen: a few counts of every feature and of the scores, kept in the model file for `drift`.

They come from the rows whose places have the smallest hashes, at most 20,000 of them, and from cuts between bins. So
they are the same for any order of the queries, any number of threads or workers, and from bins instead of values.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Features, Ints
from swaprank.collective import ALONE, Collective, allgather, total
from swaprank.data.cuts import LARGEST_BIN, Cuts, cut_points, cuts_of_sample, fill_ends, sample_of_rows
from swaprank.data.dataset import Dataset
from swaprank.errors import ModelFileError
from swaprank.models.model import Model
from swaprank.threads import thread_count

SAMPLE = 20_000
N_BINS = 10
_OUTER = 0.02
"""Outer bins with a larger share of the rows are common values, and no end of a range."""
_LARGEST = 3e38


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
    data: Dataset, model: Model | None, cuts: Cuts | None, n_threads: int | None, collective: Collective = ALONE
) -> Seen:
    """Count what is in the data of all workers, and the scores that a model gives it.

    Args:
        data: The training data.
        model: The model, if there is one.
        cuts: Those that training has used; if None, those of bins, or of the sample.
        n_threads: The number of threads, which changes nothing.
        collective: The workers.
    """
    threads = thread_count(n_threads)
    chosen = sample_of_rows(data.places, threads, collective, SAMPLE)
    rows = np.arange(len(data))[chosen] if data.order is None else data.order[chosen]
    stored = data.stored.rows(rows)
    if cuts is None and stored.is_binned:
        cuts = stored.cuts  # type: ignore[attr-defined]
    if cuts is None:
        cuts = cuts_of_sample(allgather(collective, stored.values), stored.categorical, LARGEST_BIN, threads)
    binned = stored.binned(cuts, 1)
    features = []
    for at, name in enumerate(stored.names):
        if name in stored.categories:
            features.append(_seen_categories(data, at, binned.column(at), collective))
            continue
        counts = np.bincount(binned.blocks[at // 16, :, at % 16], minlength=LARGEST_BIN + 1).astype(np.int64)
        collective.add(counts)
        n_cuts = int(cuts.n_bins[at]) - 1
        features.append(_seen_numbers(counts, cuts.values[at, :n_cuts]))
    scores = None
    if model is not None:
        sampled = data._with(
            stored=stored, labels=data.labels[rows], order=None, sample_weight=None, base_score=None, docid=None,
            pairs=None, qids=data.qids[:1], indptr=np.array([0, len(rows)]),
        )  # fmt: skip
        found = model.by_rows(sampled, lambda x: model.score(x, 1), 1) if len(rows) else np.empty(0)
        all_scores = allgather(collective, score_values(found))
        bounds = cut_points(all_scores, LARGEST_BIN)
        counts = np.bincount(np.searchsorted(bounds, all_scores) + 1, minlength=LARGEST_BIN + 1).astype(np.int64)
        scores = _seen_numbers(counts, bounds)
    return Seen(total(collective, data.n_queries), total(collective, len(rows)), tuple(features), scores)


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


def read_seen(value: Any) -> Seen | None:
    """The counts from a model file; ModelFileError if they are wrong."""
    if value is None:
        return None
    try:
        scores = value["scores"]
        features = tuple(_read_values(each) for each in value["features"])
        found = Seen(
            int(value["n_queries"]), int(value["n_rows"]), features, None if scores is None else _read_values(scores)
        )
    except (KeyError, TypeError, ValueError):
        raise ModelFileError("what it says that training has seen is not made of counts and cuts.") from None
    if found.n_queries < 1 or found.n_rows < 1:
        raise ModelFileError("it says that training has seen no documents.")
    return found


def _read_values(value: Mapping[str, Any]) -> Values:
    counts, cuts = tuple(int(each) for each in value["counts"]), tuple(float(each) for each in value["cuts"])
    codes = None if value["codes"] is None else tuple(int(each) for each in value["codes"])
    low, high = (None if value[end] is None else float(value[end]) for end in ("low", "high"))
    if min(counts, default=-1) < 0 or len(counts) != len(cuts if codes is None else codes) + 1:
        raise ValueError
    return Values(counts, int(value["missing"]), cuts, codes, low, high, int(value["outside"]))


def saved_seen(seen: Seen | None) -> Any:
    """The counts as plain values for a model file."""
    return None if seen is None else asdict(seen)
