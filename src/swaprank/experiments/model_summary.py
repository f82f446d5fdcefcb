"""A summary of a fitted model: size, metric values, parameters."""

from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

from swaprank.experiments.ranker_parameters import training_parameters
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.result import json_text, plain

_FEATURES_SHOWN = 10

MetricValues = dict[str, float | None]
"""The "value" of the round that is kept, None if it was not measured; and the "last" value that was measured."""


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
    categorical: dict[str, int]
    """The number of categories of each categorical feature."""
    interrupted: bool
    n_rounds: int
    best_round: int
    """The round that is kept."""
    measured: dict[str, dict[str, MetricValues]]
    """The values of each metric, by set and metric."""
    importances: dict[str, float]
    """For forests: the share of each feature's splits in the total gain, largest first."""
    parameters: dict[str, Any]
    chosen: dict[str, Any]
    """The values chosen for the data where a parameter is None, by its name."""

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
        if self.categorical:
            named = [f"{name} ({count:,} values)" for name, count in self.categorical.items()][:_FEATURES_SHOWN]
            more = len(self.categorical) - len(named)
            rows.append(("categorical", ", ".join(named) + (f", and {more} more" if more else "")))
        if self.measured:
            rows.append(("rounds", f"{self.n_rounds:,}; the model is that of round {self.best_round:,}"))
        rows += [
            (f"{name} {metric}", f"{metric_text(values['value'])}; last measured: {metric_text(values['last'])}")
            for name, of_set in self.measured.items()
            for metric, values in of_set.items()
        ]
        if self.importances:
            total = sum(self.importances.values()) or 1.0
            most = list(self.importances.items())[:_FEATURES_SHOWN]
            rows.append(("top features", ", ".join(f"{name} ({gain / total:.1%})" for name, gain in most)))
        rows += [(f"  {name}", self._parameter_text(name, value)) for name, value in self.parameters.items()]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
        if self.parameters:
            lines.insert(len(lines) - len(self.parameters), "parameters")
        return "\n".join(lines)

    def _parameter_text(self, name: str, value: Any) -> str:
        if value is None and self.chosen.get(name) is not None:
            chosen = self.chosen[name]
            return f"{chosen if isinstance(chosen, str) else f'{chosen:g}'}, chosen"
        return "none" if value is None else f"{value}"


def summarize_model(ranker: Ranker) -> ModelSummary:
    """Summarize a fitted ranker.

    >>> import swaprank as sr
    >>> from swaprank.experiments.model_summary import summarize_model
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=3, random_state=0)
    >>> summarize_model(sr.MART(n_trees=2).fit(train, valid=vali)).n_rounds
    2
    """
    found = ranker.model_.importances()
    shares = np.zeros(0) if found is None else found.values
    names = [str(name) for name in ranker.feature_names_in_]
    return ModelSummary(
        ranker=ranker.kind,
        size=ranker.size_,
        metric=str(ranker.metric),
        n_features=ranker.n_features_in_,
        feature_names=names,
        categorical={name: len(categories) for name, categories in ranker.categories_.items()},
        interrupted=ranker.interrupted_,
        n_rounds=ranker.n_rounds_,
        best_round=ranker.best_round_,
        measured=metric_values(ranker),
        importances={names[f]: float(shares[f]) for f in np.argsort(-shares, kind="stable") if shares[f] > 0},
        parameters=training_parameters(ranker),
        chosen=dict(getattr(ranker, "chosen_", {})),
    )


def metric_values(ranker: Ranker) -> dict[str, dict[str, MetricValues]]:
    """The values that were measured during training, by set and metric.

    >>> import swaprank as sr
    >>> from swaprank.experiments.model_summary import metric_values
    >>> train, vali = sr.datasets.random_net((20, 10), n_features=3, random_state=0)
    >>> ranker = sr.MART(n_trees=2).fit(train, valid=vali)
    >>> metric_values(ranker)["valid"]["ndcg@10"]["last"] == ranker.history_["valid"]["ndcg@10"][-1]
    True
    """

    def values(history: list[float]) -> MetricValues:
        # Round 0, the start of training, and rounds of partial_fit are not in the history.
        kept = history[ranker.best_round_ - 1 : ranker.best_round_]
        return {"value": plain(kept[0]) if kept else None, "last": plain(history[-1])}

    return {
        name: {metric: values(history) for metric, history in of_set.items() if history}
        for name, of_set in ranker.history_.items()
    }


def metric_text(value: float | None) -> str:
    """A metric with four decimals; a dash for None."""
    return "-" if value is None else f"{value:.4f}"
