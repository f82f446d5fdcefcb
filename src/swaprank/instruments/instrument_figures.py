"""Figures of what the instruments found; Matplotlib draws them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swaprank.arrays import Floats
from swaprank.errors import DataError
from swaprank.rendering.figures import new_figure, save_figure

if TYPE_CHECKING:
    from swaprank.ensembles.combination import Combination
    from swaprank.instruments.certificate import Certificate
    from swaprank.instruments.explain import QueryExplanation

_COLUMNS = 500
"""More steps side by side are not to be seen."""
_LONGEST_ARROW = 3.0
"""In ranks."""


def draw_certificate(certificate: Certificate, path: Path, n_directions: int = 4) -> None:
    """The metric against the step, for the first directions and for the one that rises highest."""
    figure, axes = new_figure()
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
    save_figure(figure, path)


def draw_combination(combination: Combination, path: Path) -> None:
    """The metric against alpha, about where it is best."""
    if combination.steps_ is None:
        raise DataError("a combination that was loaded has no step function: combine anew, and draw that one.")
    figure, axes = new_figure()
    reach = max(1.0, 2 * abs(combination.alpha_ - 0.5))
    low, high = (0.5 - reach, 0.5 + reach) if combination.whole_line else (0.0, 1.0)
    axes.plot(*_outline(*combination.steps_.between(low, high)), linewidth=1)
    axes.plot([0.0, 1.0], combination.alone_[::-1], "s", color="C1", label="either ranker alone")
    axes.plot([combination.alpha_], [combination.value_], "o", color="C3", label=f"best: {combination.alpha_:.4g}")
    axes.set(xlabel="alpha", ylabel=str(combination.metric), title="alpha times the first ranker, the rest the second")
    axes.grid(visible=True, alpha=0.3)
    axes.legend()
    save_figure(figure, path)


def _outline(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Of many points, the lowest and the highest value of every column."""
    if len(x) <= 2 * _COLUMNS:
        return x, y
    starts = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], _COLUMNS, endpoint=False)))
    ends = np.stack([np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)], axis=1)
    return np.repeat(x[starts], 2), ends.reshape(-1)


def draw_explanation(explanation: QueryExplanation, path: Path, n_documents: int = 30) -> None:
    """The ranked list from top to bottom, the darker the more relevant, each with its lambda as an arrow."""
    shown = min(n_documents, len(explanation.rows))
    figure, axes = new_figure(5.0, max(2.0, 0.8 + 0.28 * shown))
    forces = explanation.forces[:shown]
    reach = max(float(np.abs(explanation.forces).max()), 1e-300)
    best = max(float(explanation.labels.max()), 1e-300)
    for x, words in ((-0.4, "rank"), (-0.15, "label")):
        axes.text(x, -1.0, words, ha="center", va="center")
    for rank, force in enumerate(forces):
        shade = 0.9 - 0.7 * max(float(explanation.labels[rank]), 0.0) / best
        axes.barh(rank, 1.0, height=0.8, color=str(shade), edgecolor="black", linewidth=0.5)
        axes.text(-0.4, rank, f"{rank + 1}", ha="center", va="center")
        axes.text(-0.15, rank, f"{explanation.labels[rank]:g}", ha="center", va="center")
        if abs(force) > 0.02 * reach:
            _arrow(axes, rank, force / reach)
    axes.set(xlim=(-0.6, 2.3), ylim=(shown + 0.6, -1.8))
    axes.set_title(f"query {explanation.qid}: {explanation.metric} {explanation.value:.4f}")
    axes.set_axis_off()
    save_figure(figure, path)


def _arrow(axes: Any, rank: int, share: float) -> None:
    """Up in one column, down in the next, neighbours side by side, for arrows are longer than a document is high."""
    x = (1.2 if share > 0 else 1.75) + 0.12 * (rank % 4)
    style = {"shrinkA": 0, "shrinkB": 0, "color": "C2" if share > 0 else "C3", "linewidth": 1.5}
    # Ranks grow downwards.
    axes.annotate(
        "", xy=(x, rank - _LONGEST_ARROW * share), xytext=(x, rank), arrowprops={"arrowstyle": "-|>", **style}
    )
