"""Online learning on simulated people: how fast a ranker gets better, and what people see meanwhile."""

from dataclasses import dataclass
from typing import Any, final, get_args

import numpy as np

from swaprank.arrays import Floats
from swaprank.clicks.experiments.online_people import People, simulate_sessions
from swaprank.clicks.simulation import ClickModel
from swaprank.data.dataset import Dataset
from swaprank.elementary import exp, exp2, log
from swaprank.parameters import Bounds, check_parameter, check_word
from swaprank.rankers.online import OnlineRanker, Page
from swaprank.rankers.ranker import Ranker
from swaprank.rendering.figures import axes_for, finish_chart
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, decimals

__all__ = ["OnlineLearning", "OnlineRanker", "Page", "learn_online"]

_POINTS = 16
"""Measurements of the curve; they divide the logarithm of the number of sessions evenly."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class OnlineLearning(Result):
    """A ranker that learned online, and its curve; prints as a table, and has a plot.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_search((50, 50), n_documents=10, random_state=0)
    >>> learned = sr.clicks.learn_online(sr.clicks.OnlineRanker(), train, 1000, test=test)
    >>> len(learned.sessions) == len(learned.values), learned.sessions[-1]
    (True, 1000)
    """

    ranker: OnlineRanker
    metric: str
    sessions: tuple[int, ...]
    """Numbers of sessions after which the ranker was measured; the first is 0."""
    values: tuple[float, ...]
    """The metric of the ranker on the test data after so many sessions."""
    clicks: tuple[float, ...]
    """Clicks per session since the measurement before: what people had of it; NaN for the first."""

    def plot(self, ax: Any = None) -> Any:
        """Draw the metric against the number of sessions.

        Args:
            ax: The Matplotlib axes to draw on; new ones if None.

        Returns:
            The axes.
        """
        axes = axes_for(ax)
        axes.plot(self.sessions[1:], self.values[1:], marker="o", label=self.ranker.method)
        axes.set_xscale("log")
        return finish_chart(axes, f"{self.metric} while learning", "sessions", self.metric)

    def _blocks(self) -> Blocks:
        rows = [
            [f"{n:,}", decimals(value), decimals(clicks)]
            for n, value, clicks in zip(self.sessions, self.values, self.clicks, strict=True)
        ]
        return [Table(["sessions", self.metric, "clicks per session"], rows, left=0)]

    def _values(self) -> dict[str, Any]:
        return {"method": self.ranker.method, "metric": self.metric, **self._columns()}

    def _columns(self) -> dict[str, list[Any]]:
        return {"sessions": list(self.sessions), "values": list(self.values), "clicks": list(self.clicks)}


def learn_online(
    ranker: OnlineRanker,
    data: Dataset,
    n_sessions: int,
    *,
    test: Dataset | None = None,
    base: Ranker | None = None,
    model: ClickModel = "position",
    bias: float = 1.0,
    noise: float = 0.1,
    persistence: float = 0.9,
) -> OnlineLearning:
    """Let a ranker learn online from simulated people who search in judged documents.

    In each session, somebody asks a random query, is shown a page that the ranker chose, and clicks; the ranker learns
    from the clicks before the next session.

    Args:
        ranker: The ranker with its parameters, such as the method; it starts anew.
        data: Judged documents. People know the labels, as in `sr.datasets.clicks`; the ranker sees clicks only.
        n_sessions: The number of sessions.
        test: Judged documents to measure the ranker on; the default is `data`.
        base: A fitted linear ranker to start from; if None, all weights are 0.
        model: The way people click: "position", "cascade" or "dbn".
        bias: "position" only: place k is examined with probability (1/k)^bias.
        noise: The probability that a document of label 0 is found relevant.
        persistence: "dbn" only: the probability to go on to the next document.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_search((100, 100), n_documents=20, random_state=0)
    >>> learned = sr.clicks.learn_online(sr.clicks.OnlineRanker(), train, 10_000, test=test)
    >>> round(learned.values[0], 2), round(learned.values[-1], 2)
    (0.37, 0.87)
    """
    check_parameter("n_sessions", n_sessions, Bounds(True, 1, 2**40))
    check_parameter("bias", bias, Bounds(False, 0, np.inf))
    for name, share in (("noise", noise), ("persistence", persistence)):
        check_parameter(name, share, Bounds(False, 0, 1))
    check_word("click model", model, get_args(ClickModel))
    ranker.start(data, base)
    people = _people(data, model, ranker.n_shown, bias, noise, persistence)
    rows = np.arange(len(data)) if data.order is None else data.order
    features, rules = ranker.scaled(data.features, rows), ranker.rules()
    judged = data if test is None else test
    measured = [0, *np.unique(np.rint(np.geomspace(min(100, n_sessions), n_sessions, _POINTS)).astype(int)).tolist()]
    values, clicks = [ranker.score(judged)], [float("nan")]
    for first, last in zip(measured[:-1], measured[1:], strict=True):
        weights = ranker.standardized_weights_.copy()
        total = simulate_sessions(rules, features, data.indptr, people, ranker.n_shown, first, last, weights)
        ranker.keep(weights, last)
        values.append(ranker.score(judged))
        clicks.append(total / (last - first))
    return OnlineLearning(ranker, str(ranker.training_metric()), tuple(measured), tuple(values), tuple(clicks))


def _people(data: Dataset, model: ClickModel, n_shown: int, bias: float, noise: float, persistence: float) -> People:
    """The people of `sr.datasets.clicks`."""
    labels = data.by_query(data.labels)
    gain = np.array([exp2(label) - 1.0 for label in (labels - labels.min()).tolist()])
    gain /= max(gain.max(), 1.0)
    appeal, n = noise + (1.0 - noise) * gain, len(gain)
    if model == "position":
        examination: Floats = np.array([exp(-bias * log(float(place))) for place in range(1, n_shown + 1)])
        return People(appeal, np.zeros(n), examination, 1.0)
    if model == "cascade":
        return People(appeal, np.ones(n), np.ones(n_shown), 1.0)
    return People(appeal, gain, np.ones(n_shown), float(persistence))
