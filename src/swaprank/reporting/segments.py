"""The section on segments: the first metric on all queries and in each segment, and where the winner loses."""

from swaprank.errors import Hint, ParameterError
from swaprank.evaluation.segments import WHOLE
from swaprank.rendering.tables import counted
from swaprank.reporting.markup import Html, join, paragraph, tag
from swaprank.reporting.metric_results import difference_scale, results_table
from swaprank.reporting.subject import Section, Subject, section


def segments_section(subject: Subject) -> Section:
    """The means and differences in every segment, and a sentence for each metric.

    >>> import swaprank as sr
    >>> from swaprank.reporting.segments import segments_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map", by=["phone", "web"] * 10)
    >>> segments_section(subject).title
    'Segments'
    """
    found = subject.segments
    if found is None:
        raise ParameterError("there are no segments: give ", Hint("by"), ".")
    ours = found.evaluations[subject.name]
    rows = [(WHOLE, subject.result, subject.difference)]
    rows += [(name, ours[name].results[0], found[name][0]) for name in found]
    named = [(_named(name, len(result.per_query)), result, difference) for name, result, difference in rows]
    words = (
        f"{subject.metric} of {subject.name} and its difference from {subject.baseline}, by {found.by}. Each segment "
        "is measured as if it were alone."
    )
    shown = results_table("Segment", named, difference_scale([difference for _, _, difference in rows]))
    correction = found.correction()
    note = paragraph(f"{correction[:1].upper()}{correction[1:]}", class_="note") if correction else ""
    sentences = tag("ul", *(tag("li", sentence) for sentence in found.sentences()), class_="note")
    return section("segments", "Segments", words, shown, sentences, note)


def _named(segment: str, n_queries: int) -> Html:
    return join([tag("b", tag("bdi", segment)), tag("div", counted(n_queries, "query", "queries"), class_="small")])
