"""The section of learning curves: metrics after each round of training, and on the test data by number of trees."""

import numpy as np

import swaprank as sr
from swaprank.arrays import Floats
from swaprank.metrics.metric import bind_metric
from swaprank.rankers.learned import History
from swaprank.rendering.tables import decimals
from swaprank.reporting import plots
from swaprank.reporting.markup import Html, join, table, tag
from swaprank.reporting.subject import Section, Subject, query_sample, section

_STAGES = 40
_STAGED_DOCUMENTS = 20_000
"""Size of the sample whose scores after each stage are kept in memory."""
_STYLES = ("s0", "s1", "s2", "s3", "s4")
_MOST_LINES = len(_STYLES)
_HERE = "this data"


def learning_section(subject: Subject) -> Section:
    """One chart per metric, with one line per data set.

    >>> import swaprank as sr
    >>> from swaprank.reporting.learning_curves import learning_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "No round was measured" in learning_section(subject).body
    True
    """
    ranker, charts = subject.ranker, []
    unit = ranker.can.round_name
    staged = staged_line(ranker, subject.data, subject.metric)
    by_metric = curves(ranker.history_)
    if staged is not None:
        by_metric.setdefault(str(subject.metric), []).append(staged)
    # The stages of a forest include those of its base ranker.
    kept = ranker.model_.n_stages or ranker.best_round_
    # Model files sort histories by name. The metric of the report comes first.
    for metric, series in sorted(by_metric.items(), key=lambda item: item[0] != str(subject.metric)):
        charts.append(_chart(metric, series[:_MOST_LINES], unit, kept))
    body = tag("div", *charts, class_="pair") if len(charts) > 1 else join(charts)
    return section("learning", "Learning curves", _words(subject, unit), body)


def curves(history: History) -> dict[str, list[plots.Line]]:
    """The lines of each metric, one per data set. Rounds are counted from 1.

    >>> from swaprank.reporting.learning_curves import curves
    >>> {metric: [line.name for line in lines] for metric, lines in curves({"my set": {"map": [0.1, 0.2]}}).items()}
    {'map': ['my set']}
    """
    found: dict[str, list[plots.Line]] = {}
    for name, of_set in history.items():
        for metric, values in of_set.items():
            if values:
                lines = found.setdefault(metric, [])
                x = np.arange(1, len(values) + 1, dtype=np.float64)
                style = _STYLES[len(lines) % _MOST_LINES]
                lines.append(plots.Line(name, x, np.array(values, dtype=np.float64), style))
    return found


def staged_line(ranker: sr.Ranker, data: sr.Dataset, metric: sr.metrics.Metric) -> plots.Line | None:
    """The metric on this data by number of trees; None if the model has fewer than two stages.

    >>> import swaprank as sr
    >>> from swaprank.reporting.learning_curves import staged_line
    >>> train, test = sr.datasets.random_net((30, 20), n_features=5, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=3).fit(train)
    >>> line = staged_line(ranker, test, sr.metric("ndcg@10"))
    >>> line.x.tolist(), line.y[-1] == ranker.score(test)
    ([1.0, 2.0, 3.0], np.True_)
    """
    if ranker.model_.n_stages < 2:
        return None
    part = query_sample(data, _STAGED_DOCUMENTS)
    stages = plots.thinned(ranker.model_.n_stages, _STAGES) + 1
    bound = bind_metric(metric, part)
    scores = ranker.model_.staged_scores(part.features, stages, ranker.n_threads)
    base = 0.0 if part.base_score is None else part.base_score
    values = [bound.mean(part.by_query(row + base), n_threads=ranker.n_threads) for row in scores]
    name = _HERE if part is data else f"{_HERE}, {part.n_queries:,} queries"
    return plots.Line(name, stages.astype(np.float64), np.array(values), "here")


def _words(subject: Subject, unit: str) -> str:
    ranker = subject.ranker
    lengths = [len(values) for of_set in ranker.history_.values() for values in of_set.values()]
    n_rounds = max(lengths, default=0)
    if n_rounds == 0:
        text = "No round was measured during training; a validation set given to it records learning curves."
    else:
        text = f"{n_rounds:,} {unit}{'s' if n_rounds > 1 else ''} measured during training."
        text += f" The model of {unit} {ranker.best_round_:,} is kept."
    if ranker.model_.n_stages > 1:
        text += f" The line of {_HERE} was computed for this report and did not influence training."
    return text


def _chart(metric: str, series: list[plots.Line], unit: str, kept: int | None) -> Html:
    series = [_thin(line) for line in series]
    every_x = np.unique(np.concatenate([line.x for line in series]))
    axes = plots.Axes(
        plots.scale_of(every_x, pad=0.0),
        plots.scale_of(np.concatenate([line.y for line in series]), pad=0.08),
        f"{unit}s",
        metric,
        None if len(every_x) > 1 else [(float(every_x[0]), f"{every_x[0]:g}")],
    )
    places = every_x[plots.thinned(len(every_x), plots.MOST_ZONES)]
    tips = [(float(x), "\n".join([f"{unit} {x:,.0f}", *_values_at(series, x)])) for x in places]
    rows = [[f"{x:,.0f}", *(_value_at(line, x) for line in series)] for x in places[plots.thinned(len(places), 40)]]
    marks = [plots.lines(series, axes, tips)]
    if kept is not None and axes.x.low <= kept < axes.x.high:
        marks.insert(0, plots.upright(axes, kept, "kept"))
    return plots.chart(
        f"{metric}, {unit} by {unit}",
        f"Line chart of {metric} over {len(every_x)} {unit}s: " + "; ".join(map(_ends, series)),
        axes,
        join(marks),
        legend=plots.legend((line.style, line.name) for line in series),
        numbers=table([unit, *(line.name for line in series)], rows, left=0),
        class_="tall",
    )


def _thin(line: plots.Line) -> plots.Line:
    kept = plots.thinned(len(line.x), plots.MOST_POINTS)
    # Readers look for the best round, so it is always kept.
    if np.isfinite(line.y).any():
        kept = np.union1d(kept, [np.nanargmax(line.y)])
    return plots.Line(line.name, line.x[kept], line.y[kept], line.style)


def _value_at(line: plots.Line, x: float) -> str:
    at: Floats = line.y[line.x == x]
    return decimals(float(at[0])) if len(at) else ""


def _values_at(series: list[plots.Line], x: float) -> list[str]:
    return [f"{line.name}  {value}" for line in series if (value := _value_at(line, x))]


def _ends(line: plots.Line) -> str:
    known = line.y[np.isfinite(line.y)]
    if not len(known):
        return f"{line.name} has no value"
    first, last, best = (decimals(float(value)) for value in (known[0], known[-1], known.max()))
    return f"{line.name} from {first} to {last}, maximum {best}"
