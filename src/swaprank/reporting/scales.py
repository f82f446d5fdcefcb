"""Maps numbers to positions on an axis, and chooses its ticks."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


@final
@dataclass(frozen=True)
class Scale:
    """An axis from low to high.

    >>> from swaprank.reporting.scales import Scale
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

    >>> from swaprank.reporting.scales import percent
    >>> percent(0.12345)
    '12.35%'
    """
    return f"{min(max(100 * share, -1e6), 1e6):.2f}%"


def round_step(least: float) -> float:
    """The smallest step of 1, 2, 2.5 or 5 times a power of ten that is not below `least`.

    >>> from swaprank.reporting.scales import round_step
    >>> round_step(0.13), round_step(2.2)
    (0.2, 2.5)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return float(f"{next(each for each in _ROUND if each * power >= least * (1 - 1e-9)) * power:.12g}")


def scale_of(values: Any, *, include: tuple[float, ...] = (), pad: float = 0.05) -> Scale:
    """A scale for all finite values with padding at both ends; there is no padding beyond a value of `include`.

    >>> from swaprank.reporting.scales import scale_of
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

    >>> from swaprank.reporting.scales import written
    >>> written([0.0, 0.05, 0.1]), written([0.0, 20000.0])
    (['0', '0.05', '0.10'], ['0', '20,000'])
    """
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest >= 1e7 or 0 < largest < 1e-4:
        return [f"{tick:g}" for tick in ticks]
    digits = max((len(f"{tick:.10f}".rstrip("0").partition(".")[2]) for tick in ticks), default=0)
    return ["0" if tick == 0 else f"{tick:,.{min(digits, 6)}f}" for tick in ticks]
