"""Draw the pictures of the documentation with the library: `python docs/pictures/make.py [OHSUMED]`.

OHSUMED is the folder of that data set. Without it, annealing.svg and learners.svg are not drawn again.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.objectives.lambdarank_objective import LambdaRankObjective
from swaprank.rendering.figures import new_axes, save_figure
from swaprank.reproduction import learner_table, smoothrank_figures
from swaprank.reproduction.experiment import Chart, Series, Settings, draw_chart

HERE = Path(__file__).parent
INK, UP, DOWN, PALE = "#333", "#1a7f5a", "#b3452c", "#ddd"
CELL = 20


def write_svg(name: str, width: int, height: int, parts: list[str]) -> None:
    style = f'font-family="sans-serif" font-size="13" fill="{INK}"'
    body = "\n".join(['<rect width="100%" height="100%" fill="white"/>', *parts])
    text = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>\n{body}\n</svg>\n'
    (HERE / name).write_text(text)


def draw_badges() -> None:
    """The badges of the README: what pyproject.toml says; no page asks another site for a picture."""
    project = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text())["project"]
    after = "Programming Language :: Python :: 3."
    minors = [int(each.removeprefix(after)) for each in project["classifiers"] if each.startswith(after)]
    texts = {"python": f"Python 3.{min(minors)} to 3.{max(minors)}", "licence": project["license"]}
    if "Typing :: Typed" in project["classifiers"]:
        texts["typed"] = "typed, mypy strict"
    for name, text in texts.items():
        width = 16 + round(7 * len(text))
        parts = [
            f'<rect width="{width}" height="20" rx="4" fill="#1f3a4d"/>',
            f'<text x="{width / 2:g}" y="14" text-anchor="middle" textLength="{width - 16}" fill="white">{text}</text>',
        ]
        style = 'font-family="sans-serif" font-size="12"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" {style}>'
        body = "\n".join([head, f"<title>{text}</title>", *parts, "</svg>"])
        (HERE / f"badge_{name}.svg").write_text(body + "\n")


def draw_report() -> None:
    """The top of the report that the code of the README writes, as Chromium shows it."""
    browser = shutil.which("chromium")
    if browser is None:
        print("report.png is as it was: there is no Chromium")
        return
    readme = (HERE.parent.parent / "README.md").read_text()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(readme.partition("```python\n")[2].partition("```")[0], {})
        size = ("--window-size=1280,880", "--force-device-scale-factor=1.25", "--hide-scrollbars")
        picture = f"--screenshot={HERE / 'report.png'}"
        subprocess.run(
            [browser, "--headless", "--no-sandbox", *size, picture, Path("report.html").absolute().as_uri()], check=True
        )


def forces(metric: str, labels: Floats, scores: Floats) -> Floats:
    data = sr.Dataset(np.zeros((len(labels), 1)), labels, qid=np.zeros(len(labels), int))
    grad, hess = np.empty(len(labels)), np.empty(len(labels))
    bound = LambdaRankObjective(sr.metric(metric), normalize=False).bind(data, random_state=0, n_threads=1)
    bound.update(scores, grad, hess)
    return -grad / np.abs(grad).max()


def draw_forces() -> None:
    """One ranked list with a bar for the force on each document, for three objectives (docs/lambdamart.md)."""
    labels = np.array([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], dtype=float)
    scores = np.linspace(1.5, -1.5, len(labels))
    columns = [("RankNet (pairwise)", "pairwise"), ("NDCG", "ndcg"), ("MRR", "mrr")]
    parts = []
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
    write_svg("forces.svg", 620, 410, parts)


def draw_learning() -> None:
    """NDCG@10 after every tree on training and validation data (docs/lambdamart.md)."""
    train, vali = sr.datasets.random_polynomial((400, 200), n_features=20, levels=5, random_state=1)
    ranker = sr.LambdaMART(metric="ndcg@10", n_trees=150, n_leaves=15, early_stopping_rounds=None)
    ranker.fit(train, valid={"train": train, "valid": vali})
    trees = list(range(1, 151))
    lines = [Series(name, trees, ranker.history_[name]["ndcg@10"]) for name in ("train", "valid")]
    draw_chart(Chart("NDCG@10 after every tree", "trees", "NDCG@10", lines), HERE / "learning.svg")


def draw_results() -> None:
    """The pictures of docs/results.md."""
    train, vali, test = sr.datasets.random_net((200, 100, 100), n_features=20, random_state=0)
    mart = sr.LambdaMART(n_trees=30).fit(train, valid={"train": train, "vali": vali})
    linear = sr.LinearRegressionRanker(regularization=0.1).fit(train)
    systems = {"linear": linear.predict(test), "mart": mart.predict(test)}
    comparison = sr.compare(test, systems, ["ndcg@10", "map", "mrr"])
    save_figure(comparison.plot(new_axes(7, 2.6)), HERE / "comparison.svg")
    save_figure(mart.plot_importances(new_axes(7, 3.6), n_features=10), HERE / "importances.svg")


def draw_segments() -> None:
    """The differences by device of docs/comparing.md."""
    (shop,) = sr.datasets.random_polynomial((300,), n_features=10, random_state=2)
    device = np.array(["phone", "tablet", "web"])[np.arange(300) % 3]
    sign = np.where(np.repeat(device, np.diff(shop.indptr)) == "phone", -1, 1)
    systems = {"old": shop.column(0), "new": sign * shop.column(1)}
    comparison = sr.compare(shop, systems, "ndcg@10", by=device)
    save_figure(comparison.plot(new_axes(7, 2.6)), HERE / "segments.svg")


def draw_instruments() -> None:
    """The pictures of docs/instruments.md."""
    train, vali, test = sr.datasets.random_polynomial((1000, 200, 100), n_features=20, levels=5, random_state=0)
    lambdas: dict[str, Any] = {"pair_weight": 0.0, "decay": 0.8, "random_state": 1}
    for name, n_epochs in (("random", 0), ("trained", 60)):
        net = sr.LambdaRank("ndcg", hidden=(10,), n_epochs=n_epochs, **lambdas).fit(train)
        sr.certify(net, train, n_weights=0).draw(HERE / f"certify-{name}.svg")
    linear = sr.LambdaRank("ndcg@10", hidden=(), n_epochs=30, **lambdas).fit(train)
    forest = sr.LambdaMART("ndcg@10", n_trees=10, n_leaves=10).fit(train)
    sr.combine(linear, forest, vali, "ndcg@10").draw(HERE / "combine.svg")
    sr.explain_query(linear, test, test.qids[0]).draw(HERE / "explain.svg", n_documents=20)
    changed = test.features.copy()
    changed[:, 2] *= 3
    changed[::4, 6] = np.nan
    forest = sr.LambdaMART("ndcg@10", n_trees=60, n_leaves=15).fit(train)
    sr.drift(forest, test.replace(features=changed)).draw(HERE / "drift.svg")
    sr.instruments.reliability(forest.calibrate(vali, rel=3), test).draw(HERE / "reliability.svg")
    draw_pair()


def draw_pair() -> None:
    """The waterfall of docs/instruments.md."""
    train, test = sr.datasets.random_search((60, 20), n_documents=20, random_state=0)
    ranker = sr.LambdaMART(n_trees=50, n_leaves=9).fit(train)
    rows = ranker.rank(test, k=4)["row"][:4].tolist()
    sr.explain_pair(ranker, test, rows[0], rows[3]).draw(HERE / "pair.svg", n_features=7)


def draw_indicators() -> None:
    """The share of each of eight documents in each rank, and the soft gains, for three sigmas (docs/smoothrank.md)."""
    scores = np.array([2.6, 1.9, 1.5, 1.3, 0.6, 0.2, -0.7, -1.2])
    gains = np.array([0.0, 1, 0, 1, 0, 0, 1, 0])
    n, parts = len(scores), list[str]()
    for c, sigma in enumerate((0.02, 0.5, 20.0)):
        left, top = 20 + 210 * c, 40
        e = np.exp(-((scores[:, None] - scores) ** 2) / sigma)
        shares = e / e.sum(axis=0)
        parts.append(f'<text x="{left}" y="24" font-weight="bold">sigma {sigma:g}</text>')
        for i in range(n):
            color = UP if gains[i] else INK
            parts += [
                f'<rect x="{left + CELL * j}" y="{top + CELL * i}" width="{CELL - 2}" height="{CELL - 2}" '
                f'fill="{color}" fill-opacity="{max(0.04, shares[i, j]):.2f}"/>'
                for j in range(n)
            ]
        floor = top + CELL * n + 70
        for j, soft in enumerate(gains @ shares):
            parts.append(
                f'<rect x="{left + CELL * j}" y="{floor - 60 * soft:.1f}" width="{CELL - 2}" '
                f'height="{60 * soft:.1f}" fill="{UP}"/>'
            )
        parts.append(f'<line x1="{left}" y1="{floor}" x2="{left + CELL * n}" y2="{floor}" stroke="{INK}"/>')
    legend = "rows: documents, relevant ones green; columns: ranks; below: the soft gain at each rank"
    parts.append(f'<text x="20" y="296">{legend}</text>')
    write_svg("soft_ranks.svg", 640, 306, parts)


def draw_contributions() -> None:
    """The summary plot of docs/from_lightgbm.md."""
    train, test = sr.datasets.random_search((300, 60), n_documents=25, random_state=0)
    ranker = sr.LambdaMART("ndcg@20", n_trees=100, n_leaves=15).fit(train)
    axes = ranker.plot_contributions(test, n_features=10)
    axes.figure.savefig(HERE / "contributions.png", dpi=160)  # thousands of points would make a large SVG


def draw_position_bias() -> None:
    """The estimate and the truth of docs/clicks.md."""
    past, data = sr.datasets.random_search((50, 200), n_documents=20, random_state=0)
    production = sr.LinearRegressionRanker().fit(past)
    log, truth = sr.datasets.clicks(data, production, 50_000, n_shown=6, random_state=0)
    axes = sr.clicks.position_bias(log).plot(new_axes(6.0, 3.6))
    positions = np.arange(1, 7)
    rate = np.array(log.summarize().click_rate)
    axes.plot(positions, truth.propensities.examination, "x", color="black", label="truth")
    axes.plot(positions, rate / rate[0], ":", color="C3", label="click rate")
    axes.legend()
    save_figure(axes, HERE / "position_bias.svg")


def draw_online() -> None:
    """What two ways to learn online reach, and a linear ranker with judgements (docs/online.md)."""
    train, test = sr.datasets.random_search((200, 200), n_documents=20, random_state=0)
    axes = new_axes(6.0, 3.6)
    for method in ("pdgd", "dbgd"):
        ranker = sr.clicks.OnlineRanker(method=method, random_state=0)
        sr.clicks.learn_online(ranker, train, 100_000, test=test).plot(axes)
    judged = sr.LinearRegressionRanker("ndcg@10").fit(train).score(test)
    axes.axhline(judged, color="black", linestyle=":", label="judgements")
    axes.legend()
    save_figure(axes, HERE / "online.svg")


def known_shop(n_queries: int, seed: int) -> sr.Dataset:
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * 15, 3))
    relevance, margin = 3 * X[:, 0] * (X[:, 1] > 0.3), 10 * X[:, 2]
    features, names = np.column_stack([X[:, :2], margin]), ["words", "stock", "margin"]
    return sr.Dataset(features, relevance, group=[15] * n_queries, feature_names=names)


def draw_several_goals() -> None:
    """The front of LambdaMART, labels drawn at random, and the best possible front (docs/several_goals.md)."""
    metric = "dcg@5(gain=linear)"
    train, vali, test = known_shop(150, 0), known_shop(150, 1), known_shop(500, 2)
    by_margin = test.replace(labels=test.column("margin"))

    def values(scores: Floats) -> list[float]:
        return [sr.evaluate(each, scores, metric).results[0].mean for each in (by_margin, test)]

    ranker = sr.LambdaMART(metric, n_trees=60, n_leaves=8, random_state=0)
    weights = [0, 0.1, 0.3, 0.6, 1, 2, 3, 30]
    axes = sr.experiments.pareto(ranker, train, vali, f"{metric} of margin", weights=weights, test=test).plot(
        new_axes(6.0, 4.2)
    )
    best = np.array([values(test.labels + t * test.column("margin")) for t in np.logspace(-3, 2, 60)])
    axes.plot(*best.T, ":", color="black", label="best possible")
    same_unit, found = train.replace(labels=train.labels * 10 / 3), []
    for share in (0.1, 0.3, 0.5, 0.7, 0.9):
        drawn = sr.objectives.stochastic_labels(same_unit, {"margin": share}, random_state=0)
        model = sr.LambdaMART(metric, n_trees=60, n_leaves=8, random_state=0).fit(drawn)
        found.append(values(model.predict(test)))
    axes.plot(*np.array(found).T, "^", color="C1", label="labels drawn at random")
    axes.legend()
    save_figure(axes, HERE / "several_goals.svg")


if __name__ == "__main__":
    draw_badges()
    draw_report()
    draw_forces()
    draw_learning()
    draw_results()
    draw_segments()
    draw_instruments()
    draw_indicators()
    draw_contributions()
    draw_position_bias()
    draw_online()
    draw_several_goals()
    draw_chart(smoothrank_figures.run_line(Settings(), print).chart, HERE / "smoothing_line.svg")
    for folder in sys.argv[1:2]:
        draw_chart(smoothrank_figures.run_annealing(Settings(data=Path(folder)), print).chart, HERE / "annealing.svg")
        draw_chart(learner_table.run(Settings(data=Path(folder)), print).chart, HERE / "learners.svg")
