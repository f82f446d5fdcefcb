"""Pictures of differences with their 95% intervals on a scale with 0 in its middle."""

from collections.abc import Sequence

import numpy as np

from swaprank.evaluation.compare import Difference
from swaprank.rendering.text_tables import decimals
from swaprank.reporting.markup import Html, tag
from swaprank.reporting.scales import Scale, round_step


def difference_scale(differences: Sequence[Difference]) -> Scale:
    """A scale for all differences and their intervals, as long below 0 as above.

    >>> import swaprank as sr
    >>> from swaprank.reporting.intervals import difference_scale
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> difference_scale(sr.compare(data, {"bad": -data.labels, "good": data.labels}, "map").differences)
    Scale(low=-0.5, high=0.5)
    """
    ends = np.abs([(row.difference, row.low, row.high) for row in differences])
    reach = float(np.max(ends[np.isfinite(ends)], initial=0.0))
    end = round_step(reach) if reach > 1e-12 else 1.0
    return Scale(-end, end)


def difference_interval(difference: Difference, scale: Scale) -> Html:
    """The difference as a dot, its interval as a line, and 0 as a rule.

    >>> import swaprank as sr
    >>> from swaprank.reporting.intervals import difference_interval, difference_scale
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> rows = sr.compare(data, {"bad": -data.labels, "good": data.labels}, "map").differences
    >>> "<circle" in difference_interval(rows[0], difference_scale(rows))
    True
    """
    middle = {"y1": "50%", "y2": "50%"}
    parts = [
        tag("line", x1="0%", x2="100%", **middle, class_="grid"),
        tag("line", x1="50%", x2="50%", y1="0%", y2="100%", class_="zero"),
        tag("text", "0", x="50%", y="100%", dx=-4, text_anchor="end", class_="word"),
    ]
    if np.isfinite([difference.low, difference.high]).all():
        ends = {"x1": scale.across(difference.low), "x2": scale.across(difference.high)}
        parts.append(tag("line", **ends, **middle, class_="whisker"))
    if np.isfinite(difference.difference):
        parts.append(tag("circle", cx=scale.across(difference.difference), cy="50%", r=4.5, class_="dot"))
    alt = (
        f"{difference.metric}: difference {decimals(difference.difference, signed=True)}, 95% interval "
        f"{decimals(difference.low, signed=True)} to {decimals(difference.high, signed=True)}"
    )
    return tag("svg", *parts, class_="interval", role="img", aria_label=alt)
