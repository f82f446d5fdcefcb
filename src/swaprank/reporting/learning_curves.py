"""Learning curves: what was measured round after round, and what this data says of every stage of a forest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from swaprank.arrays import Floats
from swaprank.data.dataset import Dataset
from swaprank.errors import MetricError
from swaprank.metrics.binding import bind_metric
from swaprank.metrics.metric import Metric
from swaprank.metrics.parse import metric as parse_metric
from swaprank.models.forest_scoring import staged_scores
from swaprank.rankers.net_ranker import NetRanker
from swaprank.rankers.ranker import Ranker
from swaprank.rankers.tree_ranker import TreeRanker
from swaprank.rendering.text_tables import decimals
from swaprank.reporting.data_samples import query_sample
from swaprank.reporting.markup import Html, join, paragraph, table, tag
from swaprank.reporting.plots import MOST_POINTS, MOST_ZONES, Axes, Line, chart, legend, lines, thinned, upright
from swaprank.reporting.scales import scale_of
from swaprank.reporting.subject import Section, Subject

_STAGES = 40
_STAGED_DOCUMENTS = 20_000
"""Documents whose score after every stage is in memory."""
_STYLES = ("s0", "s1", "s2", "s3", "s4")
_MOST_LINES = len(_STYLES)
_HERE = "this data"


def learning_section(subject: Subject) -> Section:
    """A chart a metric, with a line a data set.

    >>> import swaprank as sr
    >>> from swaprank.reporting.learning_curves import learning_section
    >>> from swaprank.reporting.subject import make_subject
    >>> (data,) = sr.datasets.random_net((20,), n_features=3, n_documents=10, random_state=0)
    >>> subject = make_subject(sr.MART(n_trees=2).fit(data), data, "map")
    >>> "No round was measured" in learning_section(subject).body
    True
    """
    ranker, charts = subject.ranker, []
    staged = staged_line(ranker, subject.data, subject.metric)
    by_metric = curves(ranker.history_)
    if staged is not None:
        by_metric.setdefault(str(subject.metric), []).append(staged)
    unit = "tree" if isinstance(ranker, TreeRanker) else "epoch" if isinstance(ranker, NetRanker) else "round"
    # Model files sort their histories by name; what the page goes by comes first.
    for metric, series in sorted(by_metric.items(), key=lambda item: item[0] != str(subject.metric)):
        charts.append(_chart(metric, series[:_MOST_LINES], unit, kept_round(ranker)))
    body = tag("div", *charts, class_="pair") if len(charts) > 1 else join(charts)
    return Section("learning", "Learning curves", join([paragraph(_words(subject, unit), class_="lead"), body]))


def curves(history: Mapping[str, list[float]]) -> dict[str, list[Line]]:
    """The lines of every metric out of "set metric"; a round counts from 1.

    >>> from swaprank.reporting.learning_curves import curves
    >>> {metric: [line.name for line in lines] for metric, lines in curves({"my set map": [0.1, 0.2]}).items()}
    {'map': ['my set']}
    """
    found: dict[str, list[Line]] = {}
    for key, values in history.items():
        if values:
            name, metric = _split(key)
            lines = found.setdefault(metric, [])
            x = np.arange(1, len(values) + 1, dtype=np.float64)
            lines.append(Line(name, x, np.array(values, dtype=np.float64), _STYLES[len(lines) % _MOST_LINES]))
    return found


def staged_line(ranker: Ranker, data: Dataset, metric: Metric) -> Line | None:
    """The metric on this data after some numbers of trees; None for what is no forest of two trees or more.

    >>> import swaprank as sr
    >>> from swaprank.reporting.learning_curves import staged_line
    >>> train, test = sr.datasets.random_net((30, 20), n_features=5, random_state=0)
    >>> ranker = sr.LambdaMART(n_trees=3).fit(train)
    >>> line = staged_line(ranker, test, sr.metric("ndcg@10"))
    >>> line.x.tolist(), line.y[-1] == ranker.score(test)
    ([1.0, 2.0, 3.0], np.True_)
    """
    if not isinstance(ranker, TreeRanker) or ranker.n_trees_ < 2:
        return None
    part = query_sample(data, _STAGED_DOCUMENTS)
    stages = thinned(ranker.n_trees_, _STAGES) + 1
    bound = bind_metric(metric, part)
    scores = staged_scores(ranker.forest_, part.features, stages, ranker.n_threads)
    base = 0.0 if part.base_score is None else part.base_score
    values = [bound.mean(part.by_query(row + base), n_threads=ranker.n_threads) for row in scores]
    name = _HERE if part is data else f"{_HERE}, {part.n_queries:,} queries"
    return Line(name, stages.astype(np.float64), np.array(values), "here")


def kept_round(ranker: Ranker) -> int | None:
    """The round that the model is of, where that is known.

    >>> import swaprank as sr
    >>> from swaprank.reporting.learning_curves import kept_round
    >>> train, vali = sr.datasets.random_net((30, 20), n_features=5, random_state=0)
    >>> kept_round(sr.LambdaMART(n_trees=3).fit(train, valid=vali))
    3
    """
    if isinstance(ranker, TreeRanker):
        return ranker.n_trees_
    return ranker.best_epoch_ if isinstance(ranker, NetRanker) else None


def _split(key: str) -> tuple[str, str]:
    """A set's name may have spaces, and so may a metric's: the longest end that is a metric is one."""
    words = key.split(" ")
    for at in range(1, len(words)):
        try:
            parse_metric(" ".join(words[at:]))
        except MetricError:
            continue
        return " ".join(words[:at]), " ".join(words[at:])
    name, _, metric = key.partition(" ")
    return name, metric or "measure"


def _words(subject: Subject, unit: str) -> str:
    ranker = subject.ranker
    recorded = {key: values for key, values in ranker.history_.items() if values}
    kept = kept_round(ranker)
    if not recorded:
        text = "No round was measured while it learned: fit(…, valid=…) records learning curves."
    else:
        n_rounds = max(len(values) for values in recorded.values())
        text = f"{n_rounds:,} {unit}{'s' if n_rounds > 1 else ''} measured while it learned."
        if kept is not None:
            text += f" The model is that of {unit} {kept:,}." if unit == "epoch" else f" The model keeps {kept:,}."
    if isinstance(ranker, TreeRanker) and ranker.n_trees_ > 1:
        text += f" The line of {_HERE} was measured now, stage by stage: no choice was made by it."
    return text


def _chart(metric: str, series: list[Line], unit: str, kept: int | None) -> Html:
    series = [_thin(line) for line in series]
    every_x = np.unique(np.concatenate([line.x for line in series]))
    axes = Axes(
        scale_of(every_x, pad=0.0),
        scale_of(np.concatenate([line.y for line in series]), pad=0.08),
        f"{unit}s",
        metric,
        None if len(every_x) > 1 else [(float(every_x[0]), f"{every_x[0]:g}")],
    )
    places = every_x[thinned(len(every_x), MOST_ZONES)]
    tips = [(float(x), "\n".join([f"{unit} {x:,.0f}", *_values_at(series, x)])) for x in places]
    rows = [[f"{x:,.0f}", *(_value_at(line, x) for line in series)] for x in places[thinned(len(places), 40)]]
    marks = [lines(series, axes, tips)]
    if kept is not None and axes.x.low <= kept < axes.x.high:
        marks.insert(0, upright(axes, kept, "kept"))
    return chart(
        f"{metric}, {unit} by {unit}",
        f"Line chart of {metric} over {len(every_x)} {unit}s: " + "; ".join(map(_ends, series)),
        axes,
        join(marks),
        legend=legend((line.style, line.name) for line in series),
        numbers=table([unit, *(line.name for line in series)], rows, left=0),
        class_="tall",
    )


def _thin(line: Line) -> Line:
    kept = thinned(len(line.x), MOST_POINTS)
    # The best round is what everybody looks for: it is never thinned away.
    if np.isfinite(line.y).any():
        kept = np.union1d(kept, [np.nanargmax(line.y)])
    return Line(line.name, line.x[kept], line.y[kept], line.style)


def _value_at(line: Line, x: float) -> str:
    at: Floats = line.y[line.x == x]
    return decimals(float(at[0])) if len(at) else ""


def _values_at(series: list[Line], x: float) -> list[str]:
    return [f"{line.name}  {value}" for line in series if (value := _value_at(line, x))]


def _ends(line: Line) -> str:
    known = line.y[np.isfinite(line.y)]
    if not len(known):
        return f"{line.name} has no value"
    first, last, best = (decimals(float(value)) for value in (known[0], known[-1], known.max()))
    return f"{line.name} from {first} to {last}, at best {best}"
