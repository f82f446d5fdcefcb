"""The application: routes to answers."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, final

import msgspec
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from swaprank.errors import SwaprankError
from swaprank.serving.afterwards import Afterwards
from swaprank.serving.answering import Answer, Answering
from swaprank.serving.api_page import api_page
from swaprank.serving.body_reading import LastResponse, read_body
from swaprank.serving.metrics import CONTENT_TYPE, Metrics
from swaprank.serving.models import Models
from swaprank.serving.observing import Draining, Observed, error_content, new_id
from swaprank.serving.openapi import openapi
from swaprank.serving.reloading import Reloader
from swaprank.serving.request_errors import RequestError
from swaprank.serving.settings import Settings

Endpoint = Callable[[Request], Awaitable[Response]]


@final
class Service:
    """Models behind HTTP: everything that the workers of a server share, made before they start."""

    def __init__(self, models: Models, settings: Settings) -> None:
        settings.check(models.names)
        self.models, self.settings = models, settings
        self.metrics = Metrics(models, settings.workers)
        self.reloader = Reloader(models, self.metrics, settings.watch_seconds)
        self.draining = Draining()
        self._answering = Answering(models, settings)
        self._afterwards = Afterwards(self._answering, self.metrics, settings)
        self._under_way = 0
        self._threads: ThreadPoolExecutor | None = None

    def app(self) -> Starlette:
        """The application of one worker."""
        routes = [
            *(_route(f"/{route}", route, partial(self._answer, route, None), "POST") for route in ("rank", "score")),
            *(
                _route(f"/models/{{name}}/{route}", route, partial(self._answer_by_name, route), "POST")
                for route in ("rank", "score")
            ),
            _route("/models", "models", self._list_models),
            _route("/models/{name}", "models", self._describe_model),
            _route("/models/{name}/reload", "reload", self._reload, "POST"),
            _route("/health", "health", self._health),
            _route("/ready", "ready", self._ready),
            _route("/metrics", "metrics", self._metrics_text),
            _route("/openapi.json", "openapi", self._openapi),
            _route("/docs", "docs", self._docs),
        ]
        app = Starlette(
            routes=routes,
            middleware=[Middleware(Observed, metrics=self.metrics, draining=self.draining)],
            exception_handlers={HTTPException: _refuse, RequestError: _refuse},
            lifespan=self._alive,
        )
        app.router.redirect_slashes = False
        return app

    @asynccontextmanager
    async def _alive(self, app: Starlette) -> AsyncIterator[None]:
        with ThreadPoolExecutor(self.settings.threads, "rank") as self._threads:
            watching = asyncio.create_task(self.reloader.watch())
            yield
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _answer_by_name(self, route: str, request: Request) -> Response:
        return await self._answer(route, self._known(request), request)

    async def _answer(self, route: str, name: str | None, request: Request) -> Response:
        if self._under_way >= self.settings.limits.requests:
            raise RequestError(503, "too many requests are under way: try again.", {"Retry-After": "1"}, closes=True)
        self._count(+1)
        request.scope["swaprank"].at_end = partial(self._count, -1)
        return await self._answered(route, name, request)

    async def _answered(self, route: str, name: str | None, request: Request) -> Response:
        call = request.scope["swaprank"]
        call.model = name or ""
        body = await read_body(request, self.settings.limits)
        kind, given = request.headers.get("content-type", ""), dict(request.query_params)
        try:
            answer: Answer = await self._in_thread(
                partial(self._answering.answer, route, name, kind, body, given, new_id())
            )
        except SwaprankError as error:
            raise RequestError(422, str(error)) from None
        call.model, call.documents = answer.served.name, len(answer.rows)
        follow = BackgroundTask(self._afterwards.follow, answer, call.request_id, self._in_thread)
        return Response(answer.content, media_type="application/json", background=follow)

    def _count(self, change: int) -> None:
        self._under_way += change
        self.metrics.add("swaprank_requests_in_progress", amount=change)

    def _known(self, request: Request) -> str:
        name: str = request.path_params["name"]
        if name not in self.models.names:
            raise RequestError(404, f"no model is named '{name[:80]}'; /models lists them.", closes=True)
        return name

    async def _list_models(self, request: Request) -> Response:
        settings = self.settings
        rest = 1 - sum(settings.split.values())
        shares = {self.models.names[0]: rest, **settings.split}
        return _json(
            [
                {
                    **served.description(),
                    "share": shares.get(served.name, 0.0),
                    "shadow": served.name == settings.shadow,
                }
                for served in self.models
            ]
        )

    async def _describe_model(self, request: Request) -> Response:
        return _json(self.models[self._known(request)].description())

    async def _reload(self, request: Request) -> Response:
        token = self.settings.token
        if token is None:
            raise RequestError(403, "reloading by HTTP is off: start the server with a token.", closes=True)
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
            raise RequestError(401, "the token is missing or wrong.", {"WWW-Authenticate": "Bearer"}, closes=True)
        name = self._known(request)
        done = await asyncio.to_thread(self.reloader.reload_everywhere, name)
        if done.outcome == "failed":
            raise RequestError(500, f"the old model stays: {done.error}")
        return _json({"model": name, "outcome": done.outcome, "version": done.served.version})

    async def _health(self, request: Request) -> Response:
        return _json({"status": "alive"})

    async def _ready(self, request: Request) -> Response:
        """Models are loaded and warm before the port is open, so only the end makes the server not ready."""
        if self.draining.is_on:
            raise RequestError(503, "the server is about to end.")
        return _json({"status": "ready", "models": {served.name: served.version for served in self.models}})

    async def _metrics_text(self, request: Request) -> Response:
        return Response(self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})

    async def _openapi(self, request: Request) -> Response:
        return _json(openapi(self.models, self.settings))

    async def _docs(self, request: Request) -> Response:
        return HTMLResponse(api_page(openapi(self.models, self.settings)))


def _route(path: str, name: str, endpoint: Endpoint, method: str = "GET") -> Route:
    """A route that says its name to the log and to the counters."""

    async def named(request: Request) -> Response:
        request.scope["swaprank"].route = name
        return await endpoint(request)

    return Route(path, named, methods=[method])


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    """The answer that says why there is no other."""
    if not isinstance(error, RequestError):
        error = _not_here(request, error)
    content = error_content(error.message, request.scope["swaprank"].request_id)
    kind = LastResponse if error.closes and request.method in ("POST", "PUT", "PATCH") else Response
    return kind(content, error.status, error.headers, "application/json")


def _not_here(request: Request, error: Any) -> RequestError:
    """The error for an address or a method that does not exist."""
    known = "/docs describes what there is"
    texts = {404: f"there is nothing here; {known}.", 405: f"{request.method} is not possible here; {known}."}
    text = texts.get(error.status_code, f"{error.detail}.")
    return RequestError(error.status_code, text, dict(error.headers or {}), closes=True)
