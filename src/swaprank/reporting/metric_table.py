"""The headline numbers and the metrics section: means, intervals and differences from the baseline."""

from __future__ import annotations

import numpy as np

from swaprank.evaluation.compare import Difference
from swaprank.evaluation.evaluate import MetricResult
from swaprank.rendering.text_tables import decimals, probability
from swaprank.reporting.markup import Html, details, join, paragraph, table, tag
from swaprank.reporting.scales import Scale, percent, scale_of
from swaprank.reporting.subject import Section, Subject


def tiles(subject: Subject) -> Html:
    """The most important numbers, at the top of the page.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_table import tiles
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> tiles(subject).count("tile-value")
    4
    """
    result, difference, data = subject.result, subject.difference, subject.data
    return tag(
        "div",
        _tile(str(result.metric), decimals(result.mean), f"95% interval {_interval(result)}", "first"),
        _tile(
            f"against {subject.baseline}",
            decimals(difference.difference, signed=True),
            f"{decimals(difference.low, signed=True)} to {decimals(difference.high, signed=True)}, "
            f"p {_equals(difference.p_randomization)}",
            _direction(difference),
        ),
        _tile(
            "wins / ties / losses",
            f"{difference.wins:,} / {difference.ties:,} / {difference.losses:,}",
            _split_bar(difference),
            "",
        ),
        _tile("queries", f"{data.n_queries:,}", f"{len(data):,} documents, {data.n_features:,} features", ""),
        class_="tiles",
    )


def metrics_section(subject: Subject) -> Section:
    """Every metric with its interval, the baseline, and a description of its conventions.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_table import metrics_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "average precision" in metrics_section(subject).body
    True
    """
    pairs = list(zip(subject.evaluation.results, subject.baseline_evaluation.results, strict=True))
    ends = _common_scale(pairs)
    header = ["Metric", "Mean", "95% interval", "Baseline", "Difference", "p", _ruler(ends)]
    rows = [
        [
            tag("b", str(ours.metric)),
            tag("b", decimals(ours.mean)),
            _interval(ours),
            decimals(theirs.mean),
            _colored(difference),
            probability(difference.p_randomization),
            _picture(ours, theirs, ends),
        ]
        for (ours, theirs), difference in zip(pairs, subject.comparison.differences, strict=True)
    ]
    conventions = tag("dl", *(_convention(result) for result in subject.evaluation.results), class_="terms")
    body = join(
        [
            paragraph(subject.difference.sentence(), class_="lead"),
            table(header, rows, class_="data metrics"),
            paragraph(
                tag("span", subject.name, class_="key-dot s0"),
                " ",
                tag("span", subject.baseline, class_="key-dot base"),
                f" Lines are 95% intervals. p: paired randomisation test; {subject.comparison.correction()}",
                class_="note",
            ),
            details("Definitions of these metrics", conventions),
        ]
    )
    return Section("metrics", "Metrics", body)


def _tile(label: str, value: str, below: object, class_: str) -> Html:
    long = " long" if len(value) > 9 else ""
    return tag(
        "div",
        tag("div", label, class_="tile-label"),
        tag("div", value, class_=f"tile-value{long}"),
        tag("div", below, class_="tile-below"),
        class_=f"tile {class_}".strip(),
    )


def _convention(result: MetricResult) -> Html:
    left_out = f" {result.n_left_out:,} queries are left out." if result.n_left_out else ""
    counts = (
        f"{result.n_queries:,} queries, {result.n_without_relevant:,} of them without {result.metric.needs}.{left_out}"
    )
    return join([tag("dt", str(result.metric)), tag("dd", f"{result.metric.describe()}. {counts}")])


def _interval(result: MetricResult) -> str:
    low, high = result.interval
    return f"{decimals(low)} to {decimals(high)}"


def _equals(p: float) -> str:
    written = probability(p)
    return written if written.startswith("<") else f"= {written}"


def _direction(difference: Difference) -> str:
    if not difference.p_randomization < 0.05:
        return ""
    return "up" if difference.difference > 0 else "down"


def _colored(difference: Difference) -> Html:
    return tag("span", decimals(difference.difference, signed=True), class_=_direction(difference) or None)


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


def _common_scale(pairs: list[tuple[MetricResult, MetricResult]]) -> Scale | None:
    """From 0 to 1 if all means are in this range (intervals are clipped), or None: each metric needs its own scale."""
    means = [result.mean for pair in pairs for result in pair]
    return Scale(0.0, 1.0) if all(np.isnan(mean) or 0 <= mean <= 1 for mean in means) else None


def _ruler(scale: Scale | None) -> Html:
    if scale is None:
        return Html("")
    ends = [tag("text", "0", x="0%", y="75%"), tag("text", "1", x="100%", y="75%", text_anchor="end")]
    return tag("svg", *ends, class_="ruler", aria_hidden="true")


def _picture(ours: MetricResult, theirs: MetricResult, common: Scale | None) -> Html:
    """Both means with their intervals on one scale."""
    ends = [ours.mean, theirs.mean, *ours.interval, *theirs.interval]
    scale = scale_of(ends) if common is None else common
    parts = [tag("line", x1="0%", x2="100%", y1="50%", y2="50%", class_="grid")]
    for result, style, y in ((theirs, "base", "66%"), (ours, "s0", "34%")):
        low, high = np.clip(result.interval, scale.low, scale.high).tolist()
        if np.isfinite(low):
            parts.append(
                tag("line", x1=scale.across(low), x2=scale.across(high), y1=y, y2=y, class_=f"whisker {style}")
            )
        if np.isfinite(result.mean):
            parts.append(tag("circle", cx=scale.across(result.mean), cy=y, r=4, class_=f"dot {style}"))
    alt = f"{ours.metric}: {decimals(ours.mean)}, baseline {decimals(theirs.mean)}"
    return tag("svg", *parts, class_="interval", role="img", aria_label=alt)
