"""A data set with the features of a model: which of its fields change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.data.categories import Categories
from swaprank.data.matching import matching_columns, numbered_names
from swaprank.data.recoding import check_order, with_categories, with_codes

if TYPE_CHECKING:
    from swaprank.data.dataset import Dataset


def matched_features(
    data: Dataset,
    names: Sequence[str],
    categories: Mapping[str, Categories] | None,
    new_categories: bool,
    whose: str,
    where: str,
) -> dict[str, Any]:
    """The fields of `Dataset.with_features` that differ from those of the data; none if it has just these features."""
    chosen = matching_columns(names, data.feature_names, whose, where)
    known = data.feature_names if tuple(names) == numbered_names(len(names)) and chosen is None else tuple(names)
    own = [data.categories.get(data.feature_names[f]) for f in (range(len(known)) if chosen is None else chosen)]
    wanted = own if categories is None else [categories.get(name) for name in names]
    messages = f"{where}, feature", whose
    changes: dict[str, Any] = {}
    if data.bins is not None:
        check_order(chosen, data.feature_names, names, whose, where)
        bins, coded = with_codes(data.bins, known, own, wanted, new_categories, *messages)
        if bins is not data.bins:
            changes["bins"] = bins
    else:
        features = data.features if chosen is None else np.ascontiguousarray(data.features[:, chosen])
        features, coded = with_categories(features, known, own, wanted, new_categories, *messages)
        if features is not data.features:
            changes["_features"] = features
    by_name = {name: each for name, each in zip(known, coded, strict=True) if each is not None}
    if known != data.feature_names or by_name != data.categories:
        changes |= {"feature_names": known, "categories": by_name}
    return changes
