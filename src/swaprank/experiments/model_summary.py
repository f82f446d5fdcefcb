"""A summary of a fitted model: size, metric values, parameters."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, final

from swaprank.experiments.ranker_parameters import training_parameters
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.json_values import json_number, json_text

_FEATURES_SHOWN = 10


@final
@dataclass(frozen=True)
class ModelSummary:
    """Summary of a fitted model, as text or JSON.

    >>> import swaprank as sr
    >>> from swaprank.experiments.model_summary import summarize_model
    >>> (train,) = sr.datasets.random_net((20,), n_features=3, random_state=0)
    >>> print(summarize_model(sr.MART(n_trees=2).fit(train)).to_text().splitlines()[1])
    size        2 trees
    """

    ranker: str
    size: str
    metric: str
    n_features: int
    feature_names: list[str]
    interrupted: bool
    measured: dict[str, dict[str, float | int | None]]
    """Last and best value of each metric, by "set metric"."""
    importances: dict[str, float]
    """For forests: the total gain of each feature's splits, largest first."""
    parameters: dict[str, Any]

    def to_json(self) -> str:
        """The summary as JSON."""
        return json_text(asdict(self))

    def to_text(self) -> str:
        """The summary as plain text."""
        rows = [
            ("ranker", self.ranker + (", training was interrupted" if self.interrupted else "")),
            ("size", self.size),
            ("metric", self.metric),
            ("features", f"{self.n_features:,}"),
        ]
        for name, values in self.measured.items():
            rows.append((name, f"{values['last']:.4f} after {values['n_rounds']} rounds, {_best(values)}"))
        if self.importances:
            total = sum(self.importances.values()) or 1.0
            most = list(self.importances.items())[:_FEATURES_SHOWN]
            rows.append(("top features", ", ".join(f"{name} ({gain / total:.1%})" for name, gain in most)))
        rows += [(f"  {name}", "none" if value is None else f"{value}") for name, value in self.parameters.items()]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
        return "\n".join([*lines[: len(lines) - len(self.parameters)], "parameters", *lines[-len(self.parameters) :]])


def summarize_model(ranker: Ranker) -> ModelSummary:
    """Summarize a fitted ranker.

    >>> import swaprank as sr
    >>> from swaprank.experiments.model_summary import summarize_model
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=3, random_state=0)
    >>> summarize_model(sr.MART(n_trees=2).fit(train, valid=vali)).measured["valid ndcg@10"]["n_rounds"]
    2
    """
    measured = {
        f"{name} {metric}": {
            "last": json_number(values[-1]),
            "best": json_number(max(values)),
            "best_round": values.index(max(values)) + 1,
            "n_rounds": len(values),
        }
        for name, of_set in ranker.history_.items()
        for metric, values in of_set.items()
        if values
    }
    importances = getattr(ranker, "importances", None)
    return ModelSummary(
        ranker=ranker.kind,
        size=ranker.size_,
        metric=str(ranker.metric),
        n_features=ranker.n_features_in_,
        feature_names=[str(name) for name in ranker.feature_names_in_],
        interrupted=ranker.interrupted_,
        measured=measured,
        importances={name: gain for name, gain in importances().items() if gain > 0} if importances else {},
        parameters=training_parameters(ranker),
    )


def _best(values: dict[str, float | int | None]) -> str:
    return f"best {values['best']:.4f} after {values['best_round']}"
