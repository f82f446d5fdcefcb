"""Bring a feature matrix to the categories of a model: the same text gets the same number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swaprank.arrays import Features
from swaprank.data.categories import Categories, encoded, extended, recoded
from swaprank.errors import DataError


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
            raise DataError(
                f"{where} '{name}' holds categories{_example(has or ())}, but for {whose} it is a number: give numbers "
                "here, or declare it in categorical_features before training."
            )
        codes, texts = encoded(features[:, f], f"{where} '{name}'") if has is None else (features[:, f], has)
        coded[f] = extended(wants, texts) if new_categories else wants
        if not features.flags.writeable:
            features = np.array(features)
        features[:, f] = recoded(codes, texts, coded[f] or ())
    return features, coded


def _example(categories: Categories) -> str:
    return f" such as '{categories[0][:40]}'" if categories else ""
