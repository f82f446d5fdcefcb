"""The top of the page: the first metric, its difference from the baseline, and how sure that is."""

from __future__ import annotations

import numpy as np

from swaprank.evaluation.compare import Comparison, Difference
from swaprank.evaluation.evaluate import MetricResult
from swaprank.rendering.text_tables import decimals, probability
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
            f"95% interval {decimals(low)} to {decimals(high)}",
            f"{subject.baseline}: {decimals(difference.baseline_mean)}",
        ),
        _figure(
            f"Difference from {subject.baseline}",
            decimals(difference.difference, signed=True),
            f"95% interval {decimals(difference.low, signed=True)} to {decimals(difference.high, signed=True)}",
            join([tag("b", _p_value(difference)), ", randomisation test"]),
            picture=difference_interval(difference, difference_scale([difference])),
            style=direction(difference),
        ),
        _figure(
            "Wins, ties and losses",
            f"{difference.wins:,} / {difference.ties:,} / {difference.losses:,}",
            f"over {difference.wins + difference.ties + difference.losses:,} queries",
            picture=_split_bar(difference),
        ),
        class_="figures",
    )
    words = queries_without(subject.comparison)
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


def queries_without(comparison: Comparison) -> str:
    """How the first metric counts the queries that every order ranks alike; empty if there are none.

    >>> import swaprank as sr
    >>> from swaprank.reporting.headline import queries_without
    >>> data = sr.Dataset([[1], [2], [3], [4]], [0, 1, 0, 0], qid=[1, 1, 2, 2])
    >>> queries_without(sr.compare(data, {"old": [2, 1, 2, 1], "new": [1, 2, 1, 2]}, "map"))
    '1 of 2 queries is without a relevant document: map counts it as 0 for every ranking. Over the others, the mean is \
1.0000 for new and 0.5000 for old.'
    """
    difference = comparison.differences[0]
    names = (difference.system, difference.baseline)
    result = comparison.evaluations[difference.system].results[0]
    metric, n, n_queries = result.metric, result.n_without_relevant, len(result.per_query)
    if not n:
        return ""
    are, it, them = ("is", "it", "it") if n == 1 else ("are", "they", "them")
    words = f"{n:,} of {n_queries:,} queries {are} without {metric.needs}:"
    if metric.empty == "skip":
        return f"{words} {it} {are} left out."
    words = f"{words} {metric} counts {them} as {metric.empty} for every ranking."
    if n == n_queries:
        return words
    means = [_mean_of_others(comparison.evaluations[name].results[0]) for name in names]
    shown = " and ".join(f"{decimals(mean)} for {name}" for mean, name in zip(means, names, strict=True))
    return f"{words} Over the others, the mean is {shown}."


def _mean_of_others(result: MetricResult) -> float:
    """The mean over the queries whose order matters."""
    n, counted = result.n_without_relevant, float(result.metric.empty)
    return float((np.sum(result.per_query) - n * counted) / (len(result.per_query) - n))


def _figure(label: str, number: str, *below: object, picture: object = "", style: str = "") -> Html:
    return tag(
        "div",
        tag("dt", label),
        tag("dd", number, class_="number long" if len(number) > 8 else "number"),
        tag("dd", join([tag("div", each) for each in below]), class_="small"),
        tag("dd", picture, class_="picture") if picture else "",
        class_=f"figure {style}".strip(),
    )


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
