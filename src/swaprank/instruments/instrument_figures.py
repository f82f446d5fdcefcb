"""Figures of certificates and explanations, drawn by Matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.rendering.figures import new_axes, save_chart, save_figure

if TYPE_CHECKING:
    from swaprank.instruments.certificate import Certificate
    from swaprank.instruments.explain import QueryExplanation

_LONGEST_ARROW = 3.0
"""In ranks."""


def draw_certificate(certificate: Certificate, path: Path, n_directions: int = 4) -> None:
    """The metric against the step size, for the first directions and for the one that reaches the highest value."""
    axes, (steps, curves) = new_axes(), certificate.from_zero()
    for at in sorted({*range(min(n_directions, certificate.n_directions)), certificate.highest}):
        is_highest = at == certificate.highest
        style = {"color": "black", "linestyle": "--"} if is_highest else {"marker": "o"}
        axes.plot(steps, curves[at], label=f"direction {at}" + (", the highest" if is_highest else ""), **style)
    verdict = f"{certificate.n_rising} of {certificate.n_directions} directions rise"
    save_chart(axes, path, f"{certificate.metric}: {verdict}", "step", certificate.metric)


def draw_explanation(explanation: QueryExplanation, path: Path, n_documents: int = 30) -> None:
    """The ranked list from top to bottom with the lambda of each document as an arrow; relevant ones are darker."""
    shown = min(n_documents, len(explanation.rows))
    axes = new_axes(5.0, max(2.0, 0.8 + 0.28 * shown))
    largest = max(float(np.abs(explanation.forces).max()), 1e-300)
    best = max(float(explanation.labels.max()), 1e-300)
    for x, header in ((-0.4, "rank"), (-0.15, "label")):
        axes.text(x, -1.0, header, ha="center", va="center")
    for rank, force in enumerate(explanation.forces[:shown]):
        shade = 0.9 - 0.7 * max(float(explanation.labels[rank]), 0.0) / best
        axes.barh(rank, 1.0, height=0.8, color=str(shade), edgecolor="black", linewidth=0.5)
        axes.text(-0.4, rank, f"{rank + 1}", ha="center", va="center")
        axes.text(-0.15, rank, f"{explanation.labels[rank]:g}", ha="center", va="center")
        if abs(force) > 0.02 * largest:
            _arrow(axes, rank, force / largest)
    axes.set(xlim=(-0.6, 2.3), ylim=(shown + 0.6, -1.8))
    axes.set_title(f"query {explanation.qid}: {explanation.metric} {explanation.value:.4f}")
    axes.set_axis_off()
    save_figure(axes, path)


def _arrow(axes: Any, rank: int, share: float) -> None:
    """Arrows are longer than a row is high: neighbours are side by side, with separate columns for up and down."""
    x = (1.2 if share > 0 else 1.75) + 0.12 * (rank % 4)
    style = {"shrinkA": 0, "shrinkB": 0, "color": "C2" if share > 0 else "C3", "linewidth": 1.5}
    # The y axis points down.
    axes.annotate(
        "", xy=(x, rank - _LONGEST_ARROW * share), xytext=(x, rank), arrowprops={"arrowstyle": "-|>", **style}
    )
