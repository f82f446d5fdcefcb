"""Serves the page to this machine only: bound to the loopback address, with a random token in its address."""

import json
import os
import secrets
import socketserver
import threading
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, final
from urllib.parse import parse_qs, urlsplit

import swaprank as sr
from swaprank.errors import DataError, Hint, ParameterError, SwaprankError
from swaprank.rendering.result import plain
from swaprank.reporting.explorer import fragments
from swaprank.reporting.explorer.exploration import Exploration, make_exploration
from swaprank.reporting.explorer.query_lists import NotFoundError, QueryLists

_HOST = "127.0.0.1"
_MOST_ROWS = 500
"""How many queries one answer has at most."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Arguments = Mapping[str, str]


def explore(
    data: sr.Dataset,
    rankings: Mapping[str, Any],
    metrics: str | sr.metrics.Metric | Iterable[str | sr.metrics.Metric] | None = None,
    *,
    convention: str = "standard",
    title: str | None = None,
    port: int = 0,
    open_browser: bool = True,
) -> "Explorer":
    """Open a local page to look at queries: wins and losses, both rankings side by side, why, and what if.

    The page is served to this machine only, by a thread of this process, until `Explorer.close` or its end.

    Args:
        data: Judged documents.
        rankings: One or two rankings by name: a fitted ranker, the name of a side column or feature, scores, or a TREC
            run. The first is compared with the second; without a second, with the best single feature.
        metrics: The metrics to choose from. If None, the metric that the first ranker was trained for, or NDCG@10.
        convention: The convention of metric names.
        title: The title of the page. If None, the names of the rankings.
        port: The port of the page; 0 is any free one.
        open_browser: Whether to open the page in a browser.

    >>> import swaprank as sr
    >>> train, test = sr.datasets.random_net((30, 20), n_features=4, n_documents=10, random_state=0)
    >>> rankings = {"new": sr.LambdaMART(n_trees=5).fit(train), "old": "1"}
    >>> with sr.reporting.explore(test, rankings, "ndcg@5", open_browser=False) as explorer:
    ...     explorer.url.startswith("http://127.0.0.1:")
    True
    """
    exploration = make_exploration(data, rankings, metrics, convention=convention)
    new, old = (ranking.name for ranking in exploration.rankings)
    explorer = Explorer(exploration, title or f"{new} against {old}", port)
    if open_browser:
        webbrowser.open(explorer.url)
    return explorer


@final
class Explorer:
    """A page that is served until it is closed; a context manager closes it.

    >>> import swaprank as sr
    >>> data = sr.Dataset([[1, 2], [2, 1]], [1, 0], qid=[7, 7])
    >>> explorer = sr.reporting.explore(data, {"new": "1", "old": "2"}, "mrr", open_browser=False)
    >>> isinstance(explorer, sr.reporting.Explorer)
    True
    >>> explorer.close()
    """

    def __init__(self, exploration: Exploration, title: str, port: int = 0) -> None:
        if not 0 <= port <= 65535:
            raise ParameterError(Hint("port"), f" must be from 0 to 65535; found {port}.")
        token = secrets.token_urlsafe(18)
        page = str(fragments.explore_page(exploration, title))
        try:
            self._server = _Server((_HOST, port), partial(_Handler, exploration, page, token))
        except OSError as error:
            reason = f"port {port} cannot be used: {(error.strerror or str(error)).lower()}. Choose another with "
            raise ParameterError(reason, Hint("port"), ", or leave it out for a free one.") from None
        self.url = f"http://{_HOST}:{self._server.server_address[1]}/{token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, name="swaprank-explore", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the page is closed, or until Ctrl-C, which closes it."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Explorer({self.url})"


@final
class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # On Windows, this would let two programs use one port.
    allow_reuse_address = os.name != "nt"

    def server_bind(self) -> None:
        # HTTPServer would look up the name of the machine, which can take seconds.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _HOST, self.server_address[1]


@final
class _Handler(BaseHTTPRequestHandler):
    def __init__(self, exploration: Exploration, page: str, token: str, *request: Any) -> None:
        self.exploration, self.page, self.token = exploration, page, token
        super().__init__(*request)

    def do_GET(self) -> None:
        """Answer with the page, or with a part of it as JSON."""
        _, port = self.connection.getsockname()
        if self.headers.get("Host") not in (f"{_HOST}:{port}", f"localhost:{port}"):
            # Another site could have its name resolve to this machine.
            return self._fail(HTTPStatus.FORBIDDEN, "this page is served to this machine only.")
        asked = urlsplit(self.path)
        _, token, *rest = asked.path.split("/", 2)
        if not secrets.compare_digest(token.encode(), self.token.encode()) or not rest:
            return self._fail(HTTPStatus.NOT_FOUND, "there is no such page: open the address with its token.")
        if rest == [""]:
            return self._send(HTTPStatus.OK, "text/html", self.page)
        answer = _ANSWERS.get(rest[0])
        if answer is None:
            return self._fail(HTTPStatus.NOT_FOUND, "there is no such page.")
        given = {name: values[-1] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        try:
            found = json.dumps(plain(answer(self.exploration, given)))
        except NotFoundError as error:
            return self._fail(HTTPStatus.NOT_FOUND, str(error))
        except SwaprankError as error:
            return self._fail(HTTPStatus.BAD_REQUEST, str(error))
        return self._send(HTTPStatus.OK, "application/json", found)

    def log_message(self, format: str, *values: Any) -> None:
        """Print nothing."""

    def _fail(self, status: HTTPStatus, reason: str) -> None:
        self._send(status, "application/json", json.dumps({"error": reason}))

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except ConnectionError:
            self.close_connection = True  # the page was closed meanwhile


def _whole(given: Arguments, name: str, default: int | None = None) -> int:
    text = given.get(name, "" if default is None else str(default))
    if not text.isdecimal():
        raise DataError(f"'{name}' must be a whole number; found '{text}'.")
    return int(text)


def _lists(exploration: Exploration, given: Arguments) -> QueryLists:
    return QueryLists(exploration, _whole(given, "query"), _metric(exploration, given))


def _metric(exploration: Exploration, given: Arguments) -> int:
    metric = _whole(given, "metric", 0)
    if metric >= len(exploration.metrics):
        raise DataError(f"there is no metric number {metric}; there are {len(exploration.metrics)}.")
    return metric


def _ranking(given: Arguments) -> int:
    ranking = _whole(given, "ranking", 0)
    if ranking > 1:
        raise DataError(f"there is no ranking number {ranking}; there are two.")
    return ranking


def _queries(exploration: Exploration, given: Arguments) -> dict[str, Any]:
    metric, prefix = _metric(exploration, given), "segment:"
    segments = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    found = exploration.chosen(metric, given.get("order", "loss"), given.get("text", ""), segments)
    first, change = _whole(given, "first", 0), exploration.changes(metric)
    shown = found[first : first + min(_whole(given, "count", 100), _MOST_ROWS)]
    titles = [texts for name, texts in exploration.attributes.items() if name not in exploration.segments]
    known = abs(change[change == change])
    return {
        "total": len(found),
        "reach": float(known.max()) if len(known) else 0.0,
        "summary": fragments.summary(exploration, metric) if first == 0 else None,
        "queries": [
            {
                "query": query,
                "id": str(exploration.data.qids[query]),
                "text": " · ".join(texts[query] for texts in titles if len(set(texts)) > 1),
                "new": exploration.values[metric, 0, query],
                "old": exploration.values[metric, 1, query],
                "change": change[query],
            }
            for query in shown.tolist()
        ],
    }


def _query(exploration: Exploration, given: Arguments) -> dict[str, Any]:
    lists, shown = _lists(exploration, given), _whole(given, "shown", fragments.SHOWN)
    found = lists.lists()
    return {
        "id": str(exploration.data.qids[lists.query]),
        "lists": [{"name": each.name, "value": each.value, "documents": each.rows[:shown]} for each in found],
        "html": fragments.query_view(lists, _metric(exploration, given), shown),
    }


def _document(exploration: Exploration, given: Arguments) -> dict[str, Any]:
    lists, ranking, document = _lists(exploration, given), _ranking(given), _whole(given, "document")
    lists.check_document(document)
    return {
        "swaps": fragments.swap_texts(lists.swap_gains(ranking, document)),
        "html": fragments.document_view(lists, ranking, document),
    }


def _pair(exploration: Exploration, given: Arguments) -> dict[str, Any]:
    lists, ranking = _lists(exploration, given), _ranking(given)
    pair = lists.pair(ranking, _whole(given, "a"), _whole(given, "b"))
    places = {"above": pair.above, "below": pair.below, "swap_gain": pair.swap_gain}
    return {**pair.why.to_dict(), **places, "html": fragments.pair_view(lists, ranking, pair)}


def _edit(exploration: Exploration, given: Arguments) -> dict[str, Any]:
    lists = _lists(exploration, given)
    prefix = "value:"
    values = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    edit = lists.edit(_ranking(given), _whole(given, "document"), values)
    return {**edit._asdict(), "html": fragments.edit_view(lists, edit)}


_ANSWERS: Mapping[str, Callable[[Exploration, Arguments], dict[str, Any]]] = {
    "queries": _queries,
    "query": _query,
    "document": _document,
    "pair": _pair,
    "edit": _edit,
}
