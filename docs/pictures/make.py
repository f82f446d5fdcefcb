"""Draw the pictures of docs/lambdamart.md from the library itself: `python docs/pictures/make.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaRankObjective

HERE = Path(__file__).parent
INK, UP, DOWN, PALE = "#333", "#1a7f5a", "#b3452c", "#ddd"


def svg(width: int, height: int, parts: list[str]) -> str:
    style = f'font-family="sans-serif" font-size="13" fill="{INK}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>\n{body}\n</svg>\n'


def forces(metric: str, labels: Floats, scores: Floats) -> Floats:
    data = sr.Dataset(np.zeros((len(labels), 1)), labels, qid=np.zeros(len(labels), int))
    grad, hess = np.empty(len(labels)), np.empty(len(labels))
    bound = LambdaRankObjective(sr.metric(metric), normalize=False).bind(data, random_state=0, n_threads=1)
    bound.update(scores, grad, hess)
    return -grad / np.abs(grad).max()


def draw_forces() -> None:
    """One ranked list; a bar for the force on each document, up or down, for three objectives."""
    labels = np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], dtype=float)
    scores = np.linspace(1.5, -1.5, len(labels))
    columns = [("RankNet (pairwise)", "pairwise"), ("NDCG", "ndcg"), ("MRR", "mrr")]
    parts = ['<rect width="100%" height="100%" fill="white"/>']
    for c, (title, metric) in enumerate(columns):
        left = 20 + 200 * c
        parts.append(f'<text x="{left}" y="24" font-weight="bold">{title}</text>')
        for rank, (label, force) in enumerate(zip(labels, forces(metric, labels, scores), strict=True)):
            y = 46 + 22 * rank
            parts.append(
                f'<rect x="{left}" y="{y - 8}" width="100" height="16" rx="3" fill="{UP if label else PALE}"'
                f' fill-opacity="{0.85 if label else 1}"/>'
            )
            x = left + 112
            parts.append(f'<line x1="{x + 40}" y1="{y - 8}" x2="{x + 40}" y2="{y + 8}" stroke="{PALE}"/>')
            start, width = (x + 40, 40 * force) if force > 0 else (x + 40 + 40 * force, -40 * force)
            color = UP if force > 0 else DOWN
            parts.append(f'<rect x="{start:.1f}" y="{y - 5}" width="{width:.1f}" height="10" fill="{color}"/>')
    parts.append(
        f'<text x="20" y="404" fill="{INK}">relevant documents green; forces: up to the right, down to the left</text>'
    )
    (HERE / "forces.svg").write_text(svg(620, 410, parts))


def draw_learning() -> None:
    """NDCG@10 after every tree, on what is learned from and on what is not."""
    train, vali = sr.datasets.random_polynomial((400, 200), n_features=20, levels=5, random_state=1)
    ranker = sr.LambdaMART(metric="ndcg@10", n_trees=150, n_leaves=15, learning_rate=0.1)
    ranker.fit(train, valid={"train": train, "valid": vali})
    curves = {name: ranker.history_[f"{name} ndcg@10"] for name in ("train", "valid")}
    low, high = 0.3, 1.0
    parts = ['<rect width="100%" height="100%" fill="white"/>']
    for value in np.arange(low, high + 0.01, 0.1):
        y = 280 - 250 * (value - low) / (high - low)
        parts.append(f'<line x1="50" y1="{y:.1f}" x2="560" y2="{y:.1f}" stroke="{PALE}"/>')
        parts.append(f'<text x="18" y="{y + 4:.1f}">{value:.1f}</text>')
    for name, color in (("train", UP), ("valid", DOWN)):
        points = [
            f"{50 + 500 * t / 150:.1f},{280 - 250 * (v - low) / (high - low):.1f}"
            for t, v in enumerate(curves[name], 1)
        ]
        parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        end = 280 - 250 * (curves[name][-1] - low) / (high - low)
        parts.append(f'<text x="558" y="{end + 4:.1f}" fill="{color}">{name}</text>')
    parts.append('<text x="250" y="310">trees</text><text x="50" y="20">NDCG@10</text>')
    (HERE / "learning.svg").write_text(svg(620, 320, parts))


if __name__ == "__main__":
    draw_forces()
    draw_learning()
