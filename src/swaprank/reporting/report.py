"""A ranker on judged documents, as one page that works offline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from swaprank.data.dataset import Dataset
from swaprank.errors import MetricError, ParameterError
from swaprank.evaluation.compare import Comparison
from swaprank.evaluation.evaluate import Evaluation, evaluate
from swaprank.files import replacing, writable_target
from swaprank.instruments.certificate import Certificate
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metrics as parse_metrics
from swaprank.rankers.ranker import Ranker
from swaprank.reporting.baseline import Baseline, best_feature, feature_baseline
from swaprank.reporting.calibration import calibration_section
from swaprank.reporting.certification import certificate_section, make_certificate
from swaprank.reporting.distributions import distributions_section
from swaprank.reporting.importances import features_section
from swaprank.reporting.learning_curves import learning_section
from swaprank.reporting.markup import join, tag
from swaprank.reporting.measures import measures_section, tiles
from swaprank.reporting.page import make_page, notebook_frame
from swaprank.reporting.provenance import provenance_section
from swaprank.reporting.ranked_queries import check_qids, ranked_section
from swaprank.reporting.sources import FileTrace, data_from, ranker_from
from swaprank.reporting.subject import Section, Subject, make_subject
from swaprank.reporting.win_loss import win_loss_section
from swaprank.version import __version__

USUAL_METRICS = ("ndcg@10", "map", "mrr", "err")
"""Shown beside what the ranker learned for, if none are asked for."""

Step = Callable[[str, int, int], object]
"""Told what is begun, how many steps are done, and how many there are."""


@final
@dataclass(frozen=True, eq=False)
class Report:
    """A page, and the numbers that it was made from; a notebook shows it.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((30, 20), n_features=4, n_documents=10, random_state=0)
    >>> made = sr.report(sr.MART(n_trees=5).fit(train), test)
    >>> isinstance(made, sr.Report), made.html[:15]
    (True, '<!doctype html>')
    """

    html: str
    comparison: Comparison
    evaluation: Evaluation
    """Of the ranker; the baseline's is in the comparison."""
    certificate: Certificate | None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, or, on any error, nothing."""
        with replacing(path) as stream:
            stream.write(self.html.encode())

    def _repr_html_(self) -> str:
        return notebook_frame(self.html)

    def __repr__(self) -> str:
        first = self.evaluation.results[0]
        return f"Report({first.metric} {first.mean:.4f}, {len(self.html) / 1000:,.0f} kB)"


def report(
    ranker: Ranker | str | os.PathLike[str],
    data: Dataset | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    *,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    convention: str = "standard",
    baseline: Ranker | str | os.PathLike[str] | None = None,
    baseline_feature: str | None = None,
    qids: Sequence[Any] = (),
    train: Dataset | str | os.PathLike[str] | None = None,
    certify: Certificate | bool | None = None,
    title: str | None = None,
    progress: Step | None = None,
) -> Report:
    """Show all there is to know of a ranker on one page: one file that works offline, prints, and reads on a phone.

    Args:
        ranker: A fitted ranker, or a model file.
        data: Judged documents that it has not learned from, or a file of them.
        path: Where to write the page; `Report.save` writes it later.
        metrics: What is measured; the page goes by the first. What the ranker learned for, NDCG@10, MAP, MRR and ERR
            if None.
        convention: What the names of metrics mean.
        baseline: A ranker or a model file to compare with.
        baseline_feature: A feature to compare with instead; "-price" ranks by the smallest price first. If neither is
            given, the feature that alone does best on this data.
        qids: Queries whose ranked lists are shown; if none, those of the best, the median and the worst one.
        train: What the ranker learned from, if it is to be described, and certified.
        certify: A certificate to show, or whether to make one: on `train`, else on the data itself. If None, one is
            made for small training data.
        title: The page's; the ranker's kind and the data's name if None.
        progress: Called before every step with what is begun, the steps done, and how many there are.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((30, 20), n_features=4, n_documents=10, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=5).fit(train)
    >>> made = sr.report(ranker, test, metrics=["ndcg@10", "map"], baseline_feature="2")
    >>> made.evaluation["map"].mean == sr.evaluate(test, ranker.predict(test), "map")["map"].mean
    True
    """
    if path is not None:
        given = (ranker, data, baseline, train)
        writable_target(path, [each for each in given if isinstance(each, str | os.PathLike)])
    if baseline is not None and baseline_feature is not None:
        raise ParameterError("give a baseline or a baseline_feature, not both.")
    told = _Told(progress)
    told("reading")
    model, model_file = ranker_from(ranker)
    judged, data_file = data_from(data, model)
    learned, train_file = (None, None) if train is None else data_from(train, model)
    check_qids(judged, qids)
    told("scoring and comparing")
    measured = _metrics(model, judged, metrics, convention)
    against = _baseline(judged, measured[0], baseline, baseline_feature)
    subject = make_subject(model, judged, measured, against, _model_name(model, model_file))
    told("certifying")
    found = make_certificate(model, learned, judged, subject.metric, certify)
    sets = [("Data", judged, data_file)]
    if learned is not None:
        sets.append(("Training data", learned, train_file))
    on = "data of its own" if isinstance(certify, Certificate) else _set_name(sets[-1][2], sets[-1][0].lower())
    makers: list[tuple[str, Callable[[], Section]]] = [
        ("measures", lambda: measures_section(subject)),
        ("learning curves", lambda: learning_section(subject)),
        ("query by query", lambda: win_loss_section(subject)),
        ("ranked lists", lambda: ranked_section(subject, qids)),
        ("features", lambda: features_section(subject)),
        ("calibration", lambda: calibration_section(subject)),
        ("distributions", lambda: distributions_section(subject)),
        ("certificate", lambda: certificate_section(found, on)),
        ("provenance", lambda: provenance_section(model, model_file, sets)),
    ]
    sections = [told.run(*maker) for maker in makers]
    heading = title or f"{subject.name} on {_set_name(data_file, f'{judged.n_queries:,} queries')}"
    html = make_page(heading, _below(subject), tiles(subject), sections, f"Made by swaprank {__version__}.")
    made = Report(str(html), subject.comparison, subject.evaluation, found if isinstance(found, Certificate) else None)
    if path is not None:
        made.save(path)
    return made


class _Told:
    """Counts the steps that are begun."""

    n_steps = 12

    def __init__(self, progress: Step | None) -> None:
        self.progress, self.done = progress, 0

    def __call__(self, what: str) -> None:
        if self.progress is not None:
            self.progress(what, self.done, self.n_steps)
        self.done += 1

    def run(self, what: str, make: Callable[[], Section]) -> Section:
        self(what)
        return make()


def _metrics(
    ranker: Ranker, data: Dataset, asked: str | Metric | Iterable[str | Metric] | None, convention: str
) -> list[Metric]:
    if asked is not None:
        return parse_metrics(asked, convention)
    own = ranker.metric
    chosen: list[Metric] = []
    for metric in (own, *USUAL_METRICS):
        try:
            (parsed,) = parse_metrics(metric, convention)
            # Some labels are none for some metrics, and a metric of the user's own is not in a model file.
            evaluate(data, data.labels, parsed)
        except MetricError:
            continue
        if str(parsed) not in map(str, chosen):
            chosen.append(parsed)
    if not chosen:
        raise MetricError("none of the usual metrics can be measured on these labels: name some with metrics.")
    return chosen


def _baseline(
    data: Dataset, metric: Metric, baseline: Ranker | str | os.PathLike[str] | None, feature: str | None
) -> Baseline:
    if feature is not None:
        return feature_baseline(data, feature)
    if baseline is None:
        return best_feature(data, metric)
    ranker, file = ranker_from(baseline)
    return Baseline(_model_name(ranker, file), ranker.predict(data_from(data, ranker)[0]))


def _model_name(ranker: Ranker, file: FileTrace | None) -> str:
    return type(ranker).__name__ if file is None else Path(file.name).stem


def _set_name(file: FileTrace | None, otherwise: str) -> str:
    return otherwise if file is None else file.name


def _below(subject: Subject) -> Any:
    ranker = subject.ranker
    kind = tag("b", type(ranker).__name__)
    learned = str(ranker.metric) if isinstance(ranker.metric, Metric) else ranker.metric
    return join([kind, f", {ranker.size_}, learned for {learned}; compared with ", tag("bdi", subject.baseline), "."])
