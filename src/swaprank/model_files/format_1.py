"""Conversion of model files of format 1, which swaprank 0.1 wrote, to the current content."""

from typing import Any

import numpy as np

from swaprank.arrays import AnyArray
from swaprank.errors import MetricError
from swaprank.metrics.parse import metric as parse_metric
from swaprank.model_files.container import ModelContent

_RENAMED = {"sigmas": "annealing", "best_sigma": "best_step", "loss": "objective"}
"""Parameters that were renamed."""
_DROPPED = ("base_ranker", "n_threads")
_FITTED = ("regularization", "candidates", "alpha", "interval", "value", "alone", "line")


def upgrade(content: ModelContent) -> ModelContent:
    """The content that the current version writes for the same model."""
    meta = content.meta
    model, arrays = _model(content)
    history = nested_history(meta["history"])
    lengths = [len(values) for of_set in history.values() for values in of_set.values()]
    kept = int(meta.get("best_epoch", len(arrays.get("tree_nodes", [0])) - 1))
    return ModelContent(
        content.kind,
        {
            "swaprank": meta["swaprank"],
            "parameters": _parameters(meta),
            "feature_names": meta["feature_names"],
            "history": history,
            "rounds": {"trained": max([int(meta.get("n_epochs", kept)), *lengths]), "kept": kept},
            "interrupted": meta["interrupted"],
            "sigma": float(meta["parameters"].get("sigma", 1.0)),
            "fitted": {
                **{name: meta[name] for name in _FITTED if name in meta},
                **({"smoothing_factor": meta["sigma"]} if "sigma" in meta else {}),
                **({"members": _members(content)} if "parts" in meta else {}),
            },
            "model": model,
        },
        arrays,
    )


def _parameters(meta: dict[str, Any]) -> dict[str, Any]:
    given = meta["parameters"]
    # The sigma of smooth trees was their smoothing factor, which is no parameter of the ranker today.
    dropped = (*_DROPPED, "sigma") if given.get("objective") == "smooth" else _DROPPED
    return {_RENAMED.get(name, name): value for name, value in given.items() if name not in dropped}


def _members(content: ModelContent) -> list[dict[str, Any]]:
    """Kind and parameters of an ensemble's members. The last part of a stack is its net, which is not a member."""
    parts = [ModelContent(part["kind"], part["meta"], {}) for part in content.meta.get("parts", [])]
    return [
        {"ranker": part.kind, "parameters": _parameters(part.meta), "members": _members(part)}
        for part in (parts if "alpha" in content.meta else parts[:-1])
    ]


def _model(content: ModelContent) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Plain values and arrays of the model in a file of format 1."""
    meta, arrays = content.meta, content.arrays
    if "forest" in meta:
        return {"kind": "forest", **meta["forest"]}, arrays
    if "net" in meta:
        return {"kind": "net", **meta["net"]}, arrays
    if "parts" not in meta:
        return meta.get("model", {"kind": "linear"}), arrays
    models, renamed = [], {name: arrays[name] for name in ("center", "spread")}
    for at, part in enumerate(meta["parts"]):
        inner = {name: arrays[f"{at}/{name}"] for name in part["arrays"]}
        model, used = _model(ModelContent(part["kind"], part["meta"], inner))
        models.append(model)
        renamed |= {f"{at}/{name}": array for name, array in used.items()}
    if "alpha" in meta:
        alpha, top = float(meta["alpha"]), len(models)
        renamed |= {f"{top}/weights": np.array([alpha, 1.0 - alpha]), f"{top}/missing": np.zeros(2, np.float32)}
        models.append({"kind": "linear"})
    return {"kind": "ensemble", "models": models}, renamed


def nested_history(history: dict[str, list[float]]) -> dict[str, dict[str, list[float]]]:
    """The history by set and metric; format 1 has one key "set metric".

    >>> from swaprank.model_files.format_1 import nested_history
    >>> nested_history({"my set map": [0.1], "train smooth ndcg@5": [0.2]})
    {'my set': {'map': [0.1]}, 'train': {'smooth ndcg@5': [0.2]}}
    """
    nested: dict[str, dict[str, list[float]]] = {}
    for key, values in history.items():
        name, metric = _split(key)
        nested.setdefault(name, {})[metric] = values
    return nested


def _split(key: str) -> tuple[str, str]:
    """Set and metric. Both may contain spaces: the longest suffix that is a metric is taken."""
    words = key.split(" ")
    if words[:2] == ["train", "smooth"]:
        return "train", " ".join(words[1:])
    for at in range(1, len(words)):
        try:
            parse_metric(" ".join(words[at:]))
        except MetricError:
            continue
        return " ".join(words[:at]), " ".join(words[at:])
    name, _, metric = key.partition(" ")
    return name, metric
