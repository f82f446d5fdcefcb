"""A fitted click model: it predicts and simulates clicks, and knows the relevance of documents without features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from swaprank.arrays import AnyArray, Floats, Ints
from swaprank.clicks.bias.propensities import Propensities
from swaprank.clicks.learning.training_data import pair_data
from swaprank.clicks.logs.click_counts import sums
from swaprank.clicks.logs.click_log import ClickLog
from swaprank.clicks.models.browsing_em import Browsing
from swaprank.clicks.models.cascade_fit import Cascade, going_on
from swaprank.clicks.models.click_model_names import MODELS, Assumptions
from swaprank.clicks.models.click_model_score import ClickModelScore, score_rows
from swaprank.clicks.models.click_prediction import Chances, click_chances, drawn_clicks, examined_rows
from swaprank.clicks.models.shown_pages import Pages, pages_of, same_pairs
from swaprank.clicks.models.shrinkage import PairRates
from swaprank.data.dataset import Dataset
from swaprank.errors import DataError, ParameterError
from swaprank.rendering.result import Result
from swaprank.rendering.tables import Blocks, Table, counted, decimals
from swaprank.seeds import RandomState, random_generator
from swaprank.threads import thread_count


@final
@dataclass(frozen=True, eq=False, repr=False)
class ClickModel(Result):
    """A click model, as `fit_model` finds it. Its data frame has the relevance of each (query, document) pair.

    Relevance is the probability of a click on a document that is examined, as at the top of a page. Documents that
    were seldom shown are drawn towards the others of their query. The 95% intervals are those of a click rate with as
    many observations as the document was examined [Clopper1934]; the examination is taken as known.

    >>> import swaprank as sr
    >>> log = sr.clicks.ClickLog(
    ...     session=[1, 1, 2, 2, 3, 3], qid=[7] * 6, docid=["a", "b", "b", "a", "a", "b"], position=[1, 2] * 3,
    ...     click=[1, 0, 1, 1, 1, 0],
    ... )
    >>> model = sr.clicks.fit_model(log, "dcm")
    >>> model.to_frame().round(2)
       qid docid  shown  clicks  relevance   low  high
    0    7     a      3       3       0.79  0.36  0.98
    1    7     b      3       1       0.67  0.24  0.95
    """

    name: str
    qids: AnyArray
    pair_query: Ints
    pair_docid: AnyArray
    shown: Ints
    """How often each pair was shown."""
    clicks: Ints
    """How often each pair was clicked."""
    places: Ints
    """The positions that the model knows."""
    fitted: Browsing | Cascade
    examined: Floats
    """Certain examinations that would tell as much about each pair; imaginary observations included."""
    n_sessions: int
    n_parameters: int

    @property
    def relevance(self) -> Floats:
        """P(click | examined) of each pair of the log that the model was fitted on."""
        self._check_documents()
        return self.fitted.attraction.rate

    @property
    def low(self) -> Floats:
        """The lower ends of 95% intervals of the relevance."""
        from scipy.special import betaincinv

        clicks, rest = self.examined * self.relevance, self.examined * (1.0 - self.relevance)
        return np.asarray(betaincinv(clicks, rest + 1.0, 0.025))

    @property
    def high(self) -> Floats:
        """The upper ends."""
        from scipy.special import betaincinv

        clicks, rest = self.examined * self.relevance, self.examined * (1.0 - self.relevance)
        return np.asarray(betaincinv(clicks + 1.0, rest, 0.975))

    @property
    def satisfaction(self) -> Floats | None:
        """P(somebody who clicks needs no other document) of each pair; only "sdbn" and "dbn" have it."""
        rates = self.fitted.satisfaction if isinstance(self.fitted, Cascade) else None
        return None if rates is None else rates.rate

    def probabilities(self, log: ClickLog, n_threads: int | None = None) -> Floats:
        """The probability of a click in each row of a log, given the clicks above it on the same page.

        Documents that the model has not seen have the mean relevance of their query, or of all if it is new, too.
        """
        pages, chances = self._of(log)
        return click_chances(pages, chances, examined_rows(pages, chances, thread_count(n_threads)))

    def evaluate(self, log: ClickLog, n_threads: int | None = None) -> ClickModelScore:
        """Log-likelihood, bits a row and perplexity by place, best on a log that the model was not fitted on."""
        chance = self.probabilities(log, n_threads)
        return score_rows(self.name, log.n_sessions, log.position, log.click > 0, chance)

    def simulate(self, log: ClickLog, random_state: RandomState = None, n_threads: int | None = None) -> ClickLog:
        """The same pages with new clicks, 0 or 1, drawn from the model; clicks of the given log play no role."""
        pages, chances = self._of(log)
        draws = random_generator(random_state).random(log.n_rows)
        clicks = drawn_clicks(pages, chances, draws, thread_count(n_threads))
        return log._with(click=clicks.astype(np.float64))

    def propensities(self) -> Propensities:
        """The examination of each position, for `unbiased` and `evaluate`; only of "pbm" and of browsing models.

        That of a user browsing model is the mean over the clicks above as they were in its log. `position_bias` has
        intervals, and draws no document towards others; so prefer it if the position-based model holds.
        """
        kind = MODELS[self.name]
        if not isinstance(self.fitted, Browsing) or not (kind.documents and kind.examination):
            why = (
                "whether a document is examined depends on the documents above it, not on its position alone. Train "
                "with model.training_data(log) instead"
                if kind.is_cascade
                else "it has no examination. Fit 'pbm' or 'ubm'"
            )
            raise ParameterError(f"the model '{self.name}' has no propensities: {why}.")
        if not np.array_equal(self.places, np.arange(1, len(self.places) + 1)):
            raise DataError("the log that the model was fitted on does not have all positions from 1 on, up to 100.")
        seen = self.fitted.seen
        mean = (self.fitted.examination * seen).sum(axis=(1, 2)) / seen.sum(axis=(1, 2))
        by = "position-based model" if kind.examination == "place" else "user browsing model, mean over clicks above"
        return Propensities(mean / mean[0], method=f"by a {by}, from {counted(self.n_sessions, 'session', 'sessions')}")

    def training_data(self, log: ClickLog, n_threads: int | None = None) -> Dataset:
        """Training data as of `unbiased`, with the examination of this model: it may depend on the clicks above.

        The label of a document is its number of clicks over the expected number of examinations, up to 1. It is not
        drawn towards other documents: a ranker would learn from documents that were hardly seen that they are average.

        Args:
            log: Clicks with features: those that the model was fitted on, or others.
            n_threads: The number of threads. The default is all cores. The result does not depend on it.
        """
        self._check_documents()
        pages, chances = self._of(log)
        examined = examined_rows(pages, chances, thread_count(n_threads))
        clicks = sums(log.document, pages.click.astype(np.float64), log.n_pairs)
        chance = sums(log.document, examined, log.n_pairs)
        shown = np.flatnonzero(chance)
        sessions = np.bincount(log.query, minlength=log.n_queries)
        weights = sessions[sessions > 0] / sessions[sessions > 0].mean()
        return pair_data(log, shown, np.minimum(clicks[shown] / chance[shown], 1.0), weights)

    def _check_documents(self) -> None:
        if not MODELS[self.name].documents:
            raise ParameterError(f"the model '{self.name}' has no relevance: all documents are the same to it.")

    def _of(self, log: ClickLog) -> tuple[Pages, Chances]:
        """The pages of a log, and the model with the numbers of its pairs."""
        pages = pages_of(log, self.places)
        pairs, queries = same_pairs((self.qids, self.pair_query, self.pair_docid), log)
        return pages, chances_on(
            MODELS[self.name], self.fitted, pages, len(self.places), pairs, queries[log.pair_query]
        )

    def _blocks(self) -> Blocks:
        blocks: list[Table | str] = []
        if isinstance(self.fitted, Browsing):
            if MODELS[self.name].examination in ("place", "last click", "clicks above"):
                blocks.append(_examination_table(self.fitted, self.places.tolist()))
        else:
            blocks += _going_on_blocks(MODELS[self.name], self.fitted, self.places.tolist())
        title = MODELS[self.name].title
        return [
            *blocks,
            f"{self.name} ({title}): {counted(self.n_parameters, 'parameter', 'parameters')}, fitted on "
            f"{counted(self.n_sessions, 'session', 'sessions')} in {counted(self.fitted.rounds, 'round', 'rounds')}.",
        ]

    def _values(self) -> Mapping[str, Any]:
        fitted = self.fitted
        more = (
            {"examination": fitted.examination}
            if isinstance(fitted, Browsing)
            else {"patience": fitted.patience, "after_click": fitted.after_click}
        )
        sizes = {"n_sessions": self.n_sessions, "n_parameters": self.n_parameters, "rounds": fitted.rounds}
        return {"model": self.name, **sizes, **more, "documents": self._columns()}

    def _columns(self) -> Mapping[str, list[Any]]:
        kept = np.flatnonzero(self.shown)
        columns: dict[str, AnyArray] = {
            "qid": self.qids[self.pair_query],
            "docid": self.pair_docid,
            "shown": self.shown,
            "clicks": self.clicks,
        }
        if MODELS[self.name].documents:
            columns |= {"relevance": self.relevance, "low": self.low, "high": self.high}
        if self.satisfaction is not None:
            columns["satisfaction"] = self.satisfaction
        return {name: column[kept].tolist() for name, column in columns.items()}


def chances_on(
    kind: Assumptions, fitted: Browsing | Cascade, pages: Pages, n_places: int, pairs: Ints, queries: Ints
) -> Chances:
    """A model with the numbers of the pairs of some pages: given their numbers and their queries' in the model."""
    attraction = _known_or_mean(fitted.attraction, pairs, queries)
    if isinstance(fitted, Browsing):
        return Chances(attraction, fitted.examination, 1.0, np.empty(0), np.empty(0, np.int64))
    rates = fitted.satisfaction
    numbers = fitted.after_click if rates is None else _known_or_mean(rates, pairs, queries)
    after = going_on(kind, attraction, numbers, fitted.patience, n_places)
    unit = pages.place if kind.after_click in ("place", "never") else pages.pair
    return Chances(attraction, np.empty((0, 0, 0)), fitted.patience, after, unit)


