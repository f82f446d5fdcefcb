"""The tracker that brings the workers of XGBoost's collective together.

    python -m swaprank.cluster.tracker WORKERS HOST

XGBoost's tracker ends its own process if a worker dies while the group is formed: a thread of it throws an exception
that nobody catches. So it has a process of its own, which prints what workers need to find it, and ends when its
standard input is closed, as it is when the process that started it ends in whatever way.
"""

import json
import os
import sys
from contextlib import suppress
from subprocess import DEVNULL, PIPE, Popen
from threading import Thread
from typing import Any, final

from swaprank.errors import ClusterError

_LEAVING_SECONDS = 5
"""For workers that are about to leave."""


@final
class Tracker:
    """A tracker in a process of its own; it lives until `stop`."""

    def __init__(self, n_workers: int, host: str) -> None:
        command = [sys.executable, "-m", "swaprank.cluster.tracker", str(n_workers), host]
        # This process may have found its packages in another way than by the environment.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment)  # noqa: S603
        first_line = self._process.stdout.readline() if self._process.stdout is not None else b""
        if not first_line:
            self.stop()
            raise ClusterError(f"the tracker of XGBoost's collective could not start on {host}.")
        self.arguments: dict[str, Any] = json.loads(first_line)
        """Arguments with which workers find it."""

    def stop(self) -> None:
        """Let it end, a few seconds later if workers are about to leave."""
        Thread(target=self._process.communicate, daemon=True).start()


def main() -> None:
    """Run XGBoost's tracker until standard input is closed."""
    from xgboost.tracker import RabitTracker

    n_workers, host = int(sys.argv[1]), sys.argv[2]
    tracker = RabitTracker(n_workers, host, sortby="task")
    tracker.start()
    sys.stdout.write(json.dumps(tracker.worker_args()) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    with suppress(Exception):  # It complains about workers that are missing.
        tracker.wait_for(_LEAVING_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
