"""Claim: with defaults, LambdaMART reaches an NDCG@10 in less time than LightGBM, XGBoost and CatBoost.

    python benchmarks/time_to_quality.py [FOLDER] [--trees 200] [--leaves 63] [--threads 2]   # measures and draws
    python benchmarks/time_to_quality.py --draw                                               # draws again

Data, libraries and turns are those of `training.py`, but CatBoost grows its symmetric trees, of as many leaves, which
are faster than its leafwise ones. What was measured is written to results/time_to_quality.json, with the data, date,
CPU and versions, and drawn as docs/pictures/time_to_quality.svg, the first picture of the README.

    seconds         of training until a tree is finished, with checks, binning and preparations
    NDCG@10         on valid after every ten trees, standard convention, always measured by swaprank
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from measuring import cpu, machine
from training import EVERY, NDCG, data_of
from training import head as first_queries
from training_peers import RATE, Fit, Judged, Setting, fit_xgboost, in_turns, ours, with_catboost, with_lightgbm

MEASURED = Path(__file__).parent / "results" / "time_to_quality.json"
PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "time_to_quality.svg"
LIBRARIES: dict[str, Fit] = {
    "swaprank": ours(),
    "LightGBM": with_lightgbm(force_row_wise=True),
    "LightGBM, GOSS": with_lightgbm(force_row_wise=True, data_sample_strategy="goss"),
    "XGBoost": fit_xgboost,
    "CatBoost": with_catboost("YetiRank", symmetric=True),
}
Curve = tuple[str, list[float], list[float]]
"""A library, seconds, and NDCG@10."""
INK, GRID = "#333", "#ddd"
COLORS = ("#b3560d", "#14648f", "#6b9dbb", "#1a7f5a", "#7a4fa3")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 390, 60, 556, 66, 316


def measured(train: Judged, valid: Judged, setting: Setting) -> dict[str, Any]:
    """What is drawn: a curve per library, and what it takes to measure it again."""
    for fit in LIBRARIES.values():  # Compile and load everything before the clock starts.
        fit(first_queries(train, 20), setting._replace(n_trees=2), lambda: None)
    took = in_turns(LIBRARIES, train, dict.fromkeys(LIBRARIES, setting))
    indptr = np.concatenate(([0], np.cumsum(valid.sizes)))
    curves = {}
    for name, (seconds, staged) in took.items():
        found = [NDCG.mean(valid.y, scores, indptr) for scores in staged(valid.X, EVERY)]
        at = np.cumsum(seconds)[EVERY - 1 :: EVERY]
        curves[name] = {"seconds": at.round(2).tolist(), "ndcg@10": np.round(found, 4).tolist()}
    shape = f"{len(train.X):,} documents x {train.X.shape[1]} features in {len(train.sizes):,} queries"
    return {
        "data": f"{shape}; {setting.n_leaves} leaves, learning rate {RATE}, {setting.n_threads} threads",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{cpu()}, {machine('numba', 'lightgbm', 'xgboost', 'catboost')}",
        "curves": curves,
    }


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
    parts.append(f'<text x="{LEFT}" y="43">{found["data"]}</text>')
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
    words = f"{found['machine']}; {found['date']}".split(", ")
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--trees", type=int, default=200, help="a multiple of ten")
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", type=int, default=1000, help="number of queries of generated data")
    parser.add_argument("--features", type=int, default=136, help="number of features of generated data")
    parser.add_argument("--draw", action="store_true", help="draw what was measured, without measuring")
    parser.add_argument("--out", type=Path, default=MEASURED, help="where to write what was measured")
    options = parser.parse_args()
    if not options.draw:
        found = measured(*data_of(options), Setting(options.trees, options.leaves, options.threads))
        options.out.write_text(json.dumps(found, indent=1) + "\n")
        for name, curve in found["curves"].items():
            print(f"{name:15} {curve['ndcg@10'][-1]:.4f} after {curve['seconds'][-1]:.1f} s")
    PICTURE.write_text(drawn(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
