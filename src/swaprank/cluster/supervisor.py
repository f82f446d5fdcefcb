"""Watch the workers of a training: an error within seconds instead of waiting for ever.

A process that ends is noticed by its neighbours at once. What they cannot see is a machine that is gone or a process
that is stopped: it sends no heartbeats to the scheduler.
"""

from collections.abc import Sequence
from time import monotonic
from typing import Any, final

from swaprank.errors import ClusterError

CHECK_SECONDS = 1.0
SILENCE_SECONDS = 30.0
"""A worker without a heartbeat for so long is taken for dead; it sends two a second, fewer on large clusters."""
_ANSWER_SECONDS = 20.0


@final
class Supervisor:
    """Watches workers through the scheduler: those of one training, or all that there are."""

    def __init__(self, client: Any, workers: Sequence[str] | None = None) -> None:
        self._client, self._workers = client, workers
        self._last: dict[str, tuple[float, float]] = {}
        self._checked = monotonic()

    def check(self, *, now: bool = False) -> None:
        """Raise ClusterError if a worker or the scheduler is gone or silent; asks once a second at most."""
        if not now and monotonic() - self._checked < CHECK_SECONDS:
            return
        self._checked = monotonic()
        present = heartbeats(self._client)
        watched = list(present) if self._workers is None else self._workers
        gone = [worker for worker in watched if worker not in present]
        if gone:
            raise ClusterError(f"the {_worker_text(gone)} of the Dask cluster has ended.")
        # The clocks of machines differ: what counts is when a heartbeat was new here.
        for worker in watched:
            if present[worker] != self._last.get(worker, (None,))[0]:
                self._last[worker] = (present[worker], monotonic())
        silent = [worker for worker in watched if monotonic() - self._last[worker][1] > SILENCE_SECONDS]
        if silent:
            raise ClusterError(f"the {_worker_text(silent)} of the Dask cluster is silent for {SILENCE_SECONDS:.0f} s.")


def heartbeats(client: Any) -> dict[str, float]:
    """The time of the last heartbeat of each worker, by the clock of the scheduler."""
    try:
        # The client's own list of workers may be some seconds old.
        found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=_ANSWER_SECONDS)
    except Exception as error:
        raise ClusterError(f"the Dask scheduler does not answer: {error or type(error).__name__}.") from error
    return {worker: float(state["last_seen"]) for worker, state in found["workers"].items()}


def _worker_text(workers: Sequence[str]) -> str:
    more = f" (and {len(workers) - 1} more)" if len(workers) > 1 else ""
    return f"worker {workers[0]}{more}"
