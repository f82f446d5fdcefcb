"""The results: the headline at the top of the page, and the section with all metrics.

Both show differences from the baseline with their 95% intervals, on a scale with 0 in its middle.
"""

from collections.abc import Sequence

import numpy as np

import swaprank as sr
from swaprank.evaluation.significance import p_in_words
from swaprank.rendering.tables import counted, decimals, probability
from swaprank.reporting.markup import Html, details, join, paragraph, table, tag
from swaprank.reporting.plots import Scale, percent, round_step
from swaprank.reporting.subject import Section, Subject, section


def headline(subject: Subject) -> Html:
    """The result in words, its three most important numbers, and the queries whose order does not matter.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_results import headline
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
            _interval_text(low, high),
            f"{subject.baseline}: {decimals(difference.baseline_mean)}",
        ),
        _figure(
            f"Difference from {subject.baseline}",
            decimals(difference.difference, signed=True),
            _interval_text(difference.low, difference.high, signed=True),
            ""
            if np.isnan(difference.p_randomization)
            else join([tag("b", p_in_words(difference.p_randomization)), ", randomization test"]),
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


def verdict(difference: sr.evaluation.Difference) -> str:
    """The result in words, without numbers.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_results import verdict
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


def direction(difference: sr.evaluation.Difference) -> str:
    """The style of a difference: up, down, or none if it may be luck.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_results import direction
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


def _interval_text(low: float, high: float, *, signed: bool = False) -> str:
    return "no interval: there are too few queries" if np.isnan(low) else f"95% interval {_span(low, high, signed)}"


def _split_bar(difference: sr.evaluation.Difference) -> Html:
    """A bar of wins, ties and losses."""
    counts = (difference.wins, difference.ties, difference.losses)
    total, done, parts = max(sum(counts), 1), 0, []
    for count, style in zip(counts, ("up", "tie", "down"), strict=True):
        place = {"x": percent(done / total), "width": percent(count / total), "y": 0, "height": "100%"}
        parts.append(tag("rect", **place, class_=f"fill {style}"))
        done += count
    alt = f"{counts[0]} wins, {counts[1]} ties, {counts[2]} losses"
    return tag("svg", *parts, class_="split", role="img", aria_label=alt)


def metrics_section(subject: Subject) -> Section:
    """Every metric with its interval, its difference from the baseline, and a description of its conventions.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_results import metrics_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "average precision" in metrics_section(subject).body
    True
    """
    pairs = list(zip(subject.evaluation.results, subject.comparison.differences, strict=True))
    scale = _common_scale(subject)
    named = [(tag("b", str(result.metric)), result, difference) for result, difference in pairs]
    words = (
        f"Means over the queries, and differences from {subject.baseline} query by query, with 95% intervals. The "
        "randomization test gives the probability p of a difference at least as large if both rankings were equally "
        "good."
    )
    rule = subject.comparison.correction()
    conventions = tag("dl", *(_convention(result) for result in subject.evaluation.results), class_="terms")
    shown = results_table("Metric", named, scale)
    note = paragraph(f"{rule[:1].upper()}{rule[1:]}", class_="note") if rule else ""
    return section("metrics", "Metrics", words, shown, note, details("Definitions of these metrics", conventions))


def results_table(
    what: str,
    rows: Sequence[tuple[Html, sr.evaluation.MetricResult, sr.evaluation.Difference]],
    scale: Scale | None,
) -> Html:
    """A table of means and differences with their intervals, one row per metric or per segment.

    Args:
        what: What the rows are.
        rows: What each row is called, its mean and its difference from the baseline.
        scale: The scale of all differences; None if each has its own.

    >>> import swaprank as sr
    >>> from swaprank.reporting.markup import Html
    >>> from swaprank.reporting.metric_results import results_table
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> comparison = sr.compare(data, {"bad": -data.labels, "good": data.labels}, "map")
    >>> row = comparison.evaluations["good"]["map"], comparison.differences[0]
    >>> "Interval of the mean" in results_table("Metric", [(Html("map"), *row)], None)
    True
    """
    intervals = ("Interval of the mean", "Interval of the difference")
    header = [what, "Mean", intervals[0], "Baseline", "Difference", intervals[1], _ruler(scale), "p"]
    cells = [
        [
            name,
            tag("b", decimals(result.mean)),
            _span(*result.interval, signed=False),
            decimals(difference.baseline_mean),
            tag("b", decimals(difference.difference, signed=True), class_=direction(difference) or None),
            _span(difference.low, difference.high, signed=True),
            tag(
                "div",
                difference_interval(difference, scale or difference_scale([difference])),
                class_=direction(difference),
            ),
            probability(difference.p_randomization),
        ]
        for name, result, difference in rows
    ]
    return table(header, cells, class_="data metrics", stacks=True)


def _convention(result: sr.evaluation.MetricResult) -> Html:
    left_out = f" {result.n_left_out:,} queries are left out." if result.n_left_out else ""
    n_queries = len(result.per_query)
    counts = f"{n_queries:,} queries, {result.n_without_relevant:,} of them without {result.metric.needs}.{left_out}"
    return join([tag("dt", str(result.metric)), tag("dd", f"{result.metric.describe()}. {counts}")])


def _span(low: float, high: float, signed: bool) -> str:
    return "-" if np.isnan(low) else f"{decimals(low, signed=signed)} to {decimals(high, signed=signed)}"


def _common_scale(subject: Subject) -> Scale | None:
    """A scale for all differences if all means are between 0 and 1, or None: each metric needs its own scale."""
    evaluations = (subject.evaluation, subject.baseline_evaluation)
    means = [result.mean for evaluation in evaluations for result in evaluation]
    comparable = all(np.isnan(mean) or 0 <= mean <= 1 for mean in means)
    return difference_scale(subject.comparison.differences) if comparable else None


def _ruler(scale: Scale | None) -> Html:
    marks = [tag("text", "0", x="50%", y="75%", text_anchor="middle")]
    if scale is not None:
        marks.append(tag("text", f"−{scale.high:g}", x="0%", y="75%"))
        marks.append(tag("text", f"+{scale.high:g}", x="100%", y="75%", text_anchor="end"))
    return tag("svg", *marks, class_="ruler", aria_hidden="true")


def difference_scale(differences: Sequence[sr.evaluation.Difference]) -> Scale:
    """A scale for all differences and their intervals, as long below 0 as above.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_results import difference_scale
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> difference_scale(sr.compare(data, {"bad": -data.labels, "good": data.labels}, "map").differences)
    Scale(low=-0.5, high=0.5)
    """
    ends = np.abs([(row.difference, row.low, row.high) for row in differences])
    reach = float(np.max(ends[np.isfinite(ends)], initial=0.0))
    end = round_step(reach) if reach > 1e-12 else 1.0
    return Scale(-end, end)


def difference_interval(difference: sr.evaluation.Difference, scale: Scale) -> Html:
    """The difference as a dot, its interval as a line, and 0 as a rule.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_results import difference_interval, difference_scale
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
        f"{_span(difference.low, difference.high, signed=True)}"
    )
    return tag("svg", *parts, class_="interval", role="img", aria_label=alt)
