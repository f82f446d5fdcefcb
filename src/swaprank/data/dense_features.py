"""Features as values: a float32 matrix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Features, Ints, row_blocks
from swaprank.collective import Collective, allgather
from swaprank.data.categories import Categories, encoded
from swaprank.data.stored_features import AllCategories, Codes, Compute, FeatureCounts, Names, StoredFeatures
from swaprank.threads import thread_count

if TYPE_CHECKING:
    from swaprank.data.binned_features import BinnedFeatures
    from swaprank.data.cuts import Cuts
    from swaprank.data.document_places import Places

_BLOCK_ROWS = 16_384


@final
@dataclass(frozen=True, eq=False)
class DenseFeatures(StoredFeatures):
    """A feature matrix, in which categorical features are the codes of their categories.

    >>> import numpy as np
    >>> from swaprank.data.dense_features import DenseFeatures
    >>> DenseFeatures(("brand",), {"brand": ("adidas", "nike")}, np.array([[0.0], [1.0]], np.float32)).categorical
    array([0])
    """

    is_binned: ClassVar[bool] = False
    matrix: Features

    @property
    def n_rows(self) -> int:
        """See `StoredFeatures`."""
        return len(self.matrix)

    @property
    def values(self) -> Features:
        """See `StoredFeatures`."""
        return self.matrix

    def column(self, feature: int) -> Features:
        """See `StoredFeatures`."""
        return self.matrix[:, feature]

    def rows(self, rows: Any) -> StoredFeatures:
        """See `StoredFeatures`; a slice shares the memory."""
        return DenseFeatures(self.names, self.categories, self.matrix[rows])

    def map_rows(self, compute: Compute, n_threads: int | None, features: Ints | None = None) -> AnyArray:
        """See `StoredFeatures`."""
        return compute(self.matrix)

    def decoded_features(self, used: AnyArray) -> Ints:
        """See `StoredFeatures`."""
        return np.arange(len(self.names))

    def find_cuts(
        self, places: "Places", order: Ints | None, max_bins: int, n_threads: int | None, collective: Collective
    ) -> "Cuts":
        """See `StoredFeatures`."""
        # Imported here because importing Numba takes time.
        from swaprank.data.cuts import cuts_of_sample, sample_of_rows

        threads = thread_count(n_threads)
        sampled = sample_of_rows(places, threads, collective)
        sample = allgather(collective, self.matrix[sampled if order is None else order[sampled]])
        return cuts_of_sample(sample, self.categorical, max_bins, threads)

    def binned(self, cuts: "Cuts", n_threads: int | None, order: Ints | None = None) -> "BinnedFeatures":
        """See `StoredFeatures`."""
        from swaprank.data.binned_features import BLOCK, BinnedFeatures, bin_rows, n_blocks

        blocks = np.zeros((n_blocks(len(self.names)), self.n_rows, BLOCK), np.uint8)
        missing = bin_rows(self.matrix, cuts, blocks, n_threads, order=order)
        codes = np.ascontiguousarray(self.matrix[:, self.categorical][slice(None) if order is None else order].T)
        return BinnedFeatures(self.names, self.categories, blocks, cuts, missing, codes)

    def write_bins(self, cuts: "Cuts", blocks: Bytes, codes: Features, first: int, n_threads: int | None) -> Ints:
        """See `StoredFeatures`."""
        from swaprank.data.binned_features import bin_rows

        codes[:, first : first + self.n_rows] = self.matrix[:, self.categorical].T
        return bin_rows(self.matrix, cuts, blocks, n_threads, first=first)

    def any_missing(self) -> Bools:
        """See `StoredFeatures`."""
        found = np.zeros(len(self.names), np.bool_)
        for rows in row_blocks(self.n_rows, _BLOCK_ROWS):
            found |= np.isnan(self.matrix[rows]).any(axis=0)
        return found

    def counts(self) -> FeatureCounts:
        """See `StoredFeatures`."""
        missing = np.zeros(len(self.names), np.int64)
        low = np.full(len(self.names), np.inf, np.float32)
        high = np.full(len(self.names), -np.inf, np.float32)
        for rows in row_blocks(self.n_rows, _BLOCK_ROWS):
            block = self.matrix[rows]
            missing += np.isnan(block).sum(axis=0)
            # fmin and fmax ignore NaN.
            low = np.fmin(low, np.fmin.reduce(block, axis=0))
            high = np.fmax(high, np.fmax.reduce(block, axis=0))
        is_constant = (low == high) & (missing == 0)
        is_zero = is_constant & (low == 0)
        # The 0 of a categorical feature is its first category.
        is_zero[self.categorical] = False
        return FeatureCounts(missing, is_constant, is_zero)

    def content(self) -> tuple[AnyArray, ...]:
        """See `StoredFeatures`."""
        return (self.matrix,)

    def _encoded(self, feature: int, where: str, whose: str) -> tuple[Features, Categories]:
        return encoded(self.column(feature), where)

    def _changed(self, names: Names, categories: AllCategories, chosen: Ints | None, codes: Codes) -> StoredFeatures:
        matrix = self.matrix
        if chosen is not None:
            matrix = np.ascontiguousarray(matrix[:, chosen])
        elif codes:
            matrix = np.array(matrix)
        for at, column in codes.items():
            matrix[:, at] = column
        return DenseFeatures(names, categories, matrix)


def dense(names: Sequence[str], matrix: Features, coded: Mapping[int, Categories]) -> DenseFeatures:
    """A feature matrix with the categories of each categorical feature by its position."""
    return DenseFeatures(tuple(names), {names[at]: categories for at, categories in coded.items()}, matrix)
