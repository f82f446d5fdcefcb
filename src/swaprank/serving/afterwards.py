"""What the client of an answer need not wait for: counters, the shadow's ranking, the page log."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, final

from swaprank.errors import SwaprankError
from swaprank.serving.answering import Answer, Answering, Page
from swaprank.serving.metrics import Metrics
from swaprank.serving.page_log import PageLog
from swaprank.serving.request_errors import RequestError
from swaprank.serving.settings import Settings
from swaprank.serving.structured_logs import log

_LOGGED_PLACES = 10

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


@final
class Afterwards:
    """What follows an answer."""

    def __init__(self, answering: Answering, metrics: Metrics, settings: Settings) -> None:
        self._answering, self._metrics = answering, metrics
        self._shadow = settings.shadow
        self._pages = None if settings.pages is None else PageLog(settings.pages)

    async def follow(self, answer: Answer, request_id: str, in_thread: InThread) -> None:
        """Count, rank by the shadow, and log."""
        name = answer.served.name
        self._metrics.add("swaprank_documents_total", name, amount=len(answer.rows))
        if answer.drift is not None:
            self._metrics.add_drift(answer.served, answer.drift, len(answer.rows))
        attributes: dict[str, Any] = {"variant": name, "version": answer.served.version}
        if answer.shown and self._shadow not in (None, name):
            places = await self._ranked_by_shadow(str(self._shadow), answer, request_id, in_thread)
            ids = answer.asked.ids
            if places and ids:
                attributes["shadow"] = {"model": self._shadow, "hit_ids": [ids[place] for place in places]}
        if answer.page is not None and self._pages is not None:
            await self._log_page(self._pages, answer.page, attributes, request_id, in_thread)

    async def _ranked_by_shadow(
        self, shadow: str, answer: Answer, request_id: str, in_thread: InThread
    ) -> list[int] | None:
        try:
            places: list[int] = await in_thread(partial(self._answering.ranked_by, shadow, answer))
        except (SwaprankError, RequestError) as error:
            self._metrics.add("swaprank_errors_total", "shadow")
            log(logging.WARNING, "shadow failed", request_id=request_id, model=shadow, error=str(error))
            return None
        self._metrics.add("swaprank_shadowed_total", shadow)
        self._metrics.add("swaprank_shadow_same_first_total", shadow, amount=float(places[0] == answer.shown[0]))
        found = {"model": answer.served.name, "shown": answer.shown[:_LOGGED_PLACES]}
        log(logging.INFO, "shadow", request_id=request_id, **found, shadow=shadow, ranked=places[:_LOGGED_PLACES])
        return places

    async def _log_page(
        self, pages: PageLog, page: Page, attributes: dict[str, Any], request_id: str, in_thread: InThread
    ) -> None:
        try:
            await in_thread(partial(pages.add, page.query_id, page.query, page.documents, page.session, attributes))
        except OSError as error:
            self._metrics.add("swaprank_errors_total", "pages")
            log(logging.ERROR, "page not logged", request_id=request_id, file=str(pages.path), error=str(error))
        else:
            self._metrics.add("swaprank_pages_logged_total", attributes["variant"])
