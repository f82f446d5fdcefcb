"""Counters of a server in the text format of Prometheus, in memory that all workers share.

Every worker adds to a row of its own, so nothing is locked; whoever is asked sums the rows. All label values are known
when the server starts, so every counter has its place in a row.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, product
from typing import NamedTuple, final

from swaprank.arrays import Ints
from swaprank.serving.models import Models, Served
from swaprank.serving.seen_ranges import KINDS
from swaprank.serving.shared_arrays import shared_zeros
from swaprank.version import __version__

ROUTES = ("rank", "score", "models", "reload", "health", "ready", "metrics", "openapi", "docs", "other")
STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 422, 499, 500, 503)
"""499: the client left before its answer."""
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The bounds of the histogram of latency."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OTHER = "other"
_HISTOGRAM = "swaprank_request_seconds"

Labels = tuple[str, ...]


class Family(NamedTuple):
    """Counters that differ in their labels."""

    name: str
    help: str
    labels: tuple[str, ...]
    values: tuple[Sequence[str], ...]
    """The values of each label."""
    kind: str = "counter"


@final
class Metrics:
    """Counters of all workers.

    Args:
        models: The served models.
        n_workers: The number of workers.
    """

    def __init__(self, models: Models, n_workers: int = 1) -> None:
        self._models = models
        self._families = _families(models.names)
        self._places: dict[tuple[str, Labels], int] = {}
        for family in self._families:
            for labels in product(*family.values):
                self._places[family.name, labels] = len(self._places)
        self._latency = {labels: at for at, labels in enumerate(product(("rank", "score"), models.names))}
        self._drift_start = {}
        n_drift = 0
        for served in models:
            self._drift_start[served.name] = n_drift
            n_drift += len(served.scorer.feature_names)
        self._counts = shared_zeros((n_workers, len(self._places)), "float64")
        self._times = shared_zeros((n_workers, len(self._latency), len(SECONDS) + 2), "float64")
        self._drift = shared_zeros((n_workers, n_drift, len(KINDS)), "int64")
        self.worker = 0
        """The row of this process."""

    def start_worker(self, worker: int) -> None:
        """Count for this worker from now on, in the place of the one that had its row before."""
        self.worker = worker
        self._counts[worker, self._places["swaprank_requests_in_progress", ()]] = 0

    def add(self, name: str, *labels: str, amount: float = 1.0) -> None:
        """Add to a counter."""
        self._counts[self.worker, self._places[name, labels]] += amount

    def add_request(self, route: str, model: str, status: int, seconds: float) -> None:
        """Count an answer, and the time that it took."""
        said = str(status) if status in STATUSES else _OTHER
        self.add("swaprank_requests_total", route, model, said)
        at = self._latency.get((route, model))
        if at is not None:
            times = self._times[self.worker, at]
            times[bisect_left(SECONDS, seconds)] += 1
            times[-1] += seconds

    def add_drift(self, served: Served, counts: Ints, n_documents: int) -> None:
        """Count unusual values of a sampled request."""
        start = self._drift_start[served.name]
        self._drift[self.worker, start : start + len(served.scorer.feature_names)] += counts
        self.add("swaprank_sampled_documents_total", served.name, amount=n_documents)

    def text(self) -> str:
        """What Prometheus reads."""
        return "\n".join(chain(self._plain(), self._histogram(), self._values(), self._info())) + "\n"

    def _plain(self) -> Iterable[str]:
        totals = self._counts.sum(axis=0)
        for family in self._families:
            yield from _head(family.name, family.help, family.kind)
            for labels in product(*family.values):
                total = totals[self._places[family.name, labels]]
                if total or len(family.labels) < 3:  # Most combinations of routes, models and statuses never occur.
                    yield _line(family.name, family.labels, labels, total)

    def _histogram(self) -> Iterable[str]:
        yield from _head(_HISTOGRAM, "Time to answer, from the headers to the last byte.", "histogram")
        totals, names = self._times.sum(axis=0), ("route", "model")
        for labels, at in self._latency.items():
            below = totals[at, :-1].cumsum()
            if below[-1]:
                for bound, count in zip((*map(str, SECONDS), "+Inf"), below, strict=True):
                    yield _line(f"{_HISTOGRAM}_bucket", (*names, "le"), (*labels, bound), count)
                yield _line(f"{_HISTOGRAM}_sum", names, labels, totals[at, -1])
                yield _line(f"{_HISTOGRAM}_count", names, labels, below[-1])

    def _values(self) -> Iterable[str]:
        """Unusual values, and their shares in training, for the features that have any."""
        totals, labels = self._drift.sum(axis=0), ("model", "feature", "kind")
        shares = []
        yield from _head(
            "swaprank_feature_values_total",
            "Values of sampled documents: missing, outside, new.",
            "counter",
        )
        for served in self._models:
            if served.ranges is None:
                continue
            counts = totals[self._drift_start[served.name] :]
            for at, feature in enumerate(served.scorer.feature_names):
                for kind, name in enumerate(KINDS):
                    share, values = served.ranges.shares[at, kind], (served.name, feature, name)
                    if counts[at, kind]:
                        yield _line("swaprank_feature_values_total", labels, values, counts[at, kind])
                    if share or counts[at, kind]:
                        shares.append(_line("swaprank_training_share", labels, values, share))
        yield from _head("swaprank_training_share", "The share of such values in the training data.", "gauge")
        yield from shares

    def _info(self) -> Iterable[str]:
        yield from _head("swaprank_model_info", "The models that answer now, in the worker that was asked.", "gauge")
        for served in self._models:
            ranker = served.scorer.ranker
            yield _line(
                "swaprank_model_info",
                ("model", "version", "digest", "ranker", "size"),
                (served.name, served.version, served.digest, ranker.kind, ranker.size_),
                1,
            )
        yield from _head("swaprank_model_loaded_timestamp_seconds", "When the model was loaded.", "gauge")
        for served in self._models:
            yield _line(
                "swaprank_model_loaded_timestamp_seconds", ("model",), (served.name,), served.loaded.timestamp()
            )
        yield from _head("swaprank_build_info", "The version of swaprank.", "gauge")
        yield _line("swaprank_build_info", ("version",), (__version__,), 1)
        yield from _head("swaprank_workers", "Processes that answer.", "gauge")
        yield _line("swaprank_workers", (), (), len(self._counts))


def _families(models: tuple[str, ...]) -> tuple[Family, ...]:
    statuses = (*map(str, STATUSES), _OTHER)
    return (
        Family("swaprank_requests_total", "Answers.", ("route", "model", "status"), (ROUTES, ("", *models), statuses)),
        Family("swaprank_requests_in_progress", "Requests to rank or score under way.", (), (), "gauge"),
        Family("swaprank_documents_total", "Documents that were scored and answered.", ("model",), (models,)),
        Family(
            "swaprank_errors_total",
            "What went wrong on our side: internal errors, pages that could not be logged, shadows that failed.",
            ("kind",),
            (("internal", "pages", "shadow"),),
        ),
        Family(
            "swaprank_reloads_total",
            "Changed model files that were taken, or refused.",
            ("model", "outcome"),
            (models, ("ok", "failed")),
        ),
        Family("swaprank_pages_logged_total", "Pages in the page log.", ("model",), (models,)),
        Family("swaprank_shadowed_total", "Requests that the shadow ranked, too.", ("model",), (models,)),
        Family("swaprank_shadow_same_first_total", "Those with the same first document.", ("model",), (models,)),
        Family(
            "swaprank_sampled_documents_total", "Documents that were compared with training.", ("model",), (models,)
        ),
    )


def _head(name: str, text: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Sequence[str], values: Sequence[str], number: float) -> str:
    given = ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True))
    shown = int(number) if number == int(number) else float(number)
    return f"{name}{{{given}}} {shown}" if given else f"{name} {shown}"


def _escaped(value: str) -> str:
    r"""As the format asks for; a name may have any character.

    >>> from swaprank.serving.metrics import _escaped
    >>> print(_escaped('price "net"'))
    price \"net\"
    """
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
