"""Hold back Ctrl-C while files are written that belong together."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that Python code handles arrive after the block, however often they were sent.

    >>> import signal
    >>> from swaprank.experiments.uninterrupted import uninterrupted
    >>> try:
    ...     with uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("saved")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    saved
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread is interrupted.
        yield
        return
    arrived: list[int] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    held = {number: handler for number, handler in before.items() if callable(handler)}
    try:
        for number in held:
            signal.signal(number, lambda number, frame: arrived.append(number))
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
    if arrived:
        signal.raise_signal(arrived[0])
