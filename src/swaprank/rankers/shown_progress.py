"""`fit(verbose=…)`: the progress of training, for people who watch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from swaprank.rankers.rounds import Callback, Progress
from swaprank.rendering.bars import best_bar, line_bar, print_to_stderr


@contextmanager
def shown_progress(verbose: bool | int, round_name: str) -> Iterator[list[Callback]]:
    """Callbacks that show progress: none if verbose is 0 or less, a bar for 1, a line after every n rounds for n."""
    if verbose <= 0:
        yield []
        return
    lines = nullcontext(line_bar(round_name, print_to_stderr, every=int(verbose)))
    with best_bar(round_name) if verbose == 1 else lines as update:

        def show(progress: Progress) -> None:
            update(progress.round, progress.n_rounds, "", progress.measured_text())

        yield [show]
