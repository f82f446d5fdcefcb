"""Watch the workers of a Dask cluster through its scheduler, which knows who has ended and who is silent."""

from collections.abc import Sequence
from time import monotonic
from typing import Any, final

from swaprank.cluster.socket_collective import SILENCE_SECONDS
from swaprank.errors import ClusterError

CHECK_SECONDS = 1.0
_ANSWER_SECONDS = 20.0
"""For an answer of the scheduler, or longer if workers may be silent for longer."""


@final
class Supervisor:
    """Watches workers: those of one training, or all that there are.

    Args:
        client: That of the cluster.
        workers: Their addresses; None for all.
        silence: A worker without a heartbeat for so many seconds is lost; it sends two a second to the scheduler, fewer
            on large clusters.
    """

    def __init__(self, client: Any, workers: Sequence[str] | None, silence: float) -> None:
        self._client, self._workers, self._silence = client, workers, silence
        self.may_be_silent: set[str] = set()
        """Workers that somebody else listens to."""
        self._last: dict[str, tuple[float, float]] = {}
        self._checked, self._lost = -1e9, dict[str, str]()

    def lost(self, *, now: bool = False) -> dict[str, str]:
        """What happened to each worker that was lost; asks the scheduler once a second at most, or now.

        Raises ClusterError if the scheduler does not answer.
        """
        if not now and monotonic() - self._checked < CHECK_SECONDS:
            return self._lost
        present = heartbeats(self._client, self._silence)
        time = self._checked = monotonic()
        watched = list(present) if self._workers is None else self._workers
        for worker in watched:
            if worker not in present:
                self._lost[worker] = "has ended"
            # The clocks of machines differ: what counts is when a heartbeat was new here.
            elif present[worker] != self._last.get(worker, (None,))[0]:
                self._last[worker] = (present[worker], time)
            elif worker not in self.may_be_silent and time - self._last[worker][1] > self._silence:
                self._lost[worker] = f"has sent no heartbeat to the Dask scheduler for {self._silence:g} s"
        return self._lost


def heartbeats(client: Any, silence: float = SILENCE_SECONDS) -> dict[str, float]:
    """The time of the last heartbeat of each worker, by the clock of the scheduler."""
    try:
        # The client's own list of workers may be some seconds old.
        seconds = max(silence, _ANSWER_SECONDS)
        found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=seconds)
    except Exception as error:
        why = str(error).rstrip(".") or type(error).__name__
        raise ClusterError(f"the Dask scheduler does not answer: {why}.") from error
    return {worker: float(state["last_seen"]) for worker, state in found["workers"].items()}
