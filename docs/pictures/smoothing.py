"""Draw the pictures of docs/smoothrank.md from the library itself: `python docs/pictures/smoothing.py OHSUMED`.

OHSUMED is the folder of that data set; without it, the picture of the annealing stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from make import DOWN, HERE, INK, PALE, UP, svg

from swaprank.arrays import Floats
from swaprank.reproduction import smoothrank_annealing, smoothrank_line
from swaprank.reproduction.experiment import Series, Settings

BACKGROUND = '<rect width="100%" height="100%" fill="white"/>'
COLORS = ("#9ab8d3", "#6d97c4", "#3f73b0", "#1f4f8f", "#0c2c5c")
CELL = 20


def indicators(scores: Floats, sigma: float) -> Floats:
    """h_ij for documents i in rank order."""
    e = np.exp(-((scores[:, None] - scores) ** 2) / sigma)
    shares: Floats = e / e.sum(axis=0)
    return shares


def draw_indicators() -> None:
    """Eight documents by rank; the share that each has in each rank, and the soft gains below, for three sigmas."""
    scores = np.array([2.6, 1.9, 1.5, 1.3, 0.6, 0.2, -0.7, -1.2])
    gains = np.array([0.0, 1, 0, 1, 0, 0, 1, 0])
    n, parts = len(scores), [BACKGROUND]
    for c, sigma in enumerate((0.02, 0.5, 20.0)):
        left, top, h = 20 + 210 * c, 40, indicators(scores, sigma)
        parts.append(f'<text x="{left}" y="24" font-weight="bold">sigma {sigma:g}</text>')
        for i in range(n):
            color = UP if gains[i] else INK
            parts += [
                f'<rect x="{left + CELL * j}" y="{top + CELL * i}" width="{CELL - 2}" height="{CELL - 2}" '
                f'fill="{color}" fill-opacity="{max(0.04, h[i, j]):.2f}"/>'
                for j in range(n)
            ]
        floor = top + CELL * n + 70
        for j, soft in enumerate(gains @ h):
            parts.append(
                f'<rect x="{left + CELL * j}" y="{floor - 60 * soft:.1f}" width="{CELL - 2}" '
                f'height="{60 * soft:.1f}" fill="{UP}"/>'
            )
        parts.append(f'<line x1="{left}" y1="{floor}" x2="{left + CELL * n}" y2="{floor}" stroke="{INK}"/>')
    legend = "rows: documents, relevant ones green; columns: ranks; below: the soft gain at each rank"
    parts.append(f'<text x="20" y="296">{legend}</text>')
    (HERE / "soft_ranks.svg").write_text(svg(640, 306, parts))


def draw_chart(
    name: str,
    lines: Sequence[tuple[Series, str, str]],
    place: Callable[[float], float],
    x_labels: Sequence[tuple[float, str]],
    low: float,
    high: float,
    step: float,
    caption: str,
) -> None:
    """Lines with their names and colours; place(x) lies between 0 and 1."""
    parts = [BACKGROUND]

    def across(x: float) -> float:
        return 50 + 470 * place(x)

    def height(y: float) -> float:
        return 280 - 250 * (y - low) / (high - low)

    for value in np.arange(low, high + step / 2, step):
        y = height(value)
        parts.append(f'<line x1="50" y1="{y:.1f}" x2="520" y2="{y:.1f}" stroke="{PALE}"/>')
        parts.append(f'<text x="14" y="{y + 4:.1f}">{value:.2f}</text>')
    for at, text in x_labels:
        parts.append(f'<text x="{across(at):.1f}" y="298" text-anchor="middle">{text}</text>')
    for series, _, color in lines:
        points = " ".join(f"{across(x):.0f},{height(y):.1f}" for x, y in zip(series.x, series.y, strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
    names = sorted(((height(series.y[-1]), text, color) for series, text, color in lines), key=lambda each: each[0])
    below = -np.inf
    for y, text, color in names:
        below = max(y, below + 15)
        parts.append(f'<text x="526" y="{below + 4:.1f}" fill="{color}">{text}</text>')
    parts.append(f'<text x="285" y="318" text-anchor="middle">{caption}</text>')
    (HERE / name).write_text(svg(640, 326, parts))


def draw_line() -> None:
    """[Chapelle2010, Figure 1], of generated data."""
    *smooth, exact = smoothrank_line.run(Settings(), print).chart.series
    halved = [series._replace(x=series.x[::2], y=series.y[::2]) for series in (*smooth, exact)]
    colors = (*COLORS[: len(smooth)], DOWN)
    lines = [(series, series.name, color) for series, color in zip(halved, colors, strict=True)]
    ticks = [(x, f"{x:g}") for x in (-1, -0.5, 0, 0.5, 1)]
    draw_chart(
        "smoothing_line.svg", lines, lambda x: (x + 1) / 2, ticks, 0.5, 0.95, 0.05, "step from the weights found"
    )


def draw_annealing(ohsumed: Path) -> None:
    """[Chapelle2010, Figure 2]."""
    train, _, test = smoothrank_annealing.run(Settings(data=ohsumed), print).chart.series
    low, high = np.floor(100 * min(*train.y, *test.y)) / 100, np.ceil(100 * max(*train.y, *test.y)) / 100
    ticks = [(2.0**power, f"2^{power}") for power in (6, 3, 0, -3, -6)]
    draw_chart(
        "annealing.svg",
        [(train, "train", UP), (test, "test", DOWN)],
        lambda sigma: float(6 - np.log2(sigma)) / 12,
        ticks,
        low,
        high,
        0.01,
        "sigma",
    )


if __name__ == "__main__":
    draw_indicators()
    draw_line()
    for folder in sys.argv[1:2]:
        draw_annealing(Path(folder))
