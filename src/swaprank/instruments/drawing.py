"""Figures of what the instruments found; Matplotlib draws them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.reproduction.drawing import check_drawing

if TYPE_CHECKING:
    from swaprank.instruments.certificate import Certificate
    from swaprank.instruments.explain import QueryExplanation
    from swaprank.rankers.combination import Combination

_MOST_POINTS = 20_000
"""More are not to be seen."""


def _figure(width: float = 7.0, height: float = 4.5) -> tuple[Any, Any]:
    check_drawing()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def draw_certificate(certificate: Certificate, path: Path, n_directions: int = 4) -> None:
    """The metric against the step, for the first directions and for the one that rises highest."""
    figure, axes = _figure()
    steps = np.concatenate(([0.0], certificate.steps))
    best = int(certificate.curves.max(axis=1).argmax())
    for at in sorted({*range(min(n_directions, certificate.n_directions)), best}):
        style = {"color": "black", "linestyle": "--"} if at == best else {"marker": "o"}
        name = f"direction {at}" + (", the highest" if at == best else "")
        axes.plot(steps, np.concatenate(([certificate.value], certificate.curves[at])), label=name, **style)
    verdict = f"{certificate.n_rising} of {certificate.n_directions} directions rise"
    axes.set(title=f"{certificate.metric}: {verdict}", xlabel="step", ylabel=certificate.metric)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path)


def draw_combination(combination: Combination, path: Path) -> None:
    """The metric against alpha, about where it is best."""
    if combination.steps_ is None:
        raise ValueError("a combination that was loaded has no step function: combine anew.")
    figure, axes = _figure()
    reach = max(1.0, 2 * abs(combination.alpha_ - 0.5))
    low, high = (0.5 - reach, 0.5 + reach) if combination.whole_line else (0.0, 1.0)
    alphas, values = combination.steps_.between(low, high)
    every = max(1, len(alphas) // _MOST_POINTS)
    axes.plot(alphas[::every], values[::every], linewidth=1)
    axes.plot([0.0, 1.0], combination.alone_[::-1], "s", color="C1", label="either ranker alone")
    axes.plot([combination.alpha_], [combination.value_], "o", color="C3", label=f"best: {combination.alpha_:.4g}")
    axes.set(xlabel="alpha", ylabel=str(combination.metric), title="alpha times the first ranker, the rest the second")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    figure.savefig(path)


def draw_explanation(explanation: QueryExplanation, path: Path, n_documents: int = 30) -> None:
    """The ranked list from top to bottom, the darker the more relevant, each with its lambda as an arrow."""
    shown = min(n_documents, len(explanation.rows))
    figure, axes = _figure(5.0, max(2.0, 0.8 + 0.3 * shown))
    forces = explanation.forces[:shown]
    reach = max(float(np.abs(explanation.forces).max()), 1e-300)
    best = max(float(explanation.labels.max()), 1e-300)
    for rank, force in enumerate(forces):
        shade = 0.9 - 0.7 * max(float(explanation.labels[rank]), 0.0) / best
        axes.barh(rank, 1.0, height=0.8, color=str(shade), edgecolor="black", linewidth=0.5)
        axes.text(-0.05, rank, f"{rank + 1}   {explanation.labels[rank]:g}", ha="right", va="center")
        if abs(force) > 0.02 * reach:
            length = -0.95 * force / reach  # Ranks grow downwards; no arrow reaches its neighbour's.
            arrow = {
                "arrowstyle": "-|>",
                "shrinkA": 0,
                "shrinkB": 0,
                "color": "C2" if force > 0 else "C3",
                "linewidth": 2,
            }
            x = 1.3 if force > 0 else 1.6
            axes.annotate("", xy=(x, rank + length), xytext=(x, rank), arrowprops=arrow)
    axes.set(xlim=(-0.6, 2.0), ylim=(shown + 1.5, -2.5))
    axes.set_title(f"query {explanation.qid}: {explanation.metric} {explanation.value:.4f}")
    axes.set_axis_off()
    figure.savefig(path)
