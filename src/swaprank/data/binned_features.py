"""Features as bytes: the bin of every value, 1 to 255, or 0 if the value is missing; see cuts.py.

    values        0.1   0.4   NaN   2.5   0.3           cuts 0.2, 1.0
    bins           1     2     0     3     2
    decoded       0.2   1.0   NaN   1.0+  1.0           1.0+ is the next number after 1.0

A bin stands for its upper cut. A tree whose thresholds are cuts sends this number where it sends all values of the bin,
so that scores of decoded rows are exact. Categories have no order and no cuts: their codes are stored apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Features, Ints, read_only, row_blocks
from swaprank.collective import Collective, allgather
from swaprank.data.categories import CATEGORICAL, Categories
from swaprank.data.cuts import LARGEST_BIN, Cuts
from swaprank.data.document_places import Places
from swaprank.data.stored_features import AllCategories, Codes, Compute, FeatureCounts, Names, StoredFeatures
from swaprank.errors import DataError, Hint, Wording
from swaprank.kernels import kernel
from swaprank.threads import row_chunks, run_in_threads, thread_count

BLOCK = 16
"""Features of a block: a cache line has four of its rows."""

_BLOCK_ROWS = 16_384
_DECODED_BYTES = 16 << 20
_BIN_LIKE_TRAINING = Wording("sr.read(…, binned=train)", "swaprank bin --like train.bins")
_WITHOUT_BINS = Wording("read the data without binned", "take the file itself instead of its bins")


@final
@dataclass(frozen=True, eq=False)
class BinnedFeatures(StoredFeatures):
    """Features as bytes, in blocks of 16 features."""

    is_binned: ClassVar[bool] = True
    blocks: Bytes
    """(n_blocks, n_rows, 16); of a categorical feature, whether the value is known."""
    cuts: Cuts
    has_missing: Ints
    """1 for features with missing values."""
    codes: Features
    """(n_categorical, n_rows): the codes of categories, NaN if the value is missing."""

    @property
    def n_rows(self) -> int:
        """See `StoredFeatures`."""
        return int(self.blocks.shape[1])

    @property
    def values(self) -> Features:
        """See `StoredFeatures`."""
        _refuse_values()

    def column(self, feature: int) -> Features:
        """See `StoredFeatures`: the codes of a categorical feature."""
        if feature not in self.categorical:
            _refuse_values()
        codes: Features = self.codes[np.searchsorted(self.categorical, feature)]
        return codes

    def rows(self, rows: Any) -> StoredFeatures:
        """See `StoredFeatures`; they are copied, because kernels want adjacent rows."""
        blocks, codes = np.ascontiguousarray(self.blocks[:, rows]), np.ascontiguousarray(self.codes[:, rows])
        missing = (extreme_bins(blocks, len(self.names), lowest=True) == 0).astype(np.int64)
        return self._with(blocks=blocks, has_missing=missing, codes=codes)

    def decoded(self, rows: slice, features: Ints, n_threads: int = 1) -> Features:
        """The chosen features of consecutive rows as numbers: the codes of categories, or the upper cuts of bins."""
        start, stop, _ = rows.indices(self.n_rows)
        values = np.empty((stop - start, len(features)), np.float32)
        table = bin_values(self.cuts, features)
        jobs = [(self.blocks, features, table, start, *chunk, values) for chunk in row_chunks(len(values), n_threads)]
        run_in_threads(decode_rows, jobs)
        for row, feature in enumerate(self.categorical):
            values[:, features == feature] = self.codes[row, start:stop, None]
        return values

    def map_rows(self, compute: Compute, n_threads: int | None, features: Ints | None = None) -> AnyArray:
        """See `StoredFeatures`."""
        chosen = np.arange(len(self.names)) if features is None else features
        size = max(1024, _DECODED_BYTES // (4 * len(chosen)))
        threads = thread_count(n_threads)
        parts = [compute(read_only(self.decoded(rows, chosen, threads))) for rows in row_blocks(self.n_rows, size)]
        return np.concatenate(parts)

    def decoded_features(self, used: AnyArray) -> Ints:
        """See `StoredFeatures`; at least one, so that there is a matrix."""
        return np.unique(used).astype(np.int64) if len(used) else np.zeros(1, np.int64)

    def check_thresholds(self, feature: AnyArray, threshold: Features, set_size: AnyArray) -> None:
        """See `StoredFeatures`: values of one bin could go to both sides of a threshold that is not a cut."""
        feature, threshold = feature[set_size == 0], threshold[set_size == 0]
        # Trees separate missing from known values by the largest number.
        is_cut = threshold == np.finfo(np.float32).max
        for f in np.unique(feature):
            of_feature = feature == f
            is_cut[of_feature] |= np.isin(threshold[of_feature], self.cuts.values[f])
        if not is_cut.all():
            node = int(np.argmin(is_cut))
            raise DataError(
                f"the data was binned with other cuts than the data that the model was trained on: the threshold "
                f"{threshold[node]:g} of feature '{self.names[feature[node]]}' is none of them. Bin it like the "
                "training data, ",
                _BIN_LIKE_TRAINING,
                ", or ",
                _WITHOUT_BINS,
                ".",
            )

    def check_same_cuts(self, other: StoredFeatures, what: str) -> None:
        """See `StoredFeatures`."""
        if isinstance(other, BinnedFeatures):
            self._check_cuts(other.cuts, what)

    def _check_cuts(self, cuts: Cuts, what: str) -> None:
        if not np.array_equal(self.cuts.values, cuts.values):
            raise DataError(
                f"{what} was binned with other cuts than the training data: bin it like the training data, "
                f"{_BIN_LIKE_TRAINING}."
            )

    def find_cuts(
        self, places: Places, order: Ints | None, max_bins: int, n_threads: int | None, collective: Collective
    ) -> Cuts:
        """See `StoredFeatures`."""
        own = self.cuts
        if own.max_bins != max_bins:
            raise DataError(
                f"the data was binned with max_bins={own.max_bins}, but the ranker has max_bins={max_bins}: set "
                f"max_bins={own.max_bins}, or bin the data again."
            )
        if not (allgather(collective, own.values[None]) == own.values).all():
            raise DataError("the workers have bins of different cuts: bin all parts like one of them.")
        return own

    def binned(self, cuts: Cuts, n_threads: int | None, order: Ints | None = None) -> "BinnedFeatures":
        """See `StoredFeatures`."""
        self._check_cuts(cuts, "the data")
        if order is None:
            return self
        # Kernels want adjacent rows, which an index would not give.
        return self._with(blocks=np.take(self.blocks, order, axis=1), codes=np.take(self.codes, order, axis=1))

    def write_bins(self, cuts: Cuts, blocks: Bytes, codes: Features, first: int, n_threads: int | None) -> Ints:
        """See `StoredFeatures`."""
        self._check_cuts(cuts, "the data")
        rows = slice(first, first + self.n_rows)
        blocks[:, rows], codes[:, rows] = self.blocks, self.codes
        return self.has_missing

    def any_missing(self) -> Bools:
        """See `StoredFeatures`."""
        found: Bools = self.has_missing > 0
        # Codes of other data's categories may have become missing values.
        found[self.categorical] |= np.isnan(self.codes).any(axis=1)
        return found

    def counts(self) -> FeatureCounts:
        """See `StoredFeatures`."""
        missing = np.zeros(self.blocks.shape[::2], np.int64)
        for rows in row_blocks(self.n_rows, _BLOCK_ROWS):
            missing += (self.blocks[:, rows] == 0).sum(axis=1)
        n_missing = missing.reshape(-1)[: len(self.names)]
        n_values = self.cuts.n_bins.copy()
        n_values[self.categorical] = [len(np.unique(codes[~np.isnan(codes)])) for codes in self.codes]
        return FeatureCounts(n_missing, (n_values == 1) & (n_missing == 0), np.zeros(len(self.names), np.bool_))

    def content(self) -> tuple[AnyArray, ...]:
        """See `StoredFeatures`."""
        return self.blocks, self.cuts.values, self.codes

    def _encoded(self, feature: int, where: str, whose: str) -> tuple[Features, Categories]:
        raise DataError(
            f"{where} was binned as a number, but for {whose} it is categorical: declare it with ",
            CATEGORICAL,
            " when the data is read.",
        )

    def _check_choice(self, chosen: Ints | None, wanted: Sequence[str], whose: str, where: str) -> None:
        if chosen is not None:
            pairs = zip(self.names, wanted, strict=False)
            first = next((name for name, other in pairs if name != other), self.names[-1])
            raise DataError(
                f"{where} is binned and has {len(self.names):,} features, {whose} has {len(wanted):,}, and they differ "
                f"from '{first}' on: bin the data again with ",
                Hint("features", [...], "--features"),
                f" of {whose}, in their order.",
            )

    def _changed(self, names: Names, categories: AllCategories, chosen: Ints | None, codes: Codes) -> StoredFeatures:
        changed = np.array(self.codes)
        for feature, column in codes.items():
            changed[np.searchsorted(self.categorical, feature)] = column
        return self._with(names=names, categories=categories, codes=changed)


def _refuse_values() -> NoReturn:
    raise DataError(
        "the data set has bins, not values: LambdaMART, MART and other rankers made of trees learn from bins, and "
        "score those with the cuts of their training data. For everything else, ",
        _WITHOUT_BINS,
        ".",
    )


def n_blocks(n_features: int) -> int:
    """The number of blocks of so many features."""
    return -(-n_features // BLOCK)


def bin_rows(
    X: Features, cuts: Cuts, blocks: Bytes, n_threads: int | None, first: int = 0, order: Ints | None = None
) -> Ints:
    """Write the bins of the rows of X, taken in an order if there is one, to the rows from `first` on.

    Returns 1 for features with missing values.
    """
    chunks = row_chunks(len(X), thread_count(n_threads))
    missing = np.zeros((len(chunks), X.shape[1]), np.int64)
    rows = np.empty(0, np.int64) if order is None else np.array(order)
    jobs = [(X, rows, cuts.values, *chunk, first, blocks, missing[c]) for c, chunk in enumerate(chunks)]
    run_in_threads(fill_bins, jobs)
    found: Ints = missing.max(axis=0)
    return found


def extreme_bins(blocks: Bytes, n_features: int, *, lowest: bool) -> Ints:
    """The lowest or the highest bin of each feature."""
    chunks = row_chunks(blocks.shape[1], thread_count(None), least_rows=10_000)
    found = np.full((len(chunks), *blocks.shape[::2]), LARGEST_BIN if lowest else 0, np.uint8)
    run_in_threads(write_extreme_bins, [(blocks, *chunk, lowest, found[c]) for c, chunk in enumerate(chunks)])
    extreme: Ints = (found.min(axis=0) if lowest else found.max(axis=0)).astype(np.int64)
    return extreme.reshape(-1)[:n_features]


def bin_values(cuts: Cuts, features: Ints) -> Features:
    """(n_features, 256): the number that each bin stands for; bins beyond the last are like the last."""
    table = np.full((len(features), LARGEST_BIN + 1), np.nan, np.float32)
    table[:, 1:] = cuts.values[features]
    for row, last in enumerate(cuts.n_bins[features].tolist()):
        above = np.nextafter(table[row, last - 1], np.float32(np.inf)) if last > 1 else np.float32(0)
        table[row, last:] = above
    return table


@kernel
def fill_bins(
    X: Features, order: Ints, cuts: Features, start: int, stop: int, first: int, blocks: Bytes, missing: Ints
) -> None:
    """Write the bins of the rows from start to stop, and set `missing` to 1 for features with missing values."""
    n_features = X.shape[1]
    for b in range(blocks.shape[0]):
        for k in range(start, stop):
            row = order[k] if len(order) > 0 else k
            for f in range(b * BLOCK, min((b + 1) * BLOCK, n_features)):
                x = X[row, f]
                # Binary search in eight steps without a branch: every feature has 255 cuts, padded with infinity.
                below = np.int64(0)
                for step in (128, 64, 32, 16, 8, 4, 2, 1):
                    below += step * np.int64(x > cuts[f, below + step - 1])
                if x == x:
                    blocks[b, first + k, f - b * BLOCK] = below + 1
                else:
                    missing[f] = 1


@kernel
def decode_rows(
    blocks: Bytes, features: Ints, table: Features, first: int, start: int, stop: int, values: Features
) -> None:
    """Write the values of the chosen features of the rows from first + start to first + stop."""
    for k in range(start, stop):
        for c in range(len(features)):
            f = features[c]
            values[k, c] = table[c, blocks[f // BLOCK, first + k, f % BLOCK]]


@kernel
def write_extreme_bins(blocks: Bytes, start: int, stop: int, lowest: bool, found: Bytes) -> None:
    """Write the lowest or the highest bin of each column over the rows from start to stop."""
    for b in range(blocks.shape[0]):
        for row in range(start, stop):
            for c in range(BLOCK):
                bin_of_row = blocks[b, row, c]
                found[b, c] = min(found[b, c], bin_of_row) if lowest else max(found[b, c], bin_of_row)
