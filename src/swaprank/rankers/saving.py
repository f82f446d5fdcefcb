"""A ranker as the content of a model file, and back.

    kind         of the ranker: "lambdamart"
    swaprank     the version that wrote it
    parameters   of the ranker; a metric of the user's own and an objective instance only by their names
    …            what was learned, field by field, see rankers/learned.py
    model        the model's plain values; its arrays follow (models/model.py: to_parts)

model_files/container.py says how this becomes bytes; registry.py finds the class of a kind.
"""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from swaprank.arrays import AnyArray
from swaprank.errors import ModelFileError
from swaprank.metrics.metric import OWN_SUFFIX, Metric, is_own
from swaprank.model_files.container import ModelContent, write_model
from swaprank.model_files.plain_json import plain_values
from swaprank.models.ensemble import model_from_parts
from swaprank.objectives.objective import Objective
from swaprank.rankers.learned import Learned, found_by
from swaprank.rankers.seen import Seen
from swaprank.version import __version__

if TYPE_CHECKING:
    from swaprank.rankers.ranker import Ranker

AnyRanker = TypeVar("AnyRanker", bound="Ranker")


def content_of(ranker: "Ranker") -> ModelContent:
    """The content of a ranker's model file.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import content_of
    >>> (train,) = sr.datasets.random_net((20,), n_features=5, random_state=0)
    >>> content = content_of(sr.MART(n_trees=2).fit(train))
    >>> content.kind, content.meta["model"]["kind"]
    ('mart', 'forest')
    """
    learned, arrays = to_content(ranker.learned_, type(ranker))
    return ModelContent(
        ranker.kind, {"swaprank": __version__, "parameters": saved_parameters(ranker), **learned}, arrays
    )


def saved_parameters(ranker: "Ranker", seed: int | None = None) -> dict[str, Any]:
    """The parameters of a ranker as plain values; the seed is the one that was used."""
    # The model contains what the base ranker and the members have learned; the number of threads does not change it.
    names = [name for name, each in ranker.declared.items() if name != "n_threads" and not each.is_ranker]
    given = {name: _saved(getattr(ranker, name)) for name in names}
    if "random_state" in given:
        given["random_state"] = ranker.random_state_ if seed is None else seed
    return given


def restored(kind: type[AnyRanker], content: ModelContent) -> AnyRanker:
    """The ranker of a class that a model file holds; everything is checked as `fit` checks it."""
    given = content.meta["parameters"]
    parameters: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    ranker = kind(**parameters)
    ranker.check_parameters()
    # Metrics and objectives of the user's own are saved by name only.
    if not is_own(ranker.metric):
        ranker.training_metric()
        if not is_own(getattr(ranker, "objective", None)):
            getattr(ranker, "_objective", lambda: None)()
    learned = from_content(content.meta, content.arrays, kind)
    if not isinstance(learned.model, kind.can.models):
        raise ModelFileError(f"it holds {learned.model.describe()}, which is no model of a {kind.kind}.")
    if learned.categories and not kind.can.categories:
        raise ModelFileError(f"its categories are not those of the features of a {kind.kind}.")
    if learned.seen is not None:
        _check_seen(learned.seen, learned)
    ranker.learned_ = learned
    ranker._check_learned()
    return ranker


def save(ranker: "Ranker", path: str | os.PathLike[str]) -> None:
    """Write a fitted ranker to one file; on any error, nothing."""
    content = content_of(ranker)
    write_model(path, content.kind, content.meta, content.arrays)


def _saved(parameter: Any) -> Any:
    """A parameter as a plain value: own metrics and objective instances are code, which no model file holds."""
    if isinstance(parameter, Objective) or (isinstance(parameter, Metric) and parameter.is_own):
        return f"{parameter}{OWN_SUFFIX}"
    return str(parameter) if isinstance(parameter, Metric) else parameter


def to_content(learned: Learned, kind: type) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return everything that was learned as plain values and arrays, for a model file."""
    model, arrays = learned.model.to_parts()
    saved = [each for each in fields(Learned) if "read" in each.metadata]
    meta = plain_values(
        {each.name: each.metadata.get("save", lambda value: value)(getattr(learned, each.name)) for each in saved}
    )
    kept = {name: each.save(learned.found[name]) for name, each in found_by(kind).items() if each.read is not None}
    return {**meta, "found": kept, "model": model}, arrays


def from_content(meta: Mapping[str, Any], arrays: Mapping[str, AnyArray], kind: type) -> Learned:
    """Return everything that was learned from the content of a model file; ModelFileError if some of it is wrong.

    >>> import swaprank as sr
    >>> from swaprank.rankers.saving import from_content, to_content
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(train)
    >>> meta, arrays = to_content(ranker.learned_, sr.MART)
    >>> from_content({**meta, "feature_names": ["a", "b", "c"]}, arrays, sr.MART).feature_names
    ('a', 'b', 'c')
    """
    read = {
        each.name: each.metadata["read"](meta[each.name])
        for each in fields(Learned)
        if "read" in each.metadata and not (each.metadata.get("optional") and each.name not in meta)
    }
    values = {
        name: each.default if each.read is None else each.read(meta["found"][name])
        for name, each in found_by(kind).items()
    }
    learned = Learned(model_from_parts(meta["model"], dict(arrays)), found=values, **read)
    _check_features(learned)
    return learned


def _check_features(learned: Learned) -> None:
    names, n_features = learned.feature_names, learned.model.n_features
    if len(names) != n_features:
        raise ModelFileError(f"it has {len(names)} feature names, but the model has {n_features} features.")
    unknown = [name for name in (*learned.categories, *(learned.missing_features or ())) if name not in names]
    if unknown:
        raise ModelFileError(
            f"it knows categories or missing values of a feature '{unknown[0]}', which it does not have."
        )


def _check_seen(seen: Seen, learned: Learned) -> None:
    if len(seen.features) != len(learned.feature_names):
        found, expected = len(seen.features), len(learned.feature_names)
        raise ModelFileError(f"it has counts of {found} features, but the model has {expected}.")
    for name, values in zip(learned.feature_names, seen.features, strict=True):
        codes = values.codes
        if (codes is not None) != (name in learned.categories):
            raise ModelFileError(f"its counts of '{name}' are not those of {'numbers' if codes else 'categories'}.")
        if codes and max(codes) >= len(learned.categories[name]):
            raise ModelFileError(f"its counts of '{name}' have a category that the feature does not have.")
