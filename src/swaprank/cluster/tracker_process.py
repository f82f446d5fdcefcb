"""The process of a tracker: `python -m swaprank.cluster.tracker_process WORKERS HOST`.

XGBoost's tracker ends its own process if a worker dies while the group is formed: a thread of it throws an exception
that nobody catches. So it has a process of its own, which prints what workers need to find it, and ends when its
standard input is closed, as it is when the process that started it ends in whatever way.
"""

import json
import os
import sys
from contextlib import suppress

LEAVING_SECONDS = 5
"""For workers that are about to leave."""


def main() -> None:
    """Run until standard input is closed."""
    from xgboost.tracker import RabitTracker

    n_workers, host = int(sys.argv[1]), sys.argv[2]
    tracker = RabitTracker(n_workers, host, sortby="task")
    tracker.start()
    sys.stdout.write(json.dumps(tracker.worker_args()) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    with suppress(Exception):  # It complains about workers that are missing.
        tracker.wait_for(LEAVING_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
