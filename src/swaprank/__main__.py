"""The process of the command line: `swaprank` and `python -m swaprank`.

Signals are handled before anything large is imported, so that Ctrl-C prints no traceback. SIGTERM, as `kill` and
`docker stop` send it, and SIGHUP, from a terminal that is closed, are handled like Ctrl-C: what can be saved is saved.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def _show_all_but_interrupts(kind: type[BaseException], error: BaseException, traceback: "Any") -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, traceback)


# Even the next two imports take a few milliseconds.
sys.excepthook = _show_all_but_interrupts

import os  # noqa: E402
import signal  # noqa: E402

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_INTERRUPTED = 128
"""Plus the number of the signal: the exit code that shells use."""


def main() -> "NoReturn":
    """Run the command line and end the process."""
    arrived: list[int] = []

    def interrupt(number: int, frame: object) -> "NoReturn":
        arrived.append(number)
        raise KeyboardInterrupt

    _handle(interrupt)
    sys.unraisablehook = _interrupt_again
    try:
        from swaprank.cli import main as run

        run()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException:
        # Importing may turn KeyboardInterrupt into another error.
        if not arrived:
            raise
        code = _INTERRUPTED + signal.SIGINT
        if sys.stderr is not None:
            sys.stderr.write("interrupted\n")
    if code and arrived:
        code = _INTERRUPTED + arrived[0]
    _handle(lambda number, frame: os._exit(code))
    if code > _INTERRUPTED:
        # Threads may still compute, and a closed pipe cannot be flushed.
        os._exit(code)
    sys.exit(code)


def _handle(handler: "Any") -> None:
    for number in _SIGNALS:
        # nohup and shells start processes that must ignore a signal.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt_again(unraisable: "Any") -> None:
    """Interrupt a moment later, if KeyboardInterrupt came where Python can't raise it, such as in a finalizer."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    import _thread
    import threading

    threading.Timer(0.01, _thread.interrupt_main).start()


if __name__ == "__main__":
    main()
