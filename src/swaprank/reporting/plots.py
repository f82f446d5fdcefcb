"""Charts as SVG that fits any width: places are percentages, so that text and dots keep their size on a phone.

Lines and areas have no percentages in SVG. They are drawn in an inner picture of 1000 x 1000 that is stretched, with
strokes that are not. Whatever has a `data-tip` can be pointed at, and stepped through with the arrow keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.reporting.markup import Html, details, join, tag
from swaprank.reporting.scales import Scale, percent, written

MOST_ZONES = 120
"""Places of a line chart that can be pointed at."""
MOST_POINTS = 400
"""Of one line: more are not to be seen."""


@final
@dataclass(frozen=True)
class Line:
    """One line of a chart, in one of the styles s0, s1, … of the style sheet.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Line
    >>> Line("valid", np.array([1.0, 2.0]), np.array([0.3, 0.4])).style
    's0'
    """

    name: str
    x: Floats
    y: Floats
    style: str = "s0"


@final
@dataclass(frozen=True)
class Axes:
    """What a chart is drawn on.

    >>> from swaprank.reporting.plots import Axes
    >>> from swaprank.reporting.scales import Scale
    >>> Axes(Scale(0, 1), Scale(0, 1), "trees", "ndcg@10").x_ticks is None
    True
    """

    x: Scale
    y: Scale
    x_title: str
    y_title: str
    x_ticks: Sequence[tuple[float, str]] | None = None
    """Places and what is written there; round numbers if None."""
    y_ticks: Sequence[tuple[float, str]] | None = None


def chart(
    title: str, alt: str, axes: Axes, marks: object, *, legend: object = "", numbers: object = "", class_: str = ""
) -> Html:
    """A figure: title, legend, the drawing with its axes, and on request its numbers as a table.

    >>> from swaprank.reporting.plots import Axes, chart
    >>> from swaprank.reporting.scales import Scale
    >>> 'role="img"' in chart("Curve", "A curve that rises.", Axes(Scale(0, 1), Scale(0, 1), "x", "y"), "")
    True
    """
    drawing = tag(
        "svg", _grid(axes), marks, class_="draw steps", role="img", tabindex=0, aria_label=alt, focusable="true"
    )
    return tag(
        "figure",
        tag("figcaption", tag("span", title, class_="title"), legend),
        tag("div", axes.y_title, class_="y-title", aria_hidden="true"),
        tag("div", drawing, class_=f"plot {class_}".strip()),
        tag("div", axes.x_title, class_="x-title", aria_hidden="true"),
        details("Numbers", numbers) if numbers else "",
        class_="chart",
    )


def legend(entries: Iterable[tuple[str, str]]) -> Html:
    """Names with the style of their marks.

    >>> from swaprank.reporting.plots import legend
    >>> "valid" in legend([("s0", "valid")])
    True
    """
    return tag(
        "ul",
        join(
            tag(
                "li",
                tag(
                    "svg",
                    tag("rect", class_=f"{style} fill", width="100%", height="100%"),
                    class_="key",
                    aria_hidden="true",
                ),
                name,
            )
            for style, name in entries
        ),
        class_="legend",
    )


def stretched(*content: object) -> Html:
    """The inner picture for lines and areas, in thousandths.

    >>> from swaprank.reporting.plots import stretched
    >>> stretched()[:4]
    '<svg'
    """
    return tag(
        "svg",
        *content,
        viewBox="0 0 1000 1000",
        preserveAspectRatio="none",
        width="100%",
        height="100%",
        class_="stretched",
    )


def line_path(x: Floats, y: Floats, axes: Axes, class_: str) -> Html:
    """A line through points, broken where one is missing.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, line_path
    >>> from swaprank.reporting.scales import Scale
    >>> line_path(np.array([0.0, 1.0]), np.array([0.0, 1.0]), Axes(Scale(0, 1), Scale(0, 1), "", ""), "line s0")
    '<path d="M0 1000L1000 0" class="line s0"></path>'
    """
    commands, move = [], "M"
    for at, value in zip(x.tolist(), y.tolist(), strict=True):
        if not np.isfinite(value):
            move = "M"
            continue
        commands.append(f"{move}{_thousandths(axes.x.share(at))} {_thousandths(1 - axes.y.share(value))}")
        move = "L"
    return tag("path", d="".join(commands), class_=class_)


def lines(series: Sequence[Line], axes: Axes, tips: Sequence[tuple[float, str]]) -> Html:
    """Lines with places to point at: x and what is said there.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, Line, lines
    >>> from swaprank.reporting.scales import Scale
    >>> line = Line("valid", np.array([0.0, 1.0]), np.array([0.5, 0.6]))
    >>> lines([line], Axes(Scale(0, 1), Scale(0, 1), "x", "y"), [(0.0, "first")]).count("data-tip")
    1
    """
    drawn = join(line_path(each.x, each.y, axes, f"line {each.style}") for each in series)
    return join([stretched(drawn), *_dots_of_one(series, axes), *_zones(series, axes, tips)])


def bars(
    edges: Floats, values: Floats, axes: Axes, tips: Sequence[str], classes: Sequence[str], gap: float = 0.0
) -> Html:
    """Upright bars from 0, each with its tip and style, apart by a share of their width.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, bars
    >>> from swaprank.reporting.scales import Scale
    >>> drawn = bars(np.array([0.0, 1.0]), np.array([2.0]), Axes(Scale(0, 1), Scale(0, 4), "", ""), ["two"], ["s0"])
    >>> 'height="50.00%"' in drawn
    True
    """
    marks = []
    for at, value in enumerate(values.tolist()):
        left, right = axes.x.share(float(edges[at])), axes.x.share(float(edges[at + 1]))
        top, bottom = sorted((1 - axes.y.share(value), 1 - axes.y.share(0.0)))
        room = gap * (right - left) / 2
        bar = tag(
            "rect",
            x=percent(left + room),
            y=percent(top),
            width=percent(right - left - 2 * room),
            height=percent(bottom - top),
            class_=f"bar {classes[at]}",
        )
        marks.append(tag("g", zone(left, right), bar, class_="mark", data_tip=tips[at]))
    return join(marks)


def dots(x: Floats, y: Floats, axes: Axes, tips: Sequence[str], classes: Sequence[str], radius: float = 3.5) -> Html:
    """Points, each with its tip and style.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, dots
    >>> from swaprank.reporting.scales import Scale
    >>> dots(np.array([0.5]), np.array([0.5]), Axes(Scale(0, 1), Scale(0, 1), "", ""), ["here"], ["s0"]).count("50.00%")
    2
    """
    return join(
        tag("circle", cx=axes.x.across(at), cy=axes.y.down(value), r=radius, class_=f"mark dot {style}", data_tip=tip)
        for at, value, tip, style in zip(x.tolist(), y.tolist(), tips, classes, strict=True)
    )


def zone(left: float, right: float) -> Html:
    """An unseen stripe from top to bottom, to point at.

    >>> from swaprank.reporting.plots import zone
    >>> 'width="50.00%"' in zone(0.25, 0.75)
    True
    """
    return tag("rect", x=percent(left), y=0, width=percent(right - left), height="100%", class_="zone")


def level(axes: Axes, value: float, class_: str = "rule") -> Html:
    """A line from left to right.

    >>> from swaprank.reporting.plots import Axes, level
    >>> from swaprank.reporting.scales import Scale
    >>> 'y1="50.00%"' in level(Axes(Scale(0, 1), Scale(0, 2), "", ""), 1.0)
    True
    """
    place = axes.y.down(value)
    return tag("line", x1="0%", x2="100%", y1=place, y2=place, class_=class_)


def upright(axes: Axes, value: float, label: str = "", class_: str = "rule") -> Html:
    """A line from top to bottom, with a word at its top.

    >>> from swaprank.reporting.plots import Axes, upright
    >>> from swaprank.reporting.scales import Scale
    >>> "best" in upright(Axes(Scale(0, 10), Scale(0, 1), "", ""), 4, "best")
    True
    """
    share = axes.x.share(value)
    place, anchor = percent(share), "end" if share > 0.5 else "start"
    word = tag("text", label, x=place, y=0, dx=-6 if share > 0.5 else 6, dy=12, text_anchor=anchor, class_="word")
    return join([tag("line", x1=place, x2=place, y1="0%", y2="100%", class_=class_), word if label else ""])


def thinned(n: int, most: int) -> Ints:
    """So many of n positions at most, evenly apart, the first and the last among them.

    >>> from swaprank.reporting.plots import thinned
    >>> thinned(10, 4).tolist()
    [0, 3, 6, 9]
    """
    chosen: Ints = np.unique(np.rint(np.linspace(0, n - 1, min(n, most))).astype(np.int64))
    return chosen


def _grid(axes: Axes) -> Html:
    marks = []
    for value, label in _ticks(axes.y, axes.y_ticks, 4):
        place = axes.y.down(value)
        marks.append(tag("line", x1="0%", x2="100%", y1=place, y2=place, class_="grid"))
        marks.append(tag("text", label, x="0%", y=place, dx=-8, dy="0.32em", text_anchor="end"))
    for value, label in _ticks(axes.x, axes.x_ticks, 4):
        share = axes.x.share(value)
        anchor = "start" if share < 0.04 else "end" if share > 0.96 else "middle"
        marks.append(tag("text", label, x=percent(share), y="100%", dy=18, text_anchor=anchor))
    return tag("g", *marks, class_="axes", aria_hidden="true")


def _ticks(scale: Scale, given: Sequence[tuple[float, str]] | None, about: int) -> Sequence[tuple[float, str]]:
    if given is not None:
        return given
    ticks = scale.ticks(about)
    return list(zip(ticks, written(ticks), strict=True))


def _thousandths(share: float) -> str:
    return f"{1000 * share:.1f}".removesuffix(".0")


def _dots_of_one(series: Sequence[Line], axes: Axes) -> list[Html]:
    """A line of one point is none: it is drawn as a dot."""
    return [
        tag(
            "circle",
            cx=axes.x.across(float(line.x[0])),
            cy=axes.y.down(float(line.y[0])),
            r=4,
            class_=f"dot {line.style}",
        )
        for line in series
        if len(line.x) == 1 and np.isfinite(line.y[0])
    ]


def _zones(series: Sequence[Line], axes: Axes, tips: Sequence[tuple[float, str]]) -> list[Html]:
    if not tips:
        return []
    shares = [axes.x.share(x) for x, _ in tips]
    middles = [(a + b) / 2 for a, b in zip(shares[:-1], shares[1:], strict=True)]
    marks = []
    for left, right, share, (x, tip) in zip([0.0, *middles], [*middles, 1.0], shares, tips, strict=True):
        place = percent(share)
        cross = tag("line", x1=place, x2=place, y1="0%", y2="100%", class_="cross")
        points = [
            tag("circle", cx=place, cy=axes.y.down(float(line.y[at])), r=4, class_=f"dot {line.style}")
            for line in series
            if len(at := np.flatnonzero(line.x == x)) and np.isfinite(line.y[(at := at[0])])
        ]
        marks.append(tag("g", zone(left, right), cross, *points, class_="mark hidden", data_tip=tip))
    return marks
