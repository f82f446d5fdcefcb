"""Figures of certificates and explanations, drawn by Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.rendering.figures import as_written, axes_for, finish_chart

if TYPE_CHECKING:
    from swaprank.instruments.certificate import Certificate
    from swaprank.instruments.explain import QueryExplanation

_LONGEST_ARROW = 3.0
"""In ranks."""


def plot_certificate(certificate: Certificate, ax: Any = None, n_directions: int = 4) -> Any:
    """The metric against the step size, for the first directions and for the one that reaches the highest value."""
    axes, (steps, curves) = axes_for(ax), certificate.from_zero()
    for at in sorted({*range(min(n_directions, certificate.n_directions)), certificate.highest}):
        is_highest = at == certificate.highest
        style = {"color": "black", "linestyle": "--"} if is_highest else {"marker": "o"}
        axes.plot(steps, curves[at], label=f"direction {at}" + (", the highest" if is_highest else ""), **style)
    verdict = f"{certificate.n_rising} of {certificate.n_directions} directions rise"
    return finish_chart(axes, f"{certificate.metric}: {verdict}", "step", certificate.metric)


def explanation_size(explanation: QueryExplanation, n_documents: int) -> tuple[float, float]:
    """The width and the height of the picture of an explanation, in inches."""
    return 5.0, max(2.0, 0.8 + 0.28 * min(n_documents, len(explanation.rows)))


def plot_explanation(explanation: QueryExplanation, ax: Any = None, n_documents: int = 30) -> Any:
    """The ranked list from top to bottom with the lambda of each document as an arrow; relevant ones are darker."""
    shown = min(n_documents, len(explanation.rows))
    axes = axes_for(ax, *explanation_size(explanation, n_documents))
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
    axes.set_title(as_written(f"query {explanation.qid}: {explanation.metric} {explanation.value:.4f}"))
    axes.set_axis_off()
    return axes


def _arrow(axes: Any, rank: int, share: float) -> None:
    """Arrows are longer than a row is high: neighbours are side by side, with separate columns for up and down."""
    x = (1.2 if share > 0 else 1.75) + 0.12 * (rank % 4)
    style = {"shrinkA": 0, "shrinkB": 0, "color": "C2" if share > 0 else "C3", "linewidth": 1.5}
    # The y axis points down.
    axes.annotate(
        "", xy=(x, rank - _LONGEST_ARROW * share), xytext=(x, rank), arrowprops={"arrowstyle": "-|>", **style}
    )
