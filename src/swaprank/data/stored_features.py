"""The features of a data set, as they are stored: values (dense_features.py) or bins (binned_features.py).

Both have names, categories and one row per document, in the order of the input rows, and one contract: everything else
asks them and never which of the two they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from swaprank.arrays import AnyArray, Bools, Bytes, Features, Ints, ReadOnly
from swaprank.collective import Collective
from swaprank.data.categories import CATEGORICAL, OTHERS, Categories, extended, recoded
from swaprank.data.matching import matching_columns, numbered_names
from swaprank.errors import DataError

if TYPE_CHECKING:
    from swaprank.data.binned_features import BinnedFeatures
    from swaprank.data.cuts import Cuts
    from swaprank.data.document_places import Places

Names: TypeAlias = tuple[str, ...]
AllCategories: TypeAlias = Mapping[str, Categories]
"""The categories of each categorical feature, by its name."""
Codes: TypeAlias = Mapping[int, Features]
"""The codes of some features, by their positions."""
Compute: TypeAlias = Callable[[Features], AnyArray]
"""Makes one entry per row of rows x features."""


class FeatureCounts(NamedTuple):
    """Counts over the values of each feature."""

    n_missing: Ints
    is_constant: Bools
    """There is one value, which is never missing."""
    is_zero: Bools
    """All values are the number 0; never true of bins, which do not know."""


@dataclass(frozen=True, eq=False)
class StoredFeatures(ReadOnly, ABC):
    """The features of all rows; the arrays are read-only."""

    is_binned: ClassVar[bool]
    """True if there are bins instead of values."""
    names: Names
    categories: AllCategories
    """The values of each categorical feature as text; a row has their number, from 0."""

    def __post_init__(self) -> None:
        self._fill(**self._fields())

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    @abstractmethod
    def values(self) -> Features:
        """Rows x features; a DataError if there are none."""

    @property
    def categorical(self) -> Ints:
        """The positions of the categorical features, ascending."""
        return np.flatnonzero([name in self.categories for name in self.names])

    @abstractmethod
    def column(self, feature: int) -> Features:
        """The values of one feature: numbers, or the codes of categories."""

    @abstractmethod
    def rows(self, rows: Any) -> StoredFeatures:
        """Some of the rows, given by a slice or by numbers."""

    @abstractmethod
    def map_rows(self, compute: Compute, n_threads: int | None, features: Ints | None = None) -> AnyArray:
        """Return what `compute` gives for all rows, one entry per row, block by block if they have to be decoded.

        Args:
            compute: It gets rows x features.
            n_threads: The number of threads that decode rows. The default is all cores.
            features: What `decoded_features` returned. The default is all features.
        """

    @abstractmethod
    def decoded_features(self, used: AnyArray) -> Ints:
        """The features that `map_rows` should be asked for if only these are used: all if nothing is decoded."""

    def check_thresholds(self, feature: AnyArray, threshold: Features, set_size: AnyArray) -> None:
        """Raise DataError if rows cannot be compared with the thresholds of these splits exactly.

        A split with a set of categories, which has a size above 0, has no threshold.
        """

    def check_same_cuts(self, other: StoredFeatures, what: str) -> None:
        """Raise DataError if both are binned, and with different cuts; `what` says whose bins these are."""

    @abstractmethod
    def find_cuts(
        self, places: Places, order: Ints | None, max_bins: int, n_threads: int | None, collective: Collective
    ) -> Cuts:
        """The cuts of the features of all workers; those that they have if they are binned."""

    @abstractmethod
    def binned(self, cuts: Cuts, n_threads: int | None, order: Ints | None = None) -> BinnedFeatures:
        """The bins between the cuts, with the rows in an order if there is one."""

    @abstractmethod
    def write_bins(self, cuts: Cuts, blocks: Bytes, codes: Features, first: int, n_threads: int | None) -> Ints:
        """Write the bins between the cuts, and the codes of categories, to the rows from `first` on.

        Returns 1 for features with missing values.
        """

    @abstractmethod
    def any_missing(self) -> Bools:
        """True for features with missing values."""

    @abstractmethod
    def counts(self) -> FeatureCounts:
        """Count missing values, and find features with one value."""

    @abstractmethod
    def content(self) -> tuple[AnyArray, ...]:
        """The arrays that make two of them different."""

    @abstractmethod
    def _encoded(self, feature: int, where: str, whose: str) -> tuple[Features, Categories]:
        """The codes and categories of a feature that is a number here."""

    @abstractmethod
    def _changed(self, names: Names, categories: AllCategories, chosen: Ints | None, codes: Codes) -> StoredFeatures:
        """The chosen features, or all, with other names and categories, of which some have other codes."""

    def _check_choice(self, chosen: Ints | None, wanted: Sequence[str], whose: str, where: str) -> None:
        """Raise DataError if these features cannot be chosen."""

    def matched(
        self,
        names: Sequence[str],
        categories: AllCategories | None,
        new_categories: bool,
        whose: str,
        where: str,
    ) -> StoredFeatures:
        """The features of a model, see `Dataset.with_features`; itself if it has just these."""
        chosen = matching_columns(names, self.names, whose, where)
        self._check_choice(chosen, names, whose, where)
        known = self.names if tuple(names) == numbered_names(len(names)) and chosen is None else tuple(names)
        positions = range(len(known)) if chosen is None else chosen.tolist()
        coded: dict[str, Categories] = {}
        codes: dict[int, Features] = {}
        for at, (name, wanted_name, position) in enumerate(zip(known, names, positions, strict=True)):
            has = self.categories.get(self.names[position])
            wants = has if categories is None else categories.get(wanted_name)
            if wants is None:
                if has is not None:
                    raise _number_wanted(name, has, where, whose)
                continue
            if has == wants:
                coded[name] = wants
                continue
            if has is None:
                found, texts = self._encoded(position, f"{where}, feature '{name}'", whose)
            else:
                found, texts = self.column(position), has
            coded[name] = extended(wants, texts) if new_categories and OTHERS not in wants else wants
            codes[at] = recoded(found, texts, coded[name])
        if chosen is None and not codes and (known, coded) == (self.names, self.categories):
            return self
        return self._changed(known, coded, chosen, codes)


def _number_wanted(name: str, found: Categories, where: str, whose: str) -> DataError:
    example = f" such as '{found[0][:40]}'" if found else ""
    return DataError(
        f"{where}, feature '{name}' holds categories{example}, but for {whose} it is a number: give numbers here, or "
        "declare it with ",
        CATEGORICAL,
        " before training.",
    )
