"""SVG charts of any width: positions are percentages, so that text and dots keep their size on a phone.

SVG paths cannot use percentages. Lines and areas are drawn in a nested picture of 1000 x 1000 that is stretched, while
stroke widths stay fixed. Elements with a `data-tip` have a tooltip, and the arrow keys step through them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import Floats, Ints
from swaprank.reporting.markup import Html, details, join, tag

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@final
@dataclass(frozen=True)
class Scale:
    """An axis from low to high.

    >>> from swaprank.reporting.plots import Scale
    >>> scale = Scale(0.0, 4.0)
    >>> scale.share(1.0), scale.ticks(4)
    (0.25, [0.0, 1.0, 2.0, 3.0, 4.0])
    """

    low: float
    high: float

    def share(self, value: float) -> float:
        """The position of a value on the axis, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def across(self, value: float) -> str:
        """The distance from the left, as an SVG percentage."""
        return percent(self.share(value))

    def down(self, value: float) -> str:
        """The distance from the top of an upward axis, as an SVG percentage."""
        return percent(1 - self.share(value))

    def ticks(self, about: int = 4) -> list[float]:
        """Round numbers on the axis, with about this many steps."""
        step = round_step((self.high - self.low) / about)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def percent(share: float) -> str:
    """A share as an SVG percentage.

    >>> from swaprank.reporting.plots import percent
    >>> percent(0.12345)
    '12.35%'
    """
    return f"{min(max(100 * share, -1e6), 1e6):.2f}%"


def round_step(least: float) -> float:
    """The smallest step of 1, 2, 2.5 or 5 times a power of ten that is not below `least`.

    >>> from swaprank.reporting.plots import round_step
    >>> round_step(0.13), round_step(2.2)
    (0.2, 2.5)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return float(f"{next(each for each in _ROUND if each * power >= least * (1 - 1e-9)) * power:.12g}")


def scale_of(values: Any, *, include: tuple[float, ...] = (), pad: float = 0.05) -> Scale:
    """A scale for all finite values with padding at both ends; there is no padding beyond a value of `include`.

    >>> from swaprank.reporting.plots import scale_of
    >>> scale_of([1.0, 2.0], include=(0.0,))
    Scale(low=0.0, high=2.1)
    """
    finite = np.asarray(values, dtype=np.float64).ravel()
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        finite = np.array([0.0, 1.0])
    ends = (float(finite.min()), float(finite.max()))
    low, high = min(ends[0], *include, ends[1]), max(ends[1], *include, ends[0])
    if high - low <= 1e-12 * max(abs(low), abs(high), 1e-280):
        room = abs(low) / 10 if abs(low) > 1e-280 else 1.0
        return Scale(low - room, high + room)
    room = pad * (high - low)
    return Scale(low if low in include else low - room, high if high in include else high + room)


def written(ticks: list[float]) -> list[str]:
    """Tick labels with as many digits as needed to distinguish them.

    >>> from swaprank.reporting.plots import written
    >>> written([0.0, 0.05, 0.1]), written([0.0, 20000.0])
    (['0', '0.05', '0.10'], ['0', '20,000'])
    """
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest >= 1e7 or 0 < largest < 1e-4:
        return [f"{tick:g}" for tick in ticks]
    digits = max((len(f"{tick:.10f}".rstrip("0").partition(".")[2]) for tick in ticks), default=0)
    return ["0" if tick == 0 else f"{tick:,.{min(digits, 6)}f}" for tick in ticks]


MOST_ZONES = 120
"""Upper limit of tooltips in a line chart."""
MOST_POINTS = 400
"""Upper limit of points of one line."""


@final
@dataclass(frozen=True)
class Line:
    """A line of a chart; its style is a class of the style sheet (s0, s1, …).

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
    """The axes of a chart.

    >>> from swaprank.reporting.plots import Axes
    >>> from swaprank.reporting.plots import Scale
    >>> Axes(Scale(0, 1), Scale(0, 1), "trees", "ndcg@10").x_ticks is None
    True
    """

    x: Scale
    y: Scale
    x_title: str
    y_title: str
    x_ticks: Sequence[tuple[float, str]] | None = None
    """Positions and labels. If None, round numbers."""
    y_ticks: Sequence[tuple[float, str]] | None = None


