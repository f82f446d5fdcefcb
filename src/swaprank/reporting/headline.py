"""The top of the page: the first metric, its difference from the baseline, and how sure that is."""

import numpy as np

from swaprank.evaluation.compare import Difference
from swaprank.rendering.text_tables import counted, decimals, probability
from swaprank.reporting.intervals import difference_interval, difference_scale
from swaprank.reporting.markup import Html, join, paragraph, tag
from swaprank.reporting.scales import percent
from swaprank.reporting.subject import Subject


def headline(subject: Subject) -> Html:
    """The result in words, its three most important numbers, and the queries whose order does not matter.

    >>> import swaprank as sr
    >>> from swaprank.reporting.headline import headline
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "looks better than feature 1, but that may be luck" in headline(subject)
    True
    """
    result, difference = subject.result, subject.difference
    low, high = result.interval
    figures = tag(
        "dl",
        _figure(
            f"{result.metric} of {subject.name}",
            decimals(result.mean),
            _interval(low, high),
            f"{subject.baseline}: {decimals(difference.baseline_mean)}",
        ),
        _figure(
            f"Difference from {subject.baseline}",
            decimals(difference.difference, signed=True),
            _interval(difference.low, difference.high, signed=True),
            ""
            if np.isnan(difference.p_randomization)
            else join([tag("b", _p_value(difference)), ", randomization test"]),
            picture=difference_interval(difference, difference_scale([difference])),
            style=direction(difference),
        ),
        _figure(
            "Wins, ties and losses",
            f"{difference.wins:,} / {difference.ties:,} / {difference.losses:,}",
            f"over {counted(difference.wins + difference.ties + difference.losses, 'query', 'queries')}",
            picture=_split_bar(difference),
        ),
        class_="figures",
    )
    words = subject.comparison.without_relevant()
    about = paragraph(words, class_="about") if words else ""
    return tag("div", paragraph(verdict(difference), class_="verdict"), figures, about, class_="headline")


def verdict(difference: Difference) -> str:
    """The result in words, without numbers.

    >>> import swaprank as sr
    >>> from swaprank.reporting.headline import verdict
    >>> data = sr.Dataset([[1], [2]], [0, 1], qid=[1, 1])
    >>> verdict(sr.compare(data, {"old": [0.9, 0.1], "new": [0.1, 0.9]}, "map").differences[0])
    'There are too few queries to compare new with old.'
    """
    system, baseline = difference.system, difference.baseline
    if np.isnan(difference.p_randomization):
        return f"There are too few queries to compare {system} with {baseline}."
    if difference.wins == difference.losses == 0:
        return f"{system} and {baseline} are the same on every query."
    better = "better" if difference.difference > 0 else "worse"
    if difference.is_significant:
        return f"{system} is {better} than {baseline}."
    return f"{system} looks {better} than {baseline}, but that may be luck."


def direction(difference: Difference) -> str:
    """The style of a difference: up, down, or none if it may be luck.

    >>> import swaprank as sr
    >>> from swaprank.reporting.headline import direction
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> direction(sr.compare(data, {"bad": -data.labels, "good": data.labels}, "map").differences[0])
    'up'
    """
    if not difference.is_significant:
        return ""
    return "up" if difference.difference > 0 else "down"


def _figure(label: str, number: str, *below: object, picture: object = "", style: str = "") -> Html:
    return tag(
        "div",
        tag("dt", label),
        tag("dd", number, class_="number long" if len(number) > 8 else "number"),
        tag("dd", join([tag("div", each) for each in below]), class_="small"),
        tag("dd", picture, class_="picture") if picture else "",
        class_=f"figure {style}".strip(),
    )


def _interval(low: float, high: float, *, signed: bool = False) -> str:
    if np.isnan(low):
        return "no interval: there are too few queries"
    return f"95% interval {decimals(low, signed=signed)} to {decimals(high, signed=signed)}"


def _p_value(difference: Difference) -> str:
    written = probability(difference.p_randomization)
    return f"p {written}" if written.startswith("<") else f"p = {written}"


def _split_bar(difference: Difference) -> Html:
    """A bar of wins, ties and losses."""
    counts = (difference.wins, difference.ties, difference.losses)
    total, done, parts = max(sum(counts), 1), 0, []
    for count, style in zip(counts, ("up", "tie", "down"), strict=True):
        place = {"x": percent(done / total), "width": percent(count / total), "y": 0, "height": "100%"}
        parts.append(tag("rect", **place, class_=f"fill {style}"))
        done += count
    alt = f"{counts[0]} wins, {counts[1]} ties, {counts[2]} losses"
    return tag("svg", *parts, class_="split", role="img", aria_label=alt)
