"""The report of a ranker: one HTML page that works offline."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.evaluation.segments import By
from swaprank.files import replacing, writable_target
from swaprank.instruments.explain import query_number
from swaprank.metrics.metric import bind_metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rendering.tables import counted
from swaprank.reporting.calibration import calibration_section
from swaprank.reporting.certification import certificate_section
from swaprank.reporting.distributions import distributions_section
from swaprank.reporting.features import features_section
from swaprank.reporting.learning_curves import learning_section
from swaprank.reporting.markup import Html, join, tag
from swaprank.reporting.metric_results import headline, metrics_section
from swaprank.reporting.page import make_page, notebook_frame
from swaprank.reporting.provenance import AnyPath, DataSource, FileInfo, data_from, provenance_section, ranker_from
from swaprank.reporting.ranked_queries import ranked_section
from swaprank.reporting.segments import segments_section
from swaprank.reporting.subject import Baseline, Section, Subject, best_feature, column_baseline, make_subject
from swaprank.reporting.win_loss import win_loss_section

USUAL_METRICS = ("ndcg@10", "map", "mrr", "err")
"""Default metrics, after the metric that the ranker was trained for."""

StepCallback = Callable[[str, int, int], object]
"""Called before every step with its name, the number of finished steps, and the number of all steps."""


@final
@dataclass(frozen=True, eq=False)
class Report:
    """A report page and the numbers in it; notebooks display it.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((30, 20), n_features=4, n_documents=10, random_state=0)
    >>> made = sr.report(sr.MART(n_trees=5).fit(train), test)
    >>> isinstance(made, sr.reporting.Report), made.html[:15]
    (True, '<!doctype html>')
    """

    html: str
    comparison: sr.evaluation.Comparison
    evaluation: sr.evaluation.Evaluation
    """The evaluation of the ranker; that of the baseline is in `comparison`."""
    certificate: sr.instruments.Certificate | None

    def save(self, path: AnyPath) -> None:
        """Write the page; on an error no file is left behind."""
        with replacing(path) as stream:
            stream.write(self.html.encode())

    def _repr_html_(self) -> str:
        return notebook_frame(self.html)

    def __repr__(self) -> str:
        first = self.evaluation.results[0]
        return f"Report({first.metric} {first.mean:.4f}, {len(self.html) / 1000:,.0f} kB)"


def report(
    ranker: sr.Ranker | str | os.PathLike[str],
    data: sr.Dataset | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    metrics: str | sr.metrics.Metric | Iterable[str | sr.metrics.Metric] | None = None,
    convention: str = "standard",
    baseline: sr.Ranker | str | os.PathLike[str] | None = None,
    baseline_feature: str | None = None,
    by: By | None = None,
    qids: Sequence[Any] = (),
    train: sr.Dataset | str | os.PathLike[str] | None = None,
    certify: sr.instruments.Certificate | bool = False,
    title: str | None = None,
    columns: Mapping[str, Any] | None = None,
    progress: StepCallback | None = None,
) -> Report:
    """Write a report of a ranker: one HTML file that works offline, on phones and in print.

    Args:
        ranker: A fitted ranker, or a model file.
        data: Test data (a data set or a file) that the ranker was not trained on.
        path: Where to write the page. If None, nothing is written; `Report.save` writes it later.
        metrics: The metrics to report; charts show the first one. If None: the metric that the ranker was trained for,
            NDCG@10, MAP, MRR and ERR.
        convention: The convention of metric names.
        baseline: A ranker or a model file to compare with.
        baseline_feature: A feature or side column to compare with instead; "-price" ranks the smallest price first. If
            neither is given, the baseline is the single feature that ranks this data best.
        by: Show segments of the queries, too: the name of a side column or a feature with one value per query;
            "n_documents" or "n_relevant", the size of queries in ranges; or one value per query.
        qids: Queries whose ranked lists are shown. If empty: the best, the median and the worst query.
        train: The training data of the ranker, to describe it and to certify the ranker on it.
        certify: A certificate to show, or whether to make one on `train`, or on `data` if there is no `train`.
        title: The title of the page. If None, the type of the ranker and the name of the data.
        columns: Names of the columns of `data` and `train` if they are tables, as keywords of `read`.
        progress: Called before every step with its name, the number of finished steps, and the number of all steps.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((30, 20), n_features=4, n_documents=10, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=5).fit(train)
    >>> made = sr.report(ranker, test, metrics=["ndcg@10", "map"], baseline_feature="2")
    >>> made.evaluation["map"].mean == sr.evaluate(test, ranker.predict(test), "map")["map"].mean
    True
    """
    if path is not None:
        writable_target(path, [each for each in (ranker, data, baseline, train) if isinstance(each, str | os.PathLike)])
    if baseline is not None and baseline_feature is not None:
        raise sr.errors.ParameterError(
            "give ", sr.errors.Hint("baseline"), " or ", sr.errors.Hint("baseline_feature"), ", not both."
        )
    asked = [_CERTIFY] if certify else []
    makers = {name: made for name, made in _SECTIONS.items() if name != _SEGMENTS or by is not None}
    begin = _announcer([_READ, _SCORE, *makers, *asked, _PROVENANCE], progress)
    begin(_READ)
    inputs = _read(ranker, data, train, columns or {}, by)
    for qid in qids:
        query_number(inputs.test.data, qid)
    begin(_SCORE)
    subject = _subject(inputs, metrics, convention, baseline, baseline_feature, by)
    sections = []
    for name, make_section in makers.items():
        begin(name)
        sections.append(make_section(subject, qids))
    certificate = None
    if certify:
        begin(_CERTIFY)
        source = inputs.train or inputs.test
        if isinstance(certify, sr.instruments.Certificate):
            certificate, on = certify, "data of its own"
        else:
            certificate, on = sr.certify(subject.ranker, source.data, subject.metric), source.name
        sections.append(certificate_section(certificate, on))
    begin(_PROVENANCE)
    sections.append(provenance_section(inputs.ranker, inputs.model_file, inputs.sources))
    heading, footer = title or _title(subject, inputs), f"Made by swaprank {sr.__version__}."
    is_chosen = baseline is None and baseline_feature is None
    html = str(make_page(heading, _subtitle(subject, is_chosen), headline(subject), sections, footer))
    made = Report(html, subject.comparison, subject.evaluation, certificate)
    if path is not None:
        made.save(path)
    return made


class _Inputs(NamedTuple):
    """The ranker and the data of a report, with the files that they come from."""

    ranker: sr.Ranker
    model_file: FileInfo | None
    test: DataSource
    train: DataSource | None
    scores_of: Callable[[sr.Ranker], Floats]
    """The scores of another ranker on the test data, also if it has other features."""

    @property
    def sources(self) -> list[DataSource]:
        return [self.test] if self.train is None else [self.test, self.train]


def _read(
    ranker: sr.Ranker | AnyPath,
    data: sr.Dataset | AnyPath,
    train: sr.Dataset | AnyPath | None,
    columns: Mapping[str, Any],
    by: By | None,
) -> _Inputs:
    model, file = ranker_from(ranker)
    test = DataSource("Data", *data_from(data, model, columns, by))
    trained_on = None if train is None else DataSource("Training data", *data_from(train, model, columns))

    def scores_of(other: sr.Ranker) -> Floats:
        same_features = other.feature_names_in_.tolist() == model.feature_names_in_.tolist()
        same = same_features and other.categories_ == model.categories_
        return other.predict(test.data if same else data_from(data, other, columns)[0])

    return _Inputs(model, file, test, trained_on, scores_of)


def _subject(
    inputs: _Inputs,
    metrics: str | sr.metrics.Metric | Iterable[str | sr.metrics.Metric] | None,
    convention: str,
    baseline: sr.Ranker | AnyPath | None,
    baseline_feature: str | None,
    by: By | None,
) -> Subject:
    data = inputs.test.data
    chosen = (
        _default_metrics(inputs.ranker, data, convention) if metrics is None else parse_metrics(metrics, convention)
    )
    if baseline_feature is not None:
        against = column_baseline(data, baseline_feature)
    elif baseline is None:
        against = best_feature(data, chosen[0])
    else:
        other, file = ranker_from(baseline)
        against = Baseline(_model_name(other, file), inputs.scores_of(other))
    return make_subject(inputs.ranker, data, chosen, against, _model_name(inputs.ranker, inputs.model_file), by)


_SEGMENTS = "segments"
_SECTIONS: dict[str, Callable[[Subject, Sequence[Any]], Section]] = {
    "metrics": lambda subject, qids: metrics_section(subject),
    _SEGMENTS: lambda subject, qids: segments_section(subject),
    "learning curves": lambda subject, qids: learning_section(subject),
    "query by query": lambda subject, qids: win_loss_section(subject),
    "ranked lists": ranked_section,
    "features": lambda subject, qids: features_section(subject),
    "calibration": lambda subject, qids: calibration_section(subject),
    "distributions": lambda subject, qids: distributions_section(subject),
}
"""The functions that make the sections about the ranker, in the order of the page."""

_READ, _SCORE, _CERTIFY, _PROVENANCE = "reading", "scoring and comparing", "certifying", "provenance"


def _announcer(steps: list[str], progress: StepCallback | None) -> Callable[[str], object]:
    """A function that announces the begin of a step."""
    if progress is None:
        return lambda step: None
    return lambda step: progress(step, steps.index(step), len(steps))


def _default_metrics(ranker: sr.Ranker, data: sr.Dataset, convention: str) -> list[sr.metrics.Metric]:
    chosen: dict[str, sr.metrics.Metric] = {}
    for metric in (ranker.metric, *USUAL_METRICS):
        try:
            (parsed,) = parse_metrics(metric, convention)
            # Skip metrics that refuse these labels, and custom metrics, which model files do not contain.
            bind_metric(parsed, data)
        except sr.errors.MetricError:
            continue
        chosen.setdefault(str(parsed), parsed)
    if not chosen:
        raise sr.errors.MetricError("none of the default metrics accepts these labels: choose others with metrics.")
    return list(chosen.values())


def _model_name(ranker: sr.Ranker, file: FileInfo | None) -> str:
    return type(ranker).__name__ if file is None else Path(file.name).stem


def _title(subject: Subject, inputs: _Inputs) -> str:
    file = inputs.test.file
    return f"{subject.name} on {file.name if file else f'{subject.data.n_queries:,} queries'}"


def _subtitle(subject: Subject, baseline_is_chosen: bool) -> Html:
    ranker, data = subject.ranker, subject.data
    orders_matter = subject.result.n_without_relevant < data.n_queries
    why = ", the single feature that ranks this data best" if baseline_is_chosen and orders_matter else ""
    return join(
        [
            tag("b", type(ranker).__name__),
            f", {ranker.size_}, trained for {ranker.trained_for_}; compared with ",
            tag("bdi", subject.baseline),
            f"{why}.",
            tag("br"),
            ", ".join(
                counted(n, one, many)
                for n, one, many in (
                    (data.n_queries, "query", "queries"),
                    (len(data), "document", "documents"),
                    (data.n_features, "feature", "features"),
                )
            ),
        ]
    )
