"""Several processes on one port: forks that share models, counters and the port, and are replaced if they die."""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn, final

from swaprank.errors import Hint, ParameterError
from swaprank.serving.structured_logs import log

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
_PAUSE = 1.0
"""Time between the end of a worker and its successor, so that a worker that cannot start does not use all CPU time."""


@final
class Workers:
    """Forks of this process.

    Args:
        n_workers: Their number.
        work: What each does, given its number; it handles signals from its start.
        hung_up: What SIGHUP to this process does.
        ending: What is done first when they are about to end.
    """

    def __init__(
        self, n_workers: int, work: Callable[[int], None], hung_up: Callable[[], None], ending: Callable[[], None]
    ) -> None:
        if not hasattr(os, "fork"):
            raise ParameterError(Hint("workers"), ": several workers need a system with fork; use one, with threads.")
        self._n_workers, self._work, self._hung_up, self._end = n_workers, work, hung_up, ending
        self._processes: dict[int, int] = {}
        """Workers by process id."""
        self._ending = False

    def run(self) -> None:
        """Start the workers, and return when a signal has ended all of them."""
        for number in _SIGNALS:
            signal.signal(number, self._handle)
        for worker in range(self._n_workers):
            if not self._ending:
                self._start(worker)
        while self._processes:
            process, status = os.wait()
            worker = self._processes.pop(process, -1)
            if worker >= 0 and not self._ending:
                code = os.waitstatus_to_exitcode(status)
                log(logging.ERROR, "worker ended", worker=worker, process=process, code=code)
                time.sleep(_PAUSE)
                if not self._ending:
                    self._start(worker)

    def _start(self, worker: int) -> None:
        # A signal between the fork and the worker's own handlers would be lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        sys.stdout.flush()
        process = os.fork()
        if process == 0:
            self._become(worker)
        self._processes[process] = worker
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)

    def _become(self, worker: int) -> NoReturn:
        code = 70
        try:
            self._processes.clear()
            self._work(worker)
            code = 0
        except BaseException as error:
            log(logging.ERROR, "worker failed", worker=worker, error=repr(error))
        finally:
            os._exit(code)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._hung_up()
            return
        self._ending = True
        self._end()
        for process in list(self._processes):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)


def unblock_signals() -> None:
    """In a new worker, once it handles signals."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
