"""The metrics section: means, intervals and differences from the baseline."""

import numpy as np

from swaprank.evaluation.results import MetricResult
from swaprank.rendering.text_tables import decimals, probability
from swaprank.reporting.headline import direction
from swaprank.reporting.intervals import difference_interval, difference_scale
from swaprank.reporting.markup import Html, details, join, paragraph, table, tag
from swaprank.reporting.scales import Scale
from swaprank.reporting.subject import Section, Subject


def metrics_section(subject: Subject) -> Section:
    """Every metric with its interval, its difference from the baseline, and a description of its conventions.

    >>> import swaprank as sr
    >>> from swaprank.reporting.metric_table import metrics_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "average precision" in metrics_section(subject).body
    True
    """
    pairs = list(zip(subject.evaluation.results, subject.comparison.differences, strict=True))
    scale = _common_scale(subject)
    intervals = ("Interval of the mean", "Interval of the difference")
    header = ["Metric", "Mean", intervals[0], "Baseline", "Difference", intervals[1], _ruler(scale), "p"]
    rows = [
        [
            tag("b", str(result.metric)),
            tag("b", decimals(result.mean)),
            _interval(*result.interval),
            decimals(difference.baseline_mean),
            tag("b", decimals(difference.difference, signed=True), class_=direction(difference) or None),
            _interval(difference.low, difference.high, signed=True),
            tag(
                "div",
                difference_interval(difference, scale or difference_scale([difference])),
                class_=direction(difference),
            ),
            probability(difference.p_randomization),
        ]
        for result, difference in pairs
    ]
    words = (
        f"Means over the queries, and differences from {subject.baseline} query by query, with 95% intervals. The "
        "randomization test gives the probability p of a difference at least as large if both rankings were equally "
        "good."
    )
    rule = subject.comparison.correction()
    conventions = tag("dl", *(_convention(result) for result in subject.evaluation.results), class_="terms")
    body = join(
        [
            paragraph(words, class_="lead"),
            table(header, rows, class_="data metrics", stacks=True),
            paragraph(f"{rule[:1].upper()}{rule[1:]}", class_="note") if rule else "",
            details("Definitions of these metrics", conventions),
        ]
    )
    return Section("metrics", "Metrics", body)


def _convention(result: MetricResult) -> Html:
    left_out = f" {result.n_left_out:,} queries are left out." if result.n_left_out else ""
    n_queries = len(result.per_query)
    counts = f"{n_queries:,} queries, {result.n_without_relevant:,} of them without {result.metric.needs}.{left_out}"
    return join([tag("dt", str(result.metric)), tag("dd", f"{result.metric.describe()}. {counts}")])


def _interval(low: float, high: float, *, signed: bool = False) -> str:
    return f"{decimals(low, signed=signed)} to {decimals(high, signed=signed)}"


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
