"""Constraints on trees in users' words, checked against the features and the model that training starts from."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from swaprank.arrays import Bytes, Ints
from swaprank.errors import ParameterError, did_you_mean
from swaprank.models.ensemble import Ensemble, trees_of
from swaprank.models.model import Model
from swaprank.trees.constraints import NO_CONSTRAINTS, Constraints, broken_feature

MonotoneConstraints = Mapping[str, int] | Sequence[int]
InteractionConstraints = Sequence[Sequence[str | int]]


def check_monotone(start: Model, monotone: Ints, names: Sequence[str]) -> None:
    """Raise if a model breaks the direction of a feature, or if this cannot be told."""
    trees = trees_of(start)
    broken = None if trees is None else broken_feature(trees, monotone)
    if broken is not None:
        raise ParameterError(
            f"the base ranker breaks monotone_constraints of '{names[broken]}': train it with the same constraints."
        )
    base = start.members[0] if isinstance(start, Ensemble) and trees is not None else start
    if base is trees:
        return
    try:
        against = np.flatnonzero(base.feature_weights() * monotone < 0)
    except ParameterError:
        raise ParameterError(
            f"monotone_constraints: it cannot be checked whether the base ranker ({base.describe()}) keeps them. Use a "
            "linear one, or one made of trees that was trained with them."
        ) from None
    if len(against):
        raise ParameterError(
            f"the base ranker breaks monotone_constraints of '{names[against[0]]}': its weight has the other sign. "
            "Leave this constraint or the feature out, or use a base of trees."
        )


def tree_constraints(
    monotone: MonotoneConstraints | None,
    interaction: InteractionConstraints | None,
    names: Sequence[str],
    categorical: Collection[str],
) -> Constraints:
    """Check the constraints on features of these names."""
    directions = NO_CONSTRAINTS.monotone if monotone is None else _directions(monotone, names, categorical)
    groups = NO_CONSTRAINTS.groups if interaction is None else _groups(interaction, names)
    return Constraints(directions, groups)


def _directions(given: Any, names: Sequence[str], categorical: Collection[str]) -> Ints:
    if isinstance(given, Mapping):
        by_position = {_position("monotone_constraints", str(name), names): sign for name, sign in given.items()}
    elif isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        if len(given) != len(names):
            raise ParameterError(
                f"monotone_constraints has {len(given)} numbers for {len(names)} features: give one for each feature, "
                f"or only some by name: {{'{names[0]}': 1}}."
            )
        by_position = dict(enumerate(given))
    else:
        raise ParameterError(
            f"monotone_constraints must map names of features to 1 or -1, as {{'{names[0]}': 1}}, or have one of -1, 0 "
            f"and 1 for each feature; found {given!r}."
        )
    found = np.zeros(len(names), np.int64)
    for at, sign in by_position.items():
        if isinstance(sign, bool | np.bool_) or not isinstance(sign, int | np.integer) or sign not in (-1, 0, 1):
            raise ParameterError(
                f"monotone_constraints of '{names[at]}' must be 1 (scores never fall as it rises), -1 (never rise) or "
                f"0; found {sign!r}."
            )
        if sign != 0 and names[at] in categorical:
            raise ParameterError(
                f"monotone_constraints: '{names[at]}' is a categorical feature, and categories have no order."
            )
        found[at] = sign
    return found if found.any() else NO_CONSTRAINTS.monotone


def _groups(given: Any, names: Sequence[str]) -> Bytes:
    wrong = isinstance(given, str) or not isinstance(given, Sequence) or len(given) == 0
    if wrong or any(isinstance(group, str) or not isinstance(group, Sequence) or not len(group) for group in given):
        raise ParameterError(
            f"interaction_constraints must be a list of groups of features, as [['{names[0]}', '{names[-1]}']]; "
            f"found {given!r}."
        )
    groups = np.zeros((len(given), len(names)), np.uint8)
    for group, features in zip(groups, given, strict=True):
        group[[_position("interaction_constraints", feature, names) for feature in features]] = 1
    alone = np.flatnonzero(groups.max(axis=0) == 0)
    return np.concatenate((groups, np.eye(len(names), dtype=np.uint8)[alone]))


def _position(parameter: str, feature: Any, names: Sequence[str]) -> int:
    """The position of a feature, which is given by its name or position."""
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if 0 <= feature < len(names):
            return int(feature)
        raise ParameterError(f"{parameter}: there is no feature {feature}, only 0 to {len(names) - 1}.")
    if feature not in names:
        raise ParameterError(f"{parameter}: there is no feature '{feature}'; {did_you_mean(str(feature), names)}")
    return list(names).index(feature)
