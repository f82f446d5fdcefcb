"""An answer from a request: the model that gives it, its scores, and what is remembered of it."""

from itertools import count
from typing import Any, NamedTuple, final

import msgspec
import numpy as np

from swaprank.arrays import Features, Floats, Ints
from swaprank.serving.models import Models, Served
from swaprank.serving.request_bodies import Asked, asked, rows_of
from swaprank.serving.settings import Settings
from swaprank.serving.split import Split


class Page(NamedTuple):
    """A page that is logged."""

    query_id: str
    query: str
    session: str | None
    documents: list[str]
    """The ids of the shown documents, best first."""


class Answer(NamedTuple):
    """The body of an answer, and how it came about."""

    content: bytes
    served: Served
    asked: Asked
    rows: Features
    shown: list[int]
    """The places of the shown documents, best first; none for plain scores."""
    page: Page | None = None
    """None if the page is not logged."""
    drift: Ints | None = None
    """Counts of unusual values, if the request was sampled."""


@final
class Answering:
    """Answers of several models. Any number of threads may ask."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models, self._settings = models, settings
        self._split = Split(models.names[0], settings.split)
        self._count, self._every = count(), round(1 / settings.drift_share) if settings.drift_share else 0

    def answer(
        self, route: str, name: str | None, content_type: str, body: bytes, given: dict[str, str], query_id: str
    ) -> Answer:
        """Rank or score the documents of a request.

        Args:
            route: "rank" or "score".
            name: The model that was asked for; None for the one that the split says.
            content_type: That of the body.
            body: The documents.
            given: The parameters of the address.
            query_id: An id for the page, in case it is logged.
        """
        request = asked(route, content_type, body, given)
        served = self._models[self._split.model_of(request.session) if name is None else name]
        rows = rows_of(request, served.scorer, self._settings.limits.documents)
        if route == "score":
            scores = np.atleast_1d(served.scorer.predict(rows))
            content = msgspec.json.encode({"model": served.name, "scores": scores.tolist()})
            return Answer(content, served, request, rows, [], None, self._drift(served, request, rows))
        scores = np.empty(len(rows))
        places = served.scorer.rank(rows, request.k, out=scores)
        shown = places.tolist()
        page = self._page(request, shown, name, query_id)
        content = _content(served, request, shown, scores[places], page)
        return Answer(content, served, request, rows, shown, page, self._drift(served, request, rows))

    def _page(self, request: Asked, shown: list[int], name: str | None, query_id: str) -> Page | None:
        """A page needs a query and ids; under a split also a session: whom nobody assigned is no part of the test."""
        if self._settings.pages is None or not request.ids or not request.query:
            return None
        if name is None and self._settings.split and request.session is None:
            return None
        return Page(query_id, request.query, request.session, [request.ids[place] for place in shown])

    def _drift(self, served: Served, request: Asked, rows: Features) -> Ints | None:
        """Counts of unusual values, if the request is one of the sample. The scorer has checked its rows before."""
        if served.ranges is None or not self._every or next(self._count) % self._every:
            return None
        documents, named = request.documents, None
        if served.ranges.categorical and not isinstance(documents, bytes):
            found = documents if isinstance(documents, list) else documents.to_pylist()
            named = found if isinstance(found[0], dict) else None
        return served.ranges.unusual(rows, named, served.scorer.feature_names)

    def ranked_by(self, name: str, answer: Answer) -> list[int]:
        """The places of the same documents as another model ranks them; an error if it cannot score them."""
        scorer, rows = self._models[name].scorer, answer.rows
        if not isinstance(answer.asked.documents, bytes):
            # Categories have other codes, and names other places, in another model.
            rows = rows_of(answer.asked, scorer, self._settings.limits.documents)
        places: list[int] = scorer.rank(rows, answer.asked.k).tolist()
        return places


def _content(served: Served, request: Asked, shown: list[int], scores: Floats, page: Page | None) -> bytes:
    content: dict[str, Any] = {"model": served.name, "places": shown, "scores": scores.tolist()}
    if request.ids is not None:
        content["ids"] = [request.ids[place] for place in shown]
    if page is not None:
        content["query_id"] = page.query_id
    return msgspec.json.encode(content)
