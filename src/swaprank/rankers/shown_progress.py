"""`verbose=…`: the progress of trainings, for people who watch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from swaprank.errors import ParameterError
from swaprank.rankers.rounds import Callback, Progress
from swaprank.rendering.bars import UpdateBar, best_bar, line_bar, print_to_stderr


@contextmanager
def shown_trainings(verbose: bool | int, unit: str = "round") -> Iterator[Callable[[str], list[Callback]]]:
    """Show nothing if verbose is 0 or less, a bar for 1, a line after every n rounds for n.

    Yields a function that takes the title of a training and returns callbacks for `fit`.
    """
    if not isinstance(verbose, int):
        raise ParameterError(f"verbose must be True, False or a number of rounds; found {verbose!r}.")
    if verbose <= 0:
        yield lambda title: []
        return
    lines = nullcontext(line_bar(unit, print_to_stderr, every=int(verbose)))
    with best_bar(unit) if verbose == 1 else lines as update:
        yield lambda title: [show_rounds(update, title)]


def show_rounds(update: UpdateBar, title: str) -> Callback:
    """A callback that shows every round on a bar."""

    def show(progress: Progress) -> None:
        update(progress.round, progress.n_rounds, title, progress.measured_text())

    return show