def chart(
    title: str, alt: str, axes: Axes, marks: object, *, legend: object = "", numbers: object = "", class_: str = ""
) -> Html:
    """A figure: title, legend, axes, marks, and a table of numbers that is shown on request.

    >>> from swaprank.reporting.plots import Axes, chart
    >>> from swaprank.reporting.plots import Scale
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
    """A legend from pairs of style and name.

    >>> from swaprank.reporting.plots import legend
    >>> "valid" in legend([("s0", "valid")])
    True
    """
    return tag("ul", *(tag("li", fill_bar(1.0, style, "key"), name) for style, name in entries), class_="legend")


def stretched(*content: object) -> Html:
    """A stretched picture of 1000 x 1000 for lines and areas.

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
    """A line through points with gaps at missing values.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, line_path
    >>> from swaprank.reporting.plots import Scale
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
    """Lines with tooltips at some x.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, Line, lines
    >>> from swaprank.reporting.plots import Scale
    >>> line = Line("valid", np.array([0.0, 1.0]), np.array([0.5, 0.6]))
    >>> lines([line], Axes(Scale(0, 1), Scale(0, 1), "x", "y"), [(0.0, "first")]).count("data-tip")
    1
    """
    drawn = stretched(*(line_path(each.x, each.y, axes, f"line {each.style}") for each in series))
    # A path of one point is invisible.
    points = [_dots_at(each, each.x, axes) for each in series if len(each.x) == 1]
    return join([drawn, *points, *_zones(series, axes, tips)])


def bars(
    edges: Floats, values: Floats, axes: Axes, tips: Sequence[str], classes: Sequence[str], gap: float = 0.0
) -> Html:
    """Vertical bars from 0, each with a tooltip and a style; `gap` is a share of the width of a bar.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, bars
    >>> from swaprank.reporting.plots import Scale
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
    """Points, each with a tooltip and a style.

    >>> import numpy as np
    >>> from swaprank.reporting.plots import Axes, dots
    >>> from swaprank.reporting.plots import Scale
    >>> dots(np.array([0.5]), np.array([0.5]), Axes(Scale(0, 1), Scale(0, 1), "", ""), ["here"], ["s0"]).count("50.00%")
    2
    """
    return join(
        tag("circle", cx=axes.x.across(at), cy=axes.y.down(value), r=radius, class_=f"mark dot {style}", data_tip=tip)
        for at, value, tip, style in zip(x.tolist(), y.tolist(), tips, classes, strict=True)
    )


def fill_bar(share: float, style: str, class_: str = "side") -> Html:
    """A horizontal bar in text or in a table cell.

    >>> from swaprank.reporting.plots import fill_bar
    >>> 'width="50.00%"' in fill_bar(0.5, "up")
    True
    """
    bar = tag("rect", width=percent(share), height="100%", class_=f"fill {style}")
    return tag("svg", bar, class_=class_, aria_hidden="true")


def zone(left: float, right: float) -> Html:
    """An invisible full-height area that has the tooltip of its element.

    >>> from swaprank.reporting.plots import zone
    >>> 'width="50.00%"' in zone(0.25, 0.75)
    True
    """
    return tag("rect", x=percent(left), y=0, width=percent(right - left), height="100%", class_="zone")


def level(axes: Axes, value: float, class_: str = "rule") -> Html:
    """A horizontal line.

    >>> from swaprank.reporting.plots import Axes, level
    >>> from swaprank.reporting.plots import Scale
    >>> 'y1="50.00%"' in level(Axes(Scale(0, 1), Scale(0, 2), "", ""), 1.0)
    True
    """
    place = axes.y.down(value)
    return tag("line", x1="0%", x2="100%", y1=place, y2=place, class_=class_)


def upright(axes: Axes, value: float, label: str = "", class_: str = "rule") -> Html:
    """A vertical line with an optional label at its top.

    >>> from swaprank.reporting.plots import Axes, upright
    >>> from swaprank.reporting.plots import Scale
    >>> "best" in upright(Axes(Scale(0, 10), Scale(0, 1), "", ""), 4, "best")
    True
    """
    share = axes.x.share(value)
    place, line = percent(share), tag("line", x1=percent(share), x2=percent(share), y1="0%", y2="100%", class_=class_)
    if not label:
        return line
    anchor, dx = ("end", -6) if share > 0.5 else ("start", 6)
    return join([line, tag("text", label, x=place, y=0, dx=dx, dy=12, text_anchor=anchor, class_="word")])


def thinned(n: int, most: int) -> Ints:
    """At most `most` of n positions, evenly spaced, including the first and the last.

    >>> from swaprank.reporting.plots import thinned
    >>> thinned(10, 4).tolist()
    [0, 3, 6, 9]
    """
    chosen: Ints = np.unique(np.rint(np.linspace(0, n - 1, min(n, most))).astype(np.int64))
    return chosen


def _grid(axes: Axes) -> Html:
    marks = []
    for value, label in _ticks(axes.y, axes.y_ticks, 5):
        marks.append(level(axes, value, "grid"))
        marks.append(tag("text", label, x="0%", y=axes.y.down(value), dx=-8, dy="0.32em", text_anchor="end"))
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


def _dots_at(line: Line, x: Floats, axes: Axes) -> Html:
    """The points of a line at some x, without tooltips."""
    at = np.isin(line.x, x) & np.isfinite(line.y)
    points = zip(line.x[at].tolist(), line.y[at].tolist(), strict=True)
    return join(
        tag("circle", cx=axes.x.across(x), cy=axes.y.down(y), r=4, class_=f"dot {line.style}") for x, y in points
    )


def _zones(series: Sequence[Line], axes: Axes, tips: Sequence[tuple[float, str]]) -> list[Html]:
    if not tips:
        return []
    shares = [axes.x.share(x) for x, _ in tips]
    middles = [(a + b) / 2 for a, b in zip(shares[:-1], shares[1:], strict=True)]
    marks = []
    for left, right, (x, tip) in zip([0.0, *middles], [*middles, 1.0], tips, strict=True):
        points = [_dots_at(line, np.array([x]), axes) for line in series]
        cross = upright(axes, x, class_="cross")
        marks.append(tag("g", zone(left, right), cross, *points, class_="mark hidden", data_tip=tip))
    return marks
