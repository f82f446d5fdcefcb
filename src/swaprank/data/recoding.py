"""Bring a feature matrix to the categories of a model: the same text gets the same number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from swaprank.arrays import Features, Ints
from swaprank.data.categories import Categories, encoded, extended, recoded
from swaprank.errors import DataError

if TYPE_CHECKING:
    from swaprank.data.binned_features import BinnedFeatures


def with_categories(
    features: Features,
    names: Sequence[str],
    found: Sequence[Categories | None],
    wanted: Sequence[Categories | None],
    new_categories: bool,
    where: str,
    whose: str,
) -> tuple[Features, list[Categories | None]]:
    """The features with the codes of the wanted categories, not copied if they have them; and the categories."""
    coded = list(wanted)
    for f, (name, has, wants) in enumerate(zip(names, found, wanted, strict=True)):
        if has == wants:
            continue
        if wants is None:
            raise _number_wanted(name, has or (), where, whose)
        codes, texts = encoded(features[:, f], f"{where} '{name}'") if has is None else (features[:, f], has)
        coded[f] = extended(wants, texts) if new_categories else wants
        if not features.flags.writeable:
            features = np.array(features)
        features[:, f] = recoded(codes, texts, coded[f] or ())
    return features, coded


def with_codes(
    bins: BinnedFeatures,
    names: Sequence[str],
    found: Sequence[Categories | None],
    wanted: Sequence[Categories | None],
    new_categories: bool,
    where: str,
    whose: str,
) -> tuple[BinnedFeatures, list[Categories | None]]:
    """The same for bins; a feature that is not categorical here cannot become so."""
    coded, codes = list(wanted), np.array(bins.codes)
    for f, (name, has, wants) in enumerate(zip(names, found, wanted, strict=True)):
        if has == wants:
            continue
        if wants is None:
            raise _number_wanted(name, has or (), where, whose)
        if has is None:
            raise DataError(
                f"{where} '{name}' was binned as a number, but for {whose} it is categorical: declare it in "
                "categorical_features when the data is read."
            )
        coded[f] = extended(wants, has) if new_categories else wants
        row = int(np.searchsorted(bins.categorical, f))
        codes[row] = recoded(codes[row], has, coded[f] or ())
    return (bins, coded) if list(found) == coded else (bins._replace(codes=codes), coded)


def check_order(chosen: Ints | None, found: Sequence[str], wanted: Sequence[str], whose: str, where: str) -> None:
    """Raise DataError if binned data has other features than those wanted, or has them in another order."""
    if chosen is not None:
        first = next((name for name, other in zip(found, wanted, strict=False) if name != other), found[-1])
        raise DataError(
            f"{where} is binned and has {len(found):,} features, {whose} has {len(wanted):,}, and they differ from "
            f"'{first}' on: bin the data again with features=[…] of {whose}, in their order."
        )


def _number_wanted(name: str, found: Categories, where: str, whose: str) -> DataError:
    return DataError(
        f"{where} '{name}' holds categories{_example(found)}, but for {whose} it is a number: give numbers here, or "
        "declare it in categorical_features before training."
    )


def _example(categories: Categories) -> str:
    return f" such as '{categories[0][:40]}'" if categories else ""