def _known_or_mean(rates: PairRates, pairs: Ints, queries: Ints) -> Floats:
    """The rate of each pair; that of its query if it is unknown, and the overall one if the query is, too."""
    of_query = np.where(queries >= 0, rates.of_query[queries], rates.overall)
    return np.where(pairs >= 0, rates.rate[pairs], of_query)


def _examination_table(fitted: Browsing, places: list[int]) -> Table:
    """The examination at each position; and by the position of the last click, for all numbers of clicks above."""
    seen = fitted.seen.sum(axis=2)
    mean = (fitted.examination * fitted.seen).sum(axis=2) / np.where(seen > 0, seen, np.nan)
    if mean.shape[1] == 1:
        return Table(
            ["position", "examination"], [[str(k), decimals(e)] for k, e in zip(places, mean[:, 0], strict=True)]
        )
    last = min(len(places), 10)
    header = ["position", "no click above", *(f"at {k}" for k in places[: last - 1])]
    rows = [[str(k), *(decimals(e) for e in row[:last])] for k, row in zip(places, mean.tolist(), strict=True)]
    return Table(header, rows, note="Examination, by the position of the last click above; 1 at the top.")


def _going_on_blocks(kind: Assumptions, fitted: Cascade, places: list[int]) -> list[Table | str]:
    if kind.after_click == "place":
        rows = [[str(k), decimals(p)] for k, p in zip(places, fitted.after_click.tolist(), strict=True)]
        return [Table(["position", "goes on after a click"], rows)]
    words = []
    if kind.impatient:
        words.append(f"{fitted.patience:.1%} go on after a document that they did not click.")
    if kind.after_click == "relevance":
        unlike, like = fitted.after_click.tolist()
        words.append(f"After a click, {unlike:.1%} go on from a document of relevance 0, {like:.1%} from one of 1.")
    if fitted.satisfaction is not None:
        words.append(f"{fitted.satisfaction.overall:.1%} of clicks satisfy, in the mean of the documents.")
    return [" ".join(words)] if words else []
