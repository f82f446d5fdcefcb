"""Ctrl-C at a moment that a test chooses."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

import swaprank as sr
from swaprank.rankers.rounds import Callback


def press_ctrl_c() -> None:
    """As the terminal does it: the main thread is interrupted, also where it waits for others."""
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


@contextmanager
def pressed_after_the_first_round(seconds: float) -> Iterator[Callback]:
    """A callback that presses Ctrl-C so long after the first round, wherever training is by then."""
    timer = threading.Timer(seconds, press_ctrl_c)

    def start(progress: sr.rankers.Progress) -> None:
        if progress.round == 1:
            timer.start()

    yield start
    timer.join()


def pressed_at_call(number: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with Ctrl-C pressed when it is called for the given time, from 1."""
    calls = count(1)

    def called(*arguments: Any, **options: Any) -> Any:
        if next(calls) == number:
            press_ctrl_c()
        return function(*arguments, **options)

    return called


def interrupted_fit(ranker: sr.Ranker, *arguments: Any, **options: Any) -> Any:
    """The ranker after a `fit` that Ctrl-C has ended, which must raise KeyboardInterrupt."""
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(*arguments, **options)
    assert ranker.interrupted_
    return ranker
