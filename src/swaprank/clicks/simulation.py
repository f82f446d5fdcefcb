"""Simulate people who click: on judged data, with a production ranker, and with the truth for comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, final, get_args

import numpy as np

from swaprank.arrays import AnyArray, Bools, Floats, Ints
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.logs.click_log import ClickLog, new_log
from swaprank.data.dataset import Dataset
from swaprank.data.grouping import deviation_within_lists, query_of_row
from swaprank.data.row_values import check_scores
from swaprank.errors import ParameterError
from swaprank.parameters import Bounds, check_parameter, check_word
from swaprank.seeds import random_generator

ClickModel = Literal["position", "cascade", "dbn"]
_BLOCK = 2_000_000
"""Scores that are drawn at a time."""


@final
@dataclass(frozen=True, eq=False)
class ClickTruth:
    """The truth behind a simulated log.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, truth = sr.datasets.clicks(data, data.column("match"), 1000, random_state=0)
    >>> truth.propensities.examination.round(2).tolist()[:4], len(truth.relevance) == log.n_pairs
    ([1.0, 0.5, 0.33, 0.25], True)
    """

    propensities: Propensities
    """The true position bias. Cascades have none of their own: the share of the sessions that examined each place."""
    relevance: Floats
    """The probability that people find a document relevant, one number per (query, document) pair of the log."""
    row: Ints
    """The row of each pair in the data set."""


class SimulatedClicks(NamedTuple):
    """A simulated log and its truth.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> sr.datasets.clicks(data, data.column("match"), 100, n_shown=3, random_state=0).log.n_rows
    300
    """

    log: ClickLog
    truth: ClickTruth


def simulate_clicks(
    data: Dataset,
    ranker: Any,
    n_sessions: int,
    *,
    model: ClickModel = "position",
    bias: float | Sequence[float] = 1.0,
    trust: float | tuple[Sequence[float], Sequence[float]] = 0.0,
    noise: float = 0.1,
    persistence: float = 0.9,
    n_shown: int = 10,
    moves: float = 0.5,
    swaps: float = 0.0,
    random_state: int | None = None,
) -> SimulatedClicks:
    """Simulate a click log on judged documents.

    In each session, somebody asks a random query, is shown the best documents of a production ranker, and clicks. A
    document of label y is found relevant with probability noise + (1 - noise) (2^y - 1) / (2^y_max - 1).

    Args:
        data: Judged documents. Without docid, documents are called by their row numbers.
        ranker: The production ranker: a fitted ranker, its scores, or a list of these, one of which ranks each session.
        n_sessions: The number of sessions.
        model: The way people click. "position": a document is examined with a probability that depends only on its
            place, and clicked if it is also found relevant. "cascade": people go down the list and stop at the first
            click. "dbn": they stop if a clicked document satisfies them, or if they lose patience [Chapelle2009].
        bias: "position" only: place k is examined with probability (1/k)^bias; or the probabilities of all places.
        trust: "position" only: examined documents that are not relevant are clicked with probability trust / k, because
            people trust the ranker; or (epsilon_plus, epsilon_minus), the probabilities of a click on examined
            documents that are relevant and that are not, for all places [Agarwal2019b].
        noise: The probability that a document of label 0 is found relevant.
        persistence: "dbn" only: the probability to go on to the next document.
        n_shown: The number of places on a page.
        moves: The change of places: noise of the ranker's scores in each session, relative to their
            standard deviation within a query. 0: they never move.
        swaps: The share of sessions in which two random neighbours are shown in a random order.
        random_state: The seed; the same seed gives the same log.

    Returns:
        The log, with the features of the documents, and the truth.

    >>> import swaprank as sr
    >>> (data,) = sr.datasets.random_search(20, random_state=0)
    >>> log, truth = sr.datasets.clicks(data, data.column("match"), 1000, random_state=0)
    >>> log
    ClickLog(1,000 sessions, 10,000 rows, 20 queries, 561 documents, positions 1 to 10, 9.7% clicked, 12 features)
    """
    check_word("click model", model, get_args(ClickModel))
    for name, number in (("n_sessions", n_sessions), ("n_shown", n_shown)):
        check_parameter(name, number, Bounds(True, 1, 2**62))
    for name, share in (("noise", noise), ("persistence", persistence), ("swaps", swaps)):
        check_parameter(name, share, Bounds(False, 0, 1))
    check_parameter("moves", moves, Bounds(False, 0, np.inf))
    rng = random_generator(random_state)
    scores = _all_scores(data, ranker)
    query, shown = _shown_pages(data, scores, n_sessions, n_shown, moves, swaps, rng)
    gain = np.exp2(data.labels - data.labels.min()) - 1.0
    gain /= max(gain.max(), 1.0)
    relevance = noise + (1.0 - noise) * gain
    is_shown = shown >= 0
    appeal = np.where(is_shown, relevance[shown], 0.0)
    if model == "position":
        propensities = _position_bias(n_shown, bias, trust)
        click = np.asarray(rng.random(appeal.shape) < propensities.alpha * appeal + propensities.beta)
    else:
        if model == "cascade":
            gain, persistence = np.ones_like(gain), 1.0
        click, examined = _cascade_clicks(appeal, gain[shown], persistence, is_shown, rng)
        propensities = Propensities(np.maximum(examined.sum(axis=0), 0.5) / examined[:, 0].sum())
    log, row = _as_log(data, query, shown, click)
    return SimulatedClicks(log, ClickTruth(propensities, relevance[row], row))


def _shown_pages(
    data: Dataset,
    scores: Sequence[Floats],
    n_sessions: int,
    n_shown: int,
    moves: float,
    swaps: float,
    rng: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Sessions of random queries, each ranked by one of the scores with normal noise, maybe with swapped neighbours.

    Returns:
        The query of each session, sorted; and the row of the data set at each place of each session, -1 where a query
        has fewer documents than places.
    """
    query = np.sort(rng.integers(data.n_queries, size=n_sessions))
    sessions = np.searchsorted(query, np.arange(data.n_queries + 1))
    # Noise is relative to how much scores differ within queries, so that `moves` means the same for all rankers.
    noise = [moves * deviation_within_lists(data.by_query(each), data.indptr) for each in scores]
    row = np.full((n_sessions, n_shown), -1, np.int64)
    for number, (first, last) in enumerate(zip(sessions[:-1], sessions[1:], strict=True)):
        rows = data.rows(number)
        size = max(1, _BLOCK // len(rows))
        for start in range(int(first), int(last), size):
            stop = min(int(last), start + size)
            ranker = rng.integers(len(scores), size=stop - start)
            given = np.stack([each[rows] for each in scores])[ranker]
            if moves > 0:
                given = given + np.array(noise)[ranker, None] * rng.standard_normal(given.shape, dtype=np.float32)
            row[start:stop, : len(rows)] = rows[_best(given, n_shown)]
    if swaps > 0:
        _swap_neighbours(row, swaps, rng)
    return query, row


def _best(scores: Floats, n: int) -> Ints:
    """The columns of the n largest scores of each row, largest first; equal scores keep their order."""
    if scores.shape[1] > 4 * n:
        # Sorted by column, so that the stable sort below keeps the order of equal scores.
        kept = np.sort(np.argpartition(-scores, n, axis=1)[:, :n], axis=1)
        order = np.argsort(-np.take_along_axis(scores, kept, axis=1), axis=1, kind="stable")
        return np.take_along_axis(kept, order, axis=1)
    return np.argsort(-scores, axis=1, kind="stable")[:, :n]


def _swap_neighbours(row: Ints, swaps: float, rng: np.random.Generator) -> None:
    """In a share of the sessions, show one random pair of neighbours in a random order [Radlinski2006]."""
    lengths = (row >= 0).sum(axis=1)
    chosen = np.flatnonzero((rng.random(len(row)) < swaps) & (lengths > 1))
    upper = rng.integers(lengths[chosen] - 1)
    swapped = rng.random(len(chosen)) < 0.5
    at, k = chosen[swapped], upper[swapped]
    row[at, k], row[at, k + 1] = row[at, k + 1], row[at, k]


def _cascade_clicks(
    appeal: Floats, satisfaction: Floats, persistence: float, is_shown: Bools, rng: np.random.Generator
) -> tuple[Bools, Bools]:
    """Clicks and examined places of people who go down the list [Chapelle2009, Section 3]."""
    examined = np.empty(appeal.shape, np.bool_)
    click = np.empty(appeal.shape, np.bool_)
    reading = np.ones(len(appeal), np.bool_)
    for k in range(appeal.shape[1]):
        examined[:, k] = reading & is_shown[:, k]
        click[:, k] = examined[:, k] & (rng.random(len(appeal)) < appeal[:, k])
        satisfied = click[:, k] & (rng.random(len(appeal)) < satisfaction[:, k])
        reading = examined[:, k] & ~satisfied & (rng.random(len(appeal)) < persistence)
    return click, examined


def _as_log(data: Dataset, query: Ints, shown: Ints, click: Bools) -> tuple[ClickLog, Ints]:
    """The log of all shown documents, and the row in the data of each (query, document) pair."""
    is_shown = shown >= 0
    row = shown[is_shown]
    lengths = is_shown.sum(axis=1)
    was_shown = np.zeros(len(data), np.bool_)
    was_shown[row] = True
    # Pairs are sorted by query, and so are queries that were never asked left out.
    grouped = np.arange(len(data)) if data.order is None else data.order
    pair_row = grouped[was_shown[grouped]]
    pair = np.empty(len(data), np.int64)
    pair[pair_row] = np.arange(len(pair_row))
    asked, query = np.unique(query, return_inverse=True)
    pair_query = np.searchsorted(asked, query_of_row(data.indptr, data.order)[pair_row])
    docid: AnyArray = np.arange(len(data)) if data.docid is None else data.docid
    log = new_log(
        session_ids=np.arange(len(lengths)),
        indptr=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        query=query.astype(np.int64),
        qids=data.qids[asked],
        document=pair[row],
        pair_query=pair_query,
        pair_docid=docid[pair_row],
        pair_indptr=np.concatenate(([0], np.cumsum(np.bincount(pair_query, minlength=len(asked))))).astype(np.int64),
        position=np.nonzero(is_shown)[1].astype(np.int32) + np.int32(1),
        click=click[is_shown].astype(np.float64),
        propensity=None,
        features=data.features[pair_row],
        feature_names=data.feature_names,
        categories=data.categories,
    )
    return log, pair_row


def _position_bias(n_shown: int, bias: Any, trust: Any) -> Propensities:
    place = np.arange(1, n_shown + 1)
    examination = (1.0 / place) ** bias if np.ndim(bias) == 0 else np.asarray(bias, dtype=np.float64)
    if examination.shape != (n_shown,) or not ((examination > 0) & (examination <= 1)).all():
        raise ParameterError(f"bias must be a number from 0, or {n_shown} probabilities above 0; found {bias!r}.")
    if np.ndim(trust) == 0:
        if not 0 <= trust < 1:
            raise ParameterError(f"trust must be a number from 0 to below 1; found {trust!r}.")
        return Propensities(
            examination,
            epsilon_plus=None if trust == 0 else np.ones(n_shown),
            epsilon_minus=None if trust == 0 else trust / place,
        )
    return Propensities(examination, epsilon_plus=trust[0], epsilon_minus=trust[1])


def _all_scores(data: Dataset, ranker: Any) -> list[Floats]:
    """The scores of each production ranker, in row order."""
    given = ranker if isinstance(ranker, list | tuple) else []
    several = len(given) > 0 and (hasattr(given[0], "predict") or np.ndim(given[0]) == 1)
    rankers: Sequence[Any] = ranker if several else [ranker]
    return [check_scores(each.predict(data) if hasattr(each, "predict") else each, len(data)) for each in rankers]
