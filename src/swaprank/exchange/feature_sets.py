"""The features of a search engine: their names in its order, and their definitions.

They are given as a list of names, as a text file with one name per line, or as the JSON that was posted to
Elasticsearch LTR (a feature set) or to Solr (a feature store).
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swaprank.arrays import Ints
from swaprank.data.categories import Categories
from swaprank.data.matching import matching_columns, numbered_names
from swaprank.errors import DataError, ExportError, Hint, ParameterError, did_you_mean
from swaprank.files import existing_file

RENAME = Hint("rename", {"old": "new"}, "--rename OLD=NEW")


class FeatureSet(NamedTuple):
    """The features of a target in its order."""

    names: tuple[str, ...]
    definitions: tuple[Mapping[str, Any], ...] | None
    """The definitions that the target computes, one per name; None if only names were given."""
    name: str | None
    """The name of the set itself; None if that was not given."""

    def columns_of(self, wanted: Sequence[str]) -> Ints:
        """The position of each feature of a model; DataError if one is not there."""
        if len(set(self.names)) < len(self.names):
            twice = next(name for at, name in enumerate(self.names) if name in self.names[:at])
            raise DataError(f"the features have the name '{twice}' twice.")
        only_numbers = tuple(wanted) == numbered_names(len(wanted))
        try:
            columns = matching_columns(wanted, self.names, "the model", "the list of features")
        except DataError as error:
            advice = " If the target calls it otherwise, rename it ("
            if only_numbers:
                advice = " The model's are only numbered: list as many, in their order; or name them ("
            raise DataError(error, advice, RENAME, ").") from None
        return np.arange(len(wanted)) if columns is None else columns


def feature_set(given: Any) -> FeatureSet | None:
    """Features as a list of names, parsed JSON, or the path of a file with either; None for None.

    >>> from swaprank.exchange.feature_sets import feature_set
    >>> feature_set({"featureset": {"name": "shop", "features": [{"name": "bm25", "template": {}}]}}).names
    ('bm25',)
    """
    if given is None:
        return None
    if isinstance(given, str | os.PathLike):
        return _from_file(Path(given))
    if isinstance(given, Mapping):
        return _from_json(given, "the features")
    names = list(given)
    if names and all(isinstance(each, Mapping) for each in names):
        return _from_json(names, "the features")
    if not names or not all(isinstance(each, str) for each in names):
        raise ParameterError(f"features must be a list of names, or the path of a file; found {given!r}.")
    return FeatureSet(tuple(names), None, None)


def _from_file(path: Path) -> FeatureSet:
    text = existing_file(path).read_text("utf-8", errors="replace")
    if text.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}: this is not JSON: {error}.") from None
        return _from_json(found, str(path))
    names = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not names:
        raise DataError(f"{path} has no feature names: it should have one per line.")
    return FeatureSet(names, None, None)


def _from_json(found: Any, where: str) -> FeatureSet:
    """An Elasticsearch feature set, a Solr feature store, or a list of names."""
    inner = found.get("featureset", found.get("feature_set", found)) if isinstance(found, Mapping) else found
    features = inner.get("features") if isinstance(inner, Mapping) else inner
    if isinstance(features, list) and features:
        if all(isinstance(each, str) for each in features):
            return FeatureSet(tuple(features), None, None)
        if all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in features):
            called = inner.get("name") if isinstance(inner, Mapping) else None
            names = tuple(str(each["name"]) for each in features)
            return FeatureSet(names, tuple(features), called if isinstance(called, str) else None)
    raise DataError(f'{where}: expected a list of features, each with a "name"; found {json.dumps(found)[:80]}.')


def check_names(library: str, written: Sequence[str], given: Sequence[str], refused: str) -> None:
    """Raise ExportError for the first name that a library cannot hold as it would be written.

    >>> from swaprank.exchange.feature_sets import check_names
    >>> check_names("XGBoost", ["bm25"], ["bm25"], "[]<")
    """
    for name, before in zip(written, given, strict=True):
        if not name or set(refused) & set(name) or not name.isprintable():
            raise ExportError(
                f"{library} cannot hold the feature name {before!r}: it must not be empty or have one of "
                f"{' '.join(refused)} or a line break. Rename it (",
                RENAME,
                ").",
            )


def renamed(
    names: Sequence[str], categories: Mapping[str, Categories], new_names: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, Categories]]:
    """The names of features, and the categories by name, with some of them renamed.

    >>> from swaprank.exchange.feature_sets import renamed
    >>> renamed(["bm25", "brand"], {"brand": ("a", "b")}, {"brand": "maker"})
    (('bm25', 'maker'), {'maker': ('a', 'b')})
    """
    for old in new_names:
        if old not in names:
            raise DataError(Hint("rename"), f": the model has no feature '{old}'; {did_you_mean(old, names)}")
    changed = tuple(new_names.get(name, name) for name in names)
    if len(set(changed)) < len(changed):
        raise DataError(Hint("rename"), ": two features would have the same name.")
    return changed, {new_names.get(name, name): found for name, found in categories.items()}
