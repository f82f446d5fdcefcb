"""Sums over workers by XGBoost's collective: a ring of sockets, which a tracker brings together.

    add(values)  ─►  request  ─►  one thread of ours: XGBoost's communicator belongs to the thread that started it
                 ◄─  done     ◄─

A process that ends closes its sockets. Its neighbours in the ring notice at once and close theirs, and so on: all
workers raise ClusterError within milliseconds. XGBoost cannot tell a worker that computes for long from one whose
machine is gone, so the caller watches for silence and calls `abandon`.
"""

from collections.abc import Mapping
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, final

from swaprank.arrays import Ints, row_blocks
from swaprank.collective import Collective
from swaprank.errors import ClusterError, import_extra

_PIECE = 2**20
"""XGBoost copies what it adds up: 8 MB at a time."""
_LONGEST_STEP = 86_400
"""Seconds that a worker waits for the others; whoever runs the workers ends them sooner."""


@final
class Request:
    """One array to be added up, or None to say goodbye."""

    def __init__(self, values: Ints | None) -> None:
        self.values = values
        self.done = Event()
        self.error: Exception | None = None


@final
class XGBoostCollective(Collective):
    """A worker of a group with a `Tracker`. Join it first; close it at the end, or abandon it after an error."""

    def __init__(self, tracker: Mapping[str, Any], rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._tracker = dict(tracker)
        self._requests: SimpleQueue[Request] = SimpleQueue()
        self._current: Request | None = None
        self._reason: str | None = None

    def join(self) -> None:
        """Wait for all others."""
        started = Request(None)
        # A daemon: if it waits for a machine that is gone, the process must be able to end.
        Thread(target=self._serve, args=(started,), daemon=True, name="swaprank-collective").start()
        self._finish(started)

    def add(self, values: Ints) -> None:
        """See `Collective`."""
        for piece in row_blocks(values.size, _PIECE):
            self._finish(self._request(values.reshape(-1)[piece]))

    def close(self) -> None:
        """Leave the group, when all others do."""
        self._finish(self._request(None))

    def abandon(self, reason: str) -> None:
        """End whatever waits for the others with a ClusterError; it may be called from any thread, more than once."""
        if self._reason is None:
            self._reason = reason
            self._requests.put(Request(None))
            if self._current is not None:
                self._current.done.set()

    def _request(self, values: Ints | None) -> Request:
        request = Request(values)
        self._requests.put(request)
        return request

    def _finish(self, request: Request) -> None:
        self._current = request
        if self._reason is None:
            request.done.wait()
        if self._reason is not None:
            raise ClusterError(self._reason)
        if request.error is not None:
            self._reason = f"worker {self.rank} of {self.size} has lost the others: one of them has ended."
            raise ClusterError(self._reason) from request.error

    def _serve(self, started: Request) -> None:
        """Take part in the group until there is an error, or nothing more to add."""
        collective = imported_collective()
        import xgboost

        # Of this thread: what happens to the group is told by our errors, not by its warnings.
        xgboost.set_config(verbosity=0)
        request = started
        try:
            # Ranks are given in the order of these names.
            name = f"{self.rank:06d}"
            collective.init(**self._tracker, dmlc_task_id=name, dmlc_timeout=_LONGEST_STEP, dmlc_retry=1)
            started.done.set()
            while self._reason is None:
                request = self._requests.get()
                if request.values is None:
                    break
                request.values[:] = collective.allreduce(request.values, collective.Op.SUM)
                request.done.set()
            if self._reason is None:
                with suppress(Exception):  # Everything was added up: it does not matter who leaves first.
                    collective.finalize()
        except Exception as error:
            request.error = error
        # The sockets are closed as soon as this thread ends, and so the neighbours learn of an error.
        request.done.set()


def imported_collective() -> Any:
    """The module of XGBoost; MissingExtraError if it is not installed."""
    needed = "training with Dask needs XGBoost's collective: pip install 'swaprank[dask]'"
    return import_extra("xgboost.collective", needed)
