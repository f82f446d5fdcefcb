"""Draw NDCG@10 by seconds of training, docs/pictures/time_to_quality.svg, the first picture of the README.

    python benchmarks/time_to_quality.py

What is drawn was measured by `training.py --tables training`, and recorded as results/training.json.

    seconds         of training until a tree is finished, with checks, binning and preparations
    NDCG@10         on valid after every ten trees, standard convention, always measured by swaprank
"""

import json
import math
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parent / "results" / "training.json"
PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "time_to_quality.svg"
Curve = tuple[str, list[float], list[float]]
"""A library, seconds, and NDCG@10."""
INK, GRID = "#333", "#ddd"
COLORS = ("#b3560d", "#14648f", "#6b9dbb", "#1a7f5a", "#7a4fa3")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 390, 60, 556, 66, 316


def ticks(low: float, high: float) -> list[float]:
    """Up to six round numbers from low to high."""
    step = next(step for step in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / step <= 6)
    return [step * at for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def drawn(found: dict[str, Any]) -> str:
    """The SVG: NDCG@10 by seconds, a logarithmic axis; the seconds to one quality stand beside it."""
    curves: list[Curve] = [(name, each["seconds"], each["ndcg@10"]) for name, each in found["curves"].items()]
    first, last = min(min(x) for _, x, _ in curves), max(max(x) for _, x, _ in curves)
    best = max(max(y) for _, _, y in curves)
    low = max(min(min(y) for _, _, y in curves), best - 0.2) - 0.002
    high = best + 0.002

    def x_at(seconds: float) -> float:
        return LEFT + (RIGHT - LEFT) * math.log(seconds / first) / math.log(last / first)

    def y_at(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low)

    title = "Training time to an NDCG@10 on held-out queries"
    parts = [f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{title}</text>']
    parts.append(f'<text x="{LEFT}" y="43">{found["setting"]}</text>')
    for value in ticks(low, high):
        y = f"{y_at(value):.1f}"
        parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y}" y2="{y}" stroke="{GRID}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">{value:.2f}</text>')
    for seconds in (each * 10**power for power in range(-2, 5) for each in (1, 1.5, 2, 3, 5, 7)):
        if first <= seconds <= last:
            x = f"{x_at(seconds):.1f}"
            parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{BOTTOM}" stroke="{GRID}"/>')
            parts.append(f'<text x="{x}" y="{BOTTOM + 18}" text-anchor="middle">{seconds:g} s</text>')
    for (name, times, values), color in zip(curves, COLORS, strict=False):
        points = [(x_at(a), y_at(b)) for a, b in zip(times, values, strict=True) if b >= low]
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        width = 3.5 if name == "swaprank" else 2
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="{width}"/>')
        if len(points) <= 5:
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{width + 1}" fill="{color}"/>' for a, b in points]
    parts += legend(curves, max(value for value in ticks(low, high) if value <= max(curves[0][2])))
    versions = [f"{name} {version}" for name, version in found["versions"].items()]
    words = [found["cpu"], f"{found['cores']} cores", *versions[:-1], f"{versions[-1]}; {found['date']}"]
    middle = len(words) // 2
    for row, text in enumerate((", ".join(words[:middle]) + ",", ", ".join(words[middle:]))):
        parts.append(f'<text x="{LEFT}" y="{BOTTOM + 42 + 16 * row}" font-size="11" fill="#777">{text}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}"'
    body = "\n".join(['<rect width="100%" height="100%" fill="white"/>', *parts])
    return f'{head} font-family="sans-serif" font-size="13" fill="{INK}">\n{body}\n</svg>\n'


def legend(curves: list[Curve], quality: float) -> list[str]:
    """A row per library: its colour, its name, and the seconds until it has the quality, if it has."""
    left, right = RIGHT + 24, WIDTH - 16
    parts = [f'<text x="{right}" y="{TOP + 4}" text-anchor="end" fill="#777">seconds to {quality:.2f}</text>']
    for row, ((name, x, y), color) in enumerate(zip(curves, COLORS, strict=False)):
        at = TOP + 32 + 26 * row
        reached = next((f"{a:.{0 if a >= 10 else 1}f}" for a, b in zip(x, y, strict=True) if b >= quality), "–")
        weight = "bold" if name == "swaprank" else "normal"
        parts.append(
            f'<line x1="{left}" x2="{left + 16}" y1="{at - 5}" y2="{at - 5}" stroke="{color}" stroke-width="4"/>'
        )
        parts.append(f'<text x="{left + 24}" y="{at}" font-weight="{weight}">{name}</text>')
        parts.append(f'<text x="{right}" y="{at}" font-weight="{weight}" text-anchor="end">{reached}</text>')
    return parts


def main() -> None:
    PICTURE.write_text(drawn(json.loads(MEASURED.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
