"""Draw the flow charts of the documentation: `python docs/pictures/flows.py`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
INK, PALE, BLUE, GREEN, ORANGE = "#333", "#8a949b", "#e3eef5", "#e2f1ea", "#fbeedd"
LINE = 17


class Box(NamedTuple):
    """A box around lines of text; x and y are those of its upper left corner."""

    x: int
    y: int
    width: int
    text: str
    color: str = BLUE
    code: bool = False

    @property
    def lines(self) -> list[str]:
        """The lines of its text."""
        return self.text.split("\n")

    @property
    def height(self) -> int:
        """Its height in pixels."""
        return LINE * len(self.lines) + 14

    def drawn(self) -> list[str]:
        """The elements that draw it."""
        middle, font = self.x + self.width // 2, ' font-family="monospace" font-size="12"' if self.code else ""
        parts = [
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6" fill="{self.color}" '
            f'stroke="{PALE}"/>'
        ]
        for number, line in enumerate(self.lines):
            y = self.y + 7 + LINE * number + 13
            parts.append(f'<text x="{middle}" y="{y}" text-anchor="middle"{font}>{line}</text>')
        return parts


def down(upper: Box, lower: Box, text: str = "", at: int | None = None) -> list[str]:
    """An arrow from the lower edge of a box to the upper edge of another one."""
    x = upper.x + upper.width // 2 if at is None else at
    to, start, end = lower.x + lower.width // 2, upper.y + upper.height, lower.y
    turn = (start + end) // 2
    path = f"M{x} {start}V{turn}H{to}V{end - 6}" if x != to else f"M{x} {start}V{end - 6}"
    label = f'<text x="{to + 6}" y="{end - 12}" font-size="12" fill="{INK}">{text}</text>' if text else ""
    return [f'<path d="{path}" fill="none" stroke="{PALE}" marker-end="url(#tip)"/>', label]


def right(left: Box, other: Box) -> list[str]:
    """An arrow from the right edge of a box to the left edge of another one."""
    y, to = left.y + left.height // 2, other.y + other.height // 2
    start, end = left.x + left.width, other.x
    turn = (start + end) // 2
    path = f"M{start} {y}H{turn}V{to}H{end - 6}" if y != to else f"M{start} {y}H{end - 6}"
    return [f'<path d="{path}" fill="none" stroke="{PALE}" marker-end="url(#tip)"/>']


def write(name: str, width: int, height: int, title: str, parts: list[str]) -> None:
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="2" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{PALE}"/></marker></defs>'
    )
    body = "\n".join(['<rect width="100%" height="100%" fill="white"/>', tip, *filter(None, parts)])
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}"'
    (HERE / name).write_text(f'{start} font-family="sans-serif" font-size="13" fill="{INK}">\n{body}\n</svg>\n')


def draw_ranker() -> None:
    """Which ranker, from what one has (docs/how_to_choose.md)."""
    have = Box(270, 10, 220, "What do you have?", ORANGE)
    model = Box(10, 90, 150, "a model already")
    clicks = Box(190, 90, 150, "a log of clicks")
    pairs = Box(370, 90, 160, "pairs: this above that")
    judged = Box(560, 90, 190, "judged documents, or\nprices, counts, purchases")
    adopt = Box(10, 170, 150, "import_model", GREEN, code=True)
    unbiased = Box(190, 170, 150, "clicks.train", GREEN, code=True)
    ranknet = Box(370, 170, 160, "RankNet", GREEN, code=True)
    many = Box(545, 180, 220, "How many queries with\ndifferent labels?", ORANGE)
    few = Box(210, 290, 190, "LinearRegressionRanker\nSmoothRank", GREEN, code=True)
    kind = Box(545, 290, 220, "What are the features?", ORANGE)
    mixed = Box(400, 390, 210, "LambdaMART", GREEN, code=True)
    dense = Box(650, 390, 200, "LambdaRank, RankNet", GREEN, code=True)
    parts = [each for box in (have, model, clicks, pairs, judged, adopt, unbiased, ranknet) for each in box.drawn()]
    parts += [each for box in (many, few, kind, mixed, dense) for each in box.drawn()]
    for upper, lower in ((have, model), (have, clicks), (have, pairs), (have, judged)):
        parts += down(upper, lower)
    for upper, lower in ((model, adopt), (clicks, unbiased), (pairs, ranknet), (judged, many)):
        parts += down(upper, lower)
    parts += down(many, few, "below a hundred or so", at=600)
    parts += down(many, kind, "some hundred, or more")
    parts += down(kind, mixed, "categories, gaps, all scales", at=600)
    parts += down(kind, dense, "dense numbers", at=700)
    write("choose_ranker.svg", 870, 440, "Which ranker to try first", parts)


def draw_metric() -> None:
    """Which metric, from what users do (docs/how_to_choose.md)."""
    ask = Box(330, 10, 220, "What do people want?", ORANGE)
    leaves = [
        ("the one right\nanswer", "mrr"),
        ("the best of\nthe first page", "ndcg@10"),
        ("enough, then\nthey leave", "err@10"),
        ("everything\nthat fits", "map, recall@100"),
        ("what pays", "dcg@5(gain=price)"),
    ]
    parts = ask.drawn()
    for number, (wish, metric) in enumerate(leaves):
        upper = Box(10 + 174 * number, 90, 156, wish)
        lower = Box(10 + 174 * number, 180, 156, metric, GREEN, code=True)
        parts += [*upper.drawn(), *lower.drawn(), *down(ask, upper), *down(upper, lower)]
    write("choose_metric.svg", 880, 225, "Which metric to train for", parts)


def draw_exchange() -> None:
    """Models in and out (docs/exchange/index.md)."""
    sources = ["LightGBM", "XGBoost", "CatBoost", "RankLib", "ONNX"]
    targets = ["Elasticsearch, OpenSearch", "Solr", "Vespa", "ONNX", "LightGBM, XGBoost, RankLib", "one file of C"]
    ranker = Box(330, 110, 210, "a ranker of swaprank:\nscore, compare, report,\nexplain, train further", ORANGE)
    fit = Box(355, 10, 160, "fit", GREEN, code=True)
    file = Box(330, 238, 210, "model.swaprank:\nScorer, swaprank serve", GREEN)
    parts = [*ranker.drawn(), *fit.drawn(), *file.drawn(), *down(fit, ranker), *down(ranker, file)]
    for number, name in enumerate(sources):
        box = Box(10, 25 + 54 * number, 150, name)
        parts += [*box.drawn(), *right(box, ranker)]
    for number, name in enumerate(targets):
        box = Box(670, 10 + 48 * number, 210, name)
        parts += [*box.drawn(), *right(ranker, box)]
    parts.append('<text x="185" y="20" font-size="12">import_model</text>')
    parts.append('<text x="585" y="20" font-size="12">export</text>')
    write("exchange.svg", 890, 305, "Models come from other libraries and go to search engines", parts)


def draw_cluster() -> None:
    """A round of training on three machines (docs/design.md)."""
    parts = []
    total = Box(300, 215, 260, "one sum of integers and exact sums:\nthe same in any order", ORANGE)
    trees = Box(300, 305, 260, "the same split, the same tree\non every worker", GREEN)
    for number, name in enumerate(("worker 1", "worker 2", "worker 3")):
        x = 10 + 290 * number
        data = Box(x, 10, 260, f"{name}: its queries, as bins")
        gradients = Box(x, 70, 260, "scores, then gradients,\nquery by query")
        counts = Box(x, 145, 260, "histograms of integers")
        parts += [*data.drawn(), *gradients.drawn(), *counts.drawn(), *down(data, gradients), *down(gradients, counts)]
        parts += down(counts, total)
    parts += [*total.drawn(), *trees.drawn(), *down(total, trees)]
    write("cluster.svg", 860, 365, "Workers add up integers and grow the same tree", parts)


if __name__ == "__main__":
    draw_ranker()
    draw_metric()
    draw_exchange()
    draw_cluster()
