"""Processes that work for this one, on other cores, and end with it."""

import multiprocessing
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context


@contextmanager
def processes(number: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of new processes, which begin to import what training needs. Whatever ends the block early ends them.

    Compiling takes a while, and cannot be interrupted; Ctrl-C in a terminal would reach all of them.
    """
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(number, mp_context=get_context("spawn")) as pool:
        try:
            with _ignored_by_children(signal.SIGINT):
                # The pool starts a process for each of these, because none is idle yet.
                for _ in range(number):
                    pool.submit(_import_training)
            yield pool
        except BaseException:
            for child in multiprocessing.active_children():
                if child not in others:
                    child.kill()
            raise


def _import_training() -> None:
    import swaprank.experiments.training  # noqa: F401


@contextmanager
def _ignored_by_children(number: int) -> Iterator[None]:
    """Processes that are started in the block ignore a signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(number, before)
